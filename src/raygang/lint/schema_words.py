"""What to say about a problem of shape: names that were meant, places where they belong, values to write."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from raygang.lint.model import Edit
from raygang.lint.schema import Problem
from raygang.lint.schema_table import homes, table
from raygang.objects import Path, quantity
from raygang.objects.fields import digits

_WANTED = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "quantity": "a quantity such as 4, 500m or 16Gi",
    "int-or-string": "a whole number or a text",
    "object": "a mapping",
    "map": "a mapping",
    "array": "a list",
}
# The same thing is called otherwise in another kind of KubeRay.
_OTHER_KINDS = {"rayClusterSpec": "rayClusterConfig", "rayClusterConfig": "rayClusterSpec"}
_MOST_MEANT = ("containers[]",)  # a field of many places: initContainers and volumes have it as well
_BOOLS = {"true": True, "false": False}
_SECRETIVE = ("env", "args", "command")
_FREE = ("labels", "annotations", "matchLabels", "nodeSelector")  # mappings in which those are names like any other
_SHOWN = 40  # letters of a value that a message repeats


def wanted(kind: str) -> str:
    """What a field of a type takes."""
    return _WANTED[kind]


def shown(value: Any) -> str:
    """A value as a message repeats it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def repeated(problem: Problem) -> str:
    """What stands there, as a message repeats it: of what may be a secret its kind only."""
    value = problem.value
    if not secret(problem.path) or isinstance(value, bool) or not isinstance(value, str | int | float):
        return shown(value)
    return "a text" if isinstance(value, str) else "a number"


def secret(path: Path) -> bool:
    """Whether a secret may stand there: in an environment variable, a command, or a field for a password."""
    named = any(part in _SECRETIVE and path[i - 1] not in _FREE for i, part in enumerate(path))
    return named or any("password" in str(part).lower() for part in path)


def place(path: Path) -> str:
    """A path with its list indexes: spec.workerGroupSpecs[0]."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def plain(path: Path) -> str:
    """A path without its list indexes: spec.workerGroupSpecs[]."""
    text = ""
    for part in path:
        text += "[]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def meant(word: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    forms = {form(name): name for name in names}
    typed = form(word)
    if typed in forms:
        return forms[typed]
    found = difflib.get_close_matches(typed, forms, n=1, cutoff=0.75)
    return forms[found[0]] if found else None


def form(name: str) -> str:
    """A name without what people write differently: min_replicas, minreplicas and min-replicas are minReplicas."""
    return name.lower().replace("-", "").replace("_", "")


def instead(problem: Problem, root: str) -> tuple[str, tuple[Edit, ...]]:
    """What to write instead of an unknown field."""
    name, parent = str(problem.path[-1]), problem.path[:-1]
    near = meant(name, problem.node.fields)
    if _OTHER_KINDS.get(name) in problem.node.fields:
        near = _OTHER_KINDS[name]
        return f"write {near}", (Edit("move", problem.path, (*parent, near)),)
    if near and form(near) == form(name):
        return f"write {near}", (Edit("move", problem.path, (*parent, near)),)
    there = homes(root, name) if root in table().roots else ()
    if there:
        return f"{name} is a field of {_nearest(plain(parent), there)}: move it there", ()
    if near:
        return f"write {near}, if that was meant", ()
    return f"remove it: {root.partition('/')[0]} has no field {name} anywhere", ()


def _nearest(here: str, there: tuple[str, ...]) -> str:
    """The place that shares most with where the field stands now."""
    steps = here.split(".")

    def shared(home: str) -> int:
        others = home.split(".")
        return next((i for i, (a, b) in enumerate(zip(steps, others, strict=False)) if a != b), len(steps))

    best = max(there, key=lambda home: (shared(home), home.endswith(_MOST_MEANT), -home.count(".")))
    return best or "the object itself"


def right_value(problem: Problem) -> tuple[str, tuple[Edit, ...]]:
    """What to write instead of a value of the wrong type."""
    kind, value = problem.node.kind, problem.value
    if kind == "boolean" and isinstance(value, str) and value.strip().lower() in _BOOLS:
        return _set(problem, _BOOLS[value.strip().lower()], "without quotes")
    if kind == "integer" and isinstance(value, str) and (number := digits(value.strip())) is not None:
        return _set(problem, number, "without quotes")
    if kind == "quantity" and isinstance(value, float) and quantity(value) is not None:
        return f'write "{value}" in quotes, or thousandths such as 500m', (Edit("set", problem.path, str(value)),)
    if kind == "array":
        return 'write a list: each item on a line that begins with "- "', ()
    if kind in ("object", "map") and isinstance(value, list):
        return 'write a mapping: remove the "- "', ()
    return f"write {wanted(kind)}", ()


def quoted(problem: Problem) -> tuple[str, tuple[Edit, ...]]:
    """What to write instead of a number or a yes or no where a text belongs.

    1.10 is the number 1.1 by now: how it was written is not known here, so only whole numbers are mended.
    """
    value = problem.value
    text = shown(value)
    fix = () if isinstance(value, float) else (Edit("set", problem.path, text),)
    hidden = secret(problem.path) and not isinstance(value, bool)
    return "put it in quotes" if hidden else f'put it in quotes: "{text}"', fix


def _set(problem: Problem, value: Any, how: str) -> tuple[str, tuple[Edit, ...]]:
    return f"write {shown(value)} {how}", (Edit("set", problem.path, value),)
