"""What linting gave, for people and for programs: each form a pure function of the outcome."""

from raygang.lint.report.as_json import json_report
from raygang.lint.report.github import github_report
from raygang.lint.report.sarif import sarif_report
from raygang.lint.report.text import text_report

__all__ = ["github_report", "json_report", "sarif_report", "text_report"]
