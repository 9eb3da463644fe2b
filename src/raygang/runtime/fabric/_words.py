from __future__ import annotations

from collections.abc import Iterable, Sequence

from raygang.runtime.fabric.report import Rank


def node(rank: Rank) -> str:
    """The node of a rank, as people know it."""
    return (rank.facts.node or rank.facts.host) if rank.facts else "an unknown node"


def named(rank: Rank) -> str:
    return f"rank {rank.rank} on {node(rank)}" if rank.facts else f"rank {rank.rank}"


def where(some: Sequence[Rank], everyone: Sequence[Rank]) -> str:
    """Where some of the ranks are: "on 10.0.0.2 (rank 1)"."""
    if len(some) == len(everyone) > 1:
        return "on every node"
    nodes = list(dict.fromkeys(map(node, some)))
    numbers = [rank.rank for rank in some]
    return f"on {listed(nodes)} ({'rank' if len(numbers) == 1 else 'ranks'} {listed(map(str, numbers))})"


def listed(words: Iterable[str], nothing: str = "none") -> str:
    """A, B and C."""
    *most, last = list(words) or [nothing]
    return f"{', '.join(most)} and {last}" if most else last


def size(number: float) -> str:
    """Bytes, in the unit that reads well."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number:.4g} {unit}"
        number /= 1024
    raise AssertionError
