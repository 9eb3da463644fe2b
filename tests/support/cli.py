"""Runs the `raygang` command as a user does, and looks at what it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import psutil

COMMAND = (sys.executable, "-m", "raygang.cli")


def until(condition: Callable[[], object], what: str, deadline_s: float = 30) -> None:
    """Wait until a condition holds; fail when it does not in time."""
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, f"not within {deadline_s} s: {what}"
        time.sleep(0.02)


def raygang(*arguments: str, cache: Path, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    environment = {**os.environ, "RAYGANG_CACHE": str(cache), **env}
    return subprocess.run(
        [*COMMAND, *arguments], env=environment, text=True, capture_output=True, timeout=timeout, check=False
    )


class Run:
    """`raygang run -o json`, followed line by line."""

    def __init__(self, spec: Path, *options: str, cache: Path, prefix: tuple[str, ...] = (), **env: str) -> None:
        self.cache = cache
        self.lines: list[dict[str, Any]] = []
        environment = {**os.environ, "RAYGANG_CACHE": str(cache), **env}
        self.process = subprocess.Popen(
            [*prefix, *COMMAND, "run", str(spec), "-o", "json", *options],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=60)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def follow(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read lines until one is wanted; fail with the error output when it ends before."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            entry = json.loads(line)
            self.lines.append(entry)
            if wanted(entry):
                return entry
        assert self.process.stderr is not None
        raise AssertionError(f"ended with {self.process.wait()}: {self.process.stderr.read()}")

    def until_stage(self, part: str, stage: str) -> dict[str, Any]:
        return self.follow(lambda e: (e.get("part"), e.get("stage")) == (part, stage))

    def until_ready(self) -> str:
        """The endpoint's base URL."""
        return str(self.follow(lambda e: "url" in e)["url"])

    def state(self) -> dict[str, Any]:
        return json.loads(next((self.cache / "run").glob("*.json")).read_text())

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=60)


def ray_processes() -> set[int]:
    """Processes of any Ray, vLLM or HAProxy on this machine."""
    words = ("ray::", "raylet", "gcs_server", "VLLM::", "haproxy", "ray.scripts", "raygang.local")
    found = set()
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(w in line for w in words):
            found.add(process.info["pid"])
    return found


def leftovers(cache: Path) -> dict[str, Any]:
    """What a run may leave: nothing but logs, converted models and vLLM's cache."""
    return {
        "processes": ray_processes(),
        "shared memory": {p.name for p in Path("/dev/shm").iterdir() if p.name.startswith(("psm_", "sem.", "ray"))},
        "temporary": {p.name for p in Path("/tmp").glob("rg-*")} | {p.name for p in Path("/tmp").glob("ray*")},
        "state": {p.name for p in (cache / "run").glob("*.json")} if cache.exists() else set(),
    }
