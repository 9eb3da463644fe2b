"""Apache YuniKorn, through KubeRay's integration (KubeRay 1.4-1.7, yunikorn_scheduler.go and yunikorn_task_groups.go).

There is no PodGroup: KubeRay writes task groups into pod annotations, and YuniKorn reserves the gang with placeholder
pods. A worker group's minMember is minReplicas x numOfHosts, whether the autoscaler is on or off; a single minMember of
0 makes YuniKorn refuse all task groups (yunikorn-k8shim 1.5-1.9, pkg/cache/utils.go:33-60). The default style is Soft:
after the placeholders' time-out the pods are scheduled one by one (gang_scheduling.md, 1.5-1.9).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from raygang.gang import _explain_yunikorn
from raygang.gang import _kuberay as kuberay
from raygang.gang._task_groups import TASK_GROUPS, task_groups, troubles
from raygang.gang.model import Cause, Change, Context, Request, Sign, Verdict, gang_of
from raygang.gang.state import Explanation, State
from raygang.objects import Bundle, Entry, Group, RayWorkload, at, text
from raygang.plan import Gang

if TYPE_CHECKING:
    from raygang.spec import Spec

NAME = "yunikorn"
SCHEDULER = "yunikorn"
DOMAIN = "yunikorn.apache.org"
APP_ID, QUEUE = f"{DOMAIN}/app-id", f"{DOMAIN}/queue"
STYLE = f"{DOMAIN}/schedulingPolicyParameters"
HARD = "gangSchedulingStyle=Hard"
_POD_APP_IDS = (APP_ID, "applicationId")


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
    found = [*kuberay.scheduler_names(workload, SCHEDULER), *kuberay.label_signs(workload, DOMAIN)]
    return (*found, *kuberay.template_signs(workload, DOMAIN))


def effective(workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
    """The task groups that KubeRay would write."""
    causes = (*kuberay.opt_in_false(workload), *_soft(workload), *_app_id_again(workload))
    runs = context.runs(NAME)
    if runs is False or (runs is None and not (kuberay.opted_in(workload) or APP_ID in workload.manifest.labels)):
        path = next((sign.path for sign in signs(workload, bundle)), kuberay.LABELS)
        then = "nobody writes the task groups"
        return Verdict(NAME, None, (kuberay.not_told(workload, "YuniKorn", NAME, then, path), *causes))
    assumes = () if runs else (kuberay.needs_operator(NAME),)
    if not kuberay.opted_in(workload):
        return Verdict(NAME, None, (kuberay.opt_in_missing(workload, "YuniKorn"),), assumes)
    refused = (*_no_app_id(workload), *_unreadable(workload, context))
    if refused:
        return Verdict(NAME, None, (*refused, *causes), assumes)
    minimum = {group.name: _members(workload, group, context) for group in workload.groups}
    low = [group for group in workload.groups if minimum[group.name] < group.pods]
    why = "KubeRay writes minReplicas into YuniKorn's task group, whatever replicas says"
    if kuberay.before(context, kuberay.COMMON_SINCE):
        why = f"KubeRay {context.kuberay} writes minReplicas into YuniKorn's task group, without numOfHosts"
    causes = (*(kuberay.minimum_below_replicas(workload, g, minimum[g.name], why) for g in low), *causes)
    causes = (*_autoscaler(workload), *_suspended(workload), *causes)
    queue = kuberay.value(workload.manifest.labels, QUEUE)
    return Verdict(NAME, gang_of(workload, queue, minimum), causes, assumes)


def explain(state: State) -> Explanation:
    """From the pods' events, and how many placeholders have a place."""
    return _explain_yunikorn.explain(state)


def _own(workload: RayWorkload, context: Context) -> str | None:
    """The user's own task groups, which KubeRay keeps since 1.5."""
    old = kuberay.before(context, kuberay.COMMON_SINCE)
    return None if old else kuberay.value(workload.manifest.annotations, TASK_GROUPS)


