"""All rules, by code."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Literal

from raygang.lint.model import Rule
from raygang.lint.rules import TOPICS


def by(field: Literal["code", "name"], rules: Iterable[Rule]) -> dict[str, Rule]:
    """Rules by their code or their name. Raises ValueError for two that have the same: one would hide the other."""
    found: dict[str, Rule] = {}
    for rule in rules:
        other = found.setdefault(getattr(rule, field), rule)
        if other is not rule:
            raise ValueError(f"two rules have the {field} {getattr(rule, field)}: {other.title}; {rule.title}")
    return found


RULES: dict[str, Rule] = by("code", (rule for topic in TOPICS for rule in sorted(topic, key=attrgetter("code"))))
_BY_NAME = by("name", RULES.values())


def rule_of(name: str) -> Rule:
    """The rule of a code or a name, in any case. Raises KeyError for others."""
    return RULES.get(name.upper()) or _BY_NAME[name.lower()]


def page(rule: Rule) -> str:
    """Where the rule stands in the documentation's site."""
    return f"rules/{rule.topic.lower()}/#{rule.code.lower()}"
