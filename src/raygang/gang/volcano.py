"""Volcano, through KubeRay's integration (KubeRay 1.4-1.7, volcano_scheduler.go; Volcano 1.11-1.16).

KubeRay makes a PodGroup `ray-<cluster>-pg` of the whole RayCluster when its operator is started for Volcano. Pods that
name Volcano as their scheduler and belong to no PodGroup get one from Volcano itself, with minMember 1
(pkg/controllers/podgroup/pg_controller_handler.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from raygang.gang import _explain_volcano
from raygang.gang import _kuberay as kuberay
from raygang.gang.model import Cause, Change, Context, Request, Sign, Verdict, gang_of
from raygang.gang.state import Explanation, State
from raygang.objects import Bundle, Entry, Manifest, RayWorkload, Version, at, count, text
from raygang.plan import Gang

if TYPE_CHECKING:
    from raygang.spec import Spec

NAME = "volcano"
SCHEDULER = "volcano"
DOMAIN = "volcano.sh"
QUEUE = f"{DOMAIN}/queue-name"
MODE = f"{DOMAIN}/network-topology-mode"
TIER = f"{DOMAIN}/network-topology-highest-tier-allowed"
GROUP_NAMES = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")  # pod annotations
POD_GROUPS = "scheduling.volcano.sh"
DEFAULT_QUEUE = "default"
TOPOLOGY_SINCE = Version(1, 5)  # KubeRay 1.4's volcano_scheduler.go has no network topology
_MISREAD_QUEUES = (QUEUE, "scheduling.volcano.sh/queue-name")
_MIN_MEMBER = "scheduling.volcano.sh/group-min-member"


def request(gang: Gang, spec: Spec) -> Request:
    """The labels that KubeRay's integration reads. A topology's level is a number: the highest tier of HyperNodes."""
    labels = [
        Entry(QUEUE, gang.queue or DEFAULT_QUEUE, "Volcano's queue; read from this label, not from an annotation")
    ]
    if spec.scheduler.priority_class:
        labels.append(Entry(kuberay.PRIORITY, spec.scheduler.priority_class, "priority of the PodGroup"))
    needs = [kuberay.needs_operator(NAME)]
    topology = spec.scheduler.topology
    if topology:
        if not topology.level.isdecimal():
            raise spec.problem(
                "scheduler.topology.level",
                "for Volcano the level is the highest tier of HyperNodes that the gang may span",
                given=repr(topology.level),
                allowed='a number in quotes, such as "1"',
            )
        _check_topology(spec)
        labels.append(Entry(MODE, "hard" if topology.required else "soft", "hard: wait for such a domain"))
        labels.append(Entry(TIER, topology.level, "highest tier of HyperNodes that the gang may span"))
        needs.append("Volcano 1.11 or later with HyperNodes, and KubeRay 1.5 or later")
    return Request(labels=tuple(labels), needs=tuple(needs))


def signs(workload: RayWorkload, bundle: Bundle) -> tuple[Sign, ...]:
    """Volcano's labels and annotations, and its name in pod templates."""
    found = [*kuberay.scheduler_names(workload, SCHEDULER), *kuberay.label_signs(workload, DOMAIN)]
    found += [*kuberay.label_signs(workload, POD_GROUPS), *kuberay.template_signs(workload, DOMAIN)]
    return (*found, *kuberay.template_signs(workload, POD_GROUPS))


