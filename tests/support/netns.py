"""A small network of nodes on this machine, and what can go wrong in it; needs root.

A node has namespaces of its own for network, mounts, processes, host name and IPC, as a pod has. They hang on one
process that reads a pipe from here: it ends when this process does, however that goes, and with it all that runs in
the node, its interfaces and its mounts. Nothing is ever made in the host's namespaces.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

TOOLS = ("ip", "tc", "iptables", "iperf3", "pgrep", "unshare", "nsenter", "setpriv", "prlimit", "mount")
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
BURST_S = 0.002  # what the limiter lets through at once, as time at its rate; less, and its timer is what limits
QUEUE_S = 0.02
FIRST = 11  # the last number of the first node's addresses; the hub's is 1
# PID 1 of a node. bash reaps what is left to it. /sys shows the interfaces of the namespace that mounted it. Without
# nameservers a name that the hosts file lacks is unknown at once.
INIT = """
set -e
hostname "$1"
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=1777,size="$2" tmpfs /dev/shm
mount --bind "$3" /etc/hosts
mount --bind /dev/null /etc/resolv.conf
ip link set lo up
echo ready
read -r _ || true
"""


def missing() -> str:
    """Why no network can be made here; empty where it can."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    absent = [tool for tool in TOOLS if shutil.which(tool, path=PATH) is None]
    if absent:
        return f"needs {', '.join(absent)} (tools/system.sh installs them)"
    tried = subprocess.run(["unshare", "-m", "-n", "-p", "-u", "-i", "-f", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else f"may not make namespaces: {tried.stderr.decode().strip()}"


@dataclass(frozen=True)
class Node:
    """A node: `addresses` are those of eth0, eth1 and so on."""

    name: str
    addresses: tuple[str, ...]
    process: subprocess.Popen[str] = field(repr=False)
    hosts: Path = field(repr=False)

    @property
    def address(self) -> str:
        return self.addresses[0]

    @property
    def enter(self) -> list[str]:
        """What makes a command run in here: in a mount namespace the working directory is the root at first."""
        place = f"/proc/{self.process.pid}/ns"
        inside = [f"--{kind}={place}/{file}" for kind, file in KINDS.items()]
        return ["nsenter", *inside, "env", f"--chdir={Path.cwd()}"]

    def start(
        self, command: Sequence[str], env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """Start a command in a process group of its own, so that `end` reaches all of it."""
        environment = {**(os.environ if env is None else env), "PATH": PATH}
        return subprocess.Popen([*self.enter, *command], text=True, start_new_session=True, env=environment, **options)

    def run(
        self, *command: str, timeout: float = 30, check: bool = True, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; it and its children are killed at the deadline."""
        pipe = subprocess.PIPE
        with self.start(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=env) as process:
            try:
                out, error = process.communicate(timeout=timeout)
            except BaseException:
                end(process)
                raise
        done = subprocess.CompletedProcess(command, process.returncode, out, error)
        assert not check or done.returncode == 0, f"{self.name}: {' '.join(command)}: {done.returncode}\n{out}{error}"
        return done

    def ip(self, command: str) -> str:
        return self.run("ip", *command.split()).stdout

    def kill_all(self) -> None:
        """End all that runs in here, but the node."""
        self.run("bash", "-c", "kill -KILL -1", check=False)  # spares PID 1 and who asks

    @contextlib.contextmanager
    def resolves_itself_to(self, address: str) -> Iterator[None]:
        """Its host name is this address in its hosts file, as Debian writes 127.0.1.1."""
        before = self.hosts.read_text()
        # In place: the mount is of this file, not of its name.
        self.hosts.write_text(before.replace(f"{self.address} {self.name}\n", f"{address} {self.name}\n"))
        try:
            yield
        finally:
            self.hosts.write_text(before)

    @contextlib.contextmanager
    def small_shm(self, size: str = "64m") -> Iterator[None]:
        """A /dev/shm as containers have it where nobody asks for more."""
        self.run("mount", "-t", "tmpfs", "-o", f"mode=1777,size={size}", "tmpfs", "/dev/shm")
        try:
            yield
        finally:
            self.run("umount", "--lazy", "/dev/shm")

    @contextlib.contextmanager
    def down(self, interface: str) -> Iterator[None]:
        self.ip(f"link set {interface} down")
        try:
            yield
        finally:
            self.ip(f"link set {interface} up")

    @contextlib.contextmanager
    def cut_off_from(self, other: Node) -> Iterator[None]:
        """No packet passes between the two, in either direction; all others are reached as before."""
        pairs = [pair for ours in self.addresses for pair in ((ours, its) for its in other.addresses)]
        rules = [rule for ours, its in pairs for rule in (f"INPUT -s {its} -d {ours}", f"OUTPUT -s {ours} -d {its}")]
        with contextlib.ExitStack() as stack:
            for rule in rules:
                self._iptables("-I", rule)
                stack.callback(self._iptables, "-D", rule)
            yield

    def _iptables(self, action: str, rule: str) -> None:
        self.run("iptables", "--wait", "10", action, *rule.split(), "-j", "DROP")


KINDS = {"mount": "mnt", "net": "net", "uts": "uts", "ipc": "ipc", "pid": "pid_for_children"}


class Network:
    """A hub and nodes with a cable each to its bridges br0, br1 ...: eth0, eth1 ... in the node.

    The hub is a node too: a fault of one node's link does not concern what runs there.
    """

    def __init__(self, nodes: int, *, networks: int = 1, shm: str = "512m") -> None:
        self._count, self._networks, self._shm = nodes, networks, shm
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            # Short: unix sockets below it may have paths of 107 bytes.
            self.directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rn-", dir="/tmp")))
            numbers = {"hub": 1} | {f"n{i}": FIRST + i for i in range(self._count)}
            self._names = {f"10.91.0.{number}": name for name, number in numbers.items()}
            self.hub, *self.nodes = [self._node(stack, name, number) for name, number in numbers.items()]
            for network in range(self._networks):
                self._bridge(network)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def node_at(self, address: str) -> Node:
        return next(node for node in (self.hub, *self.nodes) if address in node.addresses)

    @contextlib.contextmanager
    def limited(self, node: Node, gbit: float, network: int = 0) -> Iterator[None]:
        """A node's link lets this much through, in each direction."""
        burst, queue = int(gbit * 1e9 / 8 * BURST_S), int(gbit * 1e9 / 8 * QUEUE_S)
        shape = f"root tbf rate {gbit * 1e9:.0f}bit burst {max(burst, 2**17)} limit {max(queue, 2**18)}"
        ends = ((node, f"eth{network}"), (self.hub, _port(node, network)))
        with contextlib.ExitStack() as stack:
            for place, interface in ends:
                place.run("tc", "qdisc", "replace", "dev", interface, *shape.split())
                stack.callback(place.run, "tc", "qdisc", "del", "dev", interface, "root")
            yield

    def _node(self, stack: contextlib.ExitStack, name: str, number: int) -> Node:
        hosts = self.directory / f"hosts-{name}"
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for a, n in self._names.items()))
        unshare = ["unshare", "-m", "-n", "-p", "-u", "-i", "--fork", "--kill-child", "--mount-proc"]
        command = [*unshare, "bash", "-c", INIT, "init", name, self._shm, str(hosts)]
        environment = {**os.environ, "PATH": PATH}
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, text=True, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, env=environment
        )
        stack.callback(_close, process)
        said = _of(process.stdout).readline()
        assert said == "ready\n", f"no node: {said}"
        return Node(name, tuple(f"10.91.{n}.{number}" for n in range(self._networks)), process, hosts)

    def _bridge(self, network: int) -> None:
        bridge = f"br{network}"
        self.hub.ip(f"link add {bridge} type bridge stp_state 0 forward_delay 0")
        self.hub.ip(f"addr add {self.hub.addresses[network]}/24 dev {bridge}")
        self.hub.ip(f"link set {bridge} up")
        # From outside of the hub's process namespace, where the number of the node's process means something.
        inside = ["nsenter", f"--net=/proc/{self.hub.process.pid}/ns/net"]
        for node in self.nodes:
            port, interface = _port(node, network), f"eth{network}"
            cable = f"link add {port} type veth peer name {interface} netns {node.process.pid}"
            path = {**os.environ, "PATH": PATH}
            subprocess.run([*inside, "ip", *cable.split()], check=True, capture_output=True, timeout=30, env=path)
            self.hub.ip(f"link set {port} master {bridge} up")
            node.ip(f"addr add {node.addresses[network]}/24 dev {interface}")
            node.ip(f"link set {interface} up")
            if network == 0:
                node.ip(f"route add default via {self.hub.address}")


def end(process: subprocess.Popen[Any], gently_s: float = 0) -> None:
    """End a process group: SIGTERM and some time where asked for, then SIGKILL."""
    if gently_s:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(gently_s)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


def _port(node: Node, network: int) -> str:
    return f"{node.name}-{network}"


def _close(process: subprocess.Popen[str]) -> None:
    _of(process.stdin).close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()  # takes PID 1 of the node along, and that all others
        process.wait(10)
    _of(process.stdout).close()


def _of(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
