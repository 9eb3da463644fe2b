"""Durations, Kubernetes quantities and names, as people write them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15} | {
    f"{letter}i": 1024**power for power, letter in enumerate("KMGTP", start=1)
}
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
MAX_COUNT = 100_000
MAX_NAME = 40  # Kubernetes takes 63 characters; KubeRay and the names of our own objects add up to 23


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
    if isinstance(value, bool) or not _QUANTITY.fullmatch(text) or quantity_bytes(text) <= 0:
        raise ValueError('a quantity such as "16Gi" or "500M"')
    return text


def quantity_bytes(text: str) -> int:
    """Bytes of a Kubernetes quantity. Raises ValueError for anything else."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError('a quantity such as "16Gi" or "500M"')
    return int(float(match[1]) * _UNITS[match[2] or ""])


def _name(value: str) -> str:
    if len(value) > MAX_NAME:
        raise ValueError(f"at most {MAX_NAME} characters (this has {len(value)})")
    if not _LABEL.fullmatch(value):
        raise ValueError("lower-case letters, digits and -, and no - at either end")
    return value


Seconds = Annotated[
    float,
    BeforeValidator(seconds),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "examples": ["30m"]}]}),
]
Quantity = Annotated[
    str,
    BeforeValidator(quantity),
    WithJsonSchema({"anyOf": [{"type": "string", "examples": ["16Gi"]}, {"type": "integer", "minimum": 1}]}),
]
Name = Annotated[
    str, AfterValidator(_name), Field(json_schema_extra={"maxLength": MAX_NAME, "pattern": _LABEL.pattern})
]
StrMap = dict[str, str]


def _environment(value: Any) -> Any:
    """Numbers and booleans of YAML as the strings that an environment holds."""
    if isinstance(value, dict):
        return {k: _text(v) for k, v in value.items()}
    return value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value) if isinstance(value, (int, float)) else value


Environment = Annotated[dict[str, str], BeforeValidator(_environment), PlainSerializer(dict)]
