"""How long work tells how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called from time to time by what takes long; from any thread."""

    def __call__(self, what: str, done: int, total: int) -> None:
        """`what` is done so far: `done` of `total` bytes; a total of 0 is not known yet."""


def silent(what: str, done: int, total: int) -> None:
    """For callers that do not want to know."""
