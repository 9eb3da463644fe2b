"""YAML as kubectl reads it (sigs.k8s.io/yaml, YAML 1.1 of go-yaml v2), with the place of every node.

PyYAML's binding to libyaml does the parsing: manifests come in thousands, and it is some twenty times as fast as a
parser in Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from raygang.objects import Path

MAX_NODES = 2_000_000  # of one document with its aliases followed: a few lines can otherwise mean billions
MAX_DEPTH = 200
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class KubectlLoader(_Loader):  # type: ignore[misc]  # which of PyYAML's two loaders is known at run time only
    """A loader whose plain scalars have go-yaml's types: no dates, no numbers of base 60."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # PyYAML's own name


_BOOL, _INT, _FLOAT, _NULL = (f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "null"))
_MAP, _MERGE, _STR = (f"tag:yaml.org,2002:{name}" for name in ("map", "merge", "str"))
_TRUE, _FALSE = (
    frozenset(form for word in words for form in (word, word.capitalize(), word.upper()))
    for words in (("y", "yes", "true", "on"), ("n", "no", "false", "off"))
)
_DECIMAL = r"[-+]?(?:\.\d+|\d[\d_]*(?:\.[\d_]*)?)(?:[eE][-+]?\d+)?"
_FORMS = (
    (_BOOL, "|".join(sorted(_TRUE | _FALSE)), "yYnNtTfFoO"),
    (_INT, r"[-+]?0b[01_]+|[-+]?0x[\da-fA-F_]+|[-+]?0o?[0-7_]+|[-+]?(?:0|[1-9][\d_]*)", "-+0123456789"),
    (_FLOAT, _DECIMAL + r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
    (_NULL, "~|null|Null|NULL|", ["~", "n", "N", ""]),
    (_MERGE, "<<", "<"),
)
for _tag, _form, _first in _FORMS:
    KubectlLoader.add_implicit_resolver(_tag, re.compile(f"(?:{_form})\\Z", re.ASCII), list(_first))


@dataclass(frozen=True)
class Place:
    """A place in a text, from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Trouble:
    """Something about the text itself: where, and what."""

    place: Place
    what: str
    key: str | None = None


@dataclass
class Tree:
    """A document's data and the nodes that it came from."""

    root: yaml.Node | None
    data: Any
    duplicates: list[Trouble] = field(default_factory=list)

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Where a field stands, or the nearest one above it that is there.

        Args:
            path: the field.
            key: the place of its name rather than of its value.
        """
        node = self.root
        mark = node.start_mark if node else None
        for part in path:
            child = _child(node, part)
            if child is None:
                break
            name, node = child
            mark = name.start_mark if key and name is not None else node.start_mark
        return Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)

    def span(self, path: Path) -> tuple[int, int]:
        """First and last line of a field with its name."""
        if not path or self.root is None:
            line = self.place(path).line
            return line, self.root.end_mark.line + 1 if self.root else line
        parent: yaml.Node | None = self.root
        for part in path[:-1]:
            child = _child(parent, part)
            parent = child[1] if child else None
        found = _child(parent, path[-1])
        if found is None:
            line = self.place(path).line
            return line, line
        name, node = found
        end = node.end_mark.line + (1 if node.end_mark.column else 0)
        start = (name or node).start_mark.line + 1
        return start, max(start, end)


def read(text: str) -> Iterator[Tree | Trouble]:
    """The documents of a text; a `Trouble` ends it, since nothing after it can be trusted."""
    try:
        loader = KubectlLoader(text)
    except yaml.YAMLError as e:
        yield _trouble(e)
        return
    try:
        while loader.check_node():
            root = loader.get_node()
            yield _build(root)
    except (yaml.YAMLError, _RefusedError) as e:
        yield _trouble(e)
    except RecursionError:
        yield Trouble(Place(1, 1), "is nested too deeply to be a manifest")
    finally:
        loader.dispose()


class _RefusedError(Exception):
    def __init__(self, node: yaml.Node, what: str) -> None:
        super().__init__(what)
        self.mark = node.start_mark


def _trouble(error: Exception) -> Trouble:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None) or getattr(error, "mark", None)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    if isinstance(error, yaml.reader.ReaderError):
        what = f"has a character that YAML does not allow: {error.reason}"
    return Trouble(Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1), str(what))


def _child(node: yaml.Node | None, part: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        found = None
        for name, value in node.value:
            if name.tag == _MERGE and found is None:
                found = next((hit for source in _merged(value) if (hit := _child(source, part))), None)
            elif name.value == part or (name.tag != _STR and _key(name) == part):
                found = (name, value)  # the last one wins, as in kubectl
        return found
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
        return None, node.value[part]
    return None


def _merged(value: yaml.Node) -> list[yaml.Node]:
    return list(value.value) if isinstance(value, yaml.SequenceNode) else [value]


def _build(root: yaml.Node) -> Tree:
    builder = _Builder()
    data = builder.value(root, 0)
    return Tree(root, data, builder.duplicates)


class _Builder:
    """Plain data from nodes: aliases share their data, an alias of itself is refused."""

    def __init__(self) -> None:
        self.duplicates: list[Trouble] = []
        self._done: dict[int, tuple[Any, int]] = {}
        self._open: set[int] = set()
        self._count = 0

    def value(self, node: yaml.Node, depth: int) -> Any:
        if isinstance(node, yaml.ScalarNode):
            self._count += 1
            return scalar(node)
        if (known := self._done.get(id(node))) is not None:
            self._charge(node, known[1])
            return known[0]
        if id(node) in self._open:
            raise _RefusedError(node, "has an alias that contains itself")
        if depth > MAX_DEPTH:
            raise _RefusedError(node, "is nested too deeply to be a manifest")
        self._open.add(id(node))
        before = self._count
        self._charge(node, 1)
        data: Any
        if isinstance(node, yaml.MappingNode):
            data = self._mapping(node, depth)
        else:
            data = [self.value(item, depth + 1) for item in node.value]
        self._open.discard(id(node))
        self._done[id(node)] = (data, self._count - before)
        return data

    def _charge(self, node: yaml.Node, nodes: int) -> None:
        self._count += nodes
        if self._count > MAX_NODES:
            raise _RefusedError(node, f"has more than {MAX_NODES} values once its aliases are followed")

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        own: set[str] = set()
        for name, value in node.value:
            if name.tag == _MERGE:
                for source in _merged(value):
                    merged = self.value(source, depth + 1)
                    if isinstance(merged, Mapping):
                        data = {**merged, **data}
                continue
            key = _key(name)
            if key in own:
                place = Place(name.start_mark.line + 1, name.start_mark.column + 1)
                self.duplicates.append(Trouble(place, f"the key {key} is there twice", key))
            own.add(key)
            data[key] = self.value(value, depth + 1)
        return data


def _key(node: yaml.Node) -> str:
    """A key as text: JSON, which kubectl makes of it, has no others."""
    if not isinstance(node, yaml.ScalarNode):
        raise _RefusedError(node, "has a key that is a mapping or a list")
    value = scalar(node)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(node.value) if value is None or isinstance(value, float) else str(value)


def scalar(node: yaml.ScalarNode) -> Any:
    """A scalar's value with go-yaml's type."""
    text: str = node.value
    make = _MAKE.get(node.tag)
    if make is None:
        return text
    try:
        return make(text)
    except ValueError:
        return text


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    if len(digits) > 100:
        raise ValueError("too long")
    if re.fullmatch(r"[-+]?0[0-7]+", digits):
        return int(digits, 8)
    return int(digits, 0)


def _float(text: str) -> float:
    return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))


_MAKE: dict[str, Callable[[str], Any]] = {
    _BOOL: _TRUE.__contains__, _NULL: lambda text: None, _INT: _integer, _FLOAT: _float,
}  # fmt: skip
