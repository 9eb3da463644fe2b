"""The verdict: findings in the order of the chain, from pods to traffic; the first failure is the first cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raygang.runtime.fabric._words import listed, named, node, size, where
from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.pod_checks import BETWEEN_NODES, CHECKS, Wrong
from raygang.runtime.fabric.report import Finding, Link, Rank

SKEW_S = 1.0  # Ray's and Prometheus' times of nodes no longer compare
SLOW = 0.5  # of the fastest link between nodes
_MOVED = 0.9  # of the payload that counters must show; they count headers too, so that there is some room


def of_pods(expected: Expected, ranks: Sequence[Rank]) -> list[Finding]:
    """What is wrong in the pods: ranks without facts first, then each check over all ranks."""
    found = [_missing(rank) for rank in ranks if rank.facts is None]
    told = [rank for rank in ranks if rank.facts]
    checks = CHECKS if len(set(map(node, told))) > 1 else [check for check in CHECKS if check not in BETWEEN_NODES]
    for check in checks:
        wrong: dict[Wrong, list[Rank]] = {}
        for rank in told:
            for one in check(rank.facts, expected) if rank.facts else ():
                wrong.setdefault(one, []).append(rank)
        for one, whose in wrong.items():
            what = f"{one.what}, {where(whose, ranks)}"
            numbers = tuple(rank.rank for rank in whose)
            found.append(Finding(code=one.code, severity=one.severity, what=what, do=one.do, ranks=numbers))
    return found


def of_reach(ranks: Sequence[Rank]) -> list[Finding]:
    """Pairs that plain TCP does not connect, and clocks that differ."""
    found = []
    for rank in ranks:
        for reach in rank.reached:
            if reach.seconds is None:
                other = named(ranks[reach.rank])
                what = f"{named(rank)} does not reach {other} at {reach.address}: {reach.error}"
                do = "look for a NetworkPolicy, a firewall or a broken link between the two nodes"
                found.append(Finding(code="unreachable", what=what, do=do, ranks=(rank.rank, reach.rank)))
    skewed = [(rank, r) for rank in ranks for r in rank.reached if r.rank < rank.rank and abs(r.clock) > SKEW_S]
    for rank, reach in skewed[:1]:
        what = f"the clocks of {named(rank)} and {named(ranks[reach.rank])} differ by {abs(reach.clock):.1f} s"
        do = "synchronize the nodes' clocks (chrony)"
        found.append(Finding(code="clock", severity="warning", what=what, do=do, ranks=(reach.rank, rank.rank)))
    return found


def of_traffic(expected: Expected, ranks: Sequence[Rank], links: Sequence[Link]) -> list[Finding]:
    """What the collectives went over, and how fast."""
    found = [*_broken(ranks), *_transport(expected, ranks)]
    if not found:
        found += [*_counters(expected, ranks), *_direct(ranks)]
    return [*found, *_speed(expected, ranks, links)]


def _missing(rank: Rank) -> Finding:
    what = f"rank {rank.rank} was not heard of" + (f": {rank.error}" if rank.error else "")
    do = "look at its pod and at Ray's log on its node (raylet.out); the node must reach the head and rank 0's node"
    return Finding(code="rank-missing", what=what, do=do, ranks=(rank.rank,))


def _broken(ranks: Sequence[Rank]) -> list[Finding]:
    """Ranks whose collective failed; those that only waited for another are left out where there is a culprit."""
    failed = [rank for rank in ranks if rank.error]
    return [
        Finding(
            code="collective",
            what=f"{named(rank)} failed at '{rank.step}': {rank.error}",
            do="look at the variables and devices of its pod" if len(failed) == 1 else "",
            ranks=(rank.rank,),
        )
        for rank in failed
    ]


def _transport(expected: Expected, ranks: Sequence[Rank]) -> Iterator[Finding]:
    if expected.transport == "any":
        return
    wrong: dict[str, list[Rank]] = {}
    for rank in ranks:
        if rank.used and rank.used.transport != expected.transport:
            wrong.setdefault(rank.used.transport or "nothing that its log tells", []).append(rank)
    for used, whose in wrong.items():
        what = f"{expected.fabric} was asked for ({expected.transport}), and the ranks used {used}"
        backend = next(rank.used.backend for rank in whose if rank.used)
        do = "look at NCCL's lines in the report: it says there which devices it found"
        if backend == "gloo" and expected.rdma:
            what, do = f"{what}: there is no GPU, and NCCL is not used without", "run the check where GPUs are"
        numbers = tuple(rank.rank for rank in whose)
        yield Finding(code="transport", what=f"{what}, {where(whose, ranks)}", do=do, ranks=numbers)


def _counters(expected: Expected, ranks: Sequence[Rank]) -> Iterator[Finding]:
    """The bytes must have moved through the device: counters are a node's, and so is the payload."""
    for address in dict.fromkeys(map(node, ranks)):
        here = [rank for rank in ranks if node(rank) == address and rank.used]
        payload = sum(rank.used.sent for rank in here if rank.used)
        if not payload:
            continue
        moved = [rank.used.moved for rank in here if rank.used]
        ports = {name: max(m.get(name, 0) for m in moved) for m in moved for name in m}
        numbers = tuple(rank.rank for rank in here)
        if expected.rdma:
            yield from _through_hca(expected, ports, payload, address, numbers)
        elif expected.interface and ports.get(expected.interface, 0) < _MOVED * payload:
            what = f"{size(payload)} left {address}, and only {size(ports.get(expected.interface, 0))} by "
            do = "name the same interface in GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME"
            yield Finding(code="counters", what=what + expected.interface, do=do, ranks=numbers)


