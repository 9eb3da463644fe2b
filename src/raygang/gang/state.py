"""A running workload as the API server shows it: plain objects, and what they say about a gang that waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from raygang.objects import Bundle, Manifest, at, sequence, text
from raygang.objects.words import agreed, counted


@dataclass(frozen=True)
class Explanation:
    """Why a gang waits.

    Attributes:
        blocked: whether something blocks it; False when it runs, or when nothing has been decided yet.
        what: what blocks, in one sentence, with the scheduler's own words.
        where: the object that says so: "PodGroup ray-llama-pg, condition Unschedulable".
        next_step: what to do about it.
    """

    blocked: bool
    what: str
    where: str
    next_step: str


@dataclass(frozen=True)
class State:
    """What there is of one Ray workload.

    Attributes:
        workload: the RayCluster whose pods these are; the RayService or RayJob while there is no cluster yet.
        pods: its pods, placeholders of the scheduler included.
        objects: the scheduler's own objects: PodGroups, Workloads, queues.
        events: events about any of them, of the core group or of events.k8s.io.
    """

    workload: Manifest
    pods: Bundle = field(default_factory=Bundle)
    objects: Bundle = field(default_factory=Bundle)
    events: Bundle = field(default_factory=Bundle)

    @property
    def waiting(self) -> tuple[Manifest, ...]:
        """Pods without a node."""
        return tuple(pod for pod in self.pods.manifests if not (_bound(pod) or _over(pod)))

    @property
    def bound(self) -> tuple[Manifest, ...]:
        """Pods with a node, the finished ones left out."""
        return tuple(pod for pod in self.pods.manifests if _bound(pod) and not _over(pod))

    def said(self, kind: str, *names: str) -> Iterator[Said]:
        """Events about the objects of a kind with these names (of all names without), the latest first."""
        found = [said for said in map(_said, self.events.manifests) if said.kind == kind]
        yield from sorted((s for s in found if not names or s.name in names), key=lambda s: s.time, reverse=True)


@dataclass(frozen=True)
class Said:
    """An event, whichever of the two APIs it comes from.

    Attributes:
        kind: of the object that it is about.
        name: of the object that it is about.
        reason: one word.
        action: one word, of events.k8s.io only.
        message: a sentence.
        warning: whether it is of type Warning.
        time: when it was seen last; texts of RFC 3339 in UTC sort by time.
    """

    kind: str
    name: str
    reason: str
    action: str
    message: str
    warning: bool
    time: str


def condition(manifest: Manifest, kind: str, *path: str) -> Mapping[str, object] | None:
    """A condition of an object by its type; `path` where conditions do not stand in status.conditions."""
    found = (c for c in sequence(at(manifest.data, *(path or ("status", "conditions")))) if at(c, "type") == kind)
    return next(found, None)


def holds(found: Mapping[str, object] | None, status: str = "True") -> bool:
    """Whether a condition is there and has a status."""
    return found is not None and found.get("status") == status


def message(found: Mapping[str, object] | None) -> str:
    """What a condition says, in the scheduler's words, on one line and without the last full stop."""
    words = text(at(found, "message")) or text(at(found, "reason")) or "no message"
    return one_line(words)


def one_line(words: str) -> str:
    """A message without line breaks and the last full stop."""
    return " ".join(words.split()).rstrip(".")


def by_pods(state: State) -> Explanation:
    """What the pods' own PodScheduled conditions say: true of every scheduler."""
    if not state.pods.manifests:
        return no_pods(state)
    if not state.waiting:
        who = agreed(len(state.bound), "the one pod has", f"all {len(state.bound)} pods have")
        return Explanation(False, f"{who} a node", _pods_of(state), "nothing: it is placed")
    words = Counter(words for pod in state.waiting if (words := _unscheduled(pod)))
    running, waiting = len(state.bound), len(state.waiting)
    some = f"{waiting} of {counted(running + waiting, 'pod')} {agreed(waiting, 'waits', 'wait')}"
    if not words:
        what = f"{some}, and no scheduler has looked at {agreed(waiting, 'it', 'them')} yet"
        names = ", ".join(sorted({_scheduler(pod) for pod in state.waiting}))
        return Explanation(True, what, _pods_of(state), f"see that a scheduler named {names} runs in the cluster")
    often, count = words.most_common(1)[0]
    what = f"{some}; of {count} of them the scheduler says: {often}"
    first = next(pod for pod in state.waiting if _unscheduled(pod) == often)
    where = f"Pod {first.name}, condition PodScheduled"
    return Explanation(True, what, where, "free or add nodes that fit, or make the pods smaller")


def no_pods(state: State) -> Explanation:
    """Nothing has been made yet: suspended, refused, or KubeRay has not come to it."""
    kind, name = state.workload.kind, state.workload.name
    if at(state.workload.data, "spec", "suspend") is True or at(
        state.workload.data, "spec", "rayClusterConfig", "suspend"
    ):
        return Explanation(
            True, f"the {kind} is suspended: KubeRay makes no pods of it", f"{kind} {name}, field suspend",
            "see who suspends it: a queueing system until it has quota, or somebody by hand",
        )  # fmt: skip
    warned = next((said for said in state.said(kind, name) if said.warning), None)
    if warned:
        what = f"KubeRay could not make the pods: {one_line(warned.message)}"
        return Explanation(True, what, f"event {warned.reason} of {kind} {name}", "mend what the message names")
    what = f"the {kind} has no pods yet, and no event says why"
    return Explanation(True, what, f"{kind} {name}", "see that KubeRay's operator runs, and read its log")


def _said(event: Manifest) -> Said:
    data = event.data
    about = at(data, "regarding") or at(data, "involvedObject")
    times = (
        at(data, "series", "lastObservedTime"), at(data, "lastTimestamp"), at(data, "deprecatedLastTimestamp"),
        at(data, "eventTime"), at(data, "metadata", "creationTimestamp"),
    )  # fmt: skip
    words = {key: text(at(data, key)) or "" for key in ("reason", "action", "note", "message", "type")}
    return Said(
        text(at(about, "kind")) or "", text(at(about, "name")) or "", words["reason"], words["action"],
        words["note"] or words["message"], words["type"] == "Warning", next((t for t in times if text(t)), ""),
    )  # fmt: skip


def _bound(pod: Manifest) -> bool:
    return bool(text(at(pod.data, "spec", "nodeName")))


def _over(pod: Manifest) -> bool:
    return at(pod.data, "status", "phase") in ("Succeeded", "Failed")


def _unscheduled(pod: Manifest) -> str:
    found = condition(pod, "PodScheduled")
    return message(found) if holds(found, "False") else ""


def _scheduler(pod: Manifest) -> str:
    return text(at(pod.data, "spec", "schedulerName")) or "default-scheduler"


def _pods_of(state: State) -> str:
    return f"pods of {state.workload.kind} {state.workload.name}"
