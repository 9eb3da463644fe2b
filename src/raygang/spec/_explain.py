"""Turns pydantic's errors into problems that say what to write."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from raygang.spec._document import Document
from raygang.spec._errors import Problem
from raygang.spec._typos import nearest
from raygang.spec.model import Spec

TOKEN = ("model", "token")

_WORDS: dict[str, tuple[str, str | None]] = {
    "int_type": ("must be a whole number", None),
    "float_type": ("must be a number", None),
    "bool_type": ("must be true or false", "true, false (YAML 1.2: yes, no, on and off are text)"),
    "string_type": ("must be text", "text; a number, true or false in quotes"),
    "dict_type": ("must be a mapping of names to values", None),
    "tuple_type": ("must be a list", None),
    "model_type": ("must be a mapping of fields", None),
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("above", "gt"),
    "less_than_equal": ("at most", "le"),
}


def explain(error: ValidationError, document: Document) -> list[Problem]:
    """One problem per error, at its place in the document."""
    found = ((_path(detail), detail) for detail in error.errors(include_url=False))
    return [_problem(path, detail, document) for path, detail in found if not _told(path, document)]


def _path(detail: ErrorDetails) -> tuple[str, ...]:
    return tuple(str(part) for part in detail["loc"] if part != "[key]")


def _told(path: tuple[str, ...], document: Document) -> bool:
    """Whether the field, or one that it is in, has a problem already."""
    return any(path[:length] in document.faults for length in range(len(path) + 1))


def _problem(path: tuple[str, ...], detail: ErrorDetails, document: Document) -> Problem:
    if path == TOKEN and detail["type"] == "model_type":
        return _written_token(document)
    special = {"missing": _missing, "extra_forbidden": _unknown, "literal_error": _not_one_of}.get(detail["type"])
    if special:
        return special(path, detail, document)
    message, allowed = _message(detail)
    return document.problem(path, message, given=_short(detail["input"]), allowed=allowed)


def _written_token(document: Document) -> Problem:
    return document.problem(
        TOKEN,
        "a token must not be written here; refer to it",
        allowed="{secret: NAME, key: KEY} for a Kubernetes Secret, or {env: VARIABLE}",
    )


def _missing(path: tuple[str, ...], _detail: ErrorDetails, document: Document) -> Problem:
    return document.problem(path, "this field is required")


def _unknown(path: tuple[str, ...], _detail: ErrorDetails, document: Document) -> Problem:
    names = fields_of(path[:-1])
    suggestion = nearest(path[-1], names) or _elsewhere(path[-1])
    if path[:-1] == TOKEN and suggestion is None:  # `{hf_...}` is a mapping in YAML: its name is the token
        return _written_token(document)
    return document.problem(path, "unknown field", allowed=", ".join(names), suggestion=suggestion)


def _elsewhere(name: str) -> str | None:
    """A field of that very name in another section: a wrong indentation, most often."""
    found = [f"{s}.{name}" for s in Spec.model_fields if s != name and name in fields_of((s,))]
    return found[0] if len(found) == 1 else None


def _not_one_of(path: tuple[str, ...], detail: ErrorDetails, document: Document) -> Problem:
    choices = [c.strip().strip("'") for c in detail["ctx"]["expected"].replace(" or ", ", ").split(",")]
    given = str(detail["input"])
    return document.problem(
        path,
        "is none of the allowed values",
        given=_short(detail["input"]),
        allowed=", ".join(choices),
        suggestion=nearest(given, choices),
    )


def _message(detail: ErrorDetails) -> tuple[str, str | None]:
    """What is wrong, and what is allowed where that does not say it."""
    context, name = detail.get("ctx", {}), detail["type"]
    if name == "value_error":
        return f"must be {context['error']}", None
    if name in _BOUNDS:
        word, key = _BOUNDS[name]
        return f"must be {word} {context[key]:.0f}", None
    return _WORDS.get(name, (detail["msg"], None))


def _short(value: Any) -> str:
    """A value in a message; of a collection only what it is, since it may hold a secret."""
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."
    return str(value).lower() if isinstance(value, bool) else kind(value)


def kind(value: Any) -> str:
    """What YAML calls a value."""
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a mapping"}
    return kinds.get(type(value), "nothing")


def fields_of(path: tuple[str, ...]) -> list[str]:
    """The fields that may stand at a path of the specification; empty where anything may."""
    model: type[BaseModel] | None = Spec
    for part in path:
        if model is None or part not in model.model_fields:
            continue  # the index of a list
        model = _section(model.model_fields[part].annotation)
    return list(model.model_fields) if model else []


def _section(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_section(a) for a in get_args(annotation))
    return next((f for f in found if f is not None), None)
