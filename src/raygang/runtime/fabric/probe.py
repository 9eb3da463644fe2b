"""Runs a probe: on the placement group of a gang, on a cluster, or on this machine alone."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raygang.runtime.config import GangConfig
from raygang.runtime.fabric import rank, verdict
from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.facts import gather
from raygang.runtime.fabric.mailbox import Mailbox
from raygang.runtime.fabric.report import AllReduce, Facts, Finding, Link, Rank, Reach, Report, Used

if TYPE_CHECKING:
    from ray.util.placement_group import PlacementGroup

FACTS_S = 60.0  # a pod whose rank says nothing for so long will not: only Ray has to start a process there
PLACE_S = 60.0
_PAUSE_S = 0.02
_GRACE_S = 3.0  # for the others, when one has failed: their own words may name the cause
_END_S = 10.0
NO_GPU = "no GPU: gloo over TCP was measured, as ranks on CPUs use it; NCCL did not run"


def gang(group: PlacementGroup, expected: Expected, root: Path = Path("/")) -> Report:
    """Probe the network of a gang: one task in each bundle of its placement group, before the engine is there."""
    return _Run(group, expected, root).report()


def cluster(expected: Expected, nodes: int, ranks: int, root: Path = Path("/")) -> Report:
    """The same on a Ray cluster that serves nothing: over a placement group as the engine would have it.

    The caller is connected to the cluster.
    """
    import ray
    from ray.util.placement_group import placement_group, remove_placement_group

    shape = GangConfig(tensor=ranks, pipeline=1, nodes=nodes)
    group = placement_group(shape.bundles(), strategy=shape.strategy())
    try:
        if not group.wait(min(PLACE_S, expected.timeout_s)):
            have = ray.cluster_resources()
            what = f"{ranks} ranks on {nodes} nodes have no place: the cluster has {have.get('GPU', 0):g} GPUs on "
            what += f"{sum(node['Alive'] for node in ray.nodes())} nodes"
            do = "wait for all nodes to join, or ask for fewer"
            return Report(
                expected=expected, started=time.time(), findings=(Finding(code="no-place", what=what, do=do),)
            )
        return gang(group, expected, root)
    finally:
        remove_placement_group(group)


def local(expected: Expected, root: Path = Path("/"), *, measure: bool = False) -> Report:
    """The facts of this machine and what they allow, without Ray.

    Args:
        expected: what is asked for.
        root: where sys and dev are.
        measure: also start NCCL on a GPU, to hear which network it would use; without one there is nothing to hear.
    """
    began, started = time.monotonic(), time.time()
    one = Rank(rank=0, facts=gather(root))
    findings = verdict.of_pods(expected, [one])
    simulated = "" if one.facts and one.facts.gpus else NO_GPU
    if measure and not simulated:
        one = one.model_copy(update={"used": rank.alone(root, expected.timeout_s)})
        findings += verdict.of_traffic(expected, [one], [])
    return Report(
        expected=expected, started=started, seconds=time.monotonic() - began, simulated=simulated, ranks=(one,),
        findings=tuple(findings),
    )  # fmt: skip


class _Run:
    """One probe: hands out the word for each part once all ranks have done the one before."""

    def __init__(self, group: PlacementGroup, expected: Expected, root: Path) -> None:
        self._group, self._expected, self._root = group, expected, root
        self._ranks = range(group.bundle_count)
        self._mail = Mailbox(uuid.uuid4().hex)
        self._began, self._started = time.monotonic(), time.time()
        self._until = self._began + expected.timeout_s
        self._tasks: list[Any] = []
        self._places: list[dict[str, Any]] = []
        self._nodes: dict[int, str] = {}

    def report(self) -> Report:
        try:
            self._tasks = [self._start(number) for number in self._ranks]
            findings = self._parts()
            return self._told(findings)
        finally:
            self._end()

    def _start(self, number: int) -> Any:
        import ray
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        place = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=number)
        # max_calls: the process ends with the task, and with it NCCL's hold on the GPU's memory.
        task = ray.remote(num_gpus=1, num_cpus=0, max_retries=0, max_calls=1)(rank.run)
        arguments = (self._mail.probe, number, len(self._ranks), self._expected.model_dump(), str(self._root))
        return task.options(scheduling_strategy=place, name=f"raygang fabric rank {number}").remote(*arguments)

    def _parts(self) -> list[Finding]:
        facts = self._collect("facts", min(self._until, self._began + FACTS_S))
        self._nodes = {number: letter["id"] for number, letter in facts.items()}
        found = verdict.of_pods(self._expected, self._known())
        if self._stops(found, "places"):
            return found
        places = [facts[number] for number in self._ranks]
        self._mail.put("places", [{"host": place["host"], "port": place["port"]} for place in places])
        self._collect("reached", self._until)
        found += verdict.of_reach(self._known())
        if self._stops(found, "traffic"):
            return found
        self._mail.put("traffic", [{"host": place["host"], "id": place["id"]} for place in places])
        self._collect("result", self._until)
        self._mail.put("end", True)
        return found + verdict.of_traffic(self._expected, self._known(), self._links())

    def _stops(self, found: Iterable[Finding], letter: str) -> bool:
        """Whether a failure ends the probe here; then the ranks are told."""
        stop = any(finding.severity == "failure" for finding in found)
        if stop:
            self._mail.put(letter, rank.STOP)
        return stop

    def _collect(self, letter: str, until: float) -> dict[int, Any]:
        """The letters of all ranks, of those that left one until a time; a rank that failed shortens the wait."""
        found: dict[int, Any] = {}
        while time.monotonic() < until:
            missing = [number for number in self._ranks if number not in found]
            found |= {n: content for n in missing if (content := self._mail.get(f"{letter}/{n}")) is not None}
            failed = [n for n in missing if n not in found and self._failed(n)]
            if len(found) + len(failed) == len(self._ranks):
                break
            if failed:
                until = min(until, time.monotonic() + _GRACE_S)
            time.sleep(_PAUSE_S)
        return found

    def _failed(self, number: int) -> bool:
        import ray

        return bool(self._mail.get(f"error/{number}")) or bool(ray.wait([self._tasks[number]], timeout=0)[0])

    def _error(self, number: int) -> str:
        """Why a rank failed, in its own words or in Ray's."""
        import ray

        if own := self._mail.get(f"error/{number}"):
            return str(own)
        done, _ = ray.wait([self._tasks[number]], timeout=0)
        try:
            ray.get(done, timeout=0)
        except Exception as e:  # noqa: BLE001  (Ray's errors have no common class but this)
            return f"{type(e).__name__}: {str(e).strip().splitlines()[0]}"
        return ""

    def _known(self) -> list[Rank]:
        """All ranks, with what their letters say."""
        return [self._rank(number) for number in self._ranks]

    def _rank(self, number: int) -> Rank:
        facts, reached = self._mail.get(f"facts/{number}"), self._mail.get(f"reached/{number}") or []
        result, error = self._mail.get(f"result/{number}"), self._error(number)
        step = self._mail.get(f"step/{number}") or ""
        late = self._mail.get("traffic") not in (None, rank.STOP) and not result
        return Rank(
            rank=number,
            step=step,
            error=error or (f"not done after {self._expected.timeout_s:.0f} s" if late and self._late() else ""),
            facts=Facts.model_validate(facts["facts"]) if facts else None,
            reached=tuple(Reach.model_validate(one) for one in reached),
            used=Used.model_validate(result["used"]) if result else None,
        )

    def _late(self) -> bool:
        return time.monotonic() >= self._until

    def _links(self) -> list[Link]:
        found = []
        for number in self._ranks:
            for link in (self._mail.get(f"result/{number}") or {}).get("links", ()):
                same = self._nodes[link["source"]] == self._nodes[link["target"]]
                found.append(Link.model_validate({**link, "same_node": same}))
        return sorted(found, key=lambda link: (link.source, link.target))

    def _told(self, findings: list[Finding]) -> Report:
        first = self._mail.get("result/0") or {}
        total, known = first.get("all_reduce"), self._known()
        gloo = any(one.used and one.used.backend == "gloo" for one in known)
        return Report(
            expected=self._expected,
            started=self._started,
            seconds=time.monotonic() - self._began,
            simulated=NO_GPU if gloo else "",
            ranks=tuple(known),
            links=tuple(self._links()),
            all_reduce=AllReduce.model_validate(total) if total else None,
            findings=tuple(findings),
        )

    def _end(self) -> None:
        """No task of it is left: the engine needs the bundles."""
        import ray

        for letter in ("places", "traffic", "end"):
            if self._mail.get(letter) is None:
                self._mail.put(letter, rank.STOP)
        _, left = ray.wait(self._tasks, num_returns=len(self._tasks), timeout=_GRACE_S) if self._tasks else ([], [])
        for task in left:
            ray.cancel(task, force=True)
        if left:
            ray.wait(left, num_returns=len(left), timeout=_END_S)
        self._mail.clear()
