"""Words that several reports share."""

from __future__ import annotations

from collections import Counter

from raygang.lint.model import ORDER, Finding, Outcome, Severity
from raygang.objects.words import counted


def visible(text: str) -> str:
    """A text in one line and without control characters: manifests are anybody's, and a terminal obeys them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def by_severity(outcome: Outcome) -> dict[Severity, int]:
    """How many findings there are of each severity, also of those that have none."""
    found = Counter(finding.severity for finding in outcome.findings)
    return {severity: found[severity] for severity in ORDER}


def summary(outcome: Outcome) -> str:
    """What was read and what was found, in one line."""
    read = f"{counted(outcome.files, 'file')}, {counted(outcome.documents, 'object')}"
    read += f", {counted(outcome.workloads, 'Ray workload')}"
    found = [counted(number, severity) for severity, number in by_severity(outcome).items()]
    return f"{read}: {', '.join(found)}, {outcome.ignored} ignored"


def unchecked(outcome: Outcome) -> list[str]:
    """What was not checked, one line each."""
    return [
        f"not checked: {visible(what).replace(': not checked, needs ', ': needs ', 1)}" for what in outcome.unchecked
    ]


def because(finding: Finding) -> str:
    """What happens because of a finding, as a line of its own."""
    return f"because: {visible(finding.because)}"


def write(finding: Finding) -> str:
    """What to write instead, as a line of its own."""
    return f"write: {visible(finding.write)}"
