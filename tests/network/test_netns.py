"""The networks that the other tests here stand on: their faults are real, and nothing of them stays."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.cli import until
from tests.support.netns import Network, Node, end

pytestmark = pytest.mark.root

# A network whose owner is killed; it says which directory it has, and starts what must not outlive it.
OWNER = """
import sys, time
from tests.support.netns import Network
with Network(1) as network:
    network.nodes[0].start(["sleep", "1234567"])
    print(network.directory, flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network(3) as found:
        yield found


def answers(node: Node, address: str) -> bool:
    """Whether a refusal comes back from a port on which nobody listens; a lost packet is waited for in vain."""
    code = f"timeout 1 bash -c '</dev/tcp/{address}/9'"
    return node.run("bash", "-c", code, check=False).returncode == 1


def rate(source: Node, target: Node) -> float:
    """Gbit/s by iperf3."""
    server = target.start(["iperf3", "--server"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: target.run("ss", "-Hltn", "sport = :5201").stdout, "iperf3 listens")
        told = source.run("iperf3", "--client", target.address, "--time", "1", "--json").stdout
    finally:
        end(server)
    return float(json.loads(told)["end"]["sum_received"]["bits_per_second"]) / 1e9


def interfaces() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def test_nodes_reach_each_other_by_name(network: Network) -> None:
    assert all(answers(a, b.name) for a in network.nodes for b in (network.hub, *network.nodes))


def test_two_nodes_are_cut_off_from_each_other_only(network: Network) -> None:
    one, two, three = network.nodes
    with one.cut_off_from(two):
        assert not answers(one, two.address)
        assert not answers(two, one.address)
        assert answers(one, three.address)
        assert answers(three, two.address)
    assert answers(one, two.address)


def test_a_limit_holds_in_both_directions(network: Network) -> None:
    one, two, _ = network.nodes
    with network.limited(two, 0.5):
        assert 0.4 < rate(one, two) < 0.55
        assert 0.4 < rate(two, one) < 0.55
    assert rate(one, two) > 1


def test_a_host_name_can_lead_to_loopback(network: Network) -> None:
    node = network.nodes[0]
    with node.resolves_itself_to("127.0.1.1"):
        assert {line.split()[0] for line in node.run("getent", "ahosts", node.name).stdout.splitlines()} == {
            "127.0.1.1"
        }
    assert node.run("getent", "hosts", node.name).stdout.split()[0] == node.address


def test_shared_memory_can_be_small(network: Network) -> None:
    node = network.nodes[0]
    command = ["df", "--block-size=1M", "--output=size", "/dev/shm"]
    with node.small_shm("64m"):
        assert node.run(*command).stdout.split()[-1] == "64"
    assert node.run(*command).stdout.split()[-1] == "512"


def test_a_command_that_hangs_is_ended_with_its_children(network: Network) -> None:
    node = network.nodes[0]
    with pytest.raises(subprocess.TimeoutExpired):
        node.run("bash", "-c", "sleep 7654321 & sleep 7654321", timeout=0.5)
    until(lambda: node.run("pgrep", "-f", "sleep 7654321", check=False).returncode == 1, "no sleep is left")


def test_nothing_stays_when_its_owner_is_killed() -> None:
    before = interfaces()
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        directory = Path(owner.stdout.readline().strip())
        assert interfaces() == before
        mine = psutil.Process(owner.pid).children(recursive=True)
        assert any("1234567" in process.cmdline() for process in mine)
        owner.send_signal(signal.SIGKILL)
    until(lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in mine), "all processes ended")
    assert interfaces() == before
    assert str(directory) not in Path("/proc/mounts").read_text()
    (directory / "hosts-hub").unlink()
    (directory / "hosts-n0").unlink()
    directory.rmdir()  # two small files in /tmp are all that such an end leaves
