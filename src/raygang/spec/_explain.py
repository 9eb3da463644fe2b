"""Turns pydantic's errors into problems that say what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from raygang.spec._document import Document, nearest
from raygang.spec._errors import Problem
from raygang.spec.model import Spec

_WORDS: dict[str, str] = {
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "dict_type": "must be a mapping of names to values",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping of fields",
}


def explain(error: ValidationError, document: Document) -> list[Problem]:
    """One problem per error, at its place in the document."""
    return [_problem(detail, document) for detail in error.errors(include_url=False)]


def _problem(detail: ErrorDetails, document: Document) -> Problem:
    path = tuple(str(part) for part in detail["loc"] if part != "[key]")
    kind = detail["type"]
    if path == ("model", "token") and kind == "model_type":
        return document.problem(
            path,
            "a token must not be written here; refer to it",
            allowed="{secret: NAME, key: KEY} for a Kubernetes Secret, or {env: VARIABLE}",
        )
    special: Callable[[tuple[str, ...], ErrorDetails, Document], Problem] | None = {
        "missing": _missing,
        "extra_forbidden": _unknown,
        "literal_error": _not_one_of,
    }.get(kind)
    if special:
        return special(path, detail, document)
    return document.problem(path, _message(detail), given=_short(detail["input"]))


def _missing(path: tuple[str, ...], _detail: ErrorDetails, document: Document) -> Problem:
    return document.problem(path, "this field is required")


def _unknown(path: tuple[str, ...], _detail: ErrorDetails, document: Document) -> Problem:
    names = fields_of(path[:-1])
    suggestion = nearest(path[-1], names) or _elsewhere(path[-1])
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


def _message(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    if detail["type"] == "value_error":
        return f"must be {context['error']}"
    bounds = {
        "greater_than_equal": ("at least", "ge"),
        "greater_than": ("above", "gt"),
        "less_than_equal": ("at most", "le"),
    }
    if detail["type"] in bounds:
        word, key = bounds[detail["type"]]
        return f"must be {word} {context[key]}"
    return _WORDS.get(detail["type"]) or detail["msg"][0].lower() + detail["msg"][1:]


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


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
