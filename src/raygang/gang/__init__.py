"""One truth about gang scheduling, a module per scheduler: how to ask for a gang, which one forms, why it waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from raygang.gang import _kuberay as kuberay
from raygang.gang import coscheduling, kai, kueue, native, none, queues, volcano, yunikorn
from raygang.gang._jobs import refused_jobs
from raygang.gang.model import Cause, Change, Context, Request, Scheduler, Sign, Unseen, Verdict
from raygang.gang.operator import clashes, informed, operator_of
from raygang.gang.state import Explanation, State
from raygang.objects import Bundle, Entry, RayWorkload
from raygang.plan import Gang

if TYPE_CHECKING:
    from raygang.plan import Plan

SCHEDULERS: dict[str, Scheduler] = {
    module.NAME: module for module in (volcano, kueue, yunikorn, kai, coscheduling, native, none)
}
_STAMPED = {  # schedulers that KubeRay's operator puts every pod under -> the name that it writes into the pod
    module.NAME: module.SCHEDULER for module in (volcano, yunikorn, kai, coscheduling)
}
_STAMPED_SINCE = dict.fromkeys(_STAMPED, kuberay.FIRST) | dict.fromkeys(
    (kai.NAME, coscheduling.NAME), kuberay.COMMON_SINCE
)

__all__ = [
    "SCHEDULERS",
    "Cause",
    "Change",
    "Context",
    "Entry",
    "Explanation",
    "Gang",
    "Request",
    "Scheduler",
    "Sign",
    "State",
    "Unseen",
    "Verdict",
    "asked",
    "clashes",
    "effective",
    "explain",
    "informed",
    "operator_of",
    "refused_jobs",
    "request",
]


def request(plan: Plan, gang: Gang) -> Request:
    """What asks the plan's scheduler for one of its gangs.

    Raises:
        SpecError: the specification lacks something that the scheduler needs, or has what it cannot do.
    """
    return SCHEDULERS[plan.spec.scheduler.type].request(gang, plan.spec)


def asked(workload: RayWorkload, bundle: Bundle) -> tuple[str, ...]:
    """The schedulers that a workload asks for by fields that are theirs alone."""
    return tuple(name for name, scheduler in SCHEDULERS.items() if scheduler.signs(workload, bundle))


def effective(workload: RayWorkload, bundle: Bundle, context: Context | None = None) -> Verdict:
    """The gang that a workload of a bundle would really get, from the scheduler that it asks for or that is there."""
    given, wanted = context or Context(), asked(workload, bundle)
    context = informed(given, bundle)
    if kueue.NAME in wanted:  # it works from outside: what the operator is told does not say whether Kueue runs
        context = replace(context, scheduler=given.scheduler)
    name = _chosen(workload, wanted, context)
    verdict = SCHEDULERS[name].effective(workload, bundle, context)
    known = {cause.rule for cause in verdict.causes}
    causes = [*kuberay.legacy_label(workload), *_elsewhere(workload, bundle, wanted, name, context)]
    if context.scheduler == name and name in _STAMPED and not kuberay.before(context, _STAMPED_SINCE[name]):
        causes += kuberay.overwritten(workload, _STAMPED[name])
    if "replicas-outside-range" not in known:
        causes += kuberay.replicas_outside_range(workload)
    return queues.inspect(workload, bundle, verdict.adding(causes))


def explain(scheduler: str, state: State) -> Explanation:
    """Why a gang is pending, in the scheduler's own words, and what to do."""
    return SCHEDULERS[scheduler].explain(state)


def _chosen(workload: RayWorkload, wanted: tuple[str, ...], context: Context) -> str:
    """Whose word counts: KubeRay's operator puts all pods under its scheduler, whatever a template says."""
    there = context.scheduler if context.scheduler in SCHEDULERS else None
    if there in _STAMPED or (there in wanted):
        return there or none.NAME
    if kuberay.opted_in(workload) and not wanted:  # the label alone: YuniKorn would need an application's id beside it
        return native.NAME if there == native.NAME else coscheduling.NAME
    return wanted[0] if wanted else there or none.NAME


def _elsewhere(
    workload: RayWorkload, bundle: Bundle, wanted: tuple[str, ...], name: str, context: Context
) -> Iterator[Cause]:
    """Fields for another scheduler than the one that the cluster runs."""
    if context.scheduler != name or name in wanted or name not in _STAMPED:
        return
    for other in wanted:
        sign = next((s for s in SCHEDULERS[other].signs(workload, bundle) if s.path[-1] != "schedulerName"), None)
        if sign:
            why = f"{sign.text} speaks to {other}, and the cluster runs {name}, which does not read it"
            yield Cause("scheduler-mismatch", sign.path, why, f"ask {name} instead, or remove it", "warning")
