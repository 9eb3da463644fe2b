"""Queues among the manifests: whether the one that a gang names is there, and has room for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

from raygang.gang import _kuberay as kuberay
from raygang.gang import _kueue_queues
from raygang.gang.model import Cause, Unseen, Verdict
from raygang.objects import Bundle, Manifest, RayWorkload, at, mapping, quantity, text

_Seen = Iterator[Cause | Unseen]
_VOLCANO, _KAI = "scheduling.volcano.sh", "scheduling.run.ai"


def inspect(workload: RayWorkload, bundle: Bundle, verdict: Verdict) -> Verdict:
    """The verdict with what the gang's queue says about it."""
    check = _CHECKS.get(verdict.scheduler)
    if check is None or verdict.gang is None:
        return verdict
    found = list(check(workload, bundle, verdict.gang.queue))
    causes = [item for item in found if isinstance(item, Cause)]
    return verdict.adding(causes, [item for item in found if isinstance(item, Unseen)])


def _volcano(workload: RayWorkload, bundle: Bundle, queue: str | None) -> _Seen:
    """Cluster-wide; Volcano makes `default` itself. Its webhook wants the state Open (validate_podgroup.go:102)."""
    named = bundle.named(_VOLCANO, "Queue", queue or "default")
    if not named:
        if queue is not None:
            yield from _missing(workload, "Queue", queue, bundle.once(_volcano_queues))
        return
    found = named[-1]  # applied last
    phase = text(at(found.data, "status", "state"))
    if phase not in (None, "", "Open"):
        why = f"the queue {found.name} is {phase}, and Volcano's webhook refuses a PodGroup unless it is Open"
        yield Cause("queue-missing", ("status", "state"), why, "open the queue", manifest=found)
    yield from _capability(workload, found)


def _capability(workload: RayWorkload, queue: Manifest) -> Iterator[Cause]:
    """What a queue's capability does not name has no limit (plugins/capacity/capacity.go)."""
    need = needs(workload)
    for resource, value in mapping(at(queue.data, "spec", "capability")).items():
        most = quantity(value)
        if most is not None and need.get(resource, Decimal(0)) > most:
            why = (
                f"the {workload.kind} {workload.name} needs {plain(need[resource])} {resource} at once, and the queue "
                f"{queue.name} has {plain(most)}: the gang never starts"
            )
            path = ("spec", "capability", resource)
            yield Cause("queue-too-small", path, why, f"write at least {plain(need[resource])}", manifest=queue)


def _kai(workload: RayWorkload, bundle: Bundle, queue: str | None) -> _Seen:
    if queue is not None and not bundle.named(_KAI, "Queue", queue):
        yield from _missing(workload, "Queue", queue, bundle.once(_kai_queues))


def _volcano_queues(bundle: Bundle) -> list[str]:
    return sorted({m.name for m in bundle.find(_VOLCANO, "Queue")})


def _kai_queues(bundle: Bundle) -> list[str]:
    return sorted({m.name for m in bundle.find(_KAI, "Queue")})


def _kueue(workload: RayWorkload, bundle: Bundle, queue: str | None) -> _Seen:
    found = _local_queue(bundle, workload.manifest.namespace, queue)
    if found is None:
        yield from _missing(workload, "LocalQueue", queue or "", _local_queues(bundle, workload.manifest.namespace))
    else:
        yield from _kueue_queues.cluster_queue(workload, bundle, found, needs(workload))
    yield from _kueue_queues.placement(workload, bundle)


def _missing(workload: RayWorkload, kind: str, name: str, others: list[str]) -> _Seen:
    """A queue of the cluster is as good; but who brings queues and not this one has most likely mistyped it."""
    if not others:
        yield Unseen("queue-missing", f"the {kind} {name}, which is not among these manifests")
        return
    paths = (*kuberay.LABELS, *(key for key, value in workload.manifest.labels.items() if value == name))
    why = f"the gang waits for ever unless the cluster has the {kind} {name}: known are {', '.join(others)}"
    advice = f"name one of {', '.join(others)}, or add the {kind} {name}"
    yield Cause("queue-missing", paths[:3], why, advice, "warning")


def _local_queue(bundle: Bundle, namespace: str | None, name: str | None) -> Manifest | None:
    """The first of this name in the workload's namespace; where one of the two says none, it may be the same."""
    if namespace is None:
        return next(iter(bundle.named(_kueue_queues.GROUP, "LocalQueue", name)), None)
    places = (bundle.get(_kueue_queues.GROUP, "LocalQueue", space, name) for space in (namespace, None))
    return min((m for m in places if m is not None), key=lambda m: m.index, default=None)


def _local_queues(bundle: Bundle, namespace: str | None) -> list[str]:
    spaces = bundle.once(_by_namespace)
    near = spaces if namespace is None else [space for space in (namespace, None) if space in spaces]
    return sorted(name for space in near for name in spaces[space])


def _by_namespace(bundle: Bundle) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = {}
    for manifest in bundle.find(_kueue_queues.GROUP, "LocalQueue"):
        found.setdefault(manifest.namespace, []).append(manifest.name)
    return found


def needs(workload: RayWorkload) -> dict[str, Decimal]:
    """What all pods of a workload ask for."""
    total: dict[str, Decimal] = {}
    for group in workload.groups:
        for resource, value in group.requests().items():
            total[resource] = total.get(resource, Decimal(0)) + value * group.pods
    return total


def plain(value: Decimal) -> str:
    """A quantity as people write it."""
    for suffix, size in (("Gi", 2**30), ("Mi", 2**20)):
        if value >= size and value % size == 0:
            return f"{value / size:f}{suffix}"
    return f"{value.normalize():f}"


_CHECKS: dict[str, Callable[[RayWorkload, Bundle, str | None], _Seen]] = {
    "volcano": _volcano,
    "kai": _kai,
    "kueue": _kueue,
}
