"""What a run looks like from beside it."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx

from tests.engine.conftest import Endpoint, write_spec
from tests.support.cli import Run, raygang


def stage(run: Run, part: str, stage: str) -> dict[str, str]:
    return next(e for e in run.lines if (e.get("part"), e.get("stage")) == (part, stage))


def test_each_node_has_its_address_and_each_rank_its_node(endpoint: Endpoint) -> None:
    nodes = {stage(endpoint.run, f"node/{i}", "joined")["detail"] for i in (0, 1)}
    ranks = {stage(endpoint.run, f"rank/0/{i}", "ready")["detail"] for i in (0, 1)}
    assert nodes == ranks
    assert len(nodes) == 2
    assert all(address.startswith("127.0.") for address in nodes)


def test_every_stage_is_told_in_order_with_its_time(endpoint: Endpoint) -> None:
    for rank in (0, 1):
        times = [float(stage(endpoint.run, f"rank/0/{rank}", s)["at"]) for s in ("weights", "loaded", "ready")]
        assert times == sorted(times)
    assert float(stage(endpoint.run, "endpoint", "ready")["at"]) >= max(times)


def test_nobody_joins_without_the_token(endpoint: Endpoint) -> None:
    address = stage(endpoint.run, "node/0", "joined")["detail"]
    gcs = next(
        c.laddr.port
        for c in __import__("psutil").net_connections("tcp")
        if c.status == "LISTEN" and c.pid and "gcs_server" in Path(f"/proc/{c.pid}/cmdline").read_text()
        and endpoint.run.state()["root"] in Path(f"/proc/{c.pid}/cmdline").read_text()
    )  # fmt: skip
    code = f"import ray; ray.init('{address}:{gcs}', _node_ip_address='{address}', logging_level='ERROR'); ray.nodes()"
    env = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")} | {"RAY_AUTH_MODE": "disabled"}
    env["HOME"] = "/nonexistent"
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode != 0
    assert "auth" in (done.stderr + done.stdout).lower()


def test_haproxy_reaches_the_replica_itself(endpoint: Endpoint) -> None:
    path = next(Path(endpoint.run.state()["root"]).glob("h/*/admin.sock"))
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(b"show stat\n")
        rows = [row.split(",") for row in s.makefile().read().splitlines()]
    status = next(row[17] for row in rows if row[1:2] and row[1].startswith("SERVE_REPLICA"))
    assert status == "UP"


def test_everything_takes_less_than_six_gib(endpoint: Endpoint) -> None:
    runs = json.loads(raygang("local", "status", "-o", "json", cache=endpoint.cache).stdout)
    assert len(runs) == 1
    assert 10**9 < runs[0]["memory_bytes"] < 6 * 2**30
    assert runs[0]["answers"] == "yes"


def test_two_replicas_are_two_gangs(tmp_path: Path, tiny: Path, cache: Path) -> None:
    spec = write_spec(tmp_path / "twice.yaml", tiny, pipeline=1)
    spec.write_text(spec.read_text() + "replicas: 2\n")
    with Run(spec, "--port", "18471", cache=cache) as run:
        url = run.until_ready()
        places = {stage(run, f"rank/{replica}/0", "ready")["detail"] for replica in (0, 1)}
        assert len(places) == 2
        body = {"model": "twice", "prompt": "x", "max_tokens": 3}
        assert httpx.post(f"{url}/completions", json=body, timeout=60, trust_env=False).status_code == 200
