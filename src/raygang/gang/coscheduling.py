"""Coscheduling of kubernetes-sigs/scheduler-plugins, through KubeRay (1.4-1.7, scheduler_plugins.go).

KubeRay makes a PodGroup named as the RayCluster. Since 1.5 it sets `schedulerName: scheduler-plugins-scheduler` and
counts numOfHosts; 1.4 leaves the name alone, so that the plugin has to run in the default scheduler, and counts
replicas as written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from raygang.gang import _explain_coscheduling
from raygang.gang import _kuberay as kuberay
from raygang.gang.model import Cause, Context, Request, Sign, Verdict, gang_of
from raygang.gang.state import Explanation, State
from raygang.objects import Bundle, Entry, Group, Manifest, RayWorkload, Version, at, count
from raygang.plan import Gang

if TYPE_CHECKING:
    from raygang.spec import Spec

NAME = "coscheduling"
FLAG = "scheduler-plugins"
SCHEDULER = "scheduler-plugins-scheduler"
DOMAIN = "scheduling.x-k8s.io"
POD_GROUP = f"{DOMAIN}/pod-group"


def request(gang: Gang, spec: Spec) -> Request:
    """The label that switches gang scheduling on."""
    if gang.queue is not None:
        raise spec.problem("scheduler.queue", "coscheduling has no queues", suggestion="remove it")
    if spec.scheduler.topology:
        raise kuberay.no_topology(spec, "coscheduling")
    priority, version = spec.scheduler.priority_class, spec.kubernetes.kuberay_version
    old = version is not None and Version.parse(version) < kuberay.COMMON_SINCE
    second = f"a scheduler named {SCHEDULER} whose profile has the Coscheduling plugin: KubeRay knows no other name"
    first = f"the Coscheduling plugin in the default scheduler: KubeRay {version} sets no scheduler's name"
    return Request(
        labels=(Entry(kuberay.OPT_IN, "true", "KubeRay makes a PodGroup of the whole cluster"),),
        pod_fields=(Entry("priorityClassName", priority, "priority of the pods"),) if priority else (),
        needs=(kuberay.needs_operator(FLAG), first if old else second),
    )


def signs(workload: RayWorkload, bundle: Bundle) -> tuple[Sign, ...]:
    """The scheduler's name, and labels of its domain."""
    found = [*kuberay.scheduler_names(workload, SCHEDULER), *kuberay.label_signs(workload, DOMAIN)]
    return (*found, *kuberay.template_signs(workload, DOMAIN))


def effective(workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
    """KubeRay's PodGroup of all pods, or one that the bundle brings."""
    causes = (*kuberay.opt_in_false(workload), *_static(workload))
    runs = context.runs(NAME)
    own = _own_group(workload, bundle)
    if own is not None and not (runs and kuberay.opted_in(workload)):
        return _brought(workload, own, causes, known=context.scheduler is not None)
    if runs is False or (runs is None and not kuberay.opted_in(workload)):
        then = f"{SCHEDULER} takes each pod by itself"
        path = next((sign.path for sign in signs(workload, bundle)), kuberay.LABELS)
        return Verdict(NAME, None, (kuberay.not_told(workload, "coscheduling", FLAG, then, path), *causes))
    if workload.kind == "RayJob" and not kuberay.before(context, kuberay.COMMON_SINCE):
        return Verdict(NAME, None, (_no_rayjob(), *causes))
    if not kuberay.opted_in(workload):
        return Verdict(NAME, None, (kuberay.opt_in_missing(workload, "coscheduling"),))
    assumes = () if runs else (kuberay.needs_operator(FLAG),)
    return _grouped(workload, context, causes, assumes)


def explain(state: State) -> Explanation:
    """From the PodGroup's minimum, and what the scheduler says of the pods."""
    return _explain_coscheduling.explain(state)


def _grouped(workload: RayWorkload, context: Context, causes: tuple[Cause, ...], assumes: tuple[str, ...]) -> Verdict:
    if not kuberay.before(context, kuberay.COMMON_SINCE):
        return Verdict(NAME, gang_of(workload, None, {}), causes, assumes)
    why = f"KubeRay {context.kuberay} counts replicas as written and leaves numOfHosts out"
    counted = {group.name: _as_written(group) for group in workload.groups}
    low = [group for group in workload.groups if counted[group.name] < group.pods]
    causes = (*(kuberay.minimum_below_replicas(workload, g, counted[g.name], why) for g in low), *causes)
    if sum(counted.values()) > workload.pods:
        return Verdict(NAME, None, (*kuberay.replicas_outside_range(workload), *causes), assumes)
    return Verdict(NAME, gang_of(workload, None, counted), causes, assumes)


def _as_written(group: Group) -> int:
    """KubeRay 1.4.2, scheduler_plugins.go:40-48."""
    return 1 if group.head else max(0, count(group.data.get("replicas"), 0))


def _own_group(workload: RayWorkload, bundle: Bundle) -> Manifest | None:
    """A PodGroup of the bundle that all pods are labelled with."""
    named = {kuberay.value(group.template_labels(), POD_GROUP) for group in workload.groups}
    if len(named) != 1:
        return None
    return next(iter(bundle.named(DOMAIN, "PodGroup", named.pop())), None)


def _brought(workload: RayWorkload, own: Manifest, causes: tuple[Cause, ...], *, known: bool) -> Verdict:
    minimum = count(at(own.data, "spec", "minMember"), 1)
    whole = gang_of(workload, None, {})
    causes = (*kuberay.own_minimum(workload, own, minimum, ("spec", "minMember")), *causes)
    assumes = () if known else ("the Coscheduling plugin runs in the pods' scheduler",)
    if minimum > whole.size:
        return Verdict(NAME, None, causes, assumes)
    return Verdict(NAME, Gang(whole.name, whole.members, minimum), causes, assumes)


def _no_rayjob() -> Cause:
    why = "KubeRay's integration of scheduler-plugins takes RayClusters only: this RayJob never starts"
    return Cause("rayjob-unsupported", ("kind",), why, "use a RayCluster or a RayService, or another scheduler")


def _static(workload: RayWorkload) -> Iterator[Cause]:
    if workload.autoscaling:
        yield Cause(
            "coscheduling-static",
            (*workload.path, "enableInTreeAutoscaling"),
            "KubeRay never updates this PodGroup: after the autoscaler has removed a pod, its minMember cannot be met",
            "switch the autoscaler off",
            "warning",
        )
