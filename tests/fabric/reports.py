"""Reports made by hand: an InfiniBand cluster with a slow link, many nodes, a check that failed.

python -m tests.fabric.reports    writes the documentation's example and its picture
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from raygang.fabric.view import svg
from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.report import (
    AllReduce,
    Facts,
    Finding,
    Hca,
    Interface,
    Link,
    Port,
    Rank,
    Reach,
    Report,
    Used,
)

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = "an example made by hand, not measured"


def facts(node: str) -> Facts:
    return Facts(
        host=f"pod-{node}",
        node=node,
        interfaces=(Interface(name="lo", up=True), Interface(name="eth0", up=True, mtu=9000, speed=100)),
        hcas=(Hca(name="mlx5_0", ports=(Port(number=1, state="ACTIVE", rate=400, link_layer="InfiniBand"),)),),
        memlock=None,
        shm_size=64 << 30,
        versions={"nvidia-nccl-cu13": "2.29.3"},
    )


def rank(number: int, node: str) -> Rank:
    reached = (Reach(rank=0, address="node-1", seconds=1.2e-4, clock=-0.002),) if number else ()
    used = Used(backend="nccl", transport="IB", devices=("mlx5_0:1",), gpu_direct=True, moved={"mlx5_0:1": 3 << 30},
                sent=2 << 30, log=("NCCL INFO NET/IB : Using [0]mlx5_0:1/IB",))  # fmt: skip
    return Rank(rank=number, step="done", facts=facts(node), reached=reached, used=used)


def report(nodes: int = 4, each: int = 2, slow: tuple[int, int] | None = (5, 2), **more: Any) -> Report:
    """A check of some nodes whose links carry 360 to 390 Gbit/s, but for those from one rank to another."""
    ranks = tuple(rank(number, f"node-{1 + number // each}") for number in range(nodes * each))
    pairs = [(a, b) for a in range(len(ranks)) for b in range(len(ranks)) if a != b]
    links = tuple(link(a, b, each, slow) for a, b in pairs)
    whole: dict[str, Any] = {
        "expected": Expected(fabric="infiniband", transport="IB", verbs=True, min_bandwidth=300),
        "started": 1_800_000_000.0, "seconds": 14.2, "simulated": EXAMPLE, "ranks": ranks, "links": links,
        "all_reduce": AllReduce(ranks=len(ranks), size=256 << 20, seconds=0.011, bus_bandwidth=341.0),
        **more,
    }  # fmt: skip
    return Report(**whole)


def link(source: int, target: int, each: int, slow: tuple[int, int] | None) -> Link:
    near = source // each == target // each
    rate = (2900.0 if near else 360.0) + (7 * source + 5 * target) % 30
    rate = 96.0 if (source, target) == slow else rate
    latency = 4e-6 if near else 1.1e-5
    return Link(source=source, target=target, same_node=near, latency=latency, bandwidth=rate)


def failed() -> Report:
    """What is found where the link is slow, and a warning before it."""
    return report(
        findings=(
            Finding(
                code="clock", severity="warning", ranks=(0, 6), do="synchronize the nodes' clocks (chrony)",
                what="the clocks of rank 6 on node-4 and rank 0 on node-1 differ by 2.0 s",
            ),
            Finding(
                code="bandwidth", ranks=(5, 2), do="look at the NICs, cables and switch ports of the two nodes",
                what="the link from rank 5 on node-3 to rank 2 on node-2 carries 96 Gbit/s, and fabric.min_bandwidth "
                "is 300",
            ),
        )
    )  # fmt: skip


def log(one: Report) -> str:
    """What `kubectl logs` gives of a check: the report is one line among others."""
    return f"Waiting for Ray Dashboard GCS ...\n{one.model_dump_json(exclude_unset=False)}\n{one.sentence()}\n"


if __name__ == "__main__":
    (DOCS / "fabric-report.log").write_text(log(failed()))
    (DOCS / "fabric.svg").write_text(svg(failed()))
