"""Splices that take a field away, or give it another name."""

from __future__ import annotations

import yaml

from raygang.lint import _edits_words as words
from raygang.lint._edits_data import EditRefusedError, Step
from raygang.lint._edits_nodes import Entry, Layout, Splice, entries, in_flow, quoted_keys


def target(layout: Layout, step: Step) -> Entry:
    """The entry of a field that is there."""
    found, missing = layout.find(step.path)
    if missing or not found:
        raise EditRefusedError("it comes from a merge key (<<)")
    return found[-1]


def renamed(layout: Layout, step: Step) -> list[Splice]:
    """How to give a field another name in its mapping."""
    entry = target(layout, step)
    key = entry.key
    if key is None or step.rename is None:
        raise EditRefusedError("an item of a list has no name")
    as_json = layout.as_json or quoted_keys(entry.parent)
    quote = key.style if isinstance(key, yaml.ScalarNode) and key.style in ("'", '"') else ""
    text = words.scalar(step.rename, quote=quote, as_json=as_json)
    return [Splice(key.start_mark.index, key.end_mark.index, text)]


def splices(layout: Layout, step: Step) -> list[Splice]:
    """How to take a field away with its lines; comments before it stay."""
    entry = target(layout, step)
    if in_flow(entry.parent):
        return _from_flow(layout, entry)
    end = layout.end(entry)
    if len(entry.parent.value) == 1:
        return _last(layout, step, entry, end)
    start = layout.start(entry)
    line = layout.line_start(start)
    if not layout.text[line:start].strip():
        return [_lines(layout, layout.above(line, len(step.comments)), end)]
    return [_behind_dash(layout, entry, start, end)]


def _start(layout: Layout, entry: Entry) -> int:
    return int(entry.key.start_mark.index) if entry.key is not None else layout.after(entry) - 1


def _lines(layout: Layout, line: int, end: int) -> Splice:
    """Whole lines, with the sign of the end of the last one."""
    stop = layout.next_line(end)
    if stop == layout.line_end(end) and line:  # the last line of the text, without such a sign
        before = layout.text[:line]
        line -= 2 if before.endswith("\r\n") else 1
    return Splice(line, stop, "")


def _behind_dash(layout: Layout, entry: Entry, start: int, end: int) -> Splice:
    """The first field of an item of a list: the next takes its place, unless a comment stands between them."""
    if entry.index + 1 == len(entry.parent.value):
        raise EditRefusedError("its place in the text is not plain to see")
    following = layout.start(entries(entry.parent)[entry.index + 1])
    stop = layout.line_end(end)
    if not layout.text[stop:following].strip():
        return Splice(start, following, "")
    kept = layout.text[:start].rstrip(" ")
    return Splice(len(kept), stop, "")


def _last(layout: Layout, step: Step, entry: Entry, end: int) -> list[Splice]:
    """The only field of a block: it leaves an empty mapping or list."""
    empty = "{}" if entry.key is not None else "[]"
    start = layout.start(entry)
    line = layout.line_start(start)
    above, _ = layout.find(step.path[:-1])
    if layout.text[line:start].strip() or not above:
        return [Splice(start, end, empty)]
    behind = layout.after(above[-1])
    if layout.text[entry.parent.start_mark.index] in "&!":
        raise EditRefusedError("it is all that stands under an anchor (&) or a tag (!)")
    if layout.line_start(behind) == line:
        return [Splice(start, end, empty)]
    return [Splice(behind, behind, " " + empty), _lines(layout, layout.above(line, len(step.comments)), end)]


def _from_flow(layout: Layout, entry: Entry) -> list[Splice]:
    inside = entries(entry.parent)
    start, end = _flow_start(entry), layout.end(entry)
    if entry.index + 1 < len(inside):
        following = _flow_start(inside[entry.index + 1])
        if "#" not in layout.text[end:following]:
            return [Splice(start, following, "")]
        return [Splice(start, layout.skip(end) + 1, "")]
    if entry.index:
        return [Splice(layout.end(inside[entry.index - 1]), end, "")]
    comma = layout.skip(end)
    return [Splice(start, comma + 1 if layout.text[comma] == "," else end, "")]


def _flow_start(entry: Entry) -> int:
    return int((entry.key if entry.key is not None else entry.value).start_mark.index)
