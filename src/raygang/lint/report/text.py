"""The report for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.text import Text

from raygang.lint.model import Finding, Outcome
from raygang.lint.report.excerpt import Excerpts
from raygang.lint.report.words import because, summary, unchecked, visible, write
from raygang.lint.source import Source

STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}


def text_report(outcome: Outcome, sources: Iterable[Source] = ()) -> Iterator[Text]:
    """Lines: each finding with its place, its reason and what to write instead, then a summary.

    A line's `plain` is what a file gets; a terminal may print it with its colours.

    Args:
        outcome: what linting gave.
        sources: the texts that were linted; the blamed lines of those that are given are shown.
    """
    excerpts = Excerpts(sources, outcome.findings)
    before: Finding | None = None
    for finding in outcome.findings:
        shown = before is not None and _place(before) == _place(finding)
        yield from _finding(finding, None if shown else excerpts.of(finding))
        yield Text()
        before = finding
    yield Text(summary(outcome), style="bold")
    for line in unchecked(outcome):
        yield Text(line, style="dim")
    if outcome.findings:
        yield Text(f"`raygang rule CODE` tells more, for example: raygang rule {_example(outcome)}", style="dim")


def _place(finding: Finding) -> tuple[str, int, int]:
    return finding.file, finding.line, finding.column


def _example(outcome: Outcome) -> str:
    worst = outcome.worst()
    return next(finding.code for finding in outcome.findings if finding.severity == worst)


def _finding(finding: Finding, excerpt: tuple[str, int] | None) -> Iterator[Text]:
    yield Text.assemble(
        (f"{visible(finding.file)}:{finding.line}:{finding.column}", "bold"),
        f" {finding.code} ",
        (finding.severity, STYLES[finding.severity]),
        f" {visible(finding.what)}",
    )
    if _is_block(finding):  # its first line would be that of another field
        yield Text(f"  at: {visible(finding.object)} {visible(finding.path)}")
    elif excerpt is not None:
        line, column = excerpt
        number = str(finding.line)
        yield Text.assemble((f"  {number} | ", "dim"), line)
        yield Text.assemble((f"  {' ' * len(number)} | ", "dim"), (" " * column + "^", STYLES[finding.severity]))
    yield Text(f"  {because(finding)}")
    yield Text(f"  {write(finding)}")


def _is_block(finding: Finding) -> bool:
    """Whether the blamed field is a mapping or a list of several lines; items of a list begin with what names them."""
    return finding.end_line > finding.line and re.search(r"\[\d+\]$", finding.path) is None
