"""SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0), as GitHub's code scanning and other viewers take it."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

from raygang.lint.model import Finding, Outcome, Rule
from raygang.lint.pages import rule_page
from raygang.lint.registry import RULES, rule_of
from raygang.lint.report.words import unchecked

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif_report(outcome: Outcome, version: str) -> str:
    """One run: the rules that found something or were not checked, with their pages, and a result for each finding.

    Args:
        outcome: what linting gave.
        version: raygang's.
    """
    codes = {finding.code for finding in outcome.findings} | {_code(what) for what in outcome.unchecked}
    rules = [rule for rule in RULES.values() if rule.code in codes]
    index = {rule.code: number for number, rule in enumerate(rules)}
    driver = {"name": "raygang", "version": version, "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The directory in which raygang was run."}}},
        "invocations": [_invocation(outcome, index)],
        "results": [_result(finding, index[finding.code]) for finding in outcome.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _code(what: str) -> str:
    return what.partition(" ")[0]


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.because}. {rule.why}"},
        "help": {"text": f"{rule.why}\n\nWrite: {rule.write}", "markdown": rule_page(rule)},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": [rule.topic]},
    }


def _invocation(outcome: Outcome, index: dict[str, int]) -> dict[str, Any]:
    notes = []
    for what, line in zip(outcome.unchecked, unchecked(outcome), strict=True):
        note: dict[str, Any] = {"level": "note", "message": {"text": line}}
        if (number := index.get(_code(what))) is not None:
            note["associatedRule"] = {"id": _code(what), "index": number}
        notes.append(note)
    unreadable = rule_of("unreadable").code
    return {
        "executionSuccessful": all(finding.code != unreadable for finding in outcome.findings),
        "toolExecutionNotifications": notes,
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.what}: {finding.because}. Write: {finding.write}"},
        "locations": [_location(finding)],
        "properties": {"fixable": bool(finding.fix)},
    }


def _location(finding: Finding) -> dict[str, Any]:
    """The blamed line as the region: GitHub shows a result in a pull request only where it changes all lines of it."""
    physical: dict[str, Any] = {
        "artifactLocation": _artifact(finding.file),
        "region": {"startLine": finding.line, "startColumn": finding.column},
    }
    if finding.end_line > finding.line:
        physical["contextRegion"] = {"startLine": finding.line, "endLine": finding.end_line}
    location: dict[str, Any] = {"physicalLocation": physical}
    name = " ".join(part for part in (finding.object, finding.path) if part)
    if name:
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    return location


def _artifact(name: str) -> dict[str, str]:
    path = quote(os.fsencode(name), safe="/")
    return {"uri": f"file://{path}"} if name.startswith("/") else {"uri": path, "uriBaseId": ROOT}
