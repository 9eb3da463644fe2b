"""All pairs of ranks, in rounds in which no rank has two partners.

Between nodes a node talks to one other node at a time, all its ranks at once: every pair then shares its node's links
with equally many others, so that the numbers compare, and they are those of a gang at work. Pairs within nodes follow.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

T = TypeVar("T")
Pair = tuple[int, int]


def rounds(nodes: Sequence[Hashable]) -> list[list[Pair]]:
    """The rounds; every pair (smaller rank first) is in one of them.

    Args:
        nodes: the node of each rank.
    """
    groups: dict[Hashable, list[int]] = {}
    for rank, node in enumerate(nodes):
        groups.setdefault(node, []).append(rank)
    return [*_between(list(groups.values())), *_within(list(groups.values()))]


def partner(pairs: list[Pair], rank: int) -> int | None:
    """The other of a rank's pair in a round; None where it rests."""
    return next((a + b - rank for a, b in pairs if rank in (a, b)), None)


def tournament(players: Sequence[T]) -> list[list[tuple[T, T]]]:
    """Rounds in which every two players meet once: one fewer than players, or as many when those are odd.

    All stand in a circle and the first stays: the others move on by one for each round.
    """
    circle: list[int | None] = [*range(len(players))] + ([None] if len(players) % 2 else [])
    found = []
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        facing = zip(circle[:half], reversed(circle[half:]), strict=True)
        found.append([(players[a], players[b]) for a, b in facing if a is not None and b is not None])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return found


def _between(groups: list[list[int]]) -> Iterator[list[Pair]]:
    """For each round of the nodes, the ranks of two nodes move past each other."""
    for meeting in tournament(groups):
        turns = [list(_past(*sorted(two, key=len))) for two in meeting]
        for pairs in zip_longest(*turns, fillvalue=()):
            yield [pair for some in pairs for pair in some]


def _past(few: list[int], many: list[int]) -> Iterator[list[Pair]]:
    for shift in range(len(many)):
        yield [_ordered(rank, many[(place + shift) % len(many)]) for place, rank in enumerate(few)]


def _within(groups: list[list[int]]) -> Iterator[list[Pair]]:
    for pairs in zip_longest(*map(tournament, groups), fillvalue=()):
        if found := [_ordered(*pair) for some in pairs for pair in some]:
            yield found


def _ordered(a: int, b: int) -> Pair:
    return min(a, b), max(a, b)
