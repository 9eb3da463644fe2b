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


_VALUE = re.compile(r"\bvalue[\"']?\s*:")
_NAME = re.compile(r"\bname[\"']?\s*:\s*[\"']?([\w.-]+)")
# Variables whose values are switches and addresses; what any other has is its owner's business.
_SWITCH = re.compile(r"(?:RAY|VLLM|NCCL|CUDA|NVIDIA|UCX|GLOO|TORCH|OMP|HF_HUB|TRANSFORMERS|KUBERAY)_")
_WHOLE = re.compile(r"\.(env|args|command|runtime_env)(?:\[\d+\])?$")  # where it is a text, it may hold variables
_DOCUMENT = re.compile(r"---(?:\s|$)")
_KIND_SECRET = re.compile(r"\bkind[\"']?\s*:\s*[\"']?Secret\b")


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
        if not line.strip() or _hides(lines, finding):
            return None
        return _part(line, column)

    def _lines_of(self, file: str) -> list[str]:
        if file not in self._lines:
            self._lines[file] = self._texts.get(file, "").splitlines()
        return self._lines[file]


def _hides(lines: list[str], finding: Finding) -> bool:
    """Whether a finding's line may hold a secret."""
    index = finding.line - 1
    if _SECRET.search(lines[index]) or _of_a_secret(lines, finding):
        return True
    whole = _WHOLE.search(finding.path)
    if whole and not (whole[1] == "env" and _NAME.search(lines[index])):
        return True
    if not _VALUE.search(lines[index]):
        return False
    around = lines[max(0, index - 1) : index + 2]
    if any(_SECRET.search(f"{line.strip()}:") for line in around if "name:" in line):
        return True
    names = _names(lines, index)
    return not all(map(_SWITCH.match, names)) if names else ".env[" in finding.path


def _names(lines: list[str], index: int) -> list[str]:
    """The names that belong to the values on a line: on it, or else on the one above or below it."""
    above, below = lines[index - 1] if index else "", lines[index + 1] if index + 1 < len(lines) else ""
    first = lines[index].lstrip().startswith("-")
    near = (lines[index], below) if first else (lines[index], above, below)
    return next((found for line in near if (found := _NAME.findall(line))), [])


def _of_a_secret(lines: list[str], finding: Finding) -> bool:
    """Whether a line may be of the data of a Secret."""
    if finding.object:
        return finding.object.startswith("Secret/") and not finding.path.startswith("metadata")
    index = finding.line - 1
    start = next((i for i in range(index, -1, -1) if _DOCUMENT.match(lines[i])), 0)
    stop = next((i for i in range(index + 1, len(lines)) if _DOCUMENT.match(lines[i])), len(lines))
    return any(_KIND_SECRET.search(line) for line in lines[start:stop])


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
