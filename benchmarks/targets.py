"""The three ways to serve one model over two Ray nodes here, each from nothing to an endpoint, one beside the other.

All use the same engine arguments, one slot per node, the same platform plugin for CPU ranks and one thread per rank.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from raygang.local import _processes

ENGINE = {
    "max_model_len": 1024, "max_num_seqs": 64, "kv_cache_memory_bytes": 268435456, "enforce_eager": True,
}  # fmt: skip
MARK = "benchmark"
NAME = "model"


@dataclass(frozen=True)
class Place:
    """Where a target listens: its port here, and the network 127.0.N.0 of the two Ray nodes started by hand."""

    port: int
    network: int

    @property
    def head(self) -> str:
        return f"127.0.{self.network}.2"

    @property
    def other(self) -> str:
        return f"127.0.{self.network}.3"

    @property
    def gcs(self) -> int:
        return 6400 + self.network

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@dataclass(frozen=True)
class Served:
    """An endpoint that is up: its URL, seconds from nothing to its first answer, memory of all its processes."""

    url: str
    start_s: float
    memory_bytes: int


@contextlib.contextmanager
def raygang(model: Path, dtype: str, place: Place) -> Iterator[Served]:
    """`raygang run`."""
    spec = {
        "name": NAME,
        "model": {"source": str(model)},
        "parallelism": {"tensor": 1, "pipeline": 2},
        "nodes": {"count": 2, "accelerator": "cpu"},
        "engine": {"args": {**ENGINE, "dtype": dtype}},
    }
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "spec.yaml")
        path.write_text(json.dumps(spec))  # JSON is YAML
        command = [sys.executable, "-m", "raygang.cli", "run", str(path), "--port", str(place.port), "-o", "json"]
        env = {k: v for k, v in os.environ.items() if k != _processes.MARK}
        with marked(directory) as began:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env)
            try:
                start_s = until_up(began, process, place)
                run = next((Path(os.environ["RAYGANG_CACHE"]) / "run").glob("*.json"))
                from raygang.local.state import Run

                yield Served(place.url, start_s, Run.read(run).memory() + pss(process.pid))
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=60)


@contextlib.contextmanager
def serve_llm(model: Path, dtype: str, place: Place) -> Iterator[Served]:
    """By hand: `ray start` twice, then `serve.run(build_openai_app(...))`."""
    with tempfile.TemporaryDirectory(prefix="rb-", dir="/tmp") as directory, marked(directory) as began:
        env = environment(directory)
        before = {p.pid for p in ours()}
        ray_nodes(directory, env, place)
        engine = {**ENGINE, "dtype": dtype}
        code = SERVE_LLM.format(
            name=NAME, model=str(model), engine=engine, port=place.port, gcs=place.gcs, head=place.head
        )
        process = start([sys.executable, "-c", code], env, Path(directory, "driver.log"))
        yield Served(place.url, until_up(began, process, place), memory(before))


@contextlib.contextmanager
def vllm_server(model: Path, dtype: str, place: Place) -> Iterator[Served]:
    """By hand: `ray start` twice, then vLLM's own OpenAI server with its Ray executor."""
    with tempfile.TemporaryDirectory(prefix="rb-", dir="/tmp") as directory, marked(directory) as began:
        env = environment(directory) | {"RAY_ADDRESS": f"{place.head}:{place.gcs}", "VLLM_HOST_IP": place.head}
        before = {p.pid for p in ours()}
        ray_nodes(directory, env, place)
        options = {**ENGINE, "dtype": dtype, "pipeline_parallel_size": 2, "distributed_executor_backend": "ray"}
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
        command += ["--served-model-name", NAME, "--port", str(place.port), "--host", "127.0.0.1"]
        for key, value in options.items():
            flag = "--" + key.replace("_", "-")
            command += [flag] if value is True else [flag, str(value)]
        process = start(command, env, Path(directory, "server.log"))
        yield Served(place.url, until_up(began, process, place), memory(before))


