"""A report on a terminal: colours say what the numbers say too, so that it reads without them as well."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from raygang.fabric.view import words
from raygang.fabric.view.matrix import KINDS, MOST, Cell, Matrix, matrix
from raygang.fabric.view.numbers import findings, numbers, simulated
from raygang.fabric.view.shades import SHADES, shade
from raygang.fabric.view.tables import moved, rank_table
from raygang.runtime.fabric.report import Report

_WIDE = 10_000  # columns: a line that is longer than the terminal is the terminal's to break
_STYLES = {"first cause": "bold red", "failure": "red", "warning": "yellow"}


@dataclass(frozen=True)
class _Unbroken:
    """A table whose columns are as wide as their words, whatever the terminal is."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.table, options.update(max_width=_WIDE))


def text(report: Report) -> Group:
    """The report: verdict, findings, ranks, links, and what moved."""
    return Group(*_parts(report, colours=True))


def plain(report: Report) -> str:
    """The same for a file: without colours, lines as long as they are."""
    target = io.StringIO()
    console = Console(file=target, width=_WIDE, color_system=None, highlight=False)
    console.print(Group(*_parts(report, colours=False)), soft_wrap=True)
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().splitlines())


def facts(report: Report) -> Group:
    """What the ranks have, without a verdict."""
    return Group(Text(simulated(report), style="bold yellow"), _table(*rank_table(report)))


def _parts(report: Report, *, colours: bool) -> Iterator[RenderableType]:
    style = "bold green" if report.passed else "bold red"
    yield Text(words.visible(report.sentence()), style=style)
    if report.simulated:
        yield Text(simulated(report), style="bold yellow")
    for finding, name in findings(report):
        what = Text.assemble((name, _STYLES[name]), f" {finding.code}: {words.visible(finding.what)}")
        yield from (Text(), what)
        if finding.do:
            yield Text(f"  do: {words.visible(finding.do)}")
    yield Text()
    yield _table(*rank_table(report))
    found = matrix(report)
    if found:
        yield from (Text(), Text(f"Gbit/s from {found.unit} (rows) to {found.unit} (columns)", style="bold"))
        yield _heat(found)
        yield from _legend(found, colours=colours)
    yield Text()
    lines = _grid()
    for name, value in numbers(report):
        lines.add_row(Text(name, style="dim"), Text(value))
    yield _Unbroken(lines)
    sent = moved(report)
    if sent:
        yield from (Text(), _table(("rank", "sent by its ports meanwhile", "payload to other nodes"), sent))


def _grid() -> Table:
    return Table(box=None, pad_edge=False, show_header=False)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in head:
        table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return _Unbroken(table)


def _heat(found: Matrix) -> RenderableType:
    """Numbers, or of very many rows a digit each: tenths of the fastest link."""
    count = len(found.names)
    if count > MOST:
        return Group(*(_digits(found, row) for row in range(count)))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    for name in found.names:
        table.add_column(name if found.by_node else name.split(" ")[0], justify="right", no_wrap=True)
    for row, name in enumerate(found.names):
        table.add_row(Text(name), *(_field(found.cells.get((row, column))) for column in range(count)))
    return _Unbroken(table)


def _field(cell: Cell | None) -> Text:
    if cell is None:
        return Text(".", style="dim")
    step = shade(cell.share)
    mark = "!" if cell.below else " "
    return Text(f" {words.rate(cell.link.bandwidth)}{mark}", style=f"{step.ink} on {step.colour}")


def _digits(found: Matrix, row: int) -> Text:
    line = Text()
    for column in range(len(found.names)):
        cell = found.cells.get((row, column))
        step = shade(cell.share) if cell else None
        digit = min(9, int(10 * cell.share)) if cell else "."
        line.append(str(digit), style=f"{step.ink} on {step.colour}" if step else "dim")
    return line.append(f" {found.names[row]}")


def _legend(found: Matrix, *, colours: bool) -> Iterator[Text]:
    tops = [f"{words.rate(top)} Gbit/s {KINDS[kind]}" for kind, top in found.fastest.items() if top]
    yield Text(f"the fastest: {', '.join(tops)}", style="dim")
    if colours:
        line = Text("of the fastest of its kind:", style="dim")
        for step in SHADES:
            line.append(" ").append(f" {step.name} ", style=f"not dim {step.ink} on {step.colour}")
        yield line
    if len(found.names) > MOST:
        yield Text("a digit is tenths of the fastest link: 9 is 90% or more, 0 less than 10%", style="dim")
    elif any(cell.below for cell in found.cells.values()):
        yield Text("! is below what the specification demands between nodes", style="dim")
    if found.by_node:
        yield Text("a field is the slowest link between the ranks of two nodes", style="dim")
