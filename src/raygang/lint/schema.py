"""What is wrong with the shape of an object: one walk over it, for all rules about shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from raygang.lint.schema_table import GROUP, Node, Span, Table, table
from raygang.objects import Manifest, Path, Version

Kind = Literal["unknown", "span", "type", "unquoted", "required", "enum", "minimum"]
_Cell = tuple[Any, ...] | None  # a path while walking: the cell above and a name, so that sound fields cost nothing
_TAKES: dict[str, frozenset[type]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "quantity": frozenset({str, int}),
    "int-or-string": frozenset({str, int}),
    "object": frozenset({dict}),
    "map": frozenset({dict}),
    "array": frozenset({list}),
}
_WHOLE = ("integer", "quantity", "int-or-string")


@dataclass(frozen=True)
class Problem:
    """Something that does not fit the object's type.

    Attributes:
        kind: what does not fit.
        path: the field.
        node: what is there instead: the object of an unknown field, else the field's own type.
        value: what stands there.
        name: the field that is required.
        span: the versions of KubeRay that have the field.
    """

    kind: Kind
    path: Path
    node: Node
    value: Any = None
    name: str = ""
    span: Span = (None, None)


_METADATA = "RayCluster/v1"  # whose metadata is that of any object
_last: tuple[Manifest, list[Problem]] | None = None


def problems(manifest: Manifest) -> list[Problem]:
    """All problems of an object: of its fields if it is one of KubeRay's, of its metadata in any case.

    Several rules ask one after the other about the same object, so the last answer is kept.
    """
    global _last  # noqa: PLW0603
    if _last is None or _last[0] is not manifest:
        _last = (manifest, _problems(manifest))
    return _last[1]


def root_name(manifest: Manifest) -> str:
    """RayService/v1, for example."""
    return f"{manifest.kind}/{manifest.version}"


def outside(span: Span, kuberay: int, versions: int) -> bool:
    """Whether a version is not among those of a field."""
    first, last = span
    return kuberay < (first or 0) or kuberay > (versions - 1 if last is None else last)


def first_version(found: Table, span: Span) -> Version:
    """The first version of KubeRay that has a field."""
    return found.versions[span[0] or 0]


def _problems(manifest: Manifest) -> list[Problem]:
    found: list[Problem] = []
    known = table().roots
    root = known.get(root_name(manifest)) if manifest.group == GROUP else None
    if root is not None:
        node, span = root
        if span != (None, None):
            found.append(Problem("span", ("kind",), node, manifest.kind, span=span))
        _walk(node, _without_status(manifest.data), None, found)
        return found
    node = known[_METADATA][0].fields["metadata"]
    metadata = manifest.data.get("metadata")
    if metadata is not None:
        _walk(node, metadata, (None, "metadata"), found)
    if manifest.kind == "ConfigMap" and not manifest.group:
        _walk(node.fields["labels"], manifest.data.get("data") or {}, (None, "data"), found)
    return found


def _without_status(data: Any) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "status"}


def _walk(node: Node, value: Any, at: _Cell, found: list[Problem]) -> None:
    kind = node.kind
    if kind == "any":
        return
    if type(value) not in _TAKES[kind]:
        _wrong(node, value, at, found)
    elif kind == "object":
        _object(node, value, at, found)
    elif kind in ("map", "array"):
        _items(node, value, at, found)
    elif node.enum and value not in node.enum:
        found.append(Problem("enum", _path(at), node, value))
    elif node.minimum is not None and value < node.minimum:
        found.append(Problem("minimum", _path(at), node, value))


def _items(node: Node, value: Any, at: _Cell, found: list[Problem]) -> None:
    assert node.item is not None  # mappings and lists have items
    if node.kind == "array":
        for index, inner in enumerate(value):
            _walk(node.item, inner, (at, index), found)
        return
    for name, inner in value.items():
        if inner is not None:  # the API server takes a null in a mapping for a field that is not there
            _walk(node.item, inner, (at, name), found)


def _object(node: Node, value: dict[str, Any], at: _Cell, found: list[Problem]) -> None:
    fields, spans = node.fields, node.spans
    for name, inner in value.items():
        child = fields.get(name)
        if child is None:
            found.append(Problem("unknown", (*_path(at), name), node, inner))
            continue
        if inner is None:
            continue
        if name in spans:
            found.append(Problem("span", (*_path(at), name), child, inner, span=spans[name]))
        _walk(child, inner, (at, name), found)
    for name in node.required:
        if value.get(name) is None:
            found.append(Problem("required", _path(at), node, value, name))


def _wrong(node: Node, value: Any, at: _Cell, found: list[Problem]) -> None:
    if isinstance(value, float) and value.is_integer() and node.kind in _WHOLE:
        return  # JSON has one kind of number: 2.0 is 2
    scalar = isinstance(value, bool | int | float)
    kind: Kind = "unquoted" if node.kind == "string" and scalar and not node.enum else "type"
    found.append(Problem(kind, _path(at), node, value))


def _path(at: _Cell) -> Path:
    parts: list[str | int] = []
    while at is not None:
        at, part = at
        parts.append(part)
    return tuple(reversed(parts))
