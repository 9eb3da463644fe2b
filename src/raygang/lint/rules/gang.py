"""GANG: the gang that was wanted against the gang that one would get. What schedulers do is known to the gang room
only; these rules pass on what it says.
"""

from __future__ import annotations

from raygang.lint.model import Case, CheckCase, Found, Report, Rule


def _said(name: str) -> CheckCase:
    """The causes of one kind that the scheduler's module gives."""

    def check(case: Case) -> Report:
        for cause in case.verdict.causes:
            if cause.rule == name:
                yield Found(cause.path, cause.why, cause.advice, severity=cause.severity)

    return check


RULES = (
    Rule(
        code="GANG002",
        name="schedulername-only",
        severity="error",
        title="pods name a gang scheduler, and nothing makes a gang",
        because="pods start one by one: where not all fit, those that run hold their GPUs for nothing",
        why="`schedulerName` only says who places a pod. Which pods belong together is said by KubeRay, and only when "
        "its operator was started with `--batch-scheduler` (Helm: `batchScheduler.name`): one scheduler for all "
        "clusters that it manages. Without it Volcano makes a group with minMember 1 of the pods.",
        write="start KubeRay's operator for this scheduler",
        since="KubeRay 1.3-1.7, Volcano 1.11-1.16",
        source="Volcano pkg/controllers/podgroup/pg_controller_handler.go:372-378",
        bad="kind: RayCluster\nspec:\n  headGroupSpec: {template: {spec: {schedulerName: volcano}}}\n",
        good="kind: RayCluster\nmetadata:\n  labels: {volcano.sh/queue-name: gpus}\n",
        check=_said("schedulername-only"),
    ),
)
