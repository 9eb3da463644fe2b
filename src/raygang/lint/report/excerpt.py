"""The line of a manifest that a finding blames, as a report may show it: short, and never with a secret in it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.cells import cell_len

from raygang.lint.model import Finding
from raygang.lint.source import Source

WIDTH = 100
# The rules whose findings stand where a secret stands.
SECRETS = ("secret-in-env", "redis-password-in-manifest", "secret-in-serve-config")
# A secret is kept back also where those rules were not asked for: what services hand out, a password in an address,
# and the value of a field or variable that is named after one.
_SECRET = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_|sk-|gh[pousr]_|github_pat_|glpat-|AKIA|xox[bp]-|nvapi-|eyJ)[A-Za-z0-9_-]{10,}"
    r"|//[^/\s:@]*:[^/\s@]+@"
    r"|(?:token|passw(?:or)?d|secret|credentials?|(?:api|access|private)[_-]?key)[\"']?\s*[:=,]",
    re.IGNORECASE,
)


class Excerpts:
    """The lines of all texts, and those among them that hold a secret."""

    def __init__(self, sources: Iterable[Source], findings: Iterable[Finding]) -> None:
        self._texts = {source.name: source.text for source in sources}
        self._lines: dict[str, list[str]] = {}
        self._secret = {(finding.file, finding.line) for finding in findings if finding.name in SECRETS}

    def of(self, finding: Finding) -> tuple[str, int] | None:
        """A part of the finding's line, and how many columns stand before the blamed one.

        None where there is no such line, nothing on it, or a secret.
        """
        lines = self._lines_of(finding.file)
        if not 0 < finding.line <= len(lines) or (finding.file, finding.line) in self._secret:
            return None
        line, column = lines[finding.line - 1], finding.column - 1
        if not line.strip() or _hides(lines, finding.line - 1):
            return None
        return _part(line, column)

    def _lines_of(self, file: str) -> list[str]:
        if file not in self._lines:
            self._lines[file] = self._texts.get(file, "").splitlines()
        return self._lines[file]


def _hides(lines: list[str], index: int) -> bool:
    """Whether a line may hold a secret; `value:` belongs to the `name:` of the lines around it."""
    if _SECRET.search(lines[index]):
        return True
    if not lines[index].lstrip(" -").startswith("value:"):
        return False
    return any(_SECRET.search(f"{line.strip()}:") for line in lines[max(0, index - 1) : index + 2] if "name:" in line)


def _part(line: str, column: int) -> tuple[str, int]:
    """What stands around a column, without the indentation and in at most WIDTH characters."""
    start = len(line) - len(line.lstrip())
    if column - start > WIDTH * 3 // 4:
        start = column - WIDTH // 2
    end = start + WIDTH
    shown = "".join(c if c.isprintable() else " " for c in line[start:end])
    before = "..." if line[:start].strip() else ""
    after = "..." if line[end:].strip() else ""
    return before + shown.rstrip() + after, len(before) + cell_len(shown[: max(0, column - start)])
