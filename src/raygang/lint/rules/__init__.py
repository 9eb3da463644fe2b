"""The rules, a module for each topic, each with its tuple `RULES`."""

from __future__ import annotations

from raygang.lint.model import Rule
from raygang.lint.rules import gang, text

TOPICS: tuple[tuple[Rule, ...], ...] = (text.RULES, gang.RULES)
