"""Scalars and keys of YAML with the types that kubectl gives them (sigs.k8s.io/yaml, YAML 1.1 of go-yaml v2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class KubectlLoader(_Loader):  # type: ignore[misc]  # which of PyYAML's two loaders is known at run time only
    """A loader whose plain scalars have go-yaml's types: no dates, no numbers of base 60."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # PyYAML's own name


_BOOL, _INT, _FLOAT, _NULL = (f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "null"))
MERGE, STR = (f"tag:yaml.org,2002:{name}" for name in ("merge", "str"))
_TRUE, _FALSE = (
    frozenset(form for word in words for form in (word, word.capitalize(), word.upper()))
    for words in (("y", "yes", "true", "on"), ("n", "no", "false", "off"))
)
_DECIMAL = r"[-+]?(?:\.\d+|\d[\d_]*(?:\.[\d_]*)?)(?:[eE][-+]?\d+)?"
_FORMS = (
    (_BOOL, "|".join(sorted(_TRUE | _FALSE)), "yYnNtTfFoO"),
    (_INT, r"[-+]?0b[01_]+|[-+]?0x[\da-fA-F_]+|[-+]?0o?[0-7_]+|[-+]?(?:0|[1-9][\d_]*)", "-+0123456789"),
    (_FLOAT, _DECIMAL + r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
    (_NULL, "~|null|Null|NULL|", ["~", "n", "N", ""]),
    (MERGE, "<<", "<"),
)
for _tag, _form, _first in _FORMS:
    KubectlLoader.add_implicit_resolver(_tag, re.compile(f"(?:{_form})\\Z", re.ASCII), list(_first))


class RefusedError(Exception):
    def __init__(self, node: yaml.Node, what: str) -> None:
        super().__init__(what)
        self.mark = node.start_mark


def key_of(node: yaml.Node) -> str:
    """A key as text: JSON, which kubectl makes of it, has no others."""
    if node.tag == STR and isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if not isinstance(node, yaml.ScalarNode):
        raise RefusedError(node, "has a key that is a mapping or a list")
    value = scalar(node)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(node.value) if value is None or isinstance(value, float) else str(value)


def scalar(node: yaml.ScalarNode) -> Any:
    """A scalar's value with go-yaml's type."""
    text: str = node.value
    make = _MAKE.get(node.tag)
    if make is None:
        return text
    try:
        return make(text)
    except ValueError:
        return text


def _integer(text: str) -> int | float:
    digits = text.replace("_", "")
    if len(digits) > 100:
        raise ValueError("too long")
    number = int(digits, 8) if re.fullmatch(r"[-+]?0[0-7]+", digits) else int(digits, 0)
    return number if -(2**63) <= number < 2**64 else float(digits)  # as go-yaml; of 0x and 0b it makes a text


def _float(text: str) -> float:
    return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))


_MAKE: dict[str, Callable[[str], Any]] = {
    _BOOL: _TRUE.__contains__, _NULL: lambda text: None, _INT: _integer, _FLOAT: _float,
}  # fmt: skip
