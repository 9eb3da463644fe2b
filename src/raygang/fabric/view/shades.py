"""Colours of the heat map: five steps that also those tell apart who see no red or no green (ColorBrewer RdYlBu)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shade:
    """A step of the scale: from which share of the fastest link on, the colour, and that of the text on it."""

    least: float
    colour: str
    ink: str
    name: str


SHADES = (
    Shade(0.9, "#4575b4", "#ffffff", "90% or more"),
    Shade(0.75, "#91bfdb", "#000000", "75%"),
    Shade(0.5, "#fee090", "#000000", "50%"),
    Shade(0.25, "#fc8d59", "#000000", "25%"),
    Shade(0.0, "#d73027", "#ffffff", "less"),
)


def shade(share: float) -> Shade:
    """The step of a share of the fastest link."""
    return next((step for step in SHADES if share >= step.least), SHADES[-1])
