"""The verdict: what is wrong between the ranks and their network, the first cause first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.report import Hca, Interface, Link, Rank, Reach
from raygang.runtime.fabric.verdict import of_pods, of_reach, of_traffic
from tests.runtime.fabric.pods import ETH0, GIB, IB, ROCE, TCP, facts, port, rank, used

DOWN = Interface(name="ib0", up=False)
BARE = Interface(name="net1", up=True)


def codes(expected: Expected, **fields: Any) -> list[str]:
    return [finding.code for finding in of_pods(expected, [rank(0, **fields), rank(1)])]


@pytest.mark.parametrize("expected", [Expected(), TCP, IB])
def test_a_good_pod_has_nothing_wrong(expected: Expected) -> None:
    assert codes(expected) == []


def hcas(**fields: Any) -> dict[str, Any]:
    return {"hcas": (Hca(name="mlx5_0", ports=(port(**fields),)),)}


@pytest.mark.parametrize(
    ("expected", "fields", "code", "words"),
    [
        (Expected(interface="eth7"), {}, "interface-unknown", "fabric.interface is eth7, and there are eth0"),
        (TCP, {"variables": {"NCCL_SOCKET_IFNAME": "=eth"}}, "interface-unknown", "NCCL_SOCKET_IFNAME is =eth"),
        (TCP, {"variables": {"GLOO_SOCKET_IFNAME": "ib0"}}, "interface-unknown", "GLOO_SOCKET_IFNAME is ib0"),
        (TCP, {"variables": {"NCCL_SOCKET_IFNAME": "ib"}, "interfaces": (ETH0, DOWN)}, "interface-down", "ib0 is down"),
        (
            Expected(interface="net1"), {"interfaces": (ETH0, BARE)}, "interface-address", "net1 has no address"),
        (TCP, {"host_addresses": ("127.0.1.1",)}, "host-name-loopback", "pod-a leads to 127.0.1.1"),
        (IB, {"variables": {"NCCL_NET": "Socket"}}, "network-variable", "NCCL_NET is Socket, and infiniband needs IB"),
        (IB, {"variables": {"NCCL_IB_DISABLE": "1"}}, "ib-disabled", "switches RDMA off"),
        (IB, {"devices": {"rdma_cm": ""}}, "device-missing", "holds only rdma_cm, and no uverbs*"),
        (IB, {"devices": {}}, "device-missing", "holds nothing"),
        (IB, {"devices": {"uverbs0": "Permission denied"}}, "device-closed", "uverbs0 does not open: Permission"),
        (IB, {"hcas": ()}, "hca-missing", "/sys/class/infiniband is empty"),
        (IB.model_copy(update={"hcas": ("mlx5_1",)}), {}, "hca-unknown", "no HCA mlx5_1; there are mlx5_0"),
        (IB, hcas(state="DOWN"), "port-down", "mlx5_0:1 is DOWN"),
        (IB, hcas(link_layer="Ethernet"), "link-layer", "infiniband needs InfiniBand, and the ports are Ethernet"),
        (ROCE, hcas(link_layer="Ethernet"), "gid-missing", "mlx5_0:1 has no GID of an interface in this pod"),
        (IB, {"memlock": 65536, "user": 1000}, "memlock", "only 64 KiB may be locked"),
        (TCP, {"shm_size": 64 << 20, "shm_free": 64 << 20}, "shared-memory", "/dev/shm has 64 MiB"),
        (TCP, {"shm_free": 1 << 20}, "shared-memory", "/dev/shm has 1 MiB free"),
    ],
)  # fmt: skip
def test_a_fault_of_a_pod_is_named_with_its_rank_and_what_to_do(
    expected: Expected, fields: dict[str, Any], code: str, words: str
) -> None:
    found = of_pods(expected, [rank(0), rank(1, **fields)])
    hit = next(finding for finding in found if finding.code == code)
    assert words in hit.what
    assert (hit.severity, hit.do != "") == ("failure", True)
    if 0 not in hit.ranks:
        assert hit.ranks == (1,)
        assert "on 10.0.0.2 (rank 1)" in hit.what


@pytest.mark.parametrize("expected", [Expected(), TCP])
def test_who_asks_for_no_rdma_needs_no_device(expected: Expected) -> None:
    assert codes(expected, devices={}, hcas=(), memlock=65536) == []


def test_a_lookup_of_the_hosts_name_matters_between_nodes_only() -> None:
    lost = {"host_addresses": ("127.0.0.1",)}
    assert not of_pods(TCP, [rank(0, "10.0.0.1", **lost), rank(1, "10.0.0.1", **lost)])
    assert of_pods(TCP, [rank(0, **lost), rank(1, **lost)])
    assert not of_pods(TCP, [rank(0, "127.0.0.2", **lost), rank(1, "127.0.0.3", **lost)])
    named = {"variables": {"GLOO_SOCKET_IFNAME": "eth0"}, **lost}
    assert not of_pods(TCP, [rank(0, **named), rank(1, **named)])


def test_the_same_fault_of_many_is_told_once() -> None:
    (found,) = of_pods(IB, [rank(n, devices={}) for n in range(4)])
    assert (found.ranks, found.what.endswith(", on every node")) == ((0, 1, 2, 3), True)


def test_efa_without_huge_pages_is_a_warning() -> None:
    efa = Expected(fabric="efa", transport="Libfabric", huge_pages=True)
    assert [(f.code, f.severity) for f in of_pods(efa, [rank(0)])] == [("huge-pages", "warning")]
    assert of_pods(efa, [rank(0, huge_pages_free=10)]) == []


def test_a_rank_that_says_nothing_comes_first() -> None:
    found = of_pods(IB, [rank(0, devices={}), Rank(rank=1, error="its node died")])
    assert [finding.code for finding in found] == ["rank-missing", "device-missing"]
    assert "rank 1 was not heard of: its node died" in found[0].what


CHAIN: list[tuple[str, dict[str, Any]]] = [
    ("interface-unknown", {"variables": {"GLOO_SOCKET_IFNAME": "ib0", "NCCL_NET": "Socket"}}),
    ("device-missing", {"devices": {}}),
    ("hca-missing", {"hcas": ()}),
    ("memlock", {"memlock": 65536}),
    ("shared-memory", {"shm_size": GIB // 64, "shm_free": GIB // 64}),
]


@given(st.sets(st.integers(0, len(CHAIN) - 1), min_size=1))
def test_the_first_failure_is_the_first_in_the_chain(broken: set[int]) -> None:
    fields: dict[str, Any] = {}
    for number in broken:
        fields |= CHAIN[number][1]
    assert codes(IB, **fields)[0] == CHAIN[min(broken)][0]


def test_a_pair_that_is_not_connected_is_named() -> None:
    cut = rank(1).model_copy(update={"reached": (Reach(rank=2, address="10.0.0.3", error="no answer within 5 s"),)})
    (found,) = of_reach([rank(0), cut, rank(2)])
    assert found.what == "rank 1 on 10.0.0.2 does not reach rank 2 on 10.0.0.3 at 10.0.0.3: no answer within 5 s"
    assert (found.code, found.ranks) == ("unreachable", (1, 2))


def test_clocks_that_differ_are_a_warning_and_name_both() -> None:
    late = rank(1).model_copy(update={"reached": (Reach(rank=0, address="10.0.0.1", seconds=1e-4, clock=-3.2),)})
    (found,) = of_reach([rank(0), late])
    assert (found.code, found.severity, found.ranks) == ("clock", "warning", (0, 1))
    assert "differ by 3.2 s" in found.what


def test_rdma_asked_for_and_sockets_used_is_a_failure() -> None:
    some = [rank(0, used=used("IB", sent=0)), rank(1, used=used("Socket"))]
    (found,) = of_traffic(IB, some, [])
    assert (found.code, found.severity, found.ranks) == ("transport", "failure", (1,))
    assert "infiniband was asked for (IB), and the ranks used Socket, on 10.0.0.2 (rank 1)" in found.what


def test_tcp_asked_for_and_rdma_used_is_one_too() -> None:
    assert [f.code for f in of_traffic(TCP, [rank(0, used=used("IB"))], [])] == ["transport"]
    assert of_traffic(Expected(), [rank(0, used=used("IB"))], []) == []


@pytest.mark.parametrize(
    ("moved", "code"),
    [
        ({"mlx5_0:1": 1000, "eth0": 5}, None),
        ({"mlx5_0:1": 10, "eth0": 2000}, "counters"),
        ({"mlx5_0:1": 600, "mlx5_1:1": 500}, None),
        ({"eth0": 2000}, "counters-hidden"),
    ],
)
def test_the_bytes_must_have_moved_through_the_hca(moved: dict[str, int], code: str | None) -> None:
    found = of_traffic(IB, [rank(0, used=used(moved=moved, sent=1000)), rank(1, used=used())], [])
    assert [finding.code for finding in found] == ([code] if code else [])


def test_sockets_must_have_used_the_interface_that_was_named() -> None:
    expected = TCP.model_copy(update={"interface": "eth0"})
    wrong = used("Socket", moved={"eth0": 10, "eth1": 1010}, sent=1000)
    (found,) = of_traffic(expected, [rank(0, used=wrong)], [])
    assert (found.code, "only 10 bytes by eth0" in found.what) == ("counters", True)


def links(*rates: tuple[int, int, float]) -> list[Link]:
    return [Link(source=source, target=target, bandwidth=rate) for source, target, rate in rates]


ALL = [(0, 1, 10.0), (1, 0, 10.0), (0, 2, 1.0), (2, 0, 1.1), (1, 2, 1.2), (2, 1, 1.3)]


def test_a_slow_link_is_named_and_so_is_the_node_that_all_slow_links_share() -> None:
    (found,) = of_traffic(Expected(), [rank(0), rank(1), rank(2)], links(*ALL))
    assert (found.code, found.severity, found.ranks) == ("slow-link", "warning", (0, 2))
    assert "from rank 0 on 10.0.0.1 to rank 2 on 10.0.0.3 carries 1 Gbit/s, and the fastest 10" in found.what
    assert "those of 10.0.0.3" in found.do


def test_a_link_below_what_the_specification_asks_for_is_a_failure() -> None:
    asked = Expected(min_bandwidth=5)
    (found,) = of_traffic(asked, [rank(0), rank(1), rank(2)], links(*ALL))
    assert (found.code, found.severity) == ("bandwidth", "failure")
    assert "fabric.min_bandwidth is 5" in found.what
    assert of_traffic(asked, [rank(0), rank(1)], links((0, 1, 5.0), (1, 0, 6.0))) == []


def test_links_within_a_node_do_not_count_as_slow() -> None:
    inside = [link.model_copy(update={"same_node": True}) for link in links((0, 1, 0.1))]
    assert of_traffic(Expected(min_bandwidth=5), [rank(0), rank(1), rank(2)], [*inside, *links((0, 2, 9.0))]) == []


def test_a_collective_that_fails_says_where_and_why() -> None:
    broken = rank(1).model_copy(update={"error": "RuntimeError: Connection closed", "step": "the link to rank 0"})
    (found, *_) = of_traffic(TCP, [rank(0, used=used("Socket")), broken], [])
    assert found.code == "collective"
    assert "rank 1 on 10.0.0.2 failed at 'the link to rank 0': RuntimeError: Connection closed" in found.what


def test_facts_are_those_of_a_pod_in_which_nothing_is_wrong() -> None:
    assert facts().memlock is None, "the tables above rely on it"


@pytest.mark.parametrize(("fields", "do"), [({"peer_memory": True}, "NCCL_NET_GDR_LEVEL"), ({}, "nvidia_peermem")])
def test_rdma_through_the_hosts_memory_is_a_warning(fields: dict[str, Any], do: str) -> None:
    some = [rank(n, used=used(gpu_direct=False, moved={"mlx5_0:1": 10}, sent=1), **fields) for n in range(2)]
    (found,) = of_traffic(IB, some, [])
    assert (found.code, found.severity, do in found.do) == ("no-gpu-direct", "warning", True)
    assert of_traffic(IB, [rank(0, used=used(gpu_direct=None))], []) == []
