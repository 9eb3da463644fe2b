"""Values as YAML: a text is one for YAML 1.1 (go-yaml, PyYAML) and YAML 1.2 alike."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_/](?:[\w./+-]|:(?=[\w/]))*|\d+(?:\.\d+)?(?:m|[kMGTP]|[KMGTPE]i)", re.ASCII)
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))


def scalar(value: Any, *, quote: str = "", as_json: bool = False) -> str:
    """A scalar on one line. `quote`: the quotes that stood there before, kept for texts where they can be."""
    if not isinstance(value, str):
        return _number(value)
    if as_json:
        return json.dumps(value, ensure_ascii=False)
    if not quote and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    printable = value.isprintable()
    if printable and (quote == "'" or (quote != '"' and ('"' in value or "\\" in value))):
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value, ensure_ascii=not printable)


def _number(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    if isinstance(value, int | float):
        return repr(value)
    raise TypeError(f"{type(value).__name__} is no scalar of YAML")


def flow(value: Any, *, as_json: bool = False) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        items = (f"{scalar(k, as_json=as_json)}: {flow(v, as_json=as_json)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(item, as_json=as_json) for item in value) + "]"
    return scalar(value, as_json=as_json)


def is_block(value: Any) -> bool:
    """Whether a value takes lines of its own in block style."""
    return isinstance(value, Mapping | list | tuple) and bool(value)


def block(value: Any) -> list[str]:
    """A collection in block style: its lines, without indentation."""
    if isinstance(value, Mapping):
        return [line for key, item in value.items() for line in entry(str(key), item)]
    return [line for item in value for line in list_item(item)]


def entry(key: str, value: Any) -> list[str]:
    """A key and its value in block style."""
    name = scalar(key)
    if is_block(value):
        return [f"{name}:", *("  " + line for line in block(value))]
    return [f"{name}: {flow(value)}"]


def list_item(value: Any) -> list[str]:
    """An item of a list in block style."""
    if is_block(value):
        first, *others = block(value)
        return [f"- {first}", *("  " + line for line in others)]
    return [f"- {flow(value)}"]
