"""A YAML document with the position of every field."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from raygang.spec._errors import Problem, SpecError

MAX_BYTES = 1024 * 1024
MAX_FIELDS = 20_000
MAX_DEPTH = 40
SECRET_NAME = re.compile(r"(^|[_.-])(token|secret|password|passwd|api[_-]?key|access[_-]?key|credentials?)$", re.I)
SECRET_VALUE = re.compile(r"\b(hf_\w{8,}|sk-[\w-]{8,}|gh[pousr]_\w{8,}|eyJ[\w-]{8,}|AKIA\w{8,})")

_NAMES = re.compile(r"([\w.-]+)[\"']?\s*:")  # of fields, in a line that cannot be parsed

FieldPath = tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Where a field is: line and column from 1 of its key (or of the item of a list)."""

    line: int
    column: int


@dataclass(frozen=True)
class Document:
    """A parsed document.

    Attributes:
        file: its name for messages.
        path: where it is, None for standard input and text.
        data: what the YAML means.
        places: position by field path; list items by their index.
    """

    file: str
    path: Path | None
    text: str
    data: Any
    places: dict[FieldPath, Place] = field(default_factory=dict)

    @staticmethod
    def parse(text: str, *, file: str, path: Path | None = None) -> Document:
        """Parse a text of one document. Raises SpecError where YAML ends."""
        if len(text) > MAX_BYTES:
            raise SpecError((Problem(file, None, None, "", f"larger than {MAX_BYTES} bytes: not a specification"),))
        try:
            node = YAML(typ="safe", pure=True).compose(StringIO(text))
            places = _places(node) if node is not None else {}
            data = YAML(typ="safe", pure=True).load(StringIO(text))
        except _TooLargeError as e:
            raise SpecError((Problem(file, e.line, None, "", str(e)),)) from None
        except MarkedYAMLError as e:
            raise SpecError((_yaml_problem(e, file, text),)) from None
        except (YAMLError, ValueError, RecursionError) as e:
            raise SpecError((Problem(file, None, None, "", f"not YAML: {_first_line(e)}"),)) from None
        return Document(file, path, text, data, places)

    @staticmethod
    def of_nothing() -> Document:
        """For a specification that was made in Python."""
        return Document("<specification>", None, "", {})

    def position(self, path: Sequence[str]) -> tuple[int, int] | None:
        """Line and column of a field or of the nearest one above it."""
        for length in range(len(path), 0, -1):
            place = self.places.get(tuple(path[:length]))
            if place is not None:
                return place.line, place.column
        return (1, 1) if self.text else None

    def problem(
        self,
        path: Sequence[str],
        message: str,
        *,
        given: str | None = None,
        allowed: str | None = None,
        suggestion: str | None = None,
    ) -> Problem:
        """A problem at a field, with the line that it stands on; a line that may hold a secret is not shown."""
        position = self.position(path)
        line, column = position or (None, None)
        source = self.text.splitlines()[line - 1] if line and line <= len(self.text.splitlines()) else None
        hide = any(SECRET_NAME.search(part) for part in path) or bool(source and SECRET_VALUE.search(source))
        return Problem(
            file=self.file,
            line=line,
            column=column,
            field=".".join(path),
            message=message,
            given=None if hide else given,
            allowed=allowed,
            suggestion=suggestion,
            source=None if hide else source,
        )


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that `word` was probably meant to be."""
    choices = list(choices)
    by_lower = {c.lower().replace("-", "_"): c for c in choices}
    found = difflib.get_close_matches(word.lower().replace("-", "_"), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


class _TooLargeError(Exception):
    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def _places(root: Node) -> dict[FieldPath, Place]:
    places: dict[FieldPath, Place] = {}
    open_nodes: list[tuple[FieldPath, Node, int]] = [((), root, 0)]
    while open_nodes:
        path, node, depth = open_nodes.pop()
        if depth > MAX_DEPTH or len(places) > MAX_FIELDS:
            what = "nested too deeply, or an alias that contains itself" if depth > MAX_DEPTH else "too many fields"
            raise _TooLargeError(what, node.start_mark.line + 1)
        for key, mark, value in _children(node):
            child = (*path, key)
            places.setdefault(child, Place(mark.line + 1, mark.column + 1))
            open_nodes.append((child, value, depth + 1))
    return places


def _children(node: Node) -> Iterable[tuple[str, Any, Node]]:
    if isinstance(node, MappingNode):
        return [(str(key.value), key.start_mark, value) for key, value in node.value]
    if isinstance(node, SequenceNode):
        return [(str(index), item.start_mark, item) for index, item in enumerate(node.value)]
    return []


def _yaml_problem(error: MarkedYAMLError, file: str, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    lines = text.splitlines()
    line = min(mark.line + 1, max(len(lines), 1)) if mark else None
    source = lines[line - 1] if line and line <= len(lines) else None
    column = min(mark.column + 1, len(source) + 1) if mark and source is not None else None
    hide = bool(source and (SECRET_VALUE.search(source) or any(map(SECRET_NAME.search, _NAMES.findall(source)))))
    return Problem(file, line, column, "", _yaml_message(error, source), source=None if hide else source)


def _yaml_message(error: MarkedYAMLError, source: str | None) -> str:
    if isinstance(error, DuplicateKeyError):
        return "this key stands here twice"
    message = (error.problem or error.context or "unreadable").strip().splitlines()[0]
    if "single document" in (error.context or "") + message:
        return "more than one document; a specification is one"
    if source and "\t" in source[: len(source) - len(source.lstrip())]:
        return "a tab in the indentation; YAML takes spaces only"
    return f"not YAML: {message}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
