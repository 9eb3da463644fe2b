"""What KubeRay's batch scheduler integrations have in common (1.4-1.7, ray-operator/controllers/ray/batchscheduler)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from raygang.gang.model import Cause, Change, Context, Severity, Sign
from raygang.objects import Group, Manifest, Path, RayWorkload, Version, count
from raygang.objects.words import agreed, counted
from raygang.spec import SpecError

if TYPE_CHECKING:
    from raygang.spec import Spec

FIRST = Version(1, 3)  # --batch-scheduler
COMMON_SINCE = Version(1, 5)  # RayJobs have a gang of their own, schedulerName of scheduler-plugins, hosts are counted
OPT_IN = "ray.io/gang-scheduling-enabled"
PRIORITY = "ray.io/priority-class-name"
LEGACY = "ray.io/scheduler-name"
LABELS: Path = ("metadata", "labels")
ANNOTATIONS: Path = ("metadata", "annotations")


def operator_flag(name: str) -> str:
    """How the operator is told to use a scheduler; one scheduler for all clusters that it manages."""
    return f"--batch-scheduler={name} (Helm: batchScheduler.name={name})"


def needs_operator(name: str) -> str:
    """The sentence about it for who installs the cluster."""
    return f"KubeRay's operator has to be started with {operator_flag(name)}"


def scheduler_names(workload: RayWorkload, *names: str) -> Iterator[Sign]:
    """The pod templates that name a scheduler."""
    for group in workload.groups:
        if group.pod.get("schedulerName") in names:
            yield Sign(group.at("template", "spec", "schedulerName"), f"schedulerName: {group.pod['schedulerName']}")


def label_signs(workload: RayWorkload, domain: str) -> Iterator[Sign]:
    """Labels and annotations of the workload in a scheduler's own domain."""
    for path, found in ((LABELS, workload.manifest.labels), (ANNOTATIONS, workload.manifest.annotations)):
        for key in found:
            if isinstance(key, str) and key.partition("/")[0] == domain:
                yield Sign((*path, key), key)


def template_signs(workload: RayWorkload, domain: str) -> Iterator[Sign]:
    """Labels and annotations of pod templates in a scheduler's own domain."""
    for group in workload.groups:
        for kind, found in (("labels", group.template_labels()), ("annotations", group.template_annotations())):
            for key in found:
                if isinstance(key, str) and key.partition("/")[0] == domain:
                    yield Sign(group.at("template", "metadata", kind, key), key)


def value(found: Mapping[str, Any], key: str) -> str | None:
    """A label's value, None where it is absent or empty."""
    text = found.get(key)
    return text if isinstance(text, str) and text else None


def before(context: Context, version: Version) -> bool:
    """Whether KubeRay is known to be older than that."""
    return context.kuberay is not None and context.kuberay < version


def opted_in(workload: RayWorkload) -> bool:
    """Whether the label is there: YuniKorn's and scheduler-plugins' integrations do not look at its value."""
    return OPT_IN in workload.manifest.labels


def opt_in_false(workload: RayWorkload) -> Iterator[Cause]:
    """The label with a value that looks like "off" and is not."""
    text = str(workload.manifest.labels.get(OPT_IN, "true")).lower()
    if text != "true":
        path = (*LABELS, OPT_IN)
        off = text in ("false", "no", "off", "0")
        yield Cause(
            "gang-label-false",
            path,
            f'the label with the value "{text}" switches gang scheduling on all the same: KubeRay only looks whether '
            "it is there",
            'write "true", or remove the label',
            "warning",
            fix=(Change("delete", path) if off else Change("set", path, "true"),),
        )


def these_pods(workload: RayWorkload) -> str:
    """The workload's pods, in words."""
    return agreed(workload.pods, "this one pod", f"these {workload.pods} pods")


def one_by_one(workload: RayWorkload) -> str:
    """How pods are scheduled that are in no gang."""
    return agreed(workload.pods, "this one pod by itself", f"these {workload.pods} pods one by one")


def nobody(workload: RayWorkload) -> str:
    """That there is no gang, in a clause."""
    several = f"nobody schedules these {workload.pods} pods together"
    return agreed(workload.pods, "nobody makes a gang of this one pod", several)


def taken(workload: RayWorkload) -> str:
    """Who schedules them then."""
    return f"the default scheduler takes {agreed(workload.pods, 'it', 'them')}"


def opt_in_missing(workload: RayWorkload, scheduler: str) -> Cause:
    """The label that these integrations wait for."""
    return Cause(
        "gang-label-missing",
        LABELS,
        f"{scheduler} would schedule {one_by_one(workload)}: KubeRay makes a gang only of what carries "
        f"the label {OPT_IN}",
        f'add the label {OPT_IN}: "true" to the {workload.kind}',
        fix=(Change("set", (*LABELS, OPT_IN), "true"),),
    )


def not_told(workload: RayWorkload, scheduler: str, flag: str, then: str, path: Path) -> Cause:
    """Nothing tells KubeRay to use the scheduler."""
    return Cause(
        "schedulername-only",
        path,
        f"{scheduler} would schedule {one_by_one(workload)}: nothing tells KubeRay to use {scheduler} "
        f"(operator flag --batch-scheduler={flag}), so {then}",
        f"start KubeRay's operator with {operator_flag(flag)}, and say so here with --scheduler",
    )


