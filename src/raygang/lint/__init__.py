"""Findings on Ray manifests, also those that raygang did not write."""

from raygang.lint.engine import lint
from raygang.lint.model import Edit, Finding, Outcome, Rule, Severity
from raygang.lint.registry import RULES, page, rule_of
from raygang.lint.source import Source, Unreadable, sources

__all__ = [
    "RULES",
    "Edit",
    "Finding",
    "Outcome",
    "Rule",
    "Severity",
    "Source",
    "Unreadable",
    "lint",
    "page",
    "rule_of",
    "sources",
]
