"""Ray nodes of a run: command lines and environment.

One raylet per node of the gang, each with its own address, temp dir and slots. Read in Ray 2.60: `ray start --block`
keeps the node's processes below it; ports that are not given and would clash with a second Ray on the machine are
those of the client server, the dashboard agent, Serve's fallback proxy and HAProxy.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from dataclasses import dataclass, field
from pathlib import Path

from raygang.local._network import free_ports
from raygang.local._paths import RunPaths, cache_dir
from raygang.local._processes import MARK
from raygang.manifest import SERVE_ENVIRONMENT

OBJECT_STORE_BYTES = 100_000_000  # Ray wants at least 75 MB; the engine moves its tensors elsewhere
# What would send our nodes to another Ray, contradict the slots that we give them, or change vLLM behind the
# specification's back.
DROPPED = (
    "RAY_ADDRESS",
    "RAY_JOB_CONFIG_JSON_ENV_VAR",
    "RAY_NAMESPACE",
    "RAY_RUNTIME_ENV_HOOK",
    "CUDA_VISIBLE_DEVICES",
    "PYTHONWARNINGS",
    "VLLM_API_KEY",
)


@dataclass(frozen=True)
class Node:
    """A Ray node to start.

    Attributes:
        gpus: slots for ranks; real GPUs when `devices` names them.
        devices: CUDA device numbers, empty for CPU ranks.
    """

    index: int
    address: str
    gpus: int
    cpus: int
    threads: int
    devices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cluster:
    """All nodes of a run and what they share."""

    mark: str
    nodes: tuple[Node, ...]
    paths: RunPaths
    dashboard_port: int | None = None
    python: str = sys.executable
    gcs_port: int = field(default_factory=lambda: free_ports(1)[0])
    serve_ports: tuple[int, ...] = field(default_factory=lambda: tuple(free_ports(4)))

    @property
    def address(self) -> str:
        """Where other nodes and drivers join."""
        return f"{self.nodes[0].address}:{self.gcs_port}"

    def write_token(self) -> None:
        """A new token that only this user can read; every process that talks to the cluster needs it."""
        descriptor = os.open(self.paths.token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as f:
            f.write(secrets.token_hex(32))

    def command(self, node: Node) -> list[str]:
        """`ray start` for a node; the first is the head."""
        ray = [self.python, "-m", "ray.scripts.scripts", "start", "--block"]
        place = [f"--node-ip-address={node.address}", f"--temp-dir={self.paths.ray(node.index)}"]
        size = [f"--num-gpus={node.gpus}", f"--num-cpus={node.cpus}", f"--object-store-memory={OBJECT_STORE_BYTES}"]
        agent, client = free_ports(2)
        ports = ["--min-worker-port=0", "--max-worker-port=0", f"--dashboard-agent-listen-port={agent}"]
        quiet = ["--disable-usage-stats", "--include-log-monitor=false"]
        if node.index > 0:
            return [*ray, f"--address={self.address}", *place, *size, *ports, *quiet]
        head = ["--head", f"--port={self.gcs_port}", f"--ray-client-server-port={client}", "--no-monitor"]
        web = ["--include-dashboard=false"]
        if self.dashboard_port:
            web = ["--include-dashboard=true", "--dashboard-host=127.0.0.1", f"--dashboard-port={self.dashboard_port}"]
        return [*ray, *head, *place, *size, *ports, *quiet, *web]

    def environment(self, node: Node | None = None) -> dict[str, str]:
        """The environment of a node's processes, or of a driver."""
        env = {k: v for k, v in os.environ.items() if k not in DROPPED}
        env |= {
            MARK: self.mark,
            "RAYGANG_GANG": "1",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self.paths.token),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",  # Ray's 15 lets every other program of the machine go before the engine
            "VLLM_NO_USAGE_STATS": "1",
            "TMPDIR": str(self.paths.tmp),
            "VLLM_CACHE_ROOT": str(cache_dir() / "vllm"),
            **self._serve_environment(),
        }
        return env | (_rank_environment(node) if node else {})

    def _serve_environment(self) -> dict[str, str]:
        haproxy = self.paths.haproxy
        fallback_http, fallback_grpc, metrics, stats = self.serve_ports
        return {
            **SERVE_ENVIRONMENT,
            "RAY_SERVE_FALLBACK_PROXY_HTTP_PORT": str(fallback_http),
            "RAY_SERVE_FALLBACK_PROXY_GRPC_PORT": str(fallback_grpc),
            "RAY_SERVE_HAPROXY_METRICS_PORT": str(metrics),
            "RAY_SERVE_HAPROXY_STATS_PORT": str(stats),
            "RAY_SERVE_HAPROXY_NBTHREAD": "1",
            "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": str(haproxy / "haproxy.cfg"),
            "RAY_SERVE_HAPROXY_SOCKET_PATH": str(haproxy / "admin.sock"),
            "RAY_SERVE_HAPROXY_METRICS_SOCKET_PATH": str(haproxy / "metrics.sock"),
            "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": str(haproxy),
            "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": str(haproxy / "server-state"),
        }


def _rank_environment(node: Node) -> dict[str, str]:
    env = {"VLLM_HOST_IP": node.address, "OMP_NUM_THREADS": str(node.threads)}
    if node.devices:
        return env | {"CUDA_VISIBLE_DEVICES": ",".join(map(str, node.devices))}
    # Ranks that wait for each other on shared cores must not spin: by default readers spin a second, OpenMP longer.
    return env | {"RAYGANG_CPU_RANKS": "1", "RAYGANG_SPIN_S": "0.001", "OMP_WAIT_POLICY": "PASSIVE"}


_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def last_cause(log: Path) -> str:
    """The last error that a log names (`SomeError: why`), else its last line."""
    try:
        lines = [_COLOR.sub("", line) for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError as e:
        return f"no log: {e.strerror}"
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit)\b.*", line)]
    told = [line for line in lines if not line.endswith("Remaining processes will be killed.")]
    return (errors or told or ["it wrote nothing"])[-1].strip()
