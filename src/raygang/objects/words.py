"""Numbers of things as messages have them: one pod is no pods."""

from __future__ import annotations


def counted(number: float, noun: str) -> str:
    """A number with its noun: "1 pod", "2 pods", "0.5 GPUs"."""
    shown = f"{number:g}" if isinstance(number, float) else f"{number}"
    return f"{shown} {agreed(number, noun, f'{noun}s')}"


def agreed(number: float, one: str, several: str) -> str:
    """The words that go with one of something, or with any other number of it."""
    return one if number == 1 else several
