"""Where the parts of a YAML document stand in its text: entries, dashes, colons, ends of lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import yaml

from raygang.lint._edits_data import EditRefusedError
from raygang.lint._scalars import MERGE, STR, key_of
from raygang.objects import Path

BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")  # YAML 1.1's ends of lines
_BLANK = re.compile(r"(?:[ \t]+|\r\n|[\n\r\x85\u2028\u2029]|#[^\n\r\x85\u2028\u2029]*)*")
_TAIL = re.compile(r"(?:\r\n|[\n\r])(?:[ \t]*(?:\r\n|[\n\r]))*[ \t]*\Z")
_ALIAS = re.compile(r"\*[^\s,\[\]{}]+")
_GAP = re.compile(r"[ \t]*")


@dataclass(frozen=True)
class Splice:
    """A part of a text, and what to write there instead."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Entry:
    """A field of a mapping or an item of a list (`key` is None) with the collection that it is in."""

    parent: yaml.Node
    index: int
    key: yaml.Node | None
    value: yaml.Node


def entries(node: yaml.Node) -> list[Entry]:
    """What is in a collection, in the order of the text."""
    if isinstance(node, yaml.MappingNode):
        return [Entry(node, i, key, value) for i, (key, value) in enumerate(node.value)]
    return [Entry(node, i, None, value) for i, value in enumerate(node.value)]


@dataclass(frozen=True)
class Layout:
    """A text and the root of one of its documents."""

    text: str
    root: yaml.Node

    @cached_property
    def newline(self) -> str:
        """How its lines end."""
        found = re.search(r"\r\n|\n", self.text)
        return found[0] if found else "\n"

    @cached_property
    def as_json(self) -> bool:
        """Whether its root is written like JSON."""
        return quoted_keys(self.root)

    def find(self, path: Path) -> tuple[list[Entry], Path]:
        """The entries on the way to a field, and what of the path is not there."""
        node, found = self.root, list[Entry]()
        for index, part in enumerate(path):
            entry = self._child(node, part)
            if entry is None:
                return found, path[index:]
            found.append(entry)
            node = entry.value
        return found, ()

    def _child(self, node: yaml.Node, part: str | int) -> Entry | None:
        inside = entries(node) if isinstance(node, yaml.CollectionNode) else []
        if isinstance(node, yaml.SequenceNode):
            own = [e for e in inside if e.index == part]
        else:
            own = [e for e in inside if e.key is not None and e.key.tag != MERGE and _named(e.key, part)]
        if len(own) > 1:
            raise EditRefusedError(f"{part} is there twice")
        if own and self.is_alias(own[0]):
            raise EditRefusedError(f"{part} is an alias (*) of what stands in another place")
        return own[0] if own else None

    def is_alias(self, entry: Entry) -> bool:
        """Whether a value is an alias: its node is then that of the anchor, which stands before it."""
        here = entry.value.start_mark.index
        if entry.key is not None:
            return bool(here < entry.key.start_mark.index)
        before = [entry.parent.start_mark.index, *(n.start_mark.index + 1 for n in entry.parent.value[: entry.index])]
        return bool(here < max(before))

    def end(self, entry: Entry) -> int:
        """Where a value ends, without comments and blank lines after it."""
        if not self.is_alias(entry):
            return self.end_of(entry.value)
        found = _ALIAS.match(self.text, _GAP.match(self.text, self.after(entry)).end())  # type: ignore[union-attr]
        if found is None:
            raise EditRefusedError("an alias (*) stands beside it")
        return found.end()

    def end_of(self, node: yaml.Node) -> int:
        """The same for a node."""
        end = int(node.end_mark.index)
        if isinstance(node, yaml.ScalarNode):
            if node.style not in ("|", ">"):
                return end
            tail = _TAIL.search(self.text, node.start_mark.index, end)
            return tail.start() if tail else end
        inside = entries(node)
        return end if in_flow(node) or not inside else self.end(inside[-1])

    def after(self, entry: Entry) -> int:
        """Behind the colon of a field, or the dash of an item of a list in block style."""
        sign, start = "-", entry.parent.start_mark.index
        if entry.key is not None:
            sign, start = ":", entry.key.end_mark.index
        elif entry.index:
            start = self.end(entries(entry.parent)[entry.index - 1])
        here = self.skip(start)
        if self.text[here : here + 1] != sign:
            raise EditRefusedError("its place in the text is not plain to see")
        return here + 1

    def skip(self, start: int) -> int:
        """Behind blanks, ends of lines and comments."""
        found = _BLANK.match(self.text, start)
        return found.end() if found else start

    def comments(self, entry: Entry) -> tuple[str, ...]:
        """The comments that stand right above a field, in its column."""
        start = self.start(entry)
        line, found = self.line_start(start), list[str]()
        column = self.text[line:start]
        while line and not column.strip():
            line = self.above(line, 1)
            above = self.text[line : self.line_end(line)]
            if not above.startswith(column + "#"):
                break
            found.insert(0, above.strip())
        return tuple(found)

    def start(self, entry: Entry) -> int:
        """Where an entry in block style starts: at its name, or at its dash."""
        return int(entry.key.start_mark.index) if entry.key is not None else self.after(entry) - 1

    def above(self, line: int, count: int) -> int:
        """Where the line starts that stands so many lines above one that starts here."""
        for _ in range(count):
            line = self.line_start(line - (2 if self.text[line - 2 : line] == "\r\n" else 1))
        return line

    def line_start(self, place: int) -> int:
        """Where the line of a place starts."""
        start = self.text.rfind("\n", 0, place) + 1
        return max(start, *(self.text.rfind(sign, start, place) + 1 for sign in "\r\x85\u2028\u2029"))

    def line_end(self, place: int) -> int:
        """Where the line of a place ends, before the sign of its end."""
        found = BREAK.search(self.text, place)
        return found.start() if found else len(self.text)

    def next_line(self, place: int) -> int:
        """Where the next line starts."""
        found = BREAK.search(self.text, place)
        return found.end() if found else len(self.text)


def in_flow(node: yaml.Node) -> bool:
    """Whether a node is a collection in flow style: {} or []."""
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def quoted_keys(node: yaml.Node) -> bool:
    """Whether a collection in flow style is written like JSON, as far as its first key shows."""
    if not in_flow(node) or not node.value:
        return False
    first = node.value[0]
    return first[0].style == '"' if isinstance(node, yaml.MappingNode) else quoted_keys(first)


def _named(key: yaml.Node, part: str | int) -> bool:
    return bool(key.value == part) or (key.tag != STR and key_of(key) == part)
