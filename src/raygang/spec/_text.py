"""A text by lines, as YAML 1.2 and editors count them (`str.splitlines` also ends lines at U+0085, U+2028, ...)."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Place:
    """Where something is: line and column from 1."""

    line: int
    column: int


class Text:
    """The lines of a text, at least one."""

    def __init__(self, text: str) -> None:
        ends = [match.span() for match in _END.finditer(text)]
        if not ends or ends[-1][1] < len(text):
            ends.append((len(text), len(text)))
        self._starts = [0, *(after for _, after in ends[:-1])]
        self.lines = [text[start:end] for start, (end, _) in zip(self._starts, ends, strict=True)]

    def place(self, index: int) -> Place:
        """The place of a character, counted from 0; one that is behind the text's end is at its end."""
        line = bisect_right(self._starts, index)
        return Place(line, min(index - self._starts[line - 1], len(self.lines[line - 1])) + 1)
