"""All rules, by code."""

from __future__ import annotations

from raygang.lint.model import Rule
from raygang.lint.rules import TOPICS

RULES: dict[str, Rule] = {rule.code: rule for topic in TOPICS for rule in sorted(topic, key=lambda r: r.code)}
_BY_NAME = {rule.name: rule for rule in RULES.values()}


def rule_of(name: str) -> Rule:
    """The rule of a code or a name, in any case. Raises KeyError for others."""
    return RULES.get(name.upper()) or _BY_NAME[name.lower()]


def page(rule: Rule) -> str:
    """Where the rule stands in the documentation's site."""
    return f"rules/{rule.topic.lower()}/#{rule.code.lower()}"
