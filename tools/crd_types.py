"""Writes the types of KubeRay's fields, all versions in one table, from its CustomResourceDefinitions.

    tools/crd_types.py 1.4.2=DIR 1.5.0=DIR 1.5.1=DIR 1.6.0=DIR 1.7.0=DIR > src/raygang/lint/data/kuberay_types.json

Each DIR is `ray-operator/config/crd/bases` of that version. Nodes that are alike are written once. A field says the
first and the last version that has it only where it comes after, or goes before, the object that it is in.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)"  # how the pattern of resource.Quantity begins
# k8s.io/apimachinery 0.30-0.37, pkg/apis/meta/v1/types.go, ObjectMeta; a CRD only says that metadata is an object
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
METADATA = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in ("name", "generateName", "namespace", "uid", "resourceVersion")},
        **{name: {"type": "string"} for name in ("creationTimestamp", "deletionTimestamp", "selfLink")},
        **{name: {"type": "integer"} for name in ("generation", "deletionGracePeriodSeconds")},
        "labels": TEXTS,
        "annotations": TEXTS,
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "ownerReferences": {"type": "array", "items": {}},
        "managedFields": {"type": "array", "items": {}},
    },
}
Node = dict[str, Any]
Present = tuple[int, ...]  # indexes of the versions that have something


def main(arguments: list[str]) -> None:
    places = dict(argument.split("=", 1) for argument in arguments)
    versions = sorted(places, key=lambda version: [int(part) for part in version.split(".")])
    schemas: dict[str, dict[int, Any]] = {}
    for index, version in enumerate(versions):
        for name, schema in _schemas(Path(places[version])):
            schemas.setdefault(name, {})[index] = schema
    table = _Table()
    roots = {name: table.merge(found) for name, found in sorted(schemas.items())}
    head = {
        "made_from": [f"KubeRay {version}: ray-operator/config/crd/bases" for version in versions],
        "made_by": "tools/crd_types.py",
        "versions": versions,
        "roots": {name: [node, *_span(tuple(schemas[name]), len(versions))] for name, node in roots.items()},
    }
    lines = [json.dumps(node, separators=(",", ":")) for node in table.nodes]
    body = json.dumps(head, indent=1)[:-2] + ',\n "nodes": [\n' + ",\n".join(lines) + "\n]}"
    print(body)


def _schemas(directory: Path) -> list[tuple[str, Any]]:
    found = []
    for path in sorted(directory.glob("ray.io_*.yaml")):
        crd = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for version in crd["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            schema["properties"]["metadata"] = METADATA
            schema["properties"].pop("status", None)  # written by the operator
            found.append((f"{crd['spec']['names']['kind']}/{version['name']}", schema))
    return found


class _Table:
    """Merged nodes, each once."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[str, int] = {}

    def merge(self, schemas: dict[int, Any]) -> int:
        """The node of a field, from its schema in each version that has it."""
        kinds = {_kind(schema) for schema in schemas.values()}
        if len(kinds) > 1:
            return self._put({"t": "any"})  # no version of KubeRay so far has changed a field's type
        kind = kinds.pop()
        node: Node = {"t": kind}
        if kind == "object":
            node |= self._object(schemas)
        elif kind in ("map", "array"):
            inner = "additionalProperties" if kind == "map" else "items"
            node["i"] = self.merge({at: schema[inner] for at, schema in schemas.items()})
        else:
            node |= _limits(schemas)
        return self._put(node)

    def _object(self, schemas: dict[int, Any]) -> Node:
        here = tuple(sorted(schemas))
        names = sorted({name for schema in schemas.values() for name in schema.get("properties", {})})
        fields: dict[str, Any] = {}
        for name in names:
            having = {at: s["properties"][name] for at, s in schemas.items() if name in s.get("properties", {})}
            node = self.merge(having)
            span = _relative(tuple(sorted(having)), here)
            fields[name] = [node, *span] if span else node
        required = [name for name in names if all(_needs(schema, name) for schema in schemas.values())]
        return {"f": fields} | ({"r": required} if required else {})

    def _put(self, node: Node) -> int:
        key = json.dumps(node, sort_keys=True)
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
        return self._known[key]


def _needs(schema: Any, name: str) -> bool:
    """Whether a field has to be written: it is required, and the API server fills in nothing."""
    return name in schema.get("required", ()) and "default" not in schema["properties"][name]


def _kind(schema: Any) -> str:
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource"):
        return "any"
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if str(schema.get("pattern", "")).startswith(QUANTITY) else "int-or-string"
    kind = schema.get("type", "any")
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return "map"
    return "any" if kind == "object" and "properties" not in schema else str(kind)


def _limits(schemas: dict[int, Any]) -> Node:
    """Values that every version takes."""
    found: Node = {}
    if all("enum" in schema for schema in schemas.values()):
        found["e"] = sorted({str(value) for schema in schemas.values() for value in schema["enum"]})
    if all("minimum" in schema for schema in schemas.values()):
        found["min"] = min(schema["minimum"] for schema in schemas.values())
    return found


def _relative(having: Present, here: Present) -> list[int | None]:
    """First and last version that has a field, as far as they are not those of the object that it is in."""
    first = having[0] if having[0] != here[0] else None
    last = having[-1] if having[-1] != here[-1] else None
    return [first, last] if first is not None or last is not None else []


def _span(having: Present, versions: int) -> list[int | None]:
    return _relative(tuple(sorted(having)), tuple(range(versions)))


if __name__ == "__main__":
    main(sys.argv[1:])
