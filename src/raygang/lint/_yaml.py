"""YAML as kubectl reads it (sigs.k8s.io/yaml, YAML 1.1 of go-yaml v2), with the place of every node.

PyYAML's binding to libyaml does the parsing: manifests come in thousands, and it is some twenty times as fast as a
parser in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from raygang.lint._scalars import MERGE, STR, KubectlLoader, RefusedError, key_of, scalar
from raygang.objects import Path

MAX_NODES = 2_000_000  # of one document with its aliases followed: a few lines can otherwise mean billions
MAX_DEPTH = 200


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
    text: str = field(default="", repr=False)
    """The whole text that it stands in: places inside texts within it are found by it."""
    _inner: dict[int, _Inner | None] = field(default_factory=dict, repr=False, compare=False)

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Where a field stands, or the nearest one above it that is there.

        A path may go on inside a text that is YAML itself, such as serveConfigV2; where such a text is no YAML, a
        number is a line of it.

        Args:
            path: the field.
            key: the place of its name rather than of its value.
        """
        node = self.root
        mark = node.start_mark if node else None
        for index, part in enumerate(path):
            child = _child(node, part)
            if child is None:
                inner = self._within(node)
                if inner is not None:
                    return inner.place(path[index:], key=key)
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
        for index, part in enumerate(path[:-1]):
            child = _child(parent, part)
            if child is None and (inner := self._within(parent)) is not None:
                return inner.span(path[index:])
            parent = child[1] if child else None
        if (inner := self._within(parent)) is not None:
            return inner.span(path[-1:])
        found = _child(parent, path[-1])
        if found is None:
            line = self.place(path).line
            return line, line
        name, node = found
        end = node.end_mark.line + (1 if node.end_mark.column else 0)
        start = (name or node).start_mark.line + 1
        return start, max(start, end)

    def _within(self, node: yaml.Node | None) -> _Inner | None:
        """A text in literal style (`|`) as YAML of its own: only there each of its lines is a line of the file."""
        if not isinstance(node, yaml.ScalarNode) or node.style != "|" or not self.text:
            return None
        if id(node) not in self._inner:
            self._inner[id(node)] = _Inner.of(node, self.text)
        return self._inner[id(node)]


@dataclass(frozen=True)
class _Inner:
    """A document within a document: its tree, None where it is no YAML, and where its first character stands."""

    tree: Tree | None
    line: int
    column: int

    @staticmethod
    def of(node: yaml.ScalarNode, text: str) -> _Inner:
        first = node.start_mark.line + 1  # the line below the |
        lines = text[node.start_mark.index : node.end_mark.index].splitlines()[1:]
        column = 0
        for offset, line in enumerate(node.value.split("\n")):
            if line.strip():
                outer = lines[offset] if offset < len(lines) else line
                column = max(0, outer.find(line))
                break
        tree = next(read(node.value), None)
        return _Inner(tree if isinstance(tree, Tree) else None, first, column)

    def place(self, path: Path, *, key: bool) -> Place:
        if self.tree is None:
            line = path[0] if isinstance(path[0], int) else 1
            return Place(self.line + line, self.column + 1)
        place = self.tree.place(path, key=key)
        return Place(self.line + place.line, self.column + place.column)

    def span(self, path: Path) -> tuple[int, int]:
        if self.tree is None:
            line = self.place(path, key=False).line
            return line, line
        start, end = self.tree.span(path)
        return self.line + start, self.line + end


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
            yield _build(root, text)
    except (yaml.YAMLError, RefusedError) as e:
        yield _trouble(e)
    except RecursionError:
        yield Trouble(Place(1, 1), "is nested too deeply to be a manifest")
    finally:
        loader.dispose()


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
            if name.tag == MERGE and found is None:
                found = next((hit for source in _merged(value) if (hit := _child(source, part))), None)
            elif name.value == part or (name.tag != STR and key_of(name) == part):
                found = (name, value)  # the last one wins, as in kubectl
        return found
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
        return None, node.value[part]
    return None


def _merged(value: yaml.Node) -> list[yaml.Node]:
    return list(value.value) if isinstance(value, yaml.SequenceNode) else [value]


def _build(root: yaml.Node, text: str) -> Tree:
    builder = _Builder()
    data = builder.value(root, 0)
    return Tree(root, data, builder.duplicates, text)


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
            raise RefusedError(node, "has an alias that contains itself")
        if depth > MAX_DEPTH:
            raise RefusedError(node, "is nested too deeply to be a manifest")
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
            raise RefusedError(node, f"has more than {MAX_NODES} values once its aliases are followed")

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        own: set[str] = set()
        for name, value in node.value:
            if name.tag == MERGE:
                for source in _merged(value):
                    merged = self.value(source, depth + 1)
                    if isinstance(merged, Mapping):
                        data = {**merged, **data}
                continue
            key = key_of(name)
            if key in own:
                place = Place(name.start_mark.line + 1, name.start_mark.column + 1)
                self.duplicates.append(Trouble(place, f"the key {key} is there twice", key))
            own.add(key)
            data[key] = self.value(value, depth + 1)
        return data
