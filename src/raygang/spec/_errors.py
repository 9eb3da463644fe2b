"""What a user's mistake becomes: one exception, with everything that is wrong and where."""

from __future__ import annotations

from dataclasses import dataclass

EXCERPT = 120  # characters of a line in a message


class UserError(Exception):
    """Something that the user can mend. The command line prints it and exits with `exit_code`.

    Attributes:
        message: what is wrong, and where.
        hint: what to write or do instead.
        exit_code: 1 what was asked for failed, 2 usage, 3 something could not be reached.
    """

    def __init__(self, message: str, *, hint: str | None = None, exit_code: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a file.

    Attributes:
        file: its name, as the user gave it.
        line: counted from 1; None where no line is to blame.
        column: counted from 1.
        field: dotted path, for example "engine.args.dtype".
        message: what is wrong with it.
        given: what stands there.
        allowed: what may stand there.
        suggestion: the nearest valid name or value.
        source: the line's text.
    """

    file: str
    line: int | None
    column: int | None
    field: str
    message: str
    given: str | None = None
    allowed: str | None = None
    suggestion: str | None = None
    source: str | None = None

    def __str__(self) -> str:
        place = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
        head = f"{place}: {self.field}: {self.message}" if self.field else f"{place}: {self.message}"
        if self.given is not None:
            head += f", not {self.given}"
        if self.suggestion:
            head += f"; did you mean {self.suggestion}?"
        lines = [head]
        if self.source is not None and self.column is not None:
            lines += [f"    {part}" for part in _excerpt(self.source, self.column)]
        if self.allowed:
            lines.append(f"    allowed: {self.allowed}")
        return "\n".join(lines)


class SpecError(UserError):
    """A specification that cannot be used; all of its problems at once, in the order of the file."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


def _excerpt(source: str, column: int) -> tuple[str, str]:
    """A line and a caret below a column of it; of a long line, what is around the column."""
    start = max(0, column - EXCERPT // 2) if len(source) > EXCERPT else 0
    before, after = "..." if start else "", "..." if start + EXCERPT < len(source) else ""
    shown = "".join(c if c.isprintable() else " " for c in source[start : start + EXCERPT])
    return before + shown + after, " " * (len(before) + column - 1 - start) + "^"
