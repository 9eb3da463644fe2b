"""From text to a specification, or to everything that is wrong with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from raygang.spec._document import MAX_BYTES, Document
from raygang.spec._errors import Problem, SpecError, UserError
from raygang.spec._explain import explain, kind
from raygang.spec._rules import contradictions, secrets
from raygang.spec.model import Spec

STAND_IN = {"name": "x", "model": {"source": "demo:smollm2"}}  # for what a specification must have


def load_spec(path: str | Path) -> Spec:
    """Read a specification.

    Args:
        path: a YAML file, or "-" for standard input.

    Raises:
        SpecError: with every problem of the file, in its order.
        UserError: the file cannot be read.
    """
    if str(path) == "-":
        if sys.stdin is None:
            raise UserError("standard input is closed", hint="name a file")
        return parse_spec(_decode(sys.stdin.buffer.read(MAX_BYTES + 1), "<stdin>"), file="<stdin>")
    path = Path(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)  # more is refused: it may be a device without an end
    except IsADirectoryError:
        raise UserError(f"{path} is a directory", hint="name a YAML file, for example examples/smollm2.yaml") from None
    except (OSError, ValueError) as e:  # ValueError: a NUL in the name
        raise UserError(f"cannot read {path}: {getattr(e, 'strerror', None) or e}") from None
    return parse_spec(_decode(raw, str(path)), file=str(path), path=path.absolute())


def parse_spec(text: str, *, file: str = "<string>", path: Path | None = None) -> Spec:
    """The specification of a YAML text. Raises SpecError with every problem."""
    document = Document.parse(text, file=file, path=path)
    if not isinstance(document.data, dict):
        what = "empty" if document.data is None else kind(document.data)
        raise SpecError((Problem(file, 1, None, "", f"a specification is a mapping of fields; this is {what}"),))
    problems = [document.problem(path, message) for path, message in document.faults.items()]
    problems += secrets(document)
    try:
        spec, broken = Spec.model_validate(document.data), set[str]()
    except ValidationError as e:
        problems += explain(e, document)
        spec, broken = _what_is_whole(document.data, e)
    problems += contradictions(spec, document, broken)
    if problems:
        raise SpecError(tuple(sorted(problems, key=lambda p: (p.line or 0, p.column or 0))))
    spec._document = document
    return spec


def _what_is_whole(data: dict[str, Any], error: ValidationError) -> tuple[Spec, set[str]]:
    """A specification of the sections without errors, so that they can be checked too, and the names of the others."""
    broken = {str(detail["loc"][0]) for detail in error.errors(include_url=False)}
    return Spec.model_validate(STAND_IN | {name: data[name] for name in data if name not in broken}), broken


def _decode(raw: bytes, file: str) -> str:
    if len(raw) > MAX_BYTES:
        raise SpecError((Problem(file, None, None, "", f"larger than {MAX_BYTES} bytes: not a specification"),))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = raw[: e.start].count(b"\n") + 1
        raise SpecError((Problem(file, line, None, "", "not UTF-8 text"),)) from None
