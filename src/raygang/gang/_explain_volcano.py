"""Why Volcano lets a gang wait (Volcano 1.11-1.16).

Words and conditions: pkg/scheduler/plugins/gang/gang.go:242-255 (Unschedulable, NotEnoughResources), framework/
session.go:610-640 (phases), plugins/{overcommit,proportion,capacity} (events of a PodGroup that may not enqueue),
webhooks/admission/podgroups/validate/validate_podgroup.go:102-118 (queue not there or not open); v1.14.1.
"""

from __future__ import annotations

from raygang.gang.state import Explanation, State, by_pods, condition, holds, message, no_pods, one_line
from raygang.objects import Manifest, at, count, text
from raygang.objects.words import agreed, counted

GROUP = "scheduling.volcano.sh"
_NO_QUOTA, _NO_ROOM = "queue resource quota insufficient", "resource in cluster is overused"


def explain(state: State) -> Explanation:
    """From the PodGroup, its queue and their events."""
    group = _group(state)
    if group is None:
        return _no_group(state)
    queue = _queue_trouble(state, group)
    if queue:
        return queue
    phase = text(at(group.data, "status", "phase")) or "Pending"
    if phase in ("Running", "Completed"):
        return by_pods(state)
    where = f"PodGroup {group.name}, phase {phase}"
    return _not_enqueued(state, group, where) if phase == "Pending" else _enqueued(state, group, where)


def _enqueued(state: State, group: Manifest, where: str) -> Explanation:
    """Admitted to its queue: nodes are the question now."""
    unschedulable = condition(group, "Unschedulable")
    if holds(unschedulable):
        what = f"the gang is admitted to its queue and does not fit on the nodes: {message(unschedulable)}"
        step = "free or add nodes that fit: the message names what each lacks"
        return Explanation(True, what, f"PodGroup {group.name}, condition Unschedulable", step)
    made, minimum = len(state.pods.manifests), count(at(group.data, "spec", "minMember"), 1)
    if made < minimum:
        what = f"the gang needs {counted(minimum, 'pod')}, and {made} {agreed(made, 'has', 'have')} been made"
        return Explanation(True, what, f"PodGroup {group.name}, spec.minMember", "see why KubeRay makes no more pods")
    return Explanation(False, "Volcano has admitted the gang and is placing it", where, "wait for the next cycle")


def _group(state: State) -> Manifest | None:
    """The PodGroup that the pods name, else the only one."""
    found = list(state.objects.find(GROUP, "PodGroup"))
    named = {text(p.annotations.get("scheduling.k8s.io/group-name")) for p in state.pods.manifests}
    return next((m for m in found if m.name in named), found[0] if len(found) == 1 else None)


def _no_group(state: State) -> Explanation:
    refused = next((s for s in state.said(state.workload.kind, state.workload.name) if "PodGroup" in s.message), None)
    if refused:
        what = f"the PodGroup could not be made: {one_line(refused.message)}"
        where = f"event {refused.reason} of {state.workload.kind} {state.workload.name}"
        return Explanation(True, what, where, "mend what the message names")
    if state.pods.manifests:
        return by_pods(state)
    found = no_pods(state)
    step = f"{found.next_step}; Volcano's webhook refuses a PodGroup whose queue is not there or not open"
    return Explanation(found.blocked, found.what, found.where, step)


def _queue_trouble(state: State, group: Manifest) -> Explanation | None:
    name = text(at(group.data, "spec", "queue")) or "default"
    queues = {m.name: m for m in state.objects.find(GROUP, "Queue")}
    if not queues:
        return None
    if name not in queues:
        what = f"the gang's queue {name} is not there"
        step = f"create the queue {name}, or name another"
        return Explanation(True, what, f"PodGroup {group.name}, spec.queue", step)
    phase = text(at(queues[name].data, "status", "state"))
    if phase in (None, "Open"):
        return None
    what = f"the queue {name} is {phase}, and Volcano admits gangs of open queues only"
    return Explanation(True, what, f"Queue {name}, status.state", f"open the queue {name}, or name another")


def _not_enqueued(state: State, group: Manifest, where: str) -> Explanation:
    """Pods are not even looked at until the queue has room for spec.minResources."""
    said = next((s for s in state.said("PodGroup", group.name) if s.reason == "Unschedulable"), None)
    words = one_line(said.message) if said else ""
    queue = text(at(group.data, "spec", "queue")) or "default"
    if words.startswith(_NO_QUOTA):
        what = f"the queue {queue} has no room for the gang: {words}"
        step = f"raise the capability of the queue {queue}, or end what runs in it"
        return Explanation(True, what, f"event Unschedulable of PodGroup {group.name}", step)
    if words.startswith(_NO_ROOM):
        what = f"the cluster has no room for the gang: {words}"
        step = "free or add nodes; a cluster autoscaler adds none, because the pods are not looked at yet"
        return Explanation(True, what, f"event Unschedulable of PodGroup {group.name}", step)
    if words:
        step = "the message names what is missing"
        return Explanation(True, words, f"event Unschedulable of PodGroup {group.name}", step)
    step = "wait for the next cycle; if it stays Pending, see that Volcano's scheduler runs"
    return Explanation(True, f"Volcano has not admitted the gang to the queue {queue} yet", where, step)
