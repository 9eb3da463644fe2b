"""Draws docs/house.svg from the layer contract in pyproject.toml, so that the picture is what is enforced.

usage: python tools/house.py [--check]
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "house.svg"
WIDTH, FLOOR, GAP = 860, 58, 8
STYLE = (
    "text{font-family:system-ui,sans-serif;fill:#1f2937}.name{font-weight:600;font-size:15px}"
    ".what{font-size:11.5px;fill:#4b5563}rect{rx:6;stroke:#94a3b8}.room{fill:#eef2ff}.empty{fill:#f8fafc;"
    "stroke-dasharray:5 4}.alone{fill:#ecfdf5}"
)


def floors() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["type"] == "layers")
    return [[room.strip() for room in layer.split("|")] for layer in layers]


def purpose(room: str) -> tuple[str, bool]:
    """The first sentence of a package's docstring, and whether anything is in it yet."""
    package = ROOT / "src" / "raygang" / room
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    text = re.split(r"\.\s|\.$|;", docstring.splitlines()[0])[0]
    return text, len(list(package.rglob("*.py"))) > 1


def draw() -> str:
    parts, y = [], GAP
    for floor in floors():
        width = (WIDTH - GAP * (len(floor) + 1)) / len(floor)
        for i, room in enumerate(floor):
            parts.append(box(GAP + i * (width + GAP), y, width, room, "room"))
        y += FLOOR + GAP
    y += GAP
    parts.append(box(GAP, y, WIDTH - 2 * GAP, "runtime", "alone"))
    height = y + FLOOR + GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    title = "<title>The rooms of raygang: each may import those below it; runtime travels alone</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def box(x: float, y: float, width: float, room: str, kind: str) -> str:
    text, built = purpose(room)
    limit = int(width / 6)
    text = text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0] + " ..."
    style = kind if built else "empty"
    return (
        f'<rect class="{style}" x="{x:.0f}" y="{y}" width="{width:.0f}" height="{FLOOR}"/>'
        f'<text class="name" x="{x + 14:.0f}" y="{y + 24}">{room}</text>'
        f'<text class="what" x="{x + 14:.0f}" y="{y + 44}">{escape(text)}</text>'
    )


def main() -> int:
    fresh = draw()
    if "--check" in sys.argv:
        return 0 if TARGET.read_text() == fresh else 1
    TARGET.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
