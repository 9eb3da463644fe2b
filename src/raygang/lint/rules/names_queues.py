"""NAME: labels that look like a scheduler's and that it does not read."""

from __future__ import annotations

from raygang.gang import kai, kueue, volcano, yunikorn
from raygang.lint.model import Case, Found, Report, Rule

_QUEUES = {module.QUEUE.partition("/")[0]: module.QUEUE for module in (volcano, kueue, kai, yunikorn)}
_WRITTEN = ("kueue.x-k8s.io/local-queue-name", "kueue.x-k8s.io/cluster-queue-name")  # by Kueue itself


def _queue(case: Case) -> Report:
    labels = case.workload.manifest.labels
    for key in labels:
        domain, _, name = str(key).partition("/")
        right = _QUEUES.get(domain)
        if right is None or "queue" not in name.lower() or key == right or right in labels or key in _WRITTEN:
            continue
        what = f"nobody reads the label {key}: the one that names a queue is {right}"
        yield Found(("metadata", "labels", key), what, f"write {right}: {labels[key]}")


RULES = (
    Rule(
        code="NAME006",
        name="queue-label-unknown",
        severity="warning",
        title="a label for a queue that no scheduler reads",
        because="the gang goes to the default queue, or to none",
        why="Labels are free text: a name that is nearly right is taken, and does nothing.",
        write="write the scheduler's own label",
        since="KubeRay 1.4-1.7, Volcano 1.11-1.16, KAI 0.10-0.14, Kueue 0.17-0.20",
        source="KubeRay v1.7.0 controllers/ray/batchscheduler, Kueue 0.17 pkg/controller/constants/constants.go",
        bad="kind: RayCluster\nmetadata:\n  labels: {volcano.sh/queue: gpus}\n",
        good="kind: RayCluster\nmetadata:\n  labels: {volcano.sh/queue-name: gpus}\n",
        check=_queue,
    ),
)
