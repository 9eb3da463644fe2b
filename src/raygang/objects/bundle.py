"""A manifest, and a bundle of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from raygang.objects.fields import at, mapping, text

T = TypeVar("T")


@dataclass(frozen=True)
class Manifest:
    """One object of Kubernetes.

    Attributes:
        data: the object as plain data; not changed here.
        index: where it stands in its bundle, from 0.
    """

    data: Mapping[str, Any]
    index: int = 0

    @cached_property
    def kind(self) -> str:
        """RayService, for example; empty where there is none."""
        return text(self.data.get("kind")) or ""

    @cached_property
    def group(self) -> str:
        """ray.io of ray.io/v1; empty for the core group."""
        group, slash, _ = (text(self.data.get("apiVersion")) or "").partition("/")
        return group if slash else ""

    @cached_property
    def version(self) -> str:
        """v1 of ray.io/v1."""
        return (text(self.data.get("apiVersion")) or "").rpartition("/")[2]

    @cached_property
    def name(self) -> str:
        """metadata.name; empty where there is none."""
        return text(at(self.data, "metadata", "name")) or ""

    @cached_property
    def namespace(self) -> str | None:
        """metadata.namespace."""
        return text(at(self.data, "metadata", "namespace"))

    @cached_property
    def labels(self) -> Mapping[str, Any]:
        """metadata.labels."""
        return mapping(at(self.data, "metadata", "labels"))

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """metadata.annotations."""
        return mapping(at(self.data, "metadata", "annotations"))


@dataclass(frozen=True)
class Bundle:
    """Objects that are applied together."""

    manifests: tuple[Manifest, ...] = field(default=())
    _known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @staticmethod
    def of(objects: list[dict[str, Any]]) -> Bundle:
        """A bundle of objects as plain data."""
        return Bundle(tuple(Manifest(data, index) for index, data in enumerate(objects)))

    def find(self, group: str, kind: str) -> Iterator[Manifest]:
        """The objects of a kind, in their order."""
        return iter(self.once(_by_kind).get((group, kind), ()))

    def named(self, group: str, kind: str, name: str | None) -> Sequence[Manifest]:
        """The objects of a kind and a name, in all namespaces, in their order."""
        return self.once(_by_name).get((group, kind, name), ())

    def get(self, group: str, kind: str, namespace: str | None, name: str | None) -> Manifest | None:
        """The first object of a kind, a namespace and a name."""
        return self.once(_by_place).get((group, kind, namespace, name))

    def once(self, tell: Callable[[Bundle], T]) -> T:
        """What a function tells of the bundle, asked once: a bundle of thousands has thousands who ask."""
        if tell not in self._known:
            self._known[tell] = tell(self)
        known: T = self._known[tell]
        return known


def _by_kind(bundle: Bundle) -> dict[tuple[str, str], list[Manifest]]:
    found: dict[tuple[str, str], list[Manifest]] = {}
    for manifest in bundle.manifests:
        found.setdefault((manifest.group, manifest.kind), []).append(manifest)
    return found


def _by_name(bundle: Bundle) -> dict[tuple[str, str, str | None], list[Manifest]]:
    found: dict[tuple[str, str, str | None], list[Manifest]] = {}
    for manifest in bundle.manifests:
        found.setdefault((manifest.group, manifest.kind, manifest.name), []).append(manifest)
    return found


def _by_place(bundle: Bundle) -> dict[tuple[str, str, str | None, str | None], Manifest]:
    found: dict[tuple[str, str, str | None, str | None], Manifest] = {}
    for manifest in bundle.manifests:
        found.setdefault((manifest.group, manifest.kind, manifest.namespace, manifest.name), manifest)
    return found
