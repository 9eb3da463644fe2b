"""Why YuniKorn lets a gang wait (YuniKorn 1.5-1.9): there is no object of its own, only pods and their events.

Events of reason GangScheduling: yunikorn-k8shim pkg/cache/application.go:418-725 and metadata.go:117; of the queue:
yunikorn-core pkg/scheduler/objects/events/ask_events.go:39-95. In core/v1 the action word is not kept by all versions,
so the words of the message decide.
"""

from __future__ import annotations

from collections.abc import Iterator

from raygang.gang.state import Explanation, Said, State, by_pods, no_pods, one_line
from raygang.objects import Manifest, at, text
from raygang.objects.words import agreed, counted

TIMED_OUT = "ResourceReservationTimeout"  # a failed pod's reason, pkg/common/constants/constants.go:90
_DEAD = "Scheduling has timed out"
_PLACEHOLDER = "yunikorn.apache.org/placeholder"
_TELLING = (  # a part of the message, what it means, and what to do; the first that is found
    (
        "unable to get taskGroups", "YuniKorn cannot read the task groups and schedules the pods one by one",
        "set minReplicas of every worker group to at least 1, and write valid JSON in task-groups of your own",
    ),
    (
        "resuming as non-gang application", "the reservation timed out, and with the style Soft the pods go one by one",
        "delete the cluster, and annotate the pod templates with gangSchedulingStyle=Hard",
    ),
    (
        "fall back to normal scheduling", "a placeholder pod could not be made, so the pods go one by one",
        "see quotas and admission policies of the namespace: placeholders are pods as well",
    ),
    (
        "placeholder has been timed out", "the reservation timed out before all of the gang had a place",
        "free or add nodes, or raise placeholderTimeoutInSeconds",
    ),
    (
        "does not fit in queue", "the queue has no room for the gang",
        "raise the queue's max in YuniKorn's configuration, or end what runs in it",
    ),
    (
        "exceeds the available user quota", "the user's limit of the queue has no room for the gang",
        "raise the user's limit in YuniKorn's configuration",
    ),
    (
        "Unschedulable request", "no node fits", "free or add nodes that fit; the message names what each lacks",
    ),
)  # fmt: skip


def explain(state: State) -> Explanation:
    """From the pods' events, and how many placeholders have a place."""
    dead = next(_timed_out(state), None)
    if dead:
        what = "the reservation timed out in style Hard: YuniKorn has failed the application, and its id is dead"
        step = "delete the RayCluster and create it anew with another yunikorn.apache.org/app-id, once nodes are free"
        return Explanation(True, what, f"Pod {dead.name}, status.reason {TIMED_OUT}", step)
    if not state.pods.manifests:
        return no_pods(state)
    if not [pod for pod in state.waiting if not _is_placeholder(pod)]:
        return by_pods(state)
    said = list(_about_pods(state))
    for part, meaning, step in _TELLING:
        found = next((s for s in said if part in s.message), None)
        if found:
            what = f"{meaning}{_reserved(state)}: {one_line(found.message)}"
            return Explanation(True, what, f"event {found.reason} of Pod {found.name}", step)
    if _placeholders(state):
        step = "free or add nodes for the placeholders that have none: kubectl describe one of them"
        what = f"YuniKorn is reserving the gang{_reserved(state)}"
        return Explanation(True, what, f"placeholder pods of {state.workload.name}", step)
    return by_pods(state)


def _timed_out(state: State) -> Iterator[Manifest]:
    for pod in state.pods.manifests:
        reason, words = at(pod.data, "status", "reason"), text(at(pod.data, "status", "message")) or ""
        if reason == TIMED_OUT or (at(pod.data, "status", "phase") == "Failed" and _DEAD in words):
            yield pod


def _about_pods(state: State) -> Iterator[Said]:
    return state.said("Pod", *(pod.name for pod in state.pods.manifests))


def _is_placeholder(pod: Manifest) -> bool:
    """Made by YuniKorn: tg-<application>-<task group>-<random>."""
    return pod.name.startswith("tg-") or _PLACEHOLDER in (*pod.labels, *pod.annotations)


def _placeholders(state: State) -> list[Manifest]:
    return [pod for pod in state.pods.manifests if _is_placeholder(pod)]


def _reserved(state: State) -> str:
    made = _placeholders(state)
    placed = sum(pod in state.bound for pod in made)
    return f" ({placed} of {counted(len(made), 'placeholder')} {agreed(placed, 'has', 'have')} a place)" if made else ""
