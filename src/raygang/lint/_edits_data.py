"""Edits on plain data: what a text has to say after its fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from raygang.lint.model import Edit
from raygang.objects import Path

TEXT_FIELD = "serveConfigV2"  # its text is YAML itself, and paths go on in it


class EditRefusedError(Exception):
    """An edit that cannot be made without harm; its text is a sentence that says why."""


@dataclass(frozen=True)
class Step:
    """Half an edit: set a field, take it away, or give it another name.

    `source` is the text that a moved value has, with its column; `comments` are the lines that move with the field.
    """

    path: Path
    value: Any = None
    delete: bool = False
    rename: str | None = None
    source: tuple[str, int] | None = None
    comments: tuple[str, ...] = ()


def steps(edit: Edit, data: Any) -> list[Step]:
    """An edit as steps on an object's data. Raises EditRefusedError where it changes nothing or has no ground."""
    there, value = look(data, edit.path)
    if edit.action == "set":
        if there and same(value, edit.value):
            raise EditRefusedError("it says so already")
        return [Step(edit.path, edit.value)]
    if not there:
        raise EditRefusedError("the field is not there")
    if edit.action == "delete":
        return [Step(edit.path, delete=True)]
    to: Path = tuple(edit.value)
    already = look(data, to)[1]
    if already is not None and same(already, value):
        return [Step(edit.path, delete=True)]
    if already is not None:
        raise EditRefusedError("the field that it moves to is there already")
    last = to[-1]
    if edit.path[:-1] == to[:-1] and isinstance(last, str) and not look(data, to)[0]:
        return [Step(edit.path, rename=last)]
    return [Step(edit.path, delete=True), Step(to, value)]


def look(data: Any, path: Path) -> tuple[bool, Any]:
    """Whether a field is there, and its value."""
    for part in path:
        there = 0 <= part < len(data) if isinstance(part, int) and isinstance(data, list) else _has(data, part)
        if not there:
            return False, None
        data = data[part]
    return True, data


def _has(data: Any, part: str | int) -> bool:
    return isinstance(data, Mapping) and part in data


def changed(data: Any, step: Step) -> Any:
    """The data after a step; what is not on its path is shared with the old data."""
    if not step.path:
        return step.value
    part, rest = step.path[0], Step(step.path[1:], step.value, step.delete, step.rename)
    if isinstance(part, int):
        return _changed_list(data, part, rest)
    if data is not None and not isinstance(data, Mapping):
        raise EditRefusedError(f"what {part} would stand in is no mapping")
    old = dict(data or {})
    if step.rename is not None and not rest.path:
        return {step.rename if key == part else key: value for key, value in old.items()}
    if step.delete and not rest.path:
        old.pop(str(part), None)
        return old
    return {**old, part: changed(old.get(part), rest)}


def _changed_list(data: Any, index: int, rest: Step) -> list[Any]:
    if data is not None and not isinstance(data, list):
        raise EditRefusedError("what it would be an item of is no list")
    old = list(data or [])
    if index > len(old):
        raise EditRefusedError(f"the list has no item {index}")
    if rest.delete and not rest.path:
        return old[:index] + old[index + 1 :]
    item = changed(old[index] if index < len(old) else None, rest)
    return [*old[:index], item, *old[index + 1 :]]


def nested(path: Path, value: Any) -> Any:
    """A value with the mappings and lists around it that a path asks for."""
    for part in reversed(path):
        if isinstance(part, int) and part:
            raise EditRefusedError(f"the list has no item {part - 1}")
        value = [value] if isinstance(part, int) else {part: value}
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same in YAML too, where 1, 1.0 and true differ."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or (one != one and other != other)  # noqa: PLR0124  # not a number equals nothing
