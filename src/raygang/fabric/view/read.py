"""A report from what `kubectl logs` gives: it is one line of JSON among others."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import ValidationError

from raygang.runtime.fabric.report import Report
from raygang.spec import UserError

VERSION = 1
_REPORT = re.compile(r'\s*\{"version":\s*(?=\d)')
_LOGS = "give the whole output of the check: `kubectl logs job/NAME | raygang fabric show -`"


def read_report(text: str, name: str) -> Report:
    """The last report of a text.

    Args:
        text: a report, or a log with one.
        name: what to call it in messages.

    Raises:
        UserError: there is no report in it, or none that can be read.
    """
    found = _found(text, name)
    version = found.get("version")
    if version != VERSION:
        hint = "use the raygang that made it, or a newer one"
        raise UserError(f"{name}: a report of version {version}; this raygang reads version {VERSION}", hint=hint)
    try:
        return Report.model_validate(found)
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the report"
        what = f"{name}: not a report of a network check: {where}: {first['msg'].lower()}"
        raise UserError(what, hint="give it as the check printed it") from None


def _found(text: str, name: str) -> dict[str, Any]:
    lines = [line for line in text.splitlines() if _REPORT.match(line)]
    for candidate in (*lines[-1:], text):
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and "version" in found:
            return found
    if lines:
        raise UserError(f"{name}: its report is no whole JSON: the line is cut off or changed", hint=_LOGS)
    raise UserError(f'{name}: has no report of a network check, a line that begins with {{"version":1', hint=_LOGS)