SERVE_LLM = """
import ray
from ray import serve
from ray.serve.config import HTTPOptions
from ray.serve.llm import LLMConfig, build_openai_app
ray.init(address="{head}:{gcs}", _node_ip_address="{head}", log_to_driver=False)
serve.start(http_options=HTTPOptions(host="127.0.0.1", port={port}, location="HeadOnly"))
config = LLMConfig(
    model_loading_config=dict(model_id={name!r}, model_source={model!r}),
    placement_group_config=dict(bundles=[dict(GPU=1, CPU=0.5)] * 2, strategy="STRICT_SPREAD"),
    deployment_config=dict(num_replicas=1, max_ongoing_requests=256),
    engine_kwargs=dict(pipeline_parallel_size=2, distributed_executor_backend="ray", **{engine!r}),
    log_engine_metrics=False,
)
serve.run(build_openai_app(dict(llm_configs=[config])), name="llm", blocking=True)
"""


def environment(directory: str) -> dict[str, str]:
    token = Path(directory, "token")
    token.write_text("0" * 64)
    token.chmod(0o600)
    return {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"} | {
        _processes.MARK: MARK,
        "RAYGANG_CPU_RANKS": "1",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_USAGE_STATS_ENABLED": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
    }


def ray_nodes(directory: str, env: dict[str, str], place: Place) -> None:
    """Two nodes, one after the other, as one types them."""
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--disable-usage-stats"]
    size = ["--num-cpus=2", "--num-gpus=1", "--object-store-memory=100000000"]
    head = ["--head", f"--port={place.gcs}", "--include-dashboard=false", f"--node-ip-address={place.head}"]
    other = [f"--address={place.head}:{place.gcs}", f"--node-ip-address={place.other}"]
    for index, role in enumerate((head, other)):
        with Path(directory, f"node{index}.log").open("wb") as log:
            command = [*ray, *role, *size, f"--temp-dir={directory}/{index}"]
            subprocess.run(command, env=env, stdout=log, stderr=log, check=True, timeout=120)


@contextlib.contextmanager
def marked(directory: str) -> Iterator[float]:
    """Time from here; whatever carries the mark or has this directory on its command line ends at the end."""
    began = time.monotonic()
    try:
        yield began
    finally:
        deadline = time.monotonic() + 30
        while (found := ours(directory)) and time.monotonic() < deadline:
            for process in found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(found, timeout=1)
        for segment in Path("/dev/shm").glob("psm_*"):
            segment.unlink(missing_ok=True)


def ours(directory: str = "/tmp/rb-") -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            line = " ".join(process.info["cmdline"] or [])
            titled = line.startswith(("ray::", "VLLM::"))
            mine = process.environ().get(_processes.MARK) == MARK or directory in line or titled
            if mine and process.pid != os.getpid() and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def start(command: list[str], env: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as target:
        return subprocess.Popen(command, env=env, stdout=target, stderr=target)


def until_up(began: float, process: subprocess.Popen[bytes], place: Place) -> float:
    """Seconds until one token came back."""
    body = {"model": NAME, "prompt": "x", "max_tokens": 1}
    while time.monotonic() - began < 400:
        if process.poll() is not None:
            raise SystemExit(f"ended by itself with {process.returncode}")
        with contextlib.suppress(httpx.TransportError):
            response = httpx.post(f"{place.url}/completions", json=body, timeout=60, trust_env=False)
            if response.status_code == 200:
                return time.monotonic() - began
        time.sleep(0.2)
    raise SystemExit("not up within 400 s")


def memory(before: set[int]) -> int:
    return _processes.memory(p for p in ours() if p.pid not in before)


def pss(pid: int) -> int:
    return int(psutil.Process(pid).memory_full_info().pss)


TARGETS = {"raygang": raygang, "ray.serve.llm": serve_llm, "vLLM server": vllm_server}
PLACES = {target: Place(8601 + n, 101 + n) for n, target in enumerate(TARGETS)}
