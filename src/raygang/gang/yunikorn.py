"""Apache YuniKorn, through KubeRay's integration (KubeRay 1.4-1.7, yunikorn_scheduler.go and yunikorn_task_groups.go).

There is no PodGroup: KubeRay writes task groups into pod annotations, and YuniKorn reserves the gang with placeholder
pods. A worker group's minMember is minReplicas x numOfHosts, whether the autoscaler is on or off. The default style is
Soft: after the placeholders' time-out the pods are scheduled one by one (YuniKorn's gang_scheduling.md, 1.5-1.7).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from raygang.gang import _kuberay as kuberay
from raygang.gang.model import Cause, Context, Entry, Request, Sign, Verdict, gang_of
from raygang.objects import Bundle, Group, RayWorkload, at, count, sequence, text
from raygang.plan import Gang
from raygang.spec import Spec

NAME = "yunikorn"
DOMAIN = "yunikorn.apache.org"
APP_ID, QUEUE = f"{DOMAIN}/app-id", f"{DOMAIN}/queue"
STYLE = f"{DOMAIN}/schedulingPolicyParameters"
TASK_GROUPS = f"{DOMAIN}/task-groups"
HARD = "gangSchedulingStyle=Hard"


def request(gang: Gang, spec: Spec) -> Request:
    """Labels for KubeRay, and the gang's style on each pod template: KubeRay does not know it."""
    if spec.scheduler.topology:
        raise kuberay.no_topology(spec, "YuniKorn")
    labels = [
        Entry(kuberay.OPT_IN, "true", "KubeRay writes task groups only with this label"),
        Entry(APP_ID, gang.name, "one application for each replica"),
    ]
    if gang.queue:
        labels.append(Entry(QUEUE, gang.queue, "YuniKorn's queue; its sorting has to be FIFO for gangs"))
    style = f"placeholderTimeoutInSeconds={int(spec.limits.start_timeout)} {HARD}"
    priority = spec.scheduler.priority_class
    return Request(
        labels=tuple(labels),
        pod_annotations=(Entry(STYLE, style, "the default, Soft, starts half a gang after the time-out"),),
        pod_fields=(Entry("priorityClassName", priority, "priority of the pods"),) if priority else (),
        needs=(kuberay.needs_operator(NAME),),
    )


def signs(workload: RayWorkload, bundle: Bundle) -> tuple[Sign, ...]:
    """YuniKorn's labels and annotations, and its name in pod templates."""
    found = [*kuberay.scheduler_names(workload, NAME), *kuberay.label_signs(workload, DOMAIN)]
    return (*found, *kuberay.template_signs(workload, DOMAIN))


def effective(workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
    """The task groups that KubeRay would write."""
    causes = (*kuberay.opt_in_false(workload), *_soft(workload))
    runs = context.runs(NAME)
    if runs is False or (runs is None and not (kuberay.opted_in(workload) or APP_ID in workload.manifest.labels)):
        path = next((sign.path for sign in signs(workload, bundle)), kuberay.LABELS)
        then = "nobody writes the task groups"
        return Verdict(NAME, None, (kuberay.not_told(workload, "YuniKorn", NAME, then, path), *causes))
    assumes = () if runs else (kuberay.needs_operator(NAME),)
    if not kuberay.opted_in(workload):
        return Verdict(NAME, None, (kuberay.opt_in_missing(workload, "YuniKorn"), *causes), assumes)
    queue = kuberay.value(workload.manifest.labels, QUEUE)
    minimum = {group.name: _members(workload, group) for group in workload.groups}
    low = [group for group in workload.groups if minimum[group.name] < group.pods]
    why = "KubeRay writes minReplicas into YuniKorn's task group, whatever replicas says"
    causes = (*(kuberay.minimum_below_replicas(group, why) for group in low), *causes)
    return Verdict(NAME, gang_of(workload, queue, minimum), causes, assumes)


def _members(workload: RayWorkload, group: Group) -> int:
    """What the user's own task groups say, which KubeRay keeps, or what it writes itself."""
    own = text(workload.manifest.annotations.get(TASK_GROUPS))
    if own is None:
        return group.min_pods
    try:
        found = [g for g in sequence(json.loads(own)) if at(g, "name") == group.name]
    except ValueError:
        return 0
    return count(at(found[0], "minMember"), 0) if found else 0


def _soft(workload: RayWorkload) -> Iterator[Cause]:
    for group in workload.groups:
        style = text(group.template_annotations().get(STYLE)) or ""
        if HARD not in style.split():
            there = ("template", "metadata", "annotations", STYLE) if style else ("template",)
            yield Cause(
                "yunikorn-soft",
                group.at(*there),
                "the gang's style is Soft: when the placeholders time out, YuniKorn schedules the pods one by one",
                f'annotate the pod template: {STYLE}: "placeholderTimeoutInSeconds=600 {HARD}"',
                "warning",
            )