def _unreadable(workload: RayWorkload, context: Context) -> Iterator[Cause]:
    """Task groups that YuniKorn refuses as a whole: then there is no gang at all."""
    own = _own(workload, context)
    if own is not None:
        for trouble in troubles(own, workload):
            advice = "write a list of {name, minMember, minResource}, one for headgroup and each worker group"
            yield Cause("yunikorn-task-groups", (*kuberay.ANNOTATIONS, TASK_GROUPS), trouble, advice)
        return
    for group in workload.groups[1:]:
        if group.min_pods == 0:
            wanted = group.pods // group.hosts
            path = group.at("minReplicas")
            why = (
                f"minReplicas of {group.name} is 0, so KubeRay writes a task group with minMember 0: YuniKorn refuses "
                f"all task groups, and {kuberay.nobody(workload)}"
            )
            advice = f"set minReplicas to {wanted}" if wanted else "set minReplicas to 1, or remove the group"
            fix = (Change("set", path, wanted),) if wanted and not workload.autoscaling else ()
            yield Cause("gang-min-zero", path, why, advice, fix=fix)


def _members(workload: RayWorkload, group: Group, context: Context) -> int:
    own = _own(workload, context)
    if own is not None:
        return min(task_groups(own).get(group.name, 0), group.pods)
    hosts = group.hosts if kuberay.before(context, kuberay.COMMON_SINCE) else 1
    return min(group.min_pods // hosts, group.pods)


def _no_app_id(workload: RayWorkload) -> Iterator[Cause]:
    """Without one YuniKorn's admission controller makes one application of a whole namespace (utils.go:141-200)."""
    on_pods = all(any(key in group.template_labels() for key in _POD_APP_IDS) for group in workload.groups)
    if APP_ID not in workload.manifest.labels and not on_pods:
        why = (
            "without an application id YuniKorn puts all pods of the namespace into one application, whose gang is "
            "that of its first pod"
        )
        yield Cause("yunikorn-app-id-missing", kuberay.LABELS, why, f"add the label {APP_ID}: {workload.name}")


def _app_id_again(workload: RayWorkload) -> Iterator[Cause]:
    """KubeRay copies the label to the old and the new cluster; placeholders are made once for an application."""
    strategy = text(at(workload.manifest.data, "spec", "upgradeStrategy", "type")) or "NewCluster"
    if workload.kind == "RayService" and APP_ID in workload.manifest.labels and strategy != "None":
        path = (*kuberay.LABELS, APP_ID)
        why = "an upgrade makes a second cluster with the same application id, and YuniKorn reserves no gang for it"
        advice = "set upgradeStrategy.type: None, or change the id with each version"
        yield Cause("yunikorn-appid-reuse", path, why, advice, "warning")


def _autoscaler(workload: RayWorkload) -> Iterator[Cause]:
    """kuberay#3895: the placeholder is sized by the template, the head gets another container of 500m and 512Mi."""
    if workload.autoscaling and TASK_GROUPS not in workload.manifest.annotations:
        path = (*workload.path, "enableInTreeAutoscaling")
        why = "the head's placeholder has no room for the autoscaler's container: the head may stay pending"
        advice = f"switch the autoscaler off, or write {TASK_GROUPS} with 500m and 512Mi more for headgroup"
        yield Cause("yunikorn-autoscaler-head", path, why, advice, "warning")


def _suspended(workload: RayWorkload) -> Iterator[Cause]:
    then = "placeholders are made for pods that never come, and the gang waits for their places as well"
    return kuberay.suspended_counted(workload, "KubeRay", "minReplicas", then)


def _soft(workload: RayWorkload) -> Iterator[Cause]:
    for group in workload.groups:
        style = text(group.template_annotations().get(STYLE)) or ""
        if HARD not in style.split():
            path = group.at("template", "metadata", "annotations", STYLE)
            timeout = [word for word in style.split() if not word.startswith("gangSchedulingStyle=")]
            hard = " ".join([*(timeout or ["placeholderTimeoutInSeconds=600"]), HARD])
            yield Cause(
                "yunikorn-soft",
                path if style else group.at("template"),
                "the gang's style is Soft: when the placeholders time out, YuniKorn schedules the pods one by one",
                f'annotate the pod template: {STYLE}: "{hard}"',
                "warning",
                fix=(Change("set", path, hard),),
            )
