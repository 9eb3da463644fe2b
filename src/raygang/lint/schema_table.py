"""The types of the fields of KubeRay's objects, in every version of KubeRay that raygang knows.

The table is written by tools/crd_types.py from the CustomResourceDefinitions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from raygang.objects import Version

Span = tuple[int | None, int | None]  # first and last version of a field, where they are not those of its object
FILE = "kuberay_types.json"
GROUP = "ray.io"


class Node:
    """What a field may be.

    Attributes:
        kind: object, map, array, string, integer, number, boolean, quantity, int-or-string or any.
        fields: of an object.
        spans: versions of those fields that not all versions have.
        required: fields of an object that have to be there in every version.
        item: what a map's or a list's values are.
        enum: the values of a text, in every version; empty where any will do.
        minimum: of a number.
    """

    __slots__ = ("enum", "fields", "item", "kind", "minimum", "required", "spans")

    def __init__(self, kind: str) -> None:
        """A node without fields."""
        self.kind = kind
        self.fields: dict[str, Node] = {}
        self.spans: dict[str, Span] = {}
        self.required: tuple[str, ...] = ()
        self.item: Node | None = None
        self.enum: frozenset[str] = frozenset()
        self.minimum: float | None = None


@dataclass(frozen=True)
class Table:
    """All of it.

    Attributes:
        versions: of KubeRay, in their order.
        roots: RayService/v1, for example, with its node and its versions.
    """

    versions: tuple[Version, ...]
    roots: dict[str, tuple[Node, Span]]

    def index(self, kuberay: Version | None) -> int | None:
        """The version of the table that has the fields of a version: the last one that is not newer."""
        if kuberay is None:
            return None
        return max((i for i, known in enumerate(self.versions) if known <= kuberay), default=0)

    def newer(self, kuberay: Version | None) -> bool:
        """Whether a version may have fields that the table does not know."""
        return kuberay is not None and kuberay.release > self.versions[-1].release


@cache
def table() -> Table:
    """The table, read once."""
    raw = json.loads(resources.files("raygang.lint").joinpath("data", FILE).read_text(encoding="utf-8"))
    nodes = [Node(entry["t"]) for entry in raw["nodes"]]
    for node, entry in zip(nodes, raw["nodes"], strict=True):
        _fill(node, entry, nodes)
    roots = {name: (nodes[root[0]], _span(root)) for name, root in raw["roots"].items()}
    return Table(tuple(Version.parse(version) for version in raw["versions"]), roots)


def _fill(node: Node, entry: dict[str, Any], nodes: list[Node]) -> None:
    for name, value in entry.get("f", {}).items():
        node.fields[name] = nodes[value if isinstance(value, int) else value[0]]
        if not isinstance(value, int):
            node.spans[name] = _span(value)
    node.required = tuple(entry.get("r", ()))
    node.item = nodes[entry["i"]] if "i" in entry else None
    node.enum = frozenset(entry.get("e", ()))
    node.minimum = entry.get("min")


def _span(entry: list[Any]) -> Span:
    return (entry[1], entry[2]) if len(entry) > 1 else (None, None)


@cache
def homes(root: str, name: str) -> tuple[str, ...]:
    """Where an object of a kind has a field of a name: spec.workerGroupSpecs[], for example; the nearest first."""
    found = _homes(table().roots[root][0], name, "")
    return tuple(sorted(found, key=lambda home: (home.count("."), home)))


def _homes(node: Node, name: str, path: str) -> Iterator[str]:
    if name in node.fields:
        yield path
    for field, child in node.fields.items():
        yield from _homes(child, name, f"{path}.{field}" if path else field)
    if node.item:
        yield from _homes(node.item, name, f"{path}[]" if node.kind == "array" else path)