def effective(workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
    """The PodGroup that KubeRay would make, or one that the bundle brings, or Volcano's own of one pod."""
    causes = (*_queue(workload), *_tier(workload), *_old(workload, context), *_ignored(workload))
    queue = kuberay.value(workload.manifest.labels, QUEUE)
    runs = context.runs(NAME)
    if runs or (runs is None and _told(workload)):
        verdict = _operators(workload, None if queue == DEFAULT_QUEUE else queue, causes)
        return verdict if runs else Verdict(NAME, verdict.gang, verdict.causes, (kuberay.needs_operator(NAME),))
    own = _own_group(workload, bundle)
    if own is not None:
        return _brought(workload, own, causes, known=context.scheduler is not None)
    if runs is False and context.scheduler in ("none", "native"):
        return Verdict(NAME, None, (_nowhere(workload), *causes))
    named = next(kuberay.scheduler_names(workload, SCHEDULER), None)
    then = "Volcano makes a group with minMember 1" if named else kuberay.taken(workload)
    path = named.path if named else kuberay.LABELS
    return Verdict(NAME, None, (kuberay.not_told(workload, "Volcano", NAME, then, path), *causes))


def _nowhere(workload: RayWorkload) -> Cause:
    named = next(kuberay.scheduler_names(workload, SCHEDULER), None)
    pending = f"{kuberay.these_pods(workload)} will be pending for ever"
    then = pending if named else kuberay.nobody(workload)
    why = f"this asks Volcano for a gang, and no Volcano runs in the cluster: {then}"
    advice = "install Volcano, or ask the scheduler that the cluster has (`raygang render` writes it for each)"
    return Cause("schedulername-only", named.path if named else kuberay.LABELS, why, advice)


def explain(state: State) -> Explanation:
    """From the PodGroup, its queue and their events."""
    return _explain_volcano.explain(state)


def _check_topology(spec: Spec) -> None:
    version = spec.kubernetes.kuberay_version
    if version and Version.parse(version) < TOPOLOGY_SINCE:
        raise spec.problem("scheduler.topology", f"KubeRay {version} passes no topology on to Volcano", allowed="1.5")


def _told(workload: RayWorkload) -> bool:
    """Labels that only KubeRay's integration reads: who writes them has an operator that does."""
    return any(key in workload.manifest.labels for key in (QUEUE, MODE, TIER))


def _operators(workload: RayWorkload, queue: str | None, causes: tuple[Cause, ...]) -> Verdict:
    if any(cause.rule == "tier-label" and cause.severity == "error" for cause in causes):
        return Verdict(NAME, None, causes)
    if not workload.autoscaling:
        return Verdict(NAME, gang_of(workload, queue, {}), causes)
    low = [group for group in workload.groups if group.min_pods < group.pods]
    why = "with the autoscaler on, KubeRay counts minReplicas into Volcano's minMember"
    causes = (*(kuberay.minimum_below_replicas(workload, g, g.min_pods, why) for g in low), *causes)
    return Verdict(NAME, gang_of(workload, queue, {group.name: group.min_pods for group in low}), causes)


def _own_group(workload: RayWorkload, bundle: Bundle) -> Manifest | None:
    """A PodGroup of the bundle that all pods name."""
    named = {kuberay.value(g.template_annotations(), key) for g in workload.groups for key in GROUP_NAMES} - {None}
    if len(named) != 1 or not all(_names_group(workload, index) for index in range(len(workload.groups))):
        return None
    return next(iter(bundle.named(POD_GROUPS, "PodGroup", named.pop())), None)


def _names_group(workload: RayWorkload, index: int) -> bool:
    group = workload.groups[index]
    return group.pod.get("schedulerName") == SCHEDULER and any(k in group.template_annotations() for k in GROUP_NAMES)


def _brought(workload: RayWorkload, own: Manifest, causes: tuple[Cause, ...], *, known: bool) -> Verdict:
    minimum = count(at(own.data, "spec", "minMember"), 1)
    queue = text(at(own.data, "spec", "queue"))
    whole = gang_of(workload, queue if queue != DEFAULT_QUEUE else None, {})
    causes = (*kuberay.own_minimum(workload, own, minimum, ("spec", "minMember")), *causes)
    assumes = [] if known else ["Volcano runs in the cluster"]
    if at(own.data, "spec", "subGroupPolicy"):
        assumes.append("Volcano 1.14 or later runs: before it the API server drops subGroupPolicy silently")
    if minimum > whole.size:
        return Verdict(NAME, None, causes, tuple(assumes))
    return Verdict(NAME, Gang(whole.name, whole.members, minimum, whole.queue), causes, tuple(assumes))


def _queue(workload: RayWorkload) -> Iterator[Cause]:
    if QUEUE in workload.manifest.labels:
        return
    for key in _MISREAD_QUEUES:
        if key in workload.manifest.annotations:
            asked = workload.manifest.annotations[key]
            path = (*kuberay.ANNOTATIONS, key)
            yield Cause(
                "queue-as-annotation",
                path,
                f"nobody reads this annotation: the gang goes to the queue default, not to {asked}",
                f"write it as a label: metadata.labels[{QUEUE!r}]: {asked}",
                "warning",
                fix=(Change("move", path, (*kuberay.LABELS, QUEUE)),),
            )


def _tier(workload: RayWorkload) -> Iterator[Cause]:
    labels = workload.manifest.labels
    tier = labels.get(TIER)
    if tier is None:
        return
    if MODE not in labels:
        why = f"without the label {MODE} the tier is ignored"
        yield Cause("tier-label", (*kuberay.LABELS, TIER), why, f"add {MODE}: hard (or soft)", "warning")
    elif not re.fullmatch(r"[+-]?\d+", str(tier)):
        why = f"the highest tier is {tier!r}, no whole number: KubeRay fails to make the PodGroup, again and again"
        yield Cause("tier-label", (*kuberay.LABELS, TIER), why, 'write a number in quotes, such as "1"')


def _old(workload: RayWorkload, context: Context) -> Iterator[Cause]:
    if MODE in workload.manifest.labels and kuberay.before(context, TOPOLOGY_SINCE):
        why = f"KubeRay {context.kuberay} does not read this label: the gang is placed without regard to topology"
        path = (*kuberay.LABELS, MODE)
        yield Cause("topology-label-ignored", path, why, "use KubeRay 1.5 or later", "warning")


def _ignored(workload: RayWorkload) -> Iterator[Cause]:
    """Volcano reads this from owners of kinds ReplicaSet, DaemonSet, StatefulSet and Job only."""
    for sign in (*kuberay.label_signs(workload, POD_GROUPS), *kuberay.template_signs(workload, POD_GROUPS)):
        if sign.text == _MIN_MEMBER:
            why = "Volcano does not read this annotation of a RayCluster or its pods"
            fix = (Change("delete", sign.path),)
            advice = "remove it; KubeRay sets minMember"
            yield Cause("volcano-min-member-annotation", sign.path, why, advice, "warning", fix=fix)
