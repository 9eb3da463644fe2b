"""Ray nodes in the nodes of a `Network`, with the rights that Kubernetes gives to a pod's root."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.support.cli import until
from tests.support.netns import Network, Node, end

PORT = 6379
OBJECT_STORE_BYTES = 80_000_000  # Ray wants at least 75 MB
# What containerd 2 grants where a pod asks for nothing (pkg/oci, defaultUnixCaps).
POD = (
    "chown", "dac_override", "fsetid", "fowner", "mknod", "net_raw", "setgid", "setuid", "setfcap", "setpcap",
    "net_bind_service", "sys_chroot", "kill", "audit_write",
)  # fmt: skip
LOCK = (*POD, "ipc_lock")  # as pods that register memory ask for
# What would send the nodes elsewhere, or make the ranks use what the tests do not mean.
DROPPED = ("RAY_", "NCCL_", "GLOO_", "CUDA_", "RAYGANG_", "PYTHONWARNINGS")
QUIET = ("--disable-usage-stats", "--include-log-monitor=false")
ALIVE_S = 15.0  # a driver that comes before the head's raylet can wait for a minute in vain (once in 16 starts)
ALIVE = "import ray; ray.init(log_to_driver=False); print('alive:', sum(n['Alive'] for n in ray.nodes()))"


class RayNodes:
    """A head without slots in the hub, and in each node a Ray node with one slot, of a GPU that is not there."""

    def __init__(self, network: Network, *, capabilities: tuple[str, ...] = LOCK, **env: str) -> None:
        self.network = network
        self._capabilities = capabilities
        self._running: dict[str, subprocess.Popen[str]] = {}
        kept = {k: v for k, v in os.environ.items() if not k.startswith(DROPPED)}
        self.environment = kept | {"RAY_ADDRESS": self.address, "RAY_USAGE_STATS_ENABLED": "0"} | env

    @property
    def address(self) -> str:
        return f"{self.network.hub.address}:{PORT}"

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            stack.callback(self._end)
            self._start(self.network.hub)
            for node in self.network.nodes:
                self._start(node)
            self.wait(1 + len(self.network.nodes))
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def wait(self, nodes: int, deadline_s: float = 90) -> None:
        """Wait until so many Ray nodes are alive, the head's among them."""
        until(lambda: self._alive() == nodes, f"{nodes} Ray nodes: {self.logs()}", deadline_s)

    def python(self, *arguments: str, timeout: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
        """Run Python beside the head, with the cluster's address."""
        command = [sys.executable, *arguments]
        return self.network.hub.run(*command, timeout=timeout, check=False, env=self.environment | env)

    def processes(self, node: Node, name: str) -> list[int]:
        """Numbers, in the node, of its processes with this name."""
        return [int(number) for number in node.run("pgrep", "-x", name, check=False).stdout.split()]

    @contextlib.contextmanager
    def memlock(self, node: Node, limit: int) -> Iterator[None]:
        """What starts in this Ray node from here on may lock so many bytes."""
        (raylet,) = self.processes(node, "raylet")
        before = node.run("prlimit", "--pid", str(raylet), "--memlock", "--output=SOFT", "--noheadings", "--raw")
        self._limit(node, raylet, str(limit))
        try:
            yield
        finally:
            self._limit(node, raylet, before.stdout.strip())

    @contextlib.contextmanager
    def restarted(self, *nodes: Node, capabilities: tuple[str, ...] | None = None, **env: str) -> Iterator[None]:
        """These Ray nodes end and come back with other rights or variables; afterwards with the usual ones."""
        self._restart(nodes, capabilities, env)
        try:
            yield
        finally:
            self._restart(nodes)

    def logs(self) -> str:
        """The last lines of what `ray start` wrote, node by node."""
        files = sorted(self.network.directory.glob("ray-*.log"))
        return "\n".join(f"{file.name}: {file.read_text()[-500:]}" for file in files)

    def _start(self, node: Node, capabilities: tuple[str, ...] | None = None, env: Mapping[str, str] = {}) -> None:
        place = self.network.directory / node.name
        store = place.with_name(f"{node.name}-store")
        store.mkdir(exist_ok=True)
        rights = ",".join(["-all", *(f"+{name}" for name in capabilities or self._capabilities)])
        role = [f"--address={self.address}", "--num-cpus=1", "--num-gpus=1"]
        if node is self.network.hub:
            role = [
                "--head",
                f"--port={PORT}",
                "--num-cpus=0",
                "--num-gpus=0",
                "--include-dashboard=false",
                "--no-monitor",
            ]
        command = [
            "setpriv",
            f"--bounding-set={rights}",
            "--inh-caps=-all",
            sys.executable,
            "-m",
            "ray.scripts.scripts",
        ]
        command += ["start", "--block", *role, f"--node-ip-address={node.address}", f"--temp-dir={place}", *QUIET]
        # The object store is elsewhere, so that /dev/shm can be replaced while the node runs.
        command += [f"--object-store-memory={OBJECT_STORE_BYTES}", f"--plasma-directory={store}"]
        env = {k: v for k, v in self.environment.items() if k != "RAY_ADDRESS"} | env
        with Path(self.network.directory, f"ray-{node.name}.log").open("w") as log:
            self._running[node.name] = node.start(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)

    def _restart(
        self, nodes: Sequence[Node], capabilities: tuple[str, ...] | None = None, env: Mapping[str, str] = {}
    ) -> None:
        everyone = 1 + len(self.network.nodes)
        for node in nodes:
            self._stop(node)
        self.wait(everyone - len(nodes))
        for node in nodes:
            self._start(node, capabilities, env)
        self.wait(everyone)

    def _stop(self, node: Node) -> None:
        end(self._running.pop(node.name), gently_s=10)
        node.kill_all()

    def _end(self) -> None:
        """Nothing is to be kept: no node is asked to end in peace."""
        for node in (*self.network.nodes, self.network.hub):
            if process := self._running.pop(node.name, None):
                end(process)
            node.kill_all()

    def _alive(self) -> int:
        dead = [name for name, process in self._running.items() if process.poll() is not None]
        assert not dead, f"ended by itself: {dead}: {self.logs()}"
        try:
            done = self.python("-c", ALIVE, timeout=ALIVE_S)
        except subprocess.TimeoutExpired:
            return 0
        told = re.search(r"^alive: (\d+)$", done.stdout, re.MULTILINE)  # Ray prints there that nodes died, too
        return int(told[1]) if told else 0

    @staticmethod
    def _limit(node: Node, pid: int, soft: str) -> None:
        node.run("prlimit", "--pid", str(pid), f"--memlock={soft}:")  # the hard limit stays: only it is hard to raise
