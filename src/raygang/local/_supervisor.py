"""Holds a run together: its name, network and files, its processes, and the guard that ends them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import psutil

from raygang.local import _paths, state
from raygang.local._processes import MARK
from raygang.spec import UserError

PR_SET_CHILD_SUBREAPER = 36
GUARD_DEADLINE_S = 40
LINE_LIMIT = 2**20  # bytes of one line of a child's output


class Supervisor:
    """Owner of everything that a run starts.

    Whatever is started here ends when `close` is called or when this process is gone, however it went.
    """

    def __init__(self, name: str, spec: str) -> None:
        self.run, self.paths = _allocate(name, spec)
        self._guard: asyncio.subprocess.Process | None = None

    async def open(self) -> None:
        """Start the guard; nothing else may be started before."""
        _adopt_orphans()
        # The guard has no mark, and leads a session that the run does not own: it has to outlive them.
        self._guard = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", state.GUARD, self.run.to_json()),
            stdin=asyncio.subprocess.PIPE,
            start_new_session=True,
        )

    async def spawn(
        self, command: list[str], *, env: Mapping[str, str], log: Path, piped: bool = False
    ) -> asyncio.subprocess.Process:
        """Start a process in a POSIX session of its own; a Ctrl-C on the terminal is for the supervisor alone.

        Args:
            command: program and arguments.
            env: its whole environment, with the run's mark.
            log: where its error output goes, and its output when it is not piped.
            piped: whether its input and output are pipes to us.
        """
        pipe = asyncio.subprocess.PIPE
        with log.open("wb") as target:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=pipe if piped else asyncio.subprocess.DEVNULL,
                stdout=pipe if piped else target,
                stderr=target,
                env=dict(env),
                start_new_session=True,
                limit=LINE_LIMIT,
            )
        self._update(leaders=(*self.run.leaders, process.pid))
        return process

    def publish_url(self, url: str) -> None:
        """Let others find the endpoint."""
        self._update(url=url)

    async def close(self) -> None:
        """End everything and wait until it is gone.

        Raises:
            UserError: something could not be ended.
        """
        if self._guard is None or self._guard.stdin is None:
            left = bool(state.remove(self.run))
        else:
            self._guard.stdin.close()
            try:
                left = await asyncio.wait_for(self._guard.wait(), GUARD_DEADLINE_S) != 0
            except TimeoutError:
                left = True
        _reap()
        if left:
            raise UserError("some processes could not be ended", hint=f"look for {MARK}={self.run.mark}", exit_code=1)

    def _update(self, *, leaders: tuple[int, ...] | None = None, url: str | None = None) -> None:
        self.run = replace(self.run, leaders=leaders or self.run.leaders, url=url or self.run.url)
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.write(self.run.to_json().encode() + b"\n")
        self.run.write()


def _allocate(name: str, spec: str) -> tuple[state.Run, _paths.RunPaths]:
    """Take a name and a network that no other run has, and make the run's directories."""
    with state.allocation():
        state.sweep()
        others = state.runs()
        name = _first_free(name, {r.name for r in others})
        free = sorted(set(range(256)) - {r.network for r in others})
        if not free:
            raise UserError("256 runs are going on here; no loopback network is left", exit_code=1)
        logs = _paths.logs_dir() / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
        paths = _paths.RunPaths(_paths.make_root(), logs)
        paths.make()
        run = state.Run(
            name=name,
            mark=secrets.token_hex(8),
            pid=os.getpid(),
            created=psutil.Process().create_time(),
            began=time.time(),
            network=free[0],
            root=str(paths.root),
            logs=str(logs),
            spec=spec,
        )
        run.write()
    return run, paths


def _first_free(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(n for i in range(2, len(taken) + 3) if (n := f"{name}-{i}") not in taken)


def _adopt_orphans() -> None:
    """Become the parent of orphans below us (Linux), so that none stays a zombie of a busy init."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
