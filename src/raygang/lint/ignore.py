"""Comments that ignore a finding: `# raygang: ignore[RAY005] why`, on its line, on the field above it, or before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_COMMENT = re.compile(r"#\s*raygang:\s*ignore(?:\[([^\]]*)\])?\s*(.*?)\s*$", re.IGNORECASE)


@dataclass
class Ignore:
    """One such comment.

    Attributes:
        line: where it stands, from 1.
        column: likewise.
        codes: upper case; empty when it names none.
        reason: empty when it gives none.
        covers: the line whose findings it ignores: its own, or the next with content when it stands alone.
        used: the codes that ignored something.
    """

    line: int
    column: int
    codes: tuple[str, ...]
    reason: str
    covers: int
    used: set[str] = field(default_factory=set)


def ignores(text: str) -> list[Ignore]:
    """All ignoring comments of a text."""
    if "raygang" not in text.lower():
        return []
    return list(_ignores(text.splitlines()))


def _ignores(lines: list[str]) -> Iterator[Ignore]:
    for number, line in enumerate(lines, start=1):
        match = _COMMENT.search(line)
        if match is None or _quoted(line[: match.start()]):
            continue
        codes = tuple(code.strip().upper() for code in (match[1] or "").split(",") if code.strip())
        alone = not line[: match.start()].strip()
        covers = _next_content(lines, number) if alone else number
        yield Ignore(number, match.start() + 1, codes, match[2], covers)


def _next_content(lines: list[str], number: int) -> int:
    for later, line in enumerate(lines[number:], start=number + 1):
        if line.strip() and not line.lstrip().startswith("#"):
            return later
    return number


def _quoted(before: str) -> bool:
    """Whether a # after this is inside quotes, or part of a word."""
    return before.count('"') % 2 == 1 or before.count("'") % 2 == 1 or (before != "" and not before[-1].isspace())
