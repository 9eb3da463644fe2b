"""How rules pass on what the gang room says. What schedulers do is known there only."""

from __future__ import annotations

from collections.abc import Iterable

from raygang.gang import Cause, asked
from raygang.lint.model import Case, CheckCase, Edit, Found, Report, Unchecked
from raygang.lint.rules.gang_wanted import why_wanted

OPERATOR = "the operator's batch scheduler (--scheduler)"
_IF_WANTED = {"gang-label-missing", "kueue-queue-missing", "podgroup-missing", "no-gang"}


def found(cause: Cause) -> Found:
    """A cause as a finding."""
    fix = tuple(Edit(change.action, change.path, change.value) for change in cause.fix)
    return Found(cause.path, cause.why, cause.advice, fix=fix, severity=cause.severity, manifest=cause.manifest)


def said(name: str) -> CheckCase:
    """The causes of one kind that the scheduler's module gives, and what it could not see."""

    def check(case: Case) -> Report:
        for cause in case.verdict.causes:
            if cause.rule == name and (name not in _IF_WANTED or is_wanted(case)):
                yield found(cause)
        for unseen in case.verdict.unseen:
            if unseen.rule == name:
                yield Unchecked(unseen.what)

    return check


def is_wanted(case: Case) -> bool:
    """Whether the workload asks for a gang, or cannot do without."""
    return bool(asked(case.workload, case.bundle)) or why_wanted(case.workload) is not None


def with_operator(name: str) -> CheckCase:
    """The same; and where the gang depends on what the operator is told, that it could not be checked."""
    check_causes = said(name)

    def check(case: Case) -> Report:
        yield from check_causes(case)
        if case.verdict.assumes:
            yield Unchecked(OPERATOR)

    return check


def of_manifest(name: str, causes: Iterable[Cause]) -> Report:
    """The causes of one kind among some."""
    for cause in causes:
        if cause.rule == name:
            yield found(cause)
