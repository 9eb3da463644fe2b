"""Which name was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 64  # letters that are compared


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that `word` was probably meant to be: one letter apart, or else alike."""
    by_form = {_form(choice): choice for choice in choices}
    typed = _form(word[:LONGEST])
    found = [form for form in by_form if one_letter_apart(typed, form)]
    found = found or difflib.get_close_matches(typed, by_form, n=1, cutoff=0.6)
    return by_form[found[0]] if found else None


def _form(name: str) -> str:
    return name.lower().replace("-", "_")


def one_letter_apart(a: str, b: str) -> bool:
    """Whether one letter more, less, other or swapped with its neighbour makes them the same, if they are not."""
    if abs(len(a) - len(b)) > 1:
        return False
    start = _shared(a, b)
    a, b = a[start:], b[start:]
    end = _shared(a[::-1], b[::-1])
    a, b = a[: len(a) - end], b[: len(b) - end]
    return max(len(a), len(b)) <= 1 or (len(a) == 2 and a == b[::-1])


def _shared(a: str, b: str) -> int:
    """How many letters they begin with in common."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
