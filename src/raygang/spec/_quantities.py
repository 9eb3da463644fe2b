"""Numbers as people write them: counts, durations, Kubernetes quantities, environments."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictInt, WithJsonSchema

from raygang.spec._forms import Form, LabelKey, LabelValue, Variable

MAX_COUNT = 100_000
MIN_BYTES = 2**20  # a smaller memory is a number whose unit was forgotten
MAX_BYTES = 2**60

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?", re.ASCII)
_QUANTITY = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)?", re.ASCII)
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18} | {
    f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)
}


def seconds(value: Any) -> float:
    """Seconds of a duration such as 90, "90s", "30m" or "1h30m".

    Raises:
        ValueError: it is none, or not above zero.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError('a duration such as "90s", "30m" or "1h30m"')
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if not match or not any(match.groups()):
            raise ValueError('a duration such as "90s", "30m" or "1h30m"')
        hours, minutes, rest = (float(part or 0) for part in match.groups())
        value = hours * 3600 + minutes * 60 + rest
    if not 0 < value < 10**8:
        raise ValueError("a duration above zero and below three years")
    return float(value)


def count_or_auto(value: Any) -> Any:
    """A whole number from 1, or "auto". Raises ValueError for anything else."""
    if value != "auto" and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_COUNT):
        raise ValueError(f"a whole number from 1 to {MAX_COUNT}, or auto")
    return value


def quantity(value: Any) -> str:
    """A Kubernetes quantity of bytes, as it was written. Raises ValueError for anything else."""
    text = str(value).strip()
    size = 0 if isinstance(value, bool) else quantity_bytes(text)
    if not MIN_BYTES <= size <= MAX_BYTES:
        raise ValueError(f"{_QUANTITY_WORDS}, from 1Mi to 1Ei")
    return text


def quantity_bytes(text: str) -> int:
    """Bytes of a Kubernetes quantity. Raises ValueError for anything else."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(_QUANTITY_WORDS)
    return int(Decimal(match[1]) * _UNITS[match[2] or ""])


def environment(value: Any) -> Any:
    """Numbers and booleans of YAML as the texts that an environment holds."""
    return {k: _text(v) for k, v in value.items()} if isinstance(value, dict) else value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value) if isinstance(value, (int, float)) else value


_QUANTITY_WORDS = 'a quantity such as "16Gi" or "500M"'
_EXAMPLES = {"duration": ["90s", "30m", "1h30m"], "quantity": ["16Gi", "500M"]}

Count = Annotated[StrictInt, Field(ge=1, le=MAX_COUNT)]
CountOrAuto = Annotated[
    int | Literal["auto"],
    BeforeValidator(count_or_auto),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_COUNT}, {"const": "auto"}]}),
]
Cpus = Annotated[float, Field(strict=True, gt=0, le=MAX_COUNT)]
Gigabits = Annotated[float, Field(strict=True, gt=0, le=MAX_COUNT)]
Seconds = Annotated[
    float,
    BeforeValidator(seconds),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "examples": _EXAMPLES["duration"]}]}
    ),
]
Quantity = Annotated[
    str,
    BeforeValidator(quantity),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "examples": _EXAMPLES["quantity"]}, {"type": "number", "minimum": MIN_BYTES}]}
    ),
]
Labels = dict[LabelKey, LabelValue]
Annotations = dict[LabelKey, str]
Environment = Annotated[
    dict[Variable, Annotated[str, Form(r"[^\0]*", "text without a NUL character", 100_000)]],
    BeforeValidator(environment),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}),
]
