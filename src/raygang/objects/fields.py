"""Fields of plain data, read without trusting their types: what has another type counts as not there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

Path = tuple[str | int, ...]

# k8s.io/apimachinery v0.36.0, pkg/api/resource/quantity.go; the form has not changed since 1.0
_QUANTITY = re.compile(
    r"([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40}))([eE][+-]?\d{1,3}|[KMGTPE]i|[numkMGTPE])?", re.ASCII
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LARGEST = Decimal(2**63 - 1)
_BINARY = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)}


def at(data: Any, *path: str | int) -> Any:
    """The value at a path, None where there is none."""
    for part in path:
        if type(data) is dict and type(part) is str:  # as a rule; thousands of documents ask millions of times
            data = data.get(part)
        elif isinstance(part, int):
            items = sequence(data)
            data = items[part] if 0 <= part < len(items) else None
        else:
            data = mapping(data).get(part)
    return data


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping; an empty one in place of anything else."""
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    """A list; an empty one in place of anything else."""
    return value if isinstance(value, list | tuple) else ()


def text(value: Any) -> str | None:
    """A text, None in place of anything else."""
    return value if isinstance(value, str) else None


def count(value: Any, default: int) -> int:
    """A whole number, the default in place of anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def digits(value: str) -> int | None:
    """The number that a text of ASCII digits stands for, None for other texts and for what no field can hold."""
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 20 else None


def quantity(value: Any) -> Decimal | None:
    """A Kubernetes quantity such as "500m", "16Gi" or 8 in its base unit, None when it is none.

    What is out of Kubernetes' range becomes its largest, as there.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return _quantity(str(value).strip()) if isinstance(value, str) or abs(value) < 1e300 else None


@lru_cache(maxsize=4096)  # a bundle has few different sizes, and every rule about them asks again
def _quantity(value: str) -> Decimal | None:
    match = _QUANTITY.fullmatch(value)
    if match is None:
        return None
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix in _BINARY:
        return _capped(number * _BINARY[suffix])
    power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:] or 0)
    return _capped(number.scaleb(power))


def _capped(number: Decimal) -> Decimal:
    return max(-_LARGEST, min(_LARGEST, number))
