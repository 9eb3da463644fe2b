"""Why Kueue lets a workload wait (Kueue 0.17-0.20).

Conditions: apis/kueue/v1beta2/workload_types.go:929-1085; messages: pkg/controller/core/workload_controller.go:600-625
and 800-860 (queues not there, inactive, stopped), pkg/scheduler/flavorassigner/flavorassigner.go:1020-1055 (quota),
pkg/cache/scheduler/clusterqueue.go:270-330 (why a ClusterQueue is inactive), pkg/cache/scheduler/
tas_flavor_snapshot.go:1685 (topology); v0.17.0.
"""

from __future__ import annotations

from raygang.gang.state import Explanation, State, by_pods, condition, holds, message, no_pods
from raygang.objects import Manifest, at, sequence, text

GROUP = "kueue.x-k8s.io"
_STEPS = (  # a part of the message, and what to do about it; the first that fits
    ("LocalQueue", "create the LocalQueue in the workload's namespace, or start it: spec.stopPolicy: None"),
    ("> maximum capacity", "no wait helps: raise nominalQuota of the ClusterQueue, or make the gang smaller"),
    ("insufficient quota", "no wait helps: raise nominalQuota of the ClusterQueue, or make the gang smaller"),
    ("insufficient unused quota", "wait until others finish, raise nominalQuota, or give the workload a priority"),
    ("unavailable in ClusterQueue", "add the resource to coveredResources of the ClusterQueue"),
    ("namespace doesn't match", "label the namespace as the ClusterQueue's namespaceSelector asks"),
    ("topology", "free whole domains of the topology, ask for a wider level, or prefer it instead of requiring it"),
    ("untolerated taint", "tolerate the flavour's taints, or use another flavour"),
    ("ClusterQueue", "see the ClusterQueue's condition Active, which names what it lacks"),
)


def explain(state: State) -> Explanation:
    """From the Workload, its LocalQueue and ClusterQueue."""
    workload = next(state.objects.find(GROUP, "Workload"), None)
    if workload is None:
        return _unknown(state)
    queue = _queue_trouble(state, workload)
    if queue and not holds(condition(workload, "Admitted")):
        return queue
    return _evicted(workload) or _without_quota(workload) or _without_checks(workload) or _admitted(state, workload)


def _unknown(state: State) -> Explanation:
    label = f"{GROUP}/queue-name"
    kind, name = state.workload.kind, state.workload.name
    if label in state.workload.labels:
        what = f"Kueue has made no Workload of this {kind}"
        step = f"see that Kueue runs with the integration of {kind}, and read the events of {kind} {name}"
        return Explanation(True, what, f"{kind} {name}", step)
    return by_pods(state)


def _queue_trouble(state: State, workload: Manifest) -> Explanation | None:
    """A queue that is not active says itself why; the Workload says only that it is inactive."""
    for kind in ("ClusterQueue", "LocalQueue"):
        for queue in state.objects.find(GROUP, kind):
            found = condition(queue, "Active")
            if holds(found, "False"):
                what = f"the {kind} {queue.name} admits nothing: {message(found)}"
                step = "start it (spec.stopPolicy: None), or create what the message names"
                return Explanation(True, what, f"{kind} {queue.name}, condition Active", step)
    name = text(at(workload.data, "spec", "queueName"))
    locals_ = {m.name for m in state.objects.find(GROUP, "LocalQueue")}
    if name and locals_ and name not in locals_:
        what = f"the LocalQueue {name} is not in this namespace"
        step = f"create it, or use one of {', '.join(sorted(locals_))}"
        return Explanation(True, what, f"Workload {workload.name}, spec.queueName", step)
    return None


def _evicted(workload: Manifest) -> Explanation | None:
    found = condition(workload, "Evicted")
    if not holds(found) or holds(condition(workload, "QuotaReserved")):
        return None
    reason = text(at(found, "reason")) or ""
    what = f"Kueue has taken the workload's quota back ({reason}): {message(found)}"
    steps = {
        "PodsReadyTimeout": "the pods were not ready in time: raise waitForPodsReady.timeout above the time of a start",
        "Preempted": "wait, or give the workload a higher priority class",
        "Deactivated": "set spec.active: true of the Workload once its cause is mended",
    }
    step = steps.get(reason, "mend what the message names; Kueue queues the workload again by itself")
    return Explanation(True, what, f"Workload {workload.name}, condition Evicted", step)


def _without_quota(workload: Manifest) -> Explanation | None:
    found = condition(workload, "QuotaReserved")
    if holds(found):
        return None
    where = f"Workload {workload.name}, condition QuotaReserved"
    if at(workload.data, "spec", "active") is False:
        what = "the Workload is deactivated"
        return Explanation(True, what, f"Workload {workload.name}, spec.active", "set spec.active: true")
    if found is None:
        what = "Kueue has not looked at the workload yet"
        return Explanation(True, what, where, "wait; if nothing changes, see that Kueue's controller runs")
    words = message(found)
    step = next((step for part, step in _STEPS if part in words), "mend what the message names")
    return Explanation(True, f"Kueue has no quota for the whole gang: {words}", where, step)


def _without_checks(workload: Manifest) -> Explanation | None:
    if holds(condition(workload, "Admitted")):
        return None
    checks = sequence(at(workload.data, "status", "admissionChecks"))
    open_ = next((c for c in checks if at(c, "state") != "Ready"), None)
    if open_ is None:
        return None
    name, phase = at(open_, "name"), at(open_, "state")
    what = f"quota is reserved, and the admission check {name} is {phase}: {message(open_)}"
    where = f"Workload {workload.name}, status.admissionChecks"
    return Explanation(True, what, where, f"see the controller of the admission check {name}")


def _admitted(state: State, workload: Manifest) -> Explanation:
    """Quota is no place: the default scheduler has the word now."""
    if not state.pods.manifests:
        found = no_pods(state)
        return Explanation(found.blocked, f"Kueue has admitted it, and {found.what}", found.where, found.next_step)
    found = by_pods(state)
    if found.blocked:
        what = f"Kueue has admitted all pods, and the nodes have no place for some: {found.what}"
        step = "use topology-aware scheduling, so that Kueue counts places and not sums; until then free such nodes"
        return Explanation(True, what, found.where, step)
    ready = condition(workload, "PodsReady")
    if ready is not None and not holds(ready):
        where = f"Workload {workload.name}, condition PodsReady"
        return Explanation(False, f"all pods have a node and are not ready yet: {message(ready)}", where, "wait")
    return found
