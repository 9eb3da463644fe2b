"""Values that carry the reason why they are there; the reason becomes a comment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from raygang.objects import Path


@dataclass(frozen=True)
class Noted:
    """A value and why it is there, in one line."""

    value: Any
    why: str


def split(value: Any, path: Path = ()) -> tuple[Any, dict[Path, str]]:
    """Plain data and the reasons by path."""
    if isinstance(value, Noted):
        plain, notes = split(value.value, path)
        return plain, {path: value.why, **notes}
    notes = {}
    if isinstance(value, dict):
        plain = {}
        for key, inner in value.items():
            plain[key], found = split(inner, (*path, key))
            notes |= found
        return plain, notes
    if isinstance(value, list | tuple):
        items = []
        for index, inner in enumerate(value):
            item, found = split(inner, (*path, index))
            items.append(item)
            notes |= found
        return items, notes
    return value, {}
