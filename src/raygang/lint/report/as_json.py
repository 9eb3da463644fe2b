"""The report for programs. `VERSION` rises when a field changes its meaning or goes; new fields do not raise it."""

from __future__ import annotations

import json
from typing import Any

from raygang.lint.model import Finding, Outcome
from raygang.lint.report.words import by_severity

VERSION = 1


def json_report(outcome: Outcome) -> str:
    """One JSON object.

    * `version`: 1.
    * `summary`: numbers: `files`, `objects`, `workloads`, `errors`, `warnings`, `infos`, `ignored`.
    * `findings`: in the order of file and place; each has `file`, `line`, `column`, `end_line` (from 1), `code`,
      `name`, `severity` (error, warning, info), `object` (kind/name, or empty), `document` (its index), `path`,
      `what`, `because`, `write`, `page`, and `fixable`: whether there is a certain way to mend it.
    * `unchecked`: sentences on what was not checked, and what is needed for it.
    """
    severities = {f"{severity}s": number for severity, number in by_severity(outcome).items()}
    report = {
        "version": VERSION,
        "summary": {
            "files": outcome.files,
            "objects": outcome.documents,
            "workloads": outcome.workloads,
            **severities,
            "ignored": outcome.ignored,
        },
        "findings": [_finding(finding) for finding in outcome.findings],
        "unchecked": list(outcome.unchecked),
    }
    return json.dumps(report, indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "object": finding.object,
        "document": finding.document,
        "path": finding.path,
        "what": finding.what,
        "because": finding.because,
        "write": finding.write,
        "page": finding.page,
        "fixable": bool(finding.fix),
    }
