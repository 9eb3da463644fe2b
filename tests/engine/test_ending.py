"""However `raygang run` ends, nothing that it started stays."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.engine.conftest import Endpoint, write_spec
from tests.support.cli import COMMAND, Run, leftovers, ray_processes, raygang, until

READY = ("endpoint", "ready")


@pytest.fixture
def spec(tmp_path: Path, tiny: Path) -> Path:
    return write_spec(tmp_path / "ending.yaml", tiny)


@pytest.fixture
def clean(cache: Path) -> Iterator[None]:
    """What was there before is there after, and nothing else."""
    before = leftovers(cache)
    yield
    until(lambda: leftovers(cache) == before, "nothing is left")


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("stage", [("node/0", "joined"), ("replica/0", "engine")])
def test_killed_while_it_starts(spec: Path, cache: Path, stage: tuple[str, str], number: signal.Signals) -> None:
    with Run(spec, "--port", "18451", cache=cache) as run:
        run.until_stage(*stage)
        assert run.end(number) == (-number if number == signal.SIGKILL else 128 + number)


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_killed_when_it_is_ready(spec: Path, cache: Path, number: signal.Signals, code: int) -> None:
    with Run(spec, "--port", "18451", cache=cache) as run:
        run.until_ready()
        assert run.end(number) == code


@pytest.mark.usefixtures("clean")
def test_the_parent_is_killed(spec: Path, cache: Path) -> None:
    code = f"import subprocess; subprocess.run({[*COMMAND, 'run', str(spec), '--port', '18451']!r})"
    env = {**os.environ, "RAYGANG_CACHE": str(cache)}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stderr=subprocess.PIPE, text=True) as parent:
        assert parent.stderr is not None
        next(line for line in parent.stderr if "joined" in line)
        parent.kill()


@pytest.mark.usefixtures("clean")
def test_a_ray_node_is_killed(spec: Path, cache: Path) -> None:
    with Run(spec, "--port", "18451", cache=cache) as run:
        run.until_stage("node/1", "joined")
        leader = psutil.Process(run.state()["leaders"][-1])
        leader.kill()
        run.process.wait(timeout=60)
        assert run.process.returncode == 1
        assert run.process.stderr is not None
        assert "Ray's node 1 ended by itself" in run.process.stderr.read()


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("victim", ["ray::RayWorkerProc", "VLLM::EngineCore", "ray::ServeReplica"])
def test_a_process_of_the_gang_is_killed(spec: Path, cache: Path, victim: str) -> None:
    with Run(spec, "--port", "18451", cache=cache) as run:
        url = run.until_ready()
        rank = next(p for p in map(psutil.Process, ray_processes()) if victim in " ".join(p.cmdline()))
        rank.kill()
        assert "/health" in run.until_stage("endpoint", "lost")["detail"]
        assert "again" in run.until_stage(*READY)["detail"]
        assert httpx.get(f"{url}/models", trust_env=False).status_code == 200
        assert run.end(signal.SIGTERM) == 0


@pytest.mark.usefixtures("clean")
def test_an_engine_that_cannot_start_names_its_cause(tmp_path: Path, tiny: Path, cache: Path) -> None:
    spec = write_spec(tmp_path / "bad.yaml", tiny, max_model_len=100_000)
    done = raygang("run", str(spec), "--port", "18451", cache=cache)
    assert done.returncode == 1
    last = done.stderr[done.stderr.index("error:") :]
    assert "max_model_len" in last
    assert "100000" in last
    assert "all logs: " in last
    assert len(last.splitlines()) < 8
    assert Path(last.split("all logs: ")[1].strip()).is_dir()


@pytest.mark.usefixtures("clean")
def test_a_deadline_ends_the_start(tmp_path: Path, tiny: Path, cache: Path) -> None:
    spec = write_spec(tmp_path / "slow.yaml", tiny)
    spec.write_text(spec.read_text().replace("5m", "6s"))
    done = raygang("run", str(spec), "--port", "18451", cache=cache)
    assert done.returncode == 1
    assert "not ready after 6 s (limits.start_timeout)" in done.stderr


@pytest.mark.usefixtures("clean")
def test_a_taken_port_is_named_before_anything_starts(spec: Path, cache: Path) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 18451))
        s.listen()
        done = raygang("run", str(spec), "--port", "18451", cache=cache)
    assert done.returncode == 2
    assert f"port 18451 on 127.0.0.1 is taken by process {os.getpid()}" in done.stderr


def test_a_second_run_goes_on_beside_the_first_in_the_background(endpoint: Endpoint, spec: Path) -> None:
    before = leftovers(endpoint.cache)
    spec.write_text(spec.read_text().replace("5m", "5m, request_timeout: 1s"))
    done = raygang("run", str(spec), "--port", "18452", "--detach", cache=endpoint.cache, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "http://127.0.0.1:18452/v1" in done.stdout

    status = raygang("local", "status", cache=endpoint.cache)
    assert status.returncode == 0
    assert "ending" in status.stdout
    assert endpoint.url in status.stdout
    assert httpx.get("http://127.0.0.1:18452/v1/models", trust_env=False).json()["data"][0]["id"] == "ending"
    assert raygang("local", "stop", cache=endpoint.cache).returncode == 2, "which one?"

    long = {"model": "ending", "prompt": "x", "max_tokens": 900, "n": 16, "ignore_eos": True}
    late = httpx.post("http://127.0.0.1:18452/v1/completions", json=long, timeout=60, trust_env=False)
    assert late.status_code == 408, "limits.request_timeout"

    stopped = raygang("local", "stop", "ending", cache=endpoint.cache)
    assert stopped.returncode == 0, stopped.stderr
    assert leftovers(endpoint.cache) == before
    assert httpx.get(f"{endpoint.url}/models", trust_env=False).status_code == 200
