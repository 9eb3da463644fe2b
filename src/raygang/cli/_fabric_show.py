"""`raygang fabric show`."""

from __future__ import annotations

import sys
from pathlib import Path

from raygang.cli._console import err, out
from raygang.fabric import view
from raygang.runtime.fabric.report import Report
from raygang.spec import UserError

STDIN = "-"


def read(source: str) -> Report:
    """The report of a file or of standard input."""
    return view.read_report(*read_text(source))


def read_text(source: str) -> tuple[str, str]:
    """The text of a file or of standard input, and what to call it."""
    try:
        data = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
    except OSError as e:
        raise UserError(f"{source}: {(e.strerror or str(e)).lower()}") from None
    return data.decode(errors="replace"), "standard input" if source == STDIN else source


def show(report: Report, form: str, target: Path | None) -> int:
    """Print a report or write it; the exit code of its verdict."""
    if form == "text" and target is None and out.is_terminal:
        out.print(view.text(report))
    else:
        write(shown(report, form), target)
    return 0 if report.passed else 1


def write(content: str, target: Path | None) -> None:
    """To a file, or to standard output."""
    if target is None:
        sys.stdout.write(content)
        return
    try:
        target.write_text(content, encoding="utf-8")
    except OSError as e:
        raise UserError(f"{target}: {(e.strerror or str(e)).lower()}") from None
    err.print(f"written {target}", markup=False)


def shown(report: Report, form: str) -> str:
    """A report in a form that is a text."""
    if form == "html":
        return view.html(report)
    if form == "svg":
        return view.svg(report)
    return report.model_dump_json() + "\n" if form == "json" else view.plain(report)
