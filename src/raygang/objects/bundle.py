"""A manifest, and a bundle of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from raygang.objects.fields import at, mapping, text


@dataclass(frozen=True)
class Manifest:
    """One object of Kubernetes.

    Attributes:
        data: the object as plain data; not changed here.
        index: where it stands in its bundle, from 0.
    """

    data: Mapping[str, Any]
    index: int = 0

    @property
    def kind(self) -> str:
        """RayService, for example; empty where there is none."""
        return text(self.data.get("kind")) or ""

    @property
    def group(self) -> str:
        """ray.io of ray.io/v1; empty for the core group."""
        group, slash, _ = (text(self.data.get("apiVersion")) or "").partition("/")
        return group if slash else ""

    @property
    def version(self) -> str:
        """v1 of ray.io/v1."""
        return (text(self.data.get("apiVersion")) or "").rpartition("/")[2]

    @property
    def name(self) -> str:
        """metadata.name; empty where there is none."""
        return text(at(self.data, "metadata", "name")) or ""

    @property
    def namespace(self) -> str | None:
        """metadata.namespace."""
        return text(at(self.data, "metadata", "namespace"))

    @property
    def labels(self) -> Mapping[str, Any]:
        """metadata.labels."""
        return mapping(at(self.data, "metadata", "labels"))

    @property
    def annotations(self) -> Mapping[str, Any]:
        """metadata.annotations."""
        return mapping(at(self.data, "metadata", "annotations"))


@dataclass(frozen=True)
class Bundle:
    """Objects that are applied together."""

    manifests: tuple[Manifest, ...] = field(default=())

    @staticmethod
    def of(objects: list[dict[str, Any]]) -> Bundle:
        """A bundle of objects as plain data."""
        return Bundle(tuple(Manifest(data, index) for index, data in enumerate(objects)))

    def find(self, group: str, kind: str) -> Iterator[Manifest]:
        """The objects of a kind, in their order."""
        return (m for m in self.manifests if m.group == group and m.kind == kind)
