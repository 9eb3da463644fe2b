"""What KubeRay's batch scheduler integrations have in common (1.4-1.7, ray-operator/controllers/ray/batchscheduler)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from raygang.gang.model import Cause, Sign
from raygang.objects import Group, Path, RayWorkload
from raygang.spec import Spec, SpecError

OPT_IN = "ray.io/gang-scheduling-enabled"
PRIORITY = "ray.io/priority-class-name"
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


def opted_in(workload: RayWorkload) -> bool:
    """Whether the label is there: YuniKorn's and scheduler-plugins' integrations do not look at its value."""
    return OPT_IN in workload.manifest.labels


def opt_in_false(workload: RayWorkload) -> Iterator[Cause]:
    """The label with a value that looks like "off" and is not."""
    text = str(workload.manifest.labels.get(OPT_IN, "true")).lower()
    if text != "true":
        yield Cause(
            "gang-label-false",
            (*LABELS, OPT_IN),
            f'the label with the value "{text}" switches gang scheduling on all the same: KubeRay only looks whether '
            "it is there",
            'write "true", or remove the label',
            "warning",
        )


def opt_in_missing(workload: RayWorkload, scheduler: str) -> Cause:
    """The label that these integrations wait for."""
    return Cause(
        "gang-label-missing",
        LABELS,
        f"{scheduler} would schedule these {workload.pods} pods one by one: KubeRay makes a gang only of what carries "
        f"the label {OPT_IN}",
        f'add the label {OPT_IN}: "true" to the {workload.kind}',
    )


def not_told(workload: RayWorkload, scheduler: str, flag: str, then: str, path: Path) -> Cause:
    """Nothing tells KubeRay to use the scheduler."""
    return Cause(
        "schedulername-only",
        path,
        f"{scheduler} would schedule these {workload.pods} pods one by one: nothing tells KubeRay to use {scheduler} "
        f"(operator flag --batch-scheduler={flag}), so {then}",
        f"start KubeRay's operator with {operator_flag(flag)}, and say so here with --scheduler",
    )


def minimum_below_replicas(group: Group, why: str) -> Cause:
    """A group whose minReplicas is what the gang counts, and it is lower than what is wanted."""
    field = "minReplicas" if "minReplicas" in group.data else "replicas"
    return Cause(
        "gang-min-below-replicas",
        group.at(field),
        f"of the {group.pods} pods of {group.name} only {group.min_pods} belong to the gang: {why}",
        f"set minReplicas to {group.pods // group.hosts}, as many as the model needs",
    )


def no_topology(spec: Spec, scheduler: str) -> SpecError:
    """A topology that the scheduler cannot keep."""
    return spec.problem("scheduler.topology", f"{scheduler} knows no topology with KubeRay", suggestion="remove it")