def _direct(ranks: Sequence[Rank]) -> Iterator[Finding]:
    """RDMA that goes through the host's memory: right, and at a fraction of the speed."""
    whose = [rank for rank in ranks if rank.used and rank.used.transport != "Socket" and rank.used.gpu_direct is False]
    if whose:
        ways = [rank.facts.peer_memory or rank.facts.dma_buf for rank in whose if rank.facts]
        do = (
            "NCCL_NET_GDR_LEVEL, ACS or IOMMU may forbid it"
            if all(ways)
            else ("load nvidia_peermem on the nodes, or use the open GPU driver, which has DMA-BUF")
        )
        what = f"data passes through the host's memory on its way to the HCA (no GPUDirect), {where(whose, ranks)}"
        numbers = tuple(rank.rank for rank in whose)
        yield Finding(code="no-gpu-direct", severity="warning", what=what, do=do, ranks=numbers)


def _through_hca(
    expected: Expected, ports: dict[str, int], payload: int, address: str, numbers: tuple[int, ...]
) -> Iterator[Finding]:
    by_hca = {name: count for name, count in ports.items() if ":" in name}
    if not by_hca:
        what = f"the counters of the HCAs on {address} cannot be seen: only NCCL's log says that RDMA was used"
        yield Finding(code="counters-hidden", severity="warning", what=what, ranks=numbers)
    elif (total := sum(by_hca.values())) < _MOVED * payload:
        what = f"{size(payload)} left {address}, and only {size(total)} through its HCAs ({listed(by_hca)})"
        yield Finding(code="counters", what=what, do="NCCL_DEBUG=INFO tells which way it went", ranks=numbers)


def _speed(expected: Expected, ranks: Sequence[Rank], links: Sequence[Link]) -> Iterator[Finding]:
    timed = sorted((link for link in links if link.bandwidth and not link.same_node), key=lambda k: k.bandwidth or 0)
    if not timed:
        return
    slow, fast = timed[0], timed[-1].bandwidth or 0.0
    rate = slow.bandwidth or 0.0
    what = f"the link from {named(ranks[slow.source])} to {named(ranks[slow.target])} carries {rate:.3g} Gbit/s"
    pair = (slow.source, slow.target)
    if expected.min_bandwidth and rate < expected.min_bandwidth:
        what += f", and fabric.min_bandwidth is {expected.min_bandwidth:g}"
        yield Finding(code="bandwidth", what=what, do=_suspect(ranks, timed, expected.min_bandwidth), ranks=pair)
    elif rate < SLOW * fast:
        what += f", and the fastest {fast:.3g}"
        yield Finding(
            code="slow-link", severity="warning", what=what, do=_suspect(ranks, timed, SLOW * fast), ranks=pair
        )


def _suspect(ranks: Sequence[Rank], timed: Sequence[Link], limit: float) -> str:
    """The node that all slow links have in common, where there is one."""
    slow = [{node(ranks[link.source]), node(ranks[link.target])} for link in timed if (link.bandwidth or 0) < limit]
    common = set.intersection(*slow) if len(slow) > 2 else set()
    if len(common) == 1:
        return f"all slow links are those of {common.pop()}: look at its NIC, cable and switch port"
    return "look at the NICs, cables and switch ports of the two nodes"
