"""Steps of an edit as splices of a text, also where the field stands in a text within the text (serveConfigV2)."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any

import yaml

from raygang.lint import _edits_delete, _edits_set
from raygang.lint._edits_data import TEXT_FIELD, EditRefusedError, Step, look
from raygang.lint._edits_nodes import BREAK, Entry, Layout, Splice, in_flow
from raygang.lint._yaml import Tree, read
from raygang.objects import Path

_TEMPLATE = re.compile(r"\{\{")


@dataclass(frozen=True)
class Inside:
    """A step within a text that is YAML itself: where that text stands, and its splices there."""

    path: Path
    step: Step
    splices: list[Splice]


def plan(text: str, tree: Tree, step: Step) -> tuple[list[Splice], Inside | None]:
    """The splices of a step, and what they mean in an inner text. Raises EditRefusedError where there are none."""
    if tree.root is None:
        raise EditRefusedError("there is no document")
    layout = Layout(text, tree.root)
    outer = _until_text(tree.data, step.path)
    if outer is None:
        return _checked(layout, _splices(layout, step)), None
    path, rest = outer
    entry = _edits_delete.target(layout, Step(path))
    inner_step = replace(step, path=rest)
    node = entry.value
    if not isinstance(node, yaml.ScalarNode):
        raise EditRefusedError("its place in the text is not plain to see")
    inner = _inner(node)
    found = _checked(inner, _splices(inner, inner_step))
    return _outer(layout, node, found), Inside(path, inner_step, found)


def kept(text: str, tree: Tree, path: Path, to: Path) -> tuple[tuple[str, int] | None, tuple[str, ...]]:
    """What a field takes with it when it moves: the text of its value with its column, and the comments above it.

    The column is -1 where the value stands on the line of its name; no text is kept where it has to be rewritten.
    """
    if tree.root is None or _until_text(tree.data, path) is not None:
        return None, ()
    layout = Layout(text, tree.root)
    entry = _edits_delete.target(layout, Step(path))
    above, _ = layout.find(to[:-1])
    if in_flow(entry.parent) or (above and in_flow(above[-1].value)):
        return None, ()
    return _source(layout, entry), layout.comments(entry)


def _source(layout: Layout, entry: Entry) -> tuple[str, int] | None:
    node, start, end = entry.value, entry.value.start_mark.index, layout.end(entry)
    if layout.is_alias(entry) or layout.text[start : start + 1] in ("&", "!"):
        return None
    if isinstance(node, yaml.CollectionNode) and not in_flow(node):
        behind = layout.after(entry)
        line = layout.next_line(behind)
        if line > start:
            return None
        comment = layout.text[behind:line].strip()
        column = start - layout.line_start(start)
        first = f"{' ' * column}{comment}{layout.newline}" if comment else ""
        return first + layout.text[line : layout.line_end(end)], column
    one_line = BREAK.search(layout.text, start, end) is None
    return (layout.text[start : layout.line_end(end)], -1) if one_line else None


def _splices(layout: Layout, step: Step) -> list[Splice]:
    if step.rename is not None:
        return _edits_delete.renamed(layout, step)
    return _edits_delete.splices(layout, step) if step.delete else _edits_set.splices(layout, step)


def _checked(layout: Layout, found: list[Splice]) -> list[Splice]:
    for splice in found:
        if _TEMPLATE.search(layout.text, layout.line_start(splice.start), layout.line_end(splice.end)):
            raise EditRefusedError("a template ({{ }}) stands there")
    return found


def _until_text(data: Any, path: Path) -> tuple[Path, Path] | None:
    length = path.index(TEXT_FIELD) + 1 if TEXT_FIELD in path[:-1] else 0
    return (path[:length], path[length:]) if length and isinstance(look(data, path[:length])[1], str) else None


def _inner(node: yaml.ScalarNode) -> Layout:
    found = list(read(node.value))
    if len(found) != 1 or not isinstance(found[0], Tree) or found[0].root is None:
        raise EditRefusedError("the text that it stands in is not one document of YAML")
    return Layout(node.value, found[0].root)


def _outer(layout: Layout, node: yaml.ScalarNode, inner: list[Splice]) -> list[Splice]:
    """Splices of an inner text as splices of the text around it."""
    start, end = node.start_mark.index, node.end_mark.index
    if node.style == '"' and layout.text[start] == '"':
        return [Splice(start, end, json.dumps(spliced(node.value, inner), ensure_ascii=layout.text.isascii()))]
    if node.style != "|" or layout.text[start] != "|":
        raise EditRefusedError("it stands in a text that is not in literal style (|)")
    outer_lines = _starts(layout.text, layout.next_line(start), end)
    inner_lines = _starts(node.value, 0, len(node.value))
    if len(outer_lines) < len(inner_lines):
        raise EditRefusedError("its place in the text is not plain to see")
    indent = _indentation(layout.text, outer_lines, node.value, inner_lines)
    found = []
    for splice in inner:
        if splice.text == "" and {splice.start, splice.end} <= set(inner_lines):  # whole lines, with their indentation
            start, end = (outer_lines[inner_lines.index(place)] for place in (splice.start, splice.end))
        else:
            start, end = (_through(p, inner_lines, outer_lines, len(indent)) for p in (splice.start, splice.end))
        found.append(Splice(start, end, BREAK.sub(lambda _: layout.newline + indent, splice.text)))
    return found


def _starts(text: str, start: int, end: int) -> list[int]:
    return [start, *(match.end() for match in BREAK.finditer(text, start, end))]


def _indentation(text: str, outer: list[int], value: str, inner: list[int]) -> str:
    for there, here in zip(outer, inner, strict=False):
        stop = BREAK.search(value, here)
        line = value[here : stop.start() if stop else len(value)]
        if line.strip():
            column = text.find(line, there) - there
            return text[there : there + column]
    return ""


def _through(place: int, inner: list[int], outer: list[int], indent: int) -> int:
    number = bisect_right(inner, place) - 1
    return outer[number] + indent + place - inner[number]


def spliced(text: str, splices: list[Splice]) -> str:
    """A text with its splices, none of which overlap."""
    parts, here = [], 0
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        parts += [text[here : splice.start], splice.text]
        here = splice.end
    return "".join([*parts, text[here:]])
