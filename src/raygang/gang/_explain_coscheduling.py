"""Why coscheduling lets a gang wait (scheduler-plugins 0.28-0.35).

The PodGroup's status has phases and counts only (pkg/controllers/podgroup_controller.go:80-140); the reason stands in
the pods' PodScheduled conditions (pkg/coscheduling/core/core.go:244-300 and coscheduling.go:150-230).
"""

from __future__ import annotations

from dataclasses import replace

from raygang.gang.state import Explanation, State, by_pods, condition, message
from raygang.objects import Manifest, at, count
from raygang.objects.words import agreed, counted

GROUP = "scheduling.x-k8s.io"
_LABEL = f"{GROUP}/pod-group"
_STEPS = (  # a part of what the scheduler says of a pod, and what to do about it
    ("cannot find enough sibling pods", "see why KubeRay makes no more pods; after a scale-down delete the PodGroup"),
    ("resource gap", "the cluster as a whole is too small for the gang: free or add nodes"),
    ("PodGroup not found", "see KubeRay's log: the PodGroup is made when the cluster is"),
    ("failed recently", "wait: the scheduler tries the gang again after its back-off"),
    ("gated pods", "remove the scheduling gates of the gang's pods"),
    ("rejected due to Pod", "one pod fits nowhere, so the whole gang waits: free or add nodes that fit"),
)


def explain(state: State) -> Explanation:
    """From the PodGroup's minimum, and what the scheduler says of the pods."""
    group = next(state.objects.find(GROUP, "PodGroup"), None)
    if not state.waiting:
        return by_pods(state)
    if group is None and any(_LABEL in pod.labels for pod in state.waiting):
        name = next(pod.labels[_LABEL] for pod in state.waiting if _LABEL in pod.labels)
        what = f"the pods name the PodGroup {name}, and it is not there"
        return Explanation(True, what, f"pods of {state.workload.name}", "see KubeRay's log: it makes the PodGroup")
    short = group and _too_few(state, group)
    if short:
        return short
    found = by_pods(state)
    words = [message(c) for pod in state.waiting if (c := condition(pod, "PodScheduled"))]
    step = next((step for part, step in _STEPS if any(part in w for w in words)), None)
    if step:
        return replace(found, next_step=step)
    if not words:
        step = "see that a scheduler of that name runs with the Coscheduling plugin: KubeRay knows no other name"
        return replace(found, next_step=f"{found.next_step}; {step}")
    return found


def _too_few(state: State, group: Manifest) -> Explanation | None:
    made, minimum = len(state.pods.manifests), count(at(group.data, "spec", "minMember"), 1)
    if made >= minimum:
        return None
    what = f"the PodGroup wants {counted(minimum, 'pod')}, and there {agreed(made, 'is', 'are')} {made}"
    step = "KubeRay never updates it: delete the PodGroup and the RayCluster, or bring the missing pods back"
    return Explanation(True, what, f"PodGroup {group.name}, spec.minMember", step)
