"""Which fabrics a machine could use, by what it has: without Ray, and before anything is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.report import Facts, Report

# Names of EFA's devices in /sys/class/infiniband: rdmap0s6 by rdma-core's rule (30 and later), efa_0 without it
_EFA = ("rdmap", "efa")


@dataclass(frozen=True)
class Usable:
    """A fabric, and what is missing for it; nothing where it could be used."""

    fabric: str
    missing: tuple[str, ...]


def usable(fabrics: dict[str, Expected], probe: Callable[[Expected], Report]) -> Iterator[Usable]:
    """Each fabric with what this machine lacks for it.

    Args:
        fabrics: what each must show.
        probe: the report of this machine for one of them.
    """
    for name, expected in fabrics.items():
        report = probe(expected)
        facts = report.ranks[0].facts if report.ranks else None
        here = f", on {facts.node or facts.host} (rank 0)" if facts else ""  # it is always this machine
        missing = [finding.what.removesuffix(here) for finding in report.failures]
        if facts and expected.rdma:
            missing += [] if missing else _adapters(facts, expected)
            missing += [] if facts.gpus else ["no GPU: NCCL is not used without"]
        yield Usable(name, tuple(missing))


def _adapters(facts: Facts, expected: Expected) -> list[str]:
    """What the verdict cannot see for plugins that open their adapters themselves."""
    if expected.verbs:
        return []
    if expected.transport == "Libfabric":
        there = any(hca.name.startswith(_EFA) for hca in facts.hcas)
        return [] if there else ["no EFA adapter in /sys/class/infiniband"]
    return [] if facts.hcas else [f"no adapter for {expected.transport}: /sys/class/infiniband is empty"]
