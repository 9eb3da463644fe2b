"""Task groups that a user wrote (yunikorn-k8shim 1.5-1.9, pkg/cache/utils.go:33-68)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from raygang.objects import RayWorkload, at, count, sequence, text
from raygang.objects.words import counted

TASK_GROUPS = "yunikorn.apache.org/task-groups"


def task_groups(written: str) -> dict[str, int]:
    """Name and minMember of each; empty when it is no list of such."""
    try:
        found = sequence(json.loads(written))
    except (ValueError, RecursionError):
        return {}
    return {name: count(at(group, "minMember"), 0) for group in found if (name := text(at(group, "name")))}


def troubles(written: str, workload: RayWorkload) -> Iterator[str]:
    """Why YuniKorn would refuse them all, or know nothing of some pods."""
    try:
        found = json.loads(written)
    except (ValueError, RecursionError) as e:
        yield f"the task groups are no JSON ({e}): YuniKorn schedules the pods one by one"
        return
    for index, group in enumerate(sequence(found)):
        name = text(at(group, "name")) or f"number {index + 1}"
        lacking = [key for key in ("name", "minResource") if not at(group, key)]
        if count(at(group, "minMember"), 0) <= 0:
            lacking.append("minMember above 0")
        if lacking:
            yield f"the task group {name} has no {' and no '.join(lacking)}: YuniKorn refuses all of them"
    names = task_groups(written)
    for group in workload.groups:
        if group.pods and group.name not in names:
            yield f"no task group is named {group.name}: the gang lacks its {counted(group.pods, 'pod')}"