def too_old(workload: RayWorkload, context: Context, what: str, since: Version) -> Cause:
    """KubeRay's version does not know it yet."""
    why = f"KubeRay {context.kuberay} does not know {what}: {nobody(workload)}"
    advice = f"use KubeRay {since.major}.{since.minor} or later, or another scheduler"
    return Cause("kuberay-too-old", LABELS, why, advice)


def minimum_below_replicas(workload: RayWorkload, group: Group, members: int, why: str) -> Cause:
    """A group that the gang counts with fewer pods than it has: often minReplicas is what counts."""
    path = group.at("minReplicas")
    wanted = group.pods // group.hosts
    elastic = workload.autoscaling
    counted = group.min_pods >= group.pods  # and still fewer: KubeRay 1.4 leaves hosts out
    advice = f"use KubeRay {COMMON_SINCE}" if counted else f"set minReplicas to {wanted}, as many as the model needs"
    fix = () if elastic or counted else (Change("set", path, wanted),)
    severity: Severity = "warning" if elastic else "error"
    if members <= 0:
        several = f"none of the {group.pods} pods of {group.name} belongs"
        who = agreed(group.pods, f"the one pod of {group.name} does not belong", several)
        what = f"{who} to the gang: {why}"
        return Cause("gang-min-zero", path, what, advice, severity, fix=fix)
    belong = agreed(members, "belongs", "belong")
    what = f"of the {group.pods} pods of {group.name} only {members} {belong} to the gang: {why}"
    return Cause("gang-min-below-replicas", path, what, advice, severity, fix=fix)


def replicas_outside_range(workload: RayWorkload) -> Iterator[Cause]:
    """KubeRay makes as many pods as minReplicas and maxReplicas allow, whatever replicas says."""
    for group in workload.groups[1:]:
        replicas, made = count(group.data.get("replicas"), -1), group.pods // group.hosts
        if group.data.get("suspend") is True or replicas in (-1, made):
            continue
        bound = "minReplicas" if replicas < made else "maxReplicas"
        side = "below" if replicas < made else "above"
        why = (
            f"replicas of {group.name} is {replicas}, {side} {bound} {group.data.get(bound)}: KubeRay makes {made}, "
            f"and reserves resources for {replicas}"
        )
        yield Cause("replicas-outside-range", group.at("replicas"), why, f"write replicas: {made}", "warning")


def suspended_counted(workload: RayWorkload, scheduler: str, field: str, then: str) -> Iterator[Cause]:
    """Groups that are suspended, and that the gang counts all the same."""
    for group in workload.groups[1:]:
        if group.data.get("suspend") is True and count(group.data.get(field), 0) > 0:
            why = f"{scheduler} counts {field} of {group.name} although the group is suspended: {then}"
            yield Cause("suspended-group-counted", group.at("suspend"), why, f"set {field}: 0 or remove the group")


def legacy_label(workload: RayWorkload) -> Iterator[Cause]:
    """Read by KubeRay up to 1.2 (schedulermanager.go:58), by none since 1.3."""
    if LEGACY in workload.manifest.labels:
        path = (*LABELS, LEGACY)
        why = "KubeRay reads this label no more, since 1.3: the operator's flag decides"
        advice = "remove it, and start the operator with --batch-scheduler"
        yield Cause("legacy-scheduler-label", path, why, advice, "warning", fix=(Change("delete", path),))


def overwritten(workload: RayWorkload, name: str) -> Iterator[Cause]:
    """KubeRay writes its scheduler's name into every pod, whatever the template says."""
    for group in workload.groups:
        own = group.pod.get("schedulerName")
        if isinstance(own, str) and own not in (name, "", "default-scheduler"):
            path = group.at("template", "spec", "schedulerName")
            why = f"KubeRay overwrites schedulerName {own} of {group.name} with {name}"
            fix = (Change("delete", path),)
            yield Cause("schedulername-conflict", path, why, "remove the field", "info", fix=fix)


def no_topology(spec: Spec, scheduler: str) -> SpecError:
    """A topology that the scheduler cannot keep."""
    return spec.problem("scheduler.topology", f"{scheduler} knows no topology with KubeRay", suggestion="remove it")


def own_minimum(workload: RayWorkload, own: Manifest, minimum: int, path: Path) -> Iterator[Cause]:
    """A PodGroup of the user's own whose minimum is not the number of pods."""
    if minimum == workload.pods:
        return
    then = "the gang never forms" if minimum > workload.pods else "half a gang may start"
    why = (
        f"the PodGroup {own.name} has {path[-1]} {minimum}, and the {workload.kind} {workload.name} has "
        f"{counted(workload.pods, 'pod')}: {then}"
    )
    fix = (Change("set", path, workload.pods),)
    yield Cause("podgroup-minimum", path, why, f"set {path[-1]} to {workload.pods}", manifest=own, fix=fix)
