"""A YAML document with the position of every field."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from raygang.spec import _secrets
from raygang.spec._errors import Problem, SpecError
from raygang.spec._syntax import syntax_problem
from raygang.spec._text import Place, Text
from raygang.spec._tree import FieldPath, Survey, TooLargeError, survey

MAX_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Document:
    """A parsed document.

    Attributes:
        file: its name for messages.
        path: where it is, None for standard input and text.
        data: what the YAML means, as JSON could say it; an empty text where `faults` has something.
        text: what was parsed; None for what was made in Python.
        places: position by field path; list items by their index.
        faults: what JSON could not say, by field path.
        secret_lines: lines that no message shows.
    """

    file: str
    path: Path | None
    text: Text | None
    data: Any
    places: Mapping[FieldPath, Place] = field(default_factory=dict)
    faults: Mapping[FieldPath, str] = field(default_factory=dict)
    secret_lines: frozenset[int] = frozenset()

    @staticmethod
    def parse(text: str, *, file: str, path: Path | None = None) -> Document:
        """Parse a text of one document. Raises SpecError where YAML ends."""
        if len(text) > MAX_BYTES:
            raise SpecError((Problem(file, None, None, "", f"larger than {MAX_BYTES} bytes: not a specification"),))
        text = text.removeprefix("\ufeff")
        lines = Text(text)
        try:
            data, found = _read(text, lines)
        except TooLargeError as e:
            raise SpecError((Problem(file, e.place.line, e.place.column, "", str(e)),)) from None
        except (YAMLError, ValueError, OverflowError, RecursionError, AssertionError) as e:  # ruamel.yaml 0.18-0.19
            raise SpecError((syntax_problem(e, file, lines),)) from None
        return Document(file, path, lines, data, found.places, found.faults, frozenset(found.secret_lines))

    @staticmethod
    def of_nothing() -> Document:
        """For a specification that was made in Python."""
        return Document("<specification>", None, None, {})

    @property
    def lines(self) -> list[str]:
        """The text's lines."""
        return self.text.lines if self.text else []

    @cached_property
    def _paths(self) -> dict[str, FieldPath]:
        return {".".join(path): path for path in self.places}

    def path_of(self, field: str) -> FieldPath:
        """The path of a dotted field, some of whose names may hold dots themselves (`kubernetes.labels.a.b/c`)."""
        return self._paths.get(field) or tuple(field.split("."))

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
        """A problem at a field, with the line that it stands on; what may hold a secret is not shown."""
        line, column = self.position(path) or (None, None)
        source = self.lines[line - 1] if line else None
        hide = line in self.secret_lines or _secrets.may_show(source or "") or any(map(_secrets.names_one, path))
        return Problem(
            file=self.file,
            line=line,
            column=column,
            field=".".join(_secrets.public(path, suggestion)),
            message=message,
            given=None if hide or _secrets.may_show(given or "") else given,
            allowed=allowed,
            suggestion=suggestion,
            source=None if hide else source,
        )


def _read(text: str, lines: Text) -> tuple[Any, Survey]:
    yaml = YAML(typ="safe", pure=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an anchor's name that is used again: allowed, and meant for programmers
        root = yaml.compose(StringIO(text))
        if root is None:
            return None, Survey(lines)
        found = survey(root, lines, yaml.constructor)
        return yaml.constructor.construct_document(root), found
