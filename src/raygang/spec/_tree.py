"""A walk over the parsed YAML: where each field is, which lines hold secrets, and what JSON could not say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from raygang.spec import _secrets
from raygang.spec._text import Place, Text

MAX_FIELDS = 20_000
MAX_DEPTH = 40
MAX_DIGITS = 1000

FieldPath = tuple[str, ...]

_TAG = "tag:yaml.org,2002:"
_STR, _MERGE = f"{_TAG}str", f"{_TAG}merge"
_KINDS = {MappingNode: ("map",), SequenceNode: ("seq",), ScalarNode: ("str", "int", "float", "bool", "null")}
_READ_AS = {"int": "a whole number", "float": "a number", "bool": "true or false"}
_FOREIGN = {"timestamp": "a date", "binary": "binary data", "set": "a set", "omap": "an ordered mapping"}


@dataclass
class Survey:
    """What a walk has found.

    Attributes:
        text: what was parsed.
        places: position of each field, that is of its key, or of the item of a list, by its path with the item's index.
        faults: what cannot be used, by field path. The walk has put an empty text there, so that the rest can be read.
        secret_lines: lines that must not be shown.
        unnamed: mappings and their keys that are no text. The walk has taken them out.
        steps: fields seen, those of an alias each time it is used.
    """

    text: Text
    places: dict[FieldPath, Place] = field(default_factory=dict)
    faults: dict[FieldPath, str] = field(default_factory=dict)
    secret_lines: set[int] = field(default_factory=set)
    unnamed: list[tuple[Node, Node]] = field(default_factory=list)
    steps: int = 0


class TooLargeError(Exception):
    """More than a specification can be."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True)
class _Visit:
    path: FieldPath
    node: Node
    secret: bool = False


def survey(root: Node, text: Text, constructor: SafeConstructor) -> Survey:
    """Walk a document, and mend what would keep the rest of it from being read.

    Raises:
        TooLargeError: it is, or an alias contains itself.
    """
    found, mended = Survey(text), dict[int, str]()
    visits = [_Visit((), root)]
    while visits:
        visit = visits.pop()
        if visit.secret or (isinstance(visit.node, ScalarNode) and _secrets.is_value(visit.node.value)):
            found.secret_lines |= _lines(visit.node, text)
        fault = mended.get(id(visit.node)) or _fault(visit.node, constructor)
        if fault:
            found.faults[visit.path] = mended[id(visit.node)] = fault
            _mend(visit.node)
        visits += _inside(visit, found)
    _drop_unnamed(found)
    return found


def _inside(visit: _Visit, found: Survey) -> Iterator[_Visit]:
    for key, at, value, owner in _children(visit.node):
        path = (*visit.path, key)
        _check_size(found, len(path), at)
        found.places.setdefault(path, _place(at, found.text))
        in_mapping = isinstance(owner, MappingNode)
        secret = visit.secret or (in_mapping and _secrets.names_one(key))
        if secret:
            found.secret_lines |= _lines(at, found.text) | _lines(value, found.text)
        if in_mapping and not _is_name(at):
            found.faults[path] = "a field's name must be text"
            found.unnamed.append((owner, at))
        else:
            yield _Visit(path, value, secret)


def _check_size(found: Survey, depth: int, at: Node) -> None:
    found.steps += 1
    if depth > MAX_DEPTH:
        raise TooLargeError("nested too deeply, or an alias that contains itself", _place(at, found.text))
    if found.steps > MAX_FIELDS:
        raise TooLargeError("too many fields", _place(at, found.text))


def _children(node: Node) -> Iterator[tuple[str, Node, Node, Node]]:
    """Name, the node that it stands at, value and owner; fields that are merged in come after a mapping's own."""
    if isinstance(node, SequenceNode):
        yield from ((str(index), item, item, node) for index, item in enumerate(node.value))
    if isinstance(node, MappingNode):
        yield from ((_shown(key), key, value, node) for key, value in node.value if key.tag != _MERGE)
        for merged in (value for key, value in node.value if key.tag == _MERGE):
            for other in merged.value if isinstance(merged, SequenceNode) else [merged]:
                yield from _children(other) if isinstance(other, MappingNode) else ()


def _drop_unnamed(found: Survey) -> None:
    """Takes out the fields whose name is no text, which could not all be read."""
    keys = {id(key) for _, key in found.unnamed}
    for owner in {id(owner): owner for owner, _ in found.unnamed}.values():
        owner.value = [pair for pair in owner.value if id(pair[0]) not in keys]


def _shown(key: Node) -> str:
    return key.value if isinstance(key, ScalarNode) and not _is_half(key.value) else "?"


def _is_name(key: Node) -> bool:
    return isinstance(key, ScalarNode) and (key.tag == _MERGE or (key.tag == _STR and not _is_half(key.value)))


def _fault(node: Node, constructor: SafeConstructor) -> str | None:
    tag = str(node.tag).removeprefix(_TAG)
    if tag not in _KINDS[type(node)]:
        return f"{_FOREIGN.get(tag, 'a value with a tag')}; write it in quotes if text is meant"
    if tag in _READ_AS:
        return _number_fault(node, tag, constructor)
    return "half of a character (a lone surrogate)" if tag == "str" and _is_half(node.value) else None


def _number_fault(node: Node, tag: str, constructor: SafeConstructor) -> str | None:
    if len(node.value) > MAX_DIGITS:
        return f"a number of {len(node.value)} digits"
    try:
        value: Any = constructor.yaml_constructors[_TAG + tag](constructor, node)
    except (ValueError, KeyError, IndexError):  # `!!int x`, `!!bool x`, `!!int ""` in ruamel.yaml 0.18-0.19
        return f"cannot be read as {_READ_AS[tag]}"
    return "must be a finite number" if isinstance(value, float) and not math.isfinite(value) else None


def _is_half(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)


def _mend(node: Node) -> None:
    node.tag = _TAG + _KINDS[type(node)][0]
    if isinstance(node, ScalarNode):
        node.value = ""


def _place(node: Node, text: Text) -> Place:
    return text.place(node.start_mark.index)


def _lines(node: Node, text: Text) -> set[int]:
    """The lines of a node's text; of a block collection the first, since what is in it is walked as well."""
    first, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, CollectionNode) and not node.flow_style:
        end = first
    return set(range(text.place(first).line, text.place(max(first, end - 1)).line + 1))
