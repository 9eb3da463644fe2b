"""Bandwidth and latency from each rank to each other; of many ranks from each node to each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from raygang.fabric.view import words
from raygang.runtime.fabric.report import Link, Report

MOST = 16  # ranks that are shown one by one
KINDS = {False: "between nodes", True: "within a node"}


@dataclass(frozen=True)
class Cell:
    """A field of the heat map: the slowest of the links that it stands for.

    Attributes:
        link: that one.
        share: of the fastest link of its kind, within a node or between nodes.
        below: whether the specification demands more.
    """

    link: Link
    share: float
    below: bool


@dataclass(frozen=True)
class Matrix:
    """The heat map's fields; rows are senders, columns receivers.

    Attributes:
        names: of the rows, and of the columns.
        by_node: whether a row stands for all ranks of a node.
        cells: by row and column.
        fastest: Gbit/s, within nodes (True) and between them (False).
    """

    names: tuple[str, ...]
    by_node: bool
    cells: dict[tuple[int, int], Cell]
    fastest: dict[bool, float]

    @property
    def unit(self) -> str:
        """What a row stands for."""
        return "node" if self.by_node else "rank"


def matrix(report: Report) -> Matrix | None:
    """The heat map of a report, None where no bandwidth was measured."""
    timed = [link for link in report.links if link.bandwidth is not None]
    if not timed:
        return None
    fastest = {kind: _fastest(link for link in timed if link.same_node is kind) for kind in KINDS}
    on = words.nodes(report)
    by_node = len(report.ranks) > MOST
    names = tuple(dict.fromkeys(on.values())) if by_node else tuple(f"{rank} {name}" for rank, name in on.items())
    row = {rank: names.index(on[rank]) if by_node else index for index, rank in enumerate(on)}
    slowest: dict[tuple[int, int], Link] = {}
    for link in sorted(timed, key=lambda link: link.bandwidth or 0):
        if link.source in row and link.target in row:
            slowest.setdefault((row[link.source], row[link.target]), link)
    least = report.expected.min_bandwidth or 0
    cells = {
        place: Cell(link, (link.bandwidth or 0) / (fastest[link.same_node] or 1), _below(link, least))
        for place, link in slowest.items()
    }
    return Matrix(names, by_node, cells, fastest)


def latencies(report: Report) -> list[tuple[str, list[Link]]]:
    """The links whose latency is known, by kind, each from the shortest to the longest."""
    timed = sorted((k for k in report.links if k.latency is not None), key=lambda link: link.latency or 0)
    found = [(name, [link for link in timed if link.same_node is kind]) for kind, name in KINDS.items()]
    return [(name, links) for name, links in found if links]


def _fastest(links: Iterable[Link]) -> float:
    return max((link.bandwidth or 0 for link in links), default=0)


def _below(link: Link, least: float) -> bool:
    return not link.same_node and (link.bandwidth or 0) < least
