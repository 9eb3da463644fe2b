"""The probe, run as a user runs it, on a Ray cluster whose network is whole or has one of the usual faults.

Three ranks on three nodes without a GPU: gloo over TCP is what carries bytes. NCCL and RDMA are not here; what the
probe reads of RDMA devices comes from a tree that is written by hand.
"""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raygang.runtime.fabric.report import Link, Report
from tests.support.netns import Network, Node
from tests.support.netns_ray import POD, RayNodes

pytestmark = pytest.mark.root

PROBE = ("-m", "raygang.runtime.fabric", "--nodes", "3", "--ranks", "3")


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network(3, networks=2) as found:
        yield found


@pytest.fixture(scope="module")
def rays(network: Network) -> Iterator[RayNodes]:
    with RayNodes(network) as found:
        yield found


class Told:
    """What a probe said."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        assert done.returncode in (0, 1), done.stderr
        (line,) = done.stdout.splitlines()
        self.report = Report.model_validate_json(line)
        self.sentence = done.stderr.strip().splitlines()[-1]
        assert done.returncode == (0 if self.report.passed else 1)
        assert self.sentence == self.report.sentence()

    @property
    def codes(self) -> list[str]:
        return [finding.code for finding in self.report.findings]

    def ranks(self, *nodes: Node) -> set[int]:
        numbers = {rank.facts.node: rank.rank for rank in self.report.ranks if rank.facts}
        return {numbers[node.address] for node in nodes}

    def rates(self, links: list[Link] | None = None) -> list[float]:
        rates = [link.bandwidth for link in (self.report.links if links is None else links)]
        return [rate for rate in rates if rate]

    def of(self, node: Node) -> list[Link]:
        (number,) = self.ranks(node)
        return [link for link in self.report.links if number in (link.source, link.target)]


def probe(rays: RayNodes, *options: str, timeout: float = 60, **expected: Any) -> Told:
    return Told(rays.python(*PROBE, "--expected", json.dumps(expected), *options, timeout=timeout))


def hca_tree(root: Path, *, state: str = "4: ACTIVE", layer: str = "InfiniBand") -> Path:
    """An HCA's files; written by hand from the kernel's Documentation/ABI/stable/sysfs-class-infiniband, no hardware."""
    port = root / "sys/class/infiniband/mlx5_0/ports/1"
    gid = "fe80:0000:0000:0000:0002:c903:0000:1234"
    texts = {
        "state": state, "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "link_layer": layer,
        "gids/0": gid, "gids/1": "0000:0000:0000:0000:0000:0000:0000:0000", "gid_attrs/types/0": "IB/RoCE v1",
        "gid_attrs/ndevs/0": "ib0", "counters/port_xmit_data": "0",
    }  # fmt: skip
    for name, text in texts.items():
        (port / name).parent.mkdir(parents=True, exist_ok=True)
        (port / name).write_text(text + "\n")
    (root / "dev/infiniband").mkdir(parents=True)
    for name in ("uverbs0", "rdma_cm"):
        (root / "dev/infiniband" / name).touch()
    return root


RDMA = {"fabric": "infiniband", "transport": "IB", "verbs": True, "link_layer": "InfiniBand"}


def test_a_whole_network_passes_with_every_pair_measured(rays: RayNodes, network: Network) -> None:
    with contextlib.ExitStack() as limits:
        for node in network.nodes:
            limits.enter_context(network.limited(node, 1))
        told = probe(rays, transport="Socket", interface="eth0", min_bandwidth=0.8)
    assert told.report.passed, told.sentence
    assert told.codes == []
    pairs = {(a, b) for a in range(3) for b in range(3) if a != b}
    assert {(link.source, link.target) for link in told.report.links} == pairs
    assert all(0.85 < rate < 1.05 for rate in told.rates()), told.rates()
    assert all(link.latency and link.latency < 0.05 for link in told.report.links)
    assert len(told.rates()) == len(pairs)
    for rank in told.report.ranks:
        assert rank.used
        assert (rank.used.backend, rank.used.transport, rank.used.devices) == ("gloo", "Socket", ("eth0",))
        assert rank.used.moved["eth0"] > rank.used.sent > 0
    assert told.report.all_reduce
    assert told.report.all_reduce.ranks == 3
    assert "3 ranks over Socket" in told.sentence
    assert "no GPU" in told.report.simulated


def test_a_slow_link_is_named_with_its_node(rays: RayNodes, network: Network) -> None:
    slow = network.nodes[1]
    with network.limited(slow, 0.2):
        told = probe(rays)
    assert told.report.passed
    assert told.codes == ["slow-link"]
    (finding,) = told.report.findings
    assert told.ranks(slow) < set(finding.ranks)
    assert f"all slow links are those of {slow.address}" in finding.do
    slowest = told.report.slowest()
    assert slowest in told.of(slow)
    assert all(0.15 < rate < 0.22 for rate in told.rates(told.of(slow)))
    assert all(rate > 1 for rate in told.rates([k for k in told.report.links if k not in told.of(slow)]))


def test_a_link_below_the_bandwidth_that_is_asked_for_fails(rays: RayNodes, network: Network) -> None:
    slow = network.nodes[2]
    with network.limited(slow, 0.2):
        told = probe(rays, min_bandwidth=1.0)
    assert told.codes == ["bandwidth"]
    assert told.ranks(slow) < set(told.report.findings[0].ranks)
    for words in (f"on {slow.address}", "fabric.min_bandwidth is 1", f"those of {slow.address}: look at its NIC"):
        assert words in told.sentence


def test_the_second_network_is_used_where_it_is_named(rays: RayNodes, network: Network) -> None:
    with rays.restarted(*network.nodes, GLOO_SOCKET_IFNAME="eth1"):
        told = probe(rays, interface="eth1", min_bandwidth=0.1)
    assert told.report.passed, told.sentence
    assert all(rank.used and rank.used.devices == ("eth1",) for rank in told.report.ranks)


def test_traffic_that_takes_another_interface_than_the_one_named_fails(rays: RayNodes) -> None:
    told = probe(rays, interface="eth1")
    assert set(told.codes) == {"counters"}
    assert "by eth1" in told.sentence
    assert "GLOO_SOCKET_IFNAME" in told.sentence


def test_an_interface_that_is_down_is_told_before_any_traffic(rays: RayNodes, network: Network) -> None:
    node = network.nodes[1]
    with node.down("eth1"):
        told = probe(rays, interface="eth1")
    assert told.codes == ["interface-down"]
    assert set(told.report.findings[0].ranks) == told.ranks(node)
    assert f"eth1 is down, on {node.address}" in told.sentence
    assert told.report.links == ()


def test_an_interface_that_is_not_there_is_told_with_those_that_are(rays: RayNodes) -> None:
    told = probe(rays, interface="ib0")
    assert told.codes == ["interface-unknown"]
    assert told.report.findings[0].ranks == (0, 1, 2)
    assert "fabric.interface is ib0, and there are eth0 and eth1, on every node" in told.sentence


def test_a_wrong_name_in_a_variable_is_told_with_its_node(rays: RayNodes, network: Network) -> None:
    node = network.nodes[0]
    # NCCL matches by prefix, gloo whole names: "eth" is good for the one only.
    with rays.restarted(node, GLOO_SOCKET_IFNAME="eth", NCCL_SOCKET_IFNAME="bond"):
        told = probe(rays)
    assert told.codes == ["interface-unknown", "interface-unknown"]
    assert all(set(finding.ranks) == told.ranks(node) for finding in told.report.findings)
    said = " ".join(finding.what for finding in told.report.findings)
    assert "GLOO_SOCKET_IFNAME is eth, and there are eth0 and eth1" in said
    assert "NCCL_SOCKET_IFNAME is bond, and there are eth0 and eth1" in said
    assert f"on {node.address}" in told.sentence


def test_a_host_name_that_leads_to_loopback_is_told(rays: RayNodes, network: Network) -> None:
    node = network.nodes[2]
    with node.resolves_itself_to("127.0.1.1"):
        told = probe(rays)
    assert told.codes == ["host-name-loopback"]
    assert set(told.report.findings[0].ranks) == told.ranks(node)
    for words in (f"name {node.name} leads to 127.0.1.1", f"on {node.address}", "set GLOO_SOCKET_IFNAME", "/etc/hosts"):
        assert words in told.sentence


def test_shared_memory_that_is_too_small_is_told(rays: RayNodes, network: Network) -> None:
    node = network.nodes[1]
    with node.small_shm("64m"):
        told = probe(rays)
    assert told.codes == ["shared-memory"]
    assert set(told.report.findings[0].ranks) == told.ranks(node)
    assert "/dev/shm has 64 MiB" in told.sentence
    assert "medium: Memory" in told.sentence


def test_two_nodes_that_do_not_reach_each_other_are_named_soon(rays: RayNodes, network: Network) -> None:
    one, other, third = network.nodes
    with one.cut_off_from(other):
        told = probe(rays, timeout=30)
    assert set(told.codes) == {"unreachable"}
    assert {frozenset(finding.ranks) for finding in told.report.findings} == {frozenset(told.ranks(one, other))}
    assert one.address in told.sentence
    assert other.address in told.sentence
    assert third.address not in told.sentence
    assert "NetworkPolicy" in told.sentence
    assert told.report.seconds < 15


def test_rdma_that_is_not_there_fails_for_want_of_a_device(rays: RayNodes) -> None:
    told = probe(rays, **RDMA)
    assert told.codes == ["device-missing", "hca-missing"]
    assert "/dev/infiniband holds nothing" in told.sentence
    assert "fabric.resource" in told.sentence
    assert told.report.links == ()


def test_memory_that_may_not_be_locked_is_told_where_devices_are(
    rays: RayNodes, network: Network, tmp_path: Path
) -> None:
    node, root = network.nodes[0], hca_tree(tmp_path / "hand")
    with rays.restarted(node, capabilities=POD), rays.memlock(node, 64 << 10):
        told = probe(rays, "--root", str(root), **RDMA)
    assert told.codes == ["memlock"]
    assert set(told.report.findings[0].ranks) == told.ranks(node)
    for words in ("only 64 KiB may be locked", "IPC_LOCK is not effective for user 0", f"on {node.address}"):
        assert words in told.sentence


def test_a_port_without_a_subnet_manager_is_told(rays: RayNodes, tmp_path: Path) -> None:
    told = probe(rays, "--root", str(hca_tree(tmp_path / "hand", state="2: INIT")), **RDMA)
    assert told.codes == ["port-down"]
    assert "mlx5_0:1 is INIT" in told.sentence
    assert "subnet manager" in told.sentence


def test_devices_alone_do_not_pass_for_rdma(rays: RayNodes, tmp_path: Path) -> None:
    told = probe(rays, "--root", str(hca_tree(tmp_path / "hand")), **RDMA)
    assert told.codes == ["transport"]
    assert "the ranks used Socket" in told.sentence
    assert "there is no GPU" in told.sentence
