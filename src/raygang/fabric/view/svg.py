"""The heat map as a picture: one SVG, whole in itself, light and dark as its reader is."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from raygang.fabric.view import words
from raygang.fabric.view.matrix import KINDS, Cell, Matrix, matrix
from raygang.fabric.view.numbers import simulated
from raygang.fabric.view.shades import SHADES, shade
from raygang.runtime.fabric.report import Report

_WIDTH, _LEFT, _GAP = 720, 16, 2  # pixels, as all below
_BOLD, _PLAIN = 8.2, 6.4  # about the width of a letter
_NUMBERS_FROM, _COLUMNS_FROM, _ROWS_FROM = 28, 16, 12  # sides of a field from which these can be read
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1f2937}.b{font-weight:600;font-size:14px}.s{font-size:11px;"
    "fill:#4b5563}.r{text-anchor:end}.c{text-anchor:middle}.none{fill:#94a3b8;fill-opacity:.2}"
    ".low{stroke:#111827;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#e5e7eb}.s{fill:#9ca3af}.low{stroke:#f9fafb}}"
)


@dataclass(frozen=True)
class _Grid:
    """Where the fields are."""

    found: Matrix
    top: float

    @property
    def side(self) -> float:
        """Of a field with its gap: large for few rows, small for many."""
        return max(8.0, min(48.0, _WIDTH / len(self.found.names)))

    @property
    def left(self) -> float:
        return _LEFT + _PLAIN * max(map(len, self.found.names)) + 8

    @property
    def bottom(self) -> float:
        return self.top + self.side * len(self.found.names)

    @property
    def right(self) -> float:
        return self.left + self.side * len(self.found.names)


def svg(report: Report) -> str:
    """The heat map of a report, with its verdict above; a sentence where nothing was measured."""
    found = matrix(report)
    verdict, told = words.visible(report.sentence()), simulated(report)
    lines = [(line, "b") for line in textwrap.wrap(verdict, int(_WIDTH / _BOLD))]
    lines += [(line, "s") for line in textwrap.wrap(told, int(_WIDTH / _PLAIN))]
    lines.append((_what(found), "s"))
    head = [_text(_LEFT, 24 + 20 * row, line, kind) for row, (line, kind) in enumerate(lines)]
    top = 36 + 20 * len(lines)
    grid = _Grid(found, top) if found else None
    width, height = (max(_WIDTH, grid.right) + _LEFT, grid.bottom + 64) if grid else (_WIDTH, top)
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
    title = f"<title>{escape(f'Bandwidth of each link: {verdict}. {told}'.rstrip())}</title>"
    return "\n".join([opened, title, f"<style>{_STYLE}</style>", *head, *(_body(grid) if grid else ()), "</svg>", ""])


def _what(found: Matrix | None) -> str:
    if found is None:
        return "no bandwidth was measured"
    return f"Gbit/s from {found.unit} (rows) to {found.unit} (columns)"


def _body(grid: _Grid) -> Iterator[str]:
    names, side = grid.found.names, grid.side
    for row, name in enumerate(names):
        if side >= _ROWS_FROM or row % 5 == 0:
            yield _text(grid.left - 8, grid.top + side * (row + 0.5) + 4, name, "r")
        for column in range(len(names)):
            yield _field(grid, row, column)
    for column, name in enumerate(names if side >= _COLUMNS_FROM else ()):
        label = str(column + 1) if grid.found.by_node else name.split(" ")[0]
        yield _text(grid.left + side * (column + 0.5), grid.top - 6, label, "s c")
    yield from _legend(grid)


def _field(grid: _Grid, row: int, column: int) -> str:
    found, side = grid.found, grid.side
    cell = found.cells.get((row, column))
    x, y = grid.left + side * column, grid.top + side * row
    at = f'x="{x:.1f}" y="{y:.1f}" width="{side - _GAP:.1f}" height="{side - _GAP:.1f}" rx="2"'
    if cell is None:
        return f'<rect class="none" {at}/>'
    step = shade(cell.share)
    low = ' class="low"' if cell.below else ""
    told = escape(f"{found.names[row]} to {found.names[column]}: {_told(cell)}")
    drawn = f'<rect{low} {at} fill="{step.colour}"><title>{told}</title></rect>'
    if side >= _NUMBERS_FROM:
        middle = f'class="c" x="{x + side / 2 - 1:.1f}" y="{y + side / 2 + 3:.1f}"'
        style = f"fill:{step.ink};font-size:{min(12, side / 3):.0f}px;pointer-events:none"
        drawn += f'<text {middle} style="{style}">{words.rate(cell.link.bandwidth)}</text>'
    return drawn


def _told(cell: Cell) -> str:
    text = f"{words.rate(cell.link.bandwidth)} Gbit/s"
    if cell.link.latency is not None:
        text += f", {words.seconds(cell.link.latency)}"
    return text + (", below what is demanded" if cell.below else "")


def _legend(grid: _Grid) -> Iterator[str]:
    x, y = grid.left, grid.bottom + 16
    tops = [f"{words.rate(top)} {KINDS[kind]}" for kind, top in grid.found.fastest.items() if top]
    yield _text(x, y + 10, f"of the fastest link of its kind ({', '.join(tops)}):", "s")
    for index, step in enumerate(SHADES):
        at = x + 96 * index
        yield f'<rect x="{at:.1f}" y="{y + 18:.1f}" width="14" height="14" rx="2" fill="{step.colour}"/>'
        yield _text(at + 20, y + 29, step.name, "s")


def _text(x: float, y: float, content: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(content)}</text>'
