"""Workflow commands: GitHub shows each finding on its line of a pull request.

The escapes are those of the runner (actions/toolkit, packages/core/src/command.ts).
"""

from __future__ import annotations

from raygang.lint.model import Finding, Outcome
from raygang.lint.report.words import because, summary, unchecked, visible, write

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_DATA = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))  # % first: the others bring more of it
_PROPERTY = (*_DATA, (":", "%3A"), (",", "%2C"))


def github_report(outcome: Outcome) -> str:
    """A command for each finding, one for all that was not checked, and the summary as a line of the log."""
    lines = [_command(finding) for finding in outcome.findings]
    if outcome.unchecked:
        lines.append(f"::notice title=raygang lint::{_escaped(chr(10).join(unchecked(outcome)), _DATA)}")
    return "\n".join([*lines, summary(outcome)]) + "\n"


def _command(finding: Finding) -> str:
    # GitHub draws an annotation below its last line and drops the column of one with several. A field may be a whole
    # pod template: so it ends where it starts.
    properties = {
        "file": finding.file,
        "line": finding.line,
        "col": finding.column,
        "endLine": finding.line,
        "title": f"{finding.code} {finding.name}",
    }
    head = ",".join(f"{key}={_escaped(str(value), _PROPERTY)}" for key, value in properties.items())
    message = "\n".join((visible(finding.what), because(finding), write(finding)))
    return f"::{COMMANDS[finding.severity]} {head}::{_escaped(message, _DATA)}"


def _escaped(text: str, table: tuple[tuple[str, str], ...]) -> str:
    for character, escape in table:
        text = text.replace(character, escape)
    return text
