"""The nodes of a cluster, as `kubectl get nodes -o json` (or -o yaml) lists them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from raygang.spec import UserError, quantity_bytes

_HOW = "kubectl get nodes -o json"
_LISTS = ("List", "NodeList")
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every value as it is written: labels are texts


@dataclass(frozen=True)
class Node:
    """A node.

    Attributes:
        name: metadata.name.
        labels: metadata.labels.
        taints: as kubectl writes them, for example nvidia.com/gpu=present:NoSchedule.
        allocatable: status.allocatable, quantities as they are written.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[str, ...]
    allocatable: Mapping[str, str]

    def count(self, resource: str) -> int:
        """How many devices of an extended resource pods can have here."""
        return quantity_bytes(self.allocatable.get(resource, "0"))


@dataclass(frozen=True)
class Inventory:
    """The nodes of a cluster."""

    nodes: tuple[Node, ...]

    @staticmethod
    def parse(data: str, *, file: str = "nodes") -> Inventory:
        """Read a list of nodes, or one node, in JSON or YAML.

        Args:
            data: the text.
            file: its name, for messages.

        Raises:
            UserError: it is something else.
        """
        top = _loaded(data, file)
        kind = top.get("kind") if isinstance(top, dict) else None
        if kind == "Node":
            items = [top]
        elif kind in _LISTS and isinstance(top.get("items"), list):
            items = top["items"]
        else:
            what = f"has kind {kind}" if isinstance(kind, str) and kind not in _LISTS else "is none"
            raise UserError(f"{file}: is to be a list of nodes, and {what}", hint=_HOW)
        if not items:
            raise UserError(f"{file}: has no nodes", hint="is it the right context? kubectl config current-context")
        return Inventory(tuple(_node(item, f"{file}: items.{index}") for index, item in enumerate(items)))


def _loaded(data: str, file: str) -> Any:
    try:
        return json.loads(data) if data.lstrip().startswith("{") else yaml.load(data, _LOADER)
    except (ValueError, yaml.YAMLError, RecursionError) as e:
        cause = "nested too deeply" if isinstance(e, RecursionError) else " ".join(str(e).split())
        raise UserError(f"{file}: is neither JSON nor YAML: {cause}", hint=_HOW) from None


def _node(item: Any, where: str) -> Node:
    if not isinstance(item, dict) or item.get("kind", "Node") != "Node":
        kind = item.get("kind") if isinstance(item, dict) else None
        raise UserError(f"{where}: is {f'a {kind}' if isinstance(kind, str) else 'no object'}, not a Node", hint=_HOW)
    name = _mapping(item, where, "metadata").get("name")
    if not isinstance(name, str) or not name:
        raise UserError(f"{where}.metadata.name: is missing", hint=_HOW)
    where = f"{where} ({name})"
    status = _mapping(item, where, "status")
    if "allocatable" not in status:
        raise UserError(f"{where}.status.allocatable: is missing: it says which devices the node has", hint=_HOW)
    return Node(
        name=name,
        labels=_texts(_mapping(item["metadata"], f"{where}.metadata", "labels"), f"{where}.metadata.labels"),
        taints=tuple(_taint(taint, where) for taint in _list(_mapping(item, where, "spec"), where, "taints")),
        allocatable=_quantities(_mapping(status, f"{where}.status", "allocatable"), f"{where}.status.allocatable"),
    )


def _taint(taint: Any, where: str) -> str:
    if not isinstance(taint, dict) or not isinstance(taint.get("key"), str):
        raise UserError(f"{where}.spec.taints: has one without a key", hint=_HOW)
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint.get('effect', '')}"


def _quantities(found: Mapping[str, Any], where: str) -> dict[str, str]:
    """Names with a domain are counted later, so they have to be numbers."""
    plain = {key: str(value) if type(value) is int else value for key, value in found.items()}
    for name, value in _texts(plain, where).items():
        if "/" in name:
            try:
                quantity_bytes(value)
            except ValueError:
                raise UserError(f"{where}: {name} is no quantity: {value!r}", hint=_HOW) from None
    return plain


def _texts(found: Mapping[str, Any], where: str) -> dict[str, str]:
    for key, value in found.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise UserError(f"{where}: {key} is to be a text, not {value!r}", hint=_HOW)
    return dict(found)


def _mapping(data: Mapping[str, Any], where: str, name: str) -> Mapping[str, Any]:
    """A mapping that may be left out."""
    found = data.get(name)
    if found is None or found == "":
        return {}
    if not isinstance(found, dict):
        raise UserError(f"{where}.{name}: is to be a mapping, not {found!r}", hint=_HOW)
    return found


def _list(data: Mapping[str, Any], where: str, name: str) -> list[Any]:
    found = data.get(name)
    if found is None or found == "":
        return []
    if not isinstance(found, list):
        raise UserError(f"{where}.spec.{name}: is to be a list, not {found!r}", hint=_HOW)
    return found
