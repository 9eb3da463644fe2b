"""All pairs in rounds."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from raygang.runtime.fabric.rounds import partner, rounds

gangs = st.lists(st.integers(0, 4), min_size=1, max_size=20)  # the node of each rank
even = st.tuples(st.integers(1, 6), st.integers(1, 8)).map(
    lambda n: [node for node in range(n[0]) for _ in range(n[1])]
)


@given(gangs)
def test_every_pair_meets_once_and_nobody_has_two_partners_in_a_round(nodes: list[int]) -> None:
    plan = rounds(nodes)
    assert sorted(pair for pairs in plan for pair in pairs) == list(combinations(range(len(nodes)), 2))
    assert all(len({rank for pair in pairs for rank in pair}) == 2 * len(pairs) for pairs in plan)
    assert all(plan), "no round is empty"


@given(gangs)
def test_a_node_talks_to_one_other_node_at_a_time(nodes: list[int]) -> None:
    for pairs in rounds(nodes):
        meetings = {frozenset((nodes[a], nodes[b])) for a, b in pairs if nodes[a] != nodes[b]}
        assert max(Counter(node for meeting in meetings for node in meeting).values(), default=1) == 1
        assert not meetings or all(nodes[a] != nodes[b] for a, b in pairs), "rounds are between nodes or within"


@given(even)
def test_on_equal_nodes_every_link_between_nodes_is_shared_by_equally_many(nodes: list[int]) -> None:
    size = nodes.count(0)
    for pairs in rounds(nodes):
        loads = Counter(nodes[a] for a, b in pairs if nodes[a] != nodes[b])
        assert set(loads.values()) <= {size}


@given(even)
def test_there_are_no_more_rounds_than_an_odd_number_costs(nodes: list[int]) -> None:
    count, size = len(set(nodes)), nodes.count(0)
    turns = (count - 1 + count % 2) * size if count > 1 else 0
    assert len(rounds(nodes)) == turns + (size - 1 + size % 2 if size > 1 else 0)


@given(gangs)
def test_partners_agree(nodes: list[int]) -> None:
    for pairs in rounds(nodes):
        for rank in range(len(nodes)):
            other = partner(pairs, rank)
            assert other is None or (partner(pairs, other) == rank and other != rank)
