"""What Kueue's webhook does not take of topology annotations (0.17-0.20, jobframework/tas_validation.go:34-280)."""

from __future__ import annotations

from collections.abc import Iterator

from raygang.gang.model import Cause
from raygang.objects import Group, RayWorkload, count
from raygang.objects.words import agreed

DOMAIN = "kueue.x-k8s.io"
REQUIRED, PREFERRED = f"{DOMAIN}/podset-required-topology", f"{DOMAIN}/podset-preferred-topology"
UNCONSTRAINED = f"{DOMAIN}/podset-unconstrained-topology"
TOGETHER = f"{DOMAIN}/podset-group-name"
LEVELS = (REQUIRED, PREFERRED, UNCONSTRAINED)
_ANNOTATIONS = ("template", "metadata", "annotations")


def asks_for_topology(group: Group) -> bool:
    """Whether a group's pods are placed by topology."""
    return any(key in group.template_annotations() for key in LEVELS)


def refused_topology(workload: RayWorkload) -> Iterator[Cause]:
    """Annotations that make the webhook refuse the whole workload."""
    for group in workload.groups:
        found = group.template_annotations()
        levels = [key for key in LEVELS if key in found]
        if len(levels) > 1:
            why = f"{group.name} has more than one topology annotation, and Kueue refuses the workload"
            yield _refused(group, levels[1], why, "keep one of them")
        if TOGETHER in found and not {REQUIRED, PREFERRED} & set(levels):
            why = f"{TOGETHER} of {group.name} stands without a level, and Kueue refuses the workload"
            yield _refused(group, TOGETHER, why, f"add {REQUIRED} or {PREFERRED}")
    yield from _together(workload)


def _together(workload: RayWorkload) -> Iterator[Cause]:
    sets: dict[str, list[Group]] = {}
    for group in workload.groups:
        name = group.template_annotations().get(TOGETHER)
        if isinstance(name, str):
            sets.setdefault(name, []).append(group)
    for name, groups in sets.items():
        if len(groups) != 2:
            who = agreed(len(groups), "one group has", f"{len(groups)} groups share")
            why = f"{who} {TOGETHER} {name}, and Kueue takes exactly two"
            yield _refused(groups[-1], TOGETHER, why, "give it to the head and one group of workers")
        elif all(_counted(group) != 1 for group in groups):
            why = f"of the two groups with {TOGETHER} {name} none has a single pod, and Kueue refuses that"
            yield _refused(groups[-1], TOGETHER, why, "give it to the head and one group of workers")
        elif len({tuple(group.template_annotations().get(key) for key in LEVELS) for group in groups}) > 1:
            why = f"the two groups with {TOGETHER} {name} ask for different levels, and Kueue refuses that"
            yield _refused(groups[-1], TOGETHER, why, "ask for the same level in both")


def _counted(group: Group) -> int:
    return 1 if group.head else count(group.data.get("replicas"), 1) * group.hosts


def _refused(group: Group, key: str, why: str, advice: str) -> Cause:
    return Cause("kueue-topology-refused", group.at(*_ANNOTATIONS, key), why, advice)
