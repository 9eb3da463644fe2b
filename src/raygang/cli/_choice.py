"""Which rules are meant: by code, by name, or all of a topic."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from raygang.lint import RULES, Rule, rule_of
from raygang.spec import UserError

# A text that cannot be read has no findings at all: without these, `--select` would call it clean.
ALWAYS = ("unreadable", "not-yaml")


def rule_named(word: str) -> Rule:
    """The rule of a code or a name. Raises UserError, with the nearest one, for others."""
    try:
        return rule_of(word.strip())
    except KeyError:
        raise UserError(f"there is no rule {word.strip()}", hint=_hint(word.strip())) from None


def wanted(select: Iterable[str], ignore: Iterable[str]) -> Callable[[str], bool]:
    """Whether a code was asked for.

    Args:
        select: codes, names and topics, with commas between them; all rules when there are none.
        ignore: likewise, those that were not wanted; they take away from what was selected.

    Raises:
        UserError: a word is no rule, or what it selects is ignored altogether.
    """
    selected, ignored = _words(select, "--select"), _words(ignore, "--ignore")
    without = {code for codes in ignored.values() for code in codes}
    for word, codes in selected.items():
        if codes <= without:
            raise UserError(f"--select {word} contradicts --ignore {','.join(ignored)}: nothing of it is left")
    if selected:
        always = {rule_of(name).code for name in ALWAYS}
        kept = {code for codes in selected.values() for code in codes} | always
    else:
        kept = set(RULES)
    if kept <= without:
        raise UserError("--ignore leaves no rule")
    return (kept - without).__contains__


def _words(options: Iterable[str], option: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for text in options:
        words = [word.strip() for word in text.split(",") if word.strip()]
        if not words:
            raise UserError(f"{option} names no rule")
        found |= {word: _codes(word) for word in words}
    return found


def _codes(word: str) -> set[str]:
    topic = {code for code, rule in RULES.items() if rule.topic == word.upper()}
    return topic or {rule_named(word).code}


def _hint(word: str) -> str:
    topics = {rule.topic for rule in RULES.values()}
    letters = word.upper().rstrip("0123456789")
    if letters in topics:
        return f"{letters} is a topic; `raygang rules` lists its rules"
    near = nearest(word, [*RULES, *(rule.name for rule in RULES.values()), *topics])
    return f"did you mean {near}?" if near else "`raygang rules` lists all rules"


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that is most like a word, in any case."""
    lower = {name.lower(): name for name in names}
    found = difflib.get_close_matches(word.lower(), lower, n=1)
    return lower[found[0]] if found else None
