"""What keeps a text from being YAML, in plain words."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.reader import ReaderError

from raygang.spec import _secrets
from raygang.spec._errors import Problem
from raygang.spec._text import Place, Text

_WORDS = {  # what ruamel.yaml 0.18-0.19 says: what it means to who wrote the text
    "single document": "more than one document; a specification is one",
    "'\\t' that cannot start": "a tab; YAML takes spaces only",
    "mapping values are not allowed": "a colon that starts no value; write text that holds one in quotes",
    "unexpected end of stream": "a quote that is never closed",
    "could not find expected ':'": "the colon after a field's name is missing",
    "undefined alias": "an alias (*) without an anchor (&) above it; write text that starts with * in quotes",
    "that cannot start any token": "a character that no text can start with; write it in quotes",
    "incompatible YAML document": "a version of YAML that is not known; it is 1.2 here",
    "version minor part": "a version of YAML that is not known; it is 1.2 here",
    "for merging": "only mappings can be merged with <<",
}
_LATE = ("end of stream", "stream end", "could not find expected ':'")  # said behind what they are about


def syntax_problem(error: Exception, file: str, text: Text) -> Problem:
    """The problem of a text that cannot be parsed; its line is shown unless it may hold a secret."""
    if isinstance(error, MarkedYAMLError) and (mark := _mark(error)):
        place = text.place(mark.index)
        return _at(place, _message(error, text.lines[place.line - 1]), file, text)
    if isinstance(error, ReaderError):
        what = f"the character U+{error.character:04X}, which YAML takes only in quotes and escaped"
        return _at(text.place(error.position), what, file, text)
    if isinstance(error, RecursionError):
        return Problem(file, None, None, "", "nested too deeply")
    return Problem(file, None, None, "", _in_words(str(error)))


def _mark(error: MarkedYAMLError) -> Any:
    late = any(words in (error.problem or "") for words in _LATE)
    return (error.context_mark if late else None) or error.problem_mark or error.context_mark


def _at(place: Place, message: str, file: str, text: Text) -> Problem:
    hide = _secrets.may_show_unparsed(text.lines, place.line - 1)
    source = None if hide else text.lines[place.line - 1]
    return Problem(file, place.line, place.column, "", message, source=source)


def _message(error: MarkedYAMLError, line: str) -> str:
    if isinstance(error, DuplicateKeyError):
        return "this key stands here twice"
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "a tab in the indentation; YAML takes spaces only"
    return _in_words(error.problem or error.context or "", beside=error.context or "")


def _in_words(said: str, beside: str = "") -> str:
    """What the parser's message means; else its first line, without what it quotes: that may be a secret."""
    known = next((words for key, words in _WORDS.items() if key in f"{said} {beside}"), None)
    first = (said.strip() or "unreadable").splitlines()[0]
    return known or "not YAML: " + re.sub(r"""(['"])[\w!&*].*\1""", "...", first)
