"""Coscheduling of kubernetes-sigs/scheduler-plugins, through KubeRay (1.5-1.7, scheduler_plugins.go).

KubeRay makes a PodGroup named as the RayCluster and sets `schedulerName: scheduler-plugins-scheduler`.
"""

from __future__ import annotations

from collections.abc import Iterator

from raygang.gang import _kuberay as kuberay
from raygang.gang.model import Cause, Context, Entry, Request, Sign, Verdict, gang_of
from raygang.objects import Bundle, RayWorkload
from raygang.plan import Gang
from raygang.spec import Spec

NAME = "coscheduling"
FLAG = "scheduler-plugins"
SCHEDULER = "scheduler-plugins-scheduler"
DOMAIN = "scheduling.x-k8s.io"


def request(gang: Gang, spec: Spec) -> Request:
    """The label that switches gang scheduling on."""
    if gang.queue is not None:
        raise spec.problem("scheduler.queue", "coscheduling has no queues", suggestion="remove it")
    if spec.scheduler.topology:
        raise kuberay.no_topology(spec, "coscheduling")
    priority = spec.scheduler.priority_class
    return Request(
        labels=(Entry(kuberay.OPT_IN, "true", "KubeRay makes a PodGroup of the whole cluster"),),
        pod_fields=(Entry("priorityClassName", priority, "priority of the pods"),) if priority else (),
        needs=(
            kuberay.needs_operator(FLAG),
            f"a scheduler named {SCHEDULER} whose profile has the Coscheduling plugin: KubeRay knows no other name",
        ),
    )


def signs(workload: RayWorkload, bundle: Bundle) -> tuple[Sign, ...]:
    """The scheduler's name, and labels of its domain."""
    found = [*kuberay.scheduler_names(workload, SCHEDULER), *kuberay.label_signs(workload, DOMAIN)]
    return (*found, *kuberay.template_signs(workload, DOMAIN))


def effective(workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
    """KubeRay's PodGroup, of all pods."""
    causes = (*kuberay.opt_in_false(workload), *_static(workload))
    runs = context.runs(NAME)
    if runs is False or (runs is None and not kuberay.opted_in(workload)):
        then = f"{SCHEDULER} takes each pod by itself"
        path = next((sign.path for sign in signs(workload, bundle)), kuberay.LABELS)
        return Verdict(NAME, None, (kuberay.not_told(workload, "coscheduling", FLAG, then, path), *causes))
    if workload.kind == "RayJob":
        return Verdict(NAME, None, (_no_rayjob(), *causes))
    if not kuberay.opted_in(workload):
        return Verdict(NAME, None, (kuberay.opt_in_missing(workload, "coscheduling"), *causes))
    return Verdict(NAME, gang_of(workload, None, {}), causes, () if runs else (kuberay.needs_operator(FLAG),))


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
