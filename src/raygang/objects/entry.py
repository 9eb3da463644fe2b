"""One thing that is written into an object, with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A label, annotation, variable or field that asks for something, and why it is there."""

    key: str
    value: Any
    why: str
