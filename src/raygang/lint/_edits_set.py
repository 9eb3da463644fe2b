"""Splices that write a value: over an old one, or as a new entry of a mapping or a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from raygang.lint import _edits_words as words
from raygang.lint._edits_data import EditRefusedError, Step, nested
from raygang.lint._edits_nodes import BREAK, Entry, Layout, Splice, entries, in_flow, quoted_keys
from raygang.lint._scalars import MERGE

_INDENT = 2


def splices(layout: Layout, step: Step) -> list[Splice]:
    """How to set a field."""
    found, missing = layout.find(step.path)
    if not missing:
        return _over(layout, found[-1], step)
    node = found[-1].value if found else layout.root
    if isinstance(node, yaml.ScalarNode) and found:
        if node.tag != "tag:yaml.org,2002:null":
            raise EditRefusedError(f"what {missing[0]} would stand in is no mapping")
        return _over(layout, found[-1], Step(step.path, nested(missing, step.value)))
    if isinstance(node, yaml.MappingNode):
        _no_merge(node, str(missing[0]))
    new = _New(missing[0], nested(missing[1:], step.value), step.source if len(missing) == 1 else None, step.comments)
    return _into(layout, node, new)


def _no_merge(node: yaml.MappingNode, name: str) -> None:
    if any(key.tag == MERGE for key, _ in node.value):
        raise EditRefusedError(f"the mapping that {name} would stand in has a merge key (<<)")


def _over(layout: Layout, entry: Entry, step: Step) -> list[Splice]:
    """A value in place of another."""
    old, value = entry.value, step.value
    start, end = old.start_mark.index, layout.end(entry)
    if layout.text[start : start + 1] == "&":
        raise EditRefusedError("it has an anchor (&), and other places may take their value from it")
    as_json = layout.as_json or quoted_keys(entry.parent)
    begin = start if in_flow(entry.parent) and entry.key is None else -1
    colon = layout.after(entry) if begin < 0 else begin
    if words.is_block(value) and not in_flow(entry.parent):
        column = _column(layout, entry)
        lines = _shifted(words.block(value), column + _INDENT)
        gap = Splice(colon, end, "") if not layout.text[colon:start].strip() else Splice(start, end, "")
        line = layout.line_end(end)
        return [gap, Splice(line, line, layout.newline + layout.newline.join(lines))]
    if words.is_block(value) or isinstance(value, dict | list):
        text = words.flow(value, as_json=as_json)
    else:
        quote = old.style if isinstance(old, yaml.ScalarNode) and old.style in ("'", '"') else ""
        text = words.scalar(value, quote=quote, as_json=as_json)
    if isinstance(old, yaml.CollectionNode) and not in_flow(old) and not layout.text[colon:start].strip():
        return [Splice(colon, end, " " + text)]
    return [Splice(start, end, text if start > colon or colon == begin else " " + text)]


@dataclass(frozen=True)
class _New:
    """A new entry: its name or number, its value, the text and the comments that it had before it moved."""

    part: str | int
    value: Any
    source: tuple[str, int] | None
    comments: tuple[str, ...]

    def lines(self) -> list[str]:
        name = str(self.part)
        own = words.entry(name, self.value) if self.source is None else _kept(name, self.source)
        return [*self.comments, *own]


def _into(layout: Layout, node: yaml.Node, new: _New) -> list[Splice]:
    """A new entry of a collection."""
    part = new.part
    if isinstance(node, yaml.SequenceNode) != isinstance(part, int) or isinstance(node, yaml.ScalarNode):
        raise EditRefusedError(f"what {part} would stand in is no {'list' if isinstance(part, int) else 'mapping'}")
    if isinstance(node, yaml.SequenceNode) and part != len(node.value):
        raise EditRefusedError(f"the list has no item {part}")
    if in_flow(node):
        return _into_flow(layout, node, part, new.value)
    if isinstance(node, yaml.MappingNode):
        return _into_mapping(layout, node, new.lines())
    return _into_list(layout, node, new.value)


def _kept(name: str, source: tuple[str, int]) -> list[str]:
    """A field whose value keeps the text that it had where it comes from. `source`: that text, and its column."""
    text, column = source
    lines = BREAK.split(text)
    if len(lines) == 1 and column < 0:
        return [f"{words.scalar(name)}: {text}"]
    shifted = [" " * _INDENT + line[_free(line, column) :] if line.strip() else "" for line in lines]
    return [f"{words.scalar(name)}:", *shifted]


def _free(line: str, column: int) -> int:
    return min(column, len(line) - len(line.lstrip(" ")))


def _into_mapping(layout: Layout, node: yaml.Node, lines: list[str]) -> list[Splice]:
    inside = entries(node)
    first, last = inside[0], inside[-1]
    start = first.key.start_mark.index if first.key is not None else node.start_mark.index
    column = start - layout.line_start(start)
    if _open_ended(layout, last):
        text = layout.newline.join([lines[0], *_shifted(lines[1:], column)])
        return [Splice(start, start, text + layout.newline + " " * column)]
    line = layout.line_end(layout.end(last))
    return [Splice(line, line, "".join(layout.newline + text for text in _shifted(lines, column)))]


def _open_ended(layout: Layout, entry: Entry) -> bool:
    """Whether a line after a value would become a part of it, or change it."""
    node = entry.value
    while isinstance(node, yaml.CollectionNode) and not in_flow(node) and node.value:
        last = entries(node)[-1]
        if layout.is_alias(last):
            return False
        node = last.value
    if not isinstance(node, yaml.ScalarNode) or node.style not in ("|", ">"):
        return False
    start = node.start_mark.index
    return "+" in layout.text[start : layout.line_end(start)] or layout.end_of(node) == len(layout.text)


def _into_list(layout: Layout, node: yaml.Node, value: Any) -> list[Splice]:
    inside = entries(node)
    last = inside[-1]
    if _open_ended(layout, last):
        raise EditRefusedError("the list ends in a text that takes in the lines after it")
    dash = layout.after(inside[0]) - 1
    like = last.value
    short = in_flow(like) and not layout.is_alias(last)
    lines = [f"- {words.flow(value, as_json=quoted_keys(like))}"] if short else words.list_item(value)
    line = layout.line_end(layout.end(last))
    shifted = _shifted(lines, dash - layout.line_start(dash))
    return [Splice(line, line, "".join(layout.newline + text for text in shifted))]


def _into_flow(layout: Layout, node: yaml.Node, part: str | int, value: Any) -> list[Splice]:
    as_json = layout.as_json or quoted_keys(node)
    text = words.flow(value, as_json=as_json)
    if not isinstance(part, int):
        text = f"{words.scalar(part, as_json=as_json)}: {text}"
    if not node.value:
        close = node.end_mark.index - 1
        return [Splice(close, close, text)]
    last = entries(node)[-1]
    end = layout.end(last)
    comma = layout.skip(end)
    trailing = layout.text[comma] == ","
    begin = (last.key if last.key is not None else last.value).start_mark.index
    line = layout.line_start(begin)
    place = comma + 1 if trailing else end
    comma_splice = [] if trailing else [Splice(end, end, ",")]
    if layout.text[line:begin].strip() or layout.line_end(place) > layout.skip(place):
        return [Splice(place, place, ("" if trailing else ",") + f" {text}" + ("," if trailing else ""))]
    new_line = f"{layout.newline}{layout.text[line:begin]}{text}" + ("," if trailing else "")
    place = layout.line_end(place)
    if comma_splice and place == end:
        return [Splice(end, end, "," + new_line)]
    return [*comma_splice, Splice(place, place, new_line)]


def _column(layout: Layout, entry: Entry) -> int:
    begin = entry.key.start_mark.index if entry.key is not None else layout.after(entry) - 1
    return begin - layout.line_start(begin)


def _shifted(lines: list[str], column: int) -> list[str]:
    return [" " * column + line if line else line for line in lines]
