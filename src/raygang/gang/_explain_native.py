"""Why Kubernetes' own gang scheduling lets a gang wait (1.36 and 1.37).

Conditions of the PodGroup: PodGroupScheduled in 1.36, PodGroupInitiallyScheduled in 1.37, which never goes back to
False; reasons Scheduled, Unschedulable, SchedulerError. "minCount (4) cannot be satisfied: 3 scheduled, 0 remaining" is
the GangScheduling plugin's. Seen on 1.36.3 and 1.37.2.
"""

from __future__ import annotations

from raygang.gang.state import Explanation, State, by_pods, condition, holds, message, no_pods
from raygang.objects import Manifest, at, count, text
from raygang.objects.words import agreed, counted

GROUP = "scheduling.k8s.io"
CONDITIONS = ("PodGroupScheduled", "PodGroupInitiallyScheduled")


def explain(state: State) -> Explanation:
    """From the PodGroup and what the pods name."""
    group = next(state.objects.find(GROUP, "PodGroup"), None)
    if not state.pods.manifests:
        return no_pods(state)
    if not state.waiting:
        return by_pods(state)
    return _outside(state) or _missing(state, group) or _short(state, group) or _unschedulable(group) or by_pods(state)


def _named(pod: Manifest) -> str | None:
    return text(at(pod.data, "spec", "schedulingGroup", "podGroupName"))


def _outside(state: State) -> Explanation | None:
    """Pods that slipped in before the admission policy acted; the field cannot be set later."""
    out = [pod for pod in state.pods.manifests if _named(pod) is None]
    if not out:
        return None
    what = f"{len(out)} of {counted(len(state.pods.manifests), 'pod')} {agreed(len(out), 'is', 'are')} in no PodGroup"
    step = "delete these pods once the admission policy is there: KubeRay makes them anew, and the field is immutable"
    return Explanation(True, what, f"Pod {out[0].name}, spec.schedulingGroup", step)


def _missing(state: State, group: Manifest | None) -> Explanation | None:
    name = _named(state.waiting[0])
    if group is not None and group.name == name:
        return None
    what = f"the pods name the PodGroup {name}, and it is not there"
    return Explanation(True, what, f"Pod {state.waiting[0].name}, spec.schedulingGroup", f"create the PodGroup {name}")


def _short(state: State, group: Manifest | None) -> Explanation | None:
    if group is None:
        return None
    made = len(state.pods.manifests)
    minimum = count(at(group.data, "spec", "schedulingPolicy", "gang", "minCount"), 0)
    if made >= minimum:
        return None
    what = f"the PodGroup wants {counted(minimum, 'pod')}, and {made} {agreed(made, 'has', 'have')} been made"
    where = f"PodGroup {group.name}, spec.schedulingPolicy.gang.minCount"
    return Explanation(True, what, where, "see why KubeRay makes no more pods, or lower minCount")


def _unschedulable(group: Manifest | None) -> Explanation | None:
    """The condition that this release has; once it was True, a pod that is made anew waits by itself."""
    name, found = next(((n, c) for n in CONDITIONS if group and (c := condition(group, n))), ("", None))
    if group is None or not holds(found, "False"):
        return None
    what = f"the scheduler cannot place the whole gang: {message(found)}"
    step = "free or add nodes that fit; with a topology, whole domains of it"
    return Explanation(True, what, f"PodGroup {group.name}, condition {name}", step)
