"""One truth about gang scheduling, a module per scheduler: how to ask for a gang, and which gang one would get."""

from __future__ import annotations

from raygang.gang import coscheduling, kai, kueue, native, none, volcano, yunikorn
from raygang.gang._kuberay import opted_in
from raygang.gang.model import Cause, Context, Entry, Request, Scheduler, Sign, Verdict
from raygang.objects import Bundle, RayWorkload
from raygang.plan import Gang, Plan

SCHEDULERS: dict[str, Scheduler] = {
    module.NAME: module for module in (volcano, kueue, yunikorn, kai, coscheduling, native, none)
}

__all__ = [
    "SCHEDULERS",
    "Cause",
    "Context",
    "Entry",
    "Gang",
    "Request",
    "Scheduler",
    "Sign",
    "Verdict",
    "effective",
    "request",
]


def request(plan: Plan, gang: Gang) -> Request:
    """What asks the plan's scheduler for one of its gangs.

    Raises:
        SpecError: the specification lacks something that the scheduler needs, or has what it cannot do.
    """
    return SCHEDULERS[plan.spec.scheduler.type].request(gang, plan.spec)


def effective(workload: RayWorkload, bundle: Bundle, context: Context | None = None) -> Verdict:
    """The gang that a workload of a bundle would really get, from the scheduler that it asks for or that is there."""
    context = context or Context()
    asked = [s for s in SCHEDULERS.values() if s.signs(workload, bundle)]
    if not asked and opted_in(workload):  # the label alone: YuniKorn would need an application's name beside it
        asked = [coscheduling]
    there = SCHEDULERS.get(context.scheduler or "", none)
    chosen = there if there in asked or (there is not none and not asked) else (asked or [there])[0]
    return chosen.effective(workload, bundle, context)
