"""From text to a specification, or to everything that is wrong with it."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from raygang.spec._document import Document
from raygang.spec._errors import Problem, SpecError, UserError
from raygang.spec._explain import explain
from raygang.spec._rules import contradictions
from raygang.spec.model import Spec


def load_spec(path: str | Path) -> Spec:
    """Read a specification.

    Args:
        path: a YAML file, or "-" for standard input.

    Raises:
        SpecError: with every problem of the file, in its order.
        UserError: the file cannot be read.
    """
    if str(path) == "-":
        return parse_spec(_decode(sys.stdin.buffer.read(), "<stdin>"), file="<stdin>")
    path = Path(path)
    try:
        raw = path.read_bytes()
    except IsADirectoryError:
        raise UserError(f"{path} is a directory", hint="name a YAML file, for example examples/smollm2.yaml") from None
    except OSError as e:
        raise UserError(f"cannot read {path}: {e.strerror}") from None
    return parse_spec(_decode(raw, str(path)), file=str(path), path=path.absolute())


def parse_spec(text: str, *, file: str = "<string>", path: Path | None = None) -> Spec:
    """The specification of a YAML text. Raises SpecError with every problem."""
    document = Document.parse(text, file=file, path=path)
    if not isinstance(document.data, dict):
        what = "empty" if document.data is None else f"a {type(document.data).__name__}"
        raise SpecError((Problem(file, 1, None, "", f"a specification is a mapping of fields; this is {what}"),))
    problems = [document.problem(p, m) for p, m in _not_json(document.data)]
    try:
        spec = Spec.model_validate(document.data) if not problems else None
    except ValidationError as e:
        problems += explain(e, document)
        spec = None
    if spec is not None:
        spec._document = document
        problems += contradictions(spec, document)
    if problems or spec is None:
        raise SpecError(tuple(sorted(problems, key=lambda p: (p.line or 0, p.column or 0))))
    return spec


def _decode(raw: bytes, file: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = raw[: e.start].count(b"\n") + 1
        raise SpecError((Problem(file, line, None, "", "not UTF-8 text"),)) from None


def _not_json(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """What YAML can say and JSON cannot: it could be handed to nobody."""
    if isinstance(value, dict):
        found = [((*path, str(k)), "a field's name must be text") for k in value if not isinstance(k, str)]
        return found + [p for k, v in value.items() if isinstance(k, str) for p in _not_json(v, (*path, k))]
    if isinstance(value, list):
        return [p for i, v in enumerate(value) for p in _not_json(v, (*path, str(i)))]
    if isinstance(value, float) and not math.isfinite(value):
        return [(path, "must be a finite number")]
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        return [(path, "half of a character (a lone surrogate)")]
    if value is not None and not isinstance(value, (str, bool, int, float)):
        return [(path, f"a {type(value).__name__}; write it in quotes if text is meant")]
    return []
