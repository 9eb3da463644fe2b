"""Why KAI lets a gang wait (KAI Scheduler 0.9-0.14).

Conditions: pkg/apis/scheduling/v2alpha2/podgroup_types.go:195-350 (status.schedulingConditions with reasons); events of
the PodGroup: pkg/scheduler/cache/status_updater/default_status_updater.go:275-300 (NotReady, Unschedulable); of pods:
pkg/podgrouper/pod_controller.go:95 (PodGrouperWarning).
"""

from __future__ import annotations

from raygang.gang.state import Explanation, State, by_pods, one_line
from raygang.objects import Manifest, at, sequence, text

GROUP = "scheduling.run.ai"
_STEPS = {
    "QueueDoesNotExist": "create the queue, with a parent queue, or name another in the label kai.scheduler/queue",
    "OverLimit": "raise the limit of the queue, or end what runs in it",
    "NonPreemptibleOverQuota": "raise the quota of the queue, or take a priority class below 100, which is preemptible",
    "PodSchedulingErrors": "free or add nodes that fit: the message names what each lacks",
}


def explain(state: State) -> Explanation:
    """From the PodGroup's scheduling conditions and events, or from the pod grouper's complaints."""
    complaint = next((s for s in state.said("Pod") if s.reason == "PodGrouperWarning"), None)
    group = next(state.objects.find(GROUP, "PodGroup"), None)
    if complaint and state.waiting:
        what = f"KAI's pod grouper makes no group of these pods: {one_line(complaint.message)}"
        step = "mend what the message names in the Ray object; until then the pods wait for ever"
        return Explanation(True, what, f"event PodGrouperWarning of Pod {complaint.name}", step)
    if group is None or (state.pods.manifests and not state.waiting):
        return by_pods(state)
    return _queue_trouble(state, group) or _unschedulable(group) or _not_ready(state, group) or by_pods(state)


def _queue_trouble(state: State, group: Manifest) -> Explanation | None:
    name = text(at(group.data, "spec", "queue"))
    queues = {m.name for m in state.objects.find(GROUP, "Queue")}
    if not queues or name in queues:
        return None
    what = f"the gang's queue {name} is not there"
    return Explanation(True, what, f"PodGroup {group.name}, spec.queue", _STEPS["QueueDoesNotExist"])


def _unschedulable(group: Manifest) -> Explanation | None:
    """Of several node pools, the last that was tried; `reason` and `message` alone in KAI before 0.6."""
    found = [c for c in sequence(at(group.data, "status", "schedulingConditions")) if at(c, "status") == "True"]
    if not found:
        return None
    last = found[-1]
    reasons = sequence(at(last, "reasons"))
    reason = text(at(reasons, 0, "reason")) or text(at(last, "reason")) or "Unschedulable"
    words = text(at(reasons, 0, "message")) or text(at(last, "message")) or "no message"
    what = f"KAI cannot place the whole gang ({reason}): {one_line(words)}"
    where = f"PodGroup {group.name}, schedulingConditions"
    return Explanation(True, what, where, _STEPS.get(reason, _STEPS["PodSchedulingErrors"]))


def _not_ready(state: State, group: Manifest) -> Explanation | None:
    said = next((s for s in state.said("PodGroup", group.name) if s.reason in ("NotReady", "Unschedulable")), None)
    if said is None:
        return None
    step = "see why KubeRay makes no more pods" if said.reason == "NotReady" else _STEPS["PodSchedulingErrors"]
    return Explanation(True, one_line(said.message), f"event {said.reason} of PodGroup {group.name}", step)
