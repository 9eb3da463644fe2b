"""Runs of this machine: what each one is, read from its files and its processes."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from raygang.local import _paths, _processes
from raygang.spec import UserError

KEPT_LOGS = 5  # runs whose logs stay
GUARD = "raygang.local._guard"  # the module that ends a run


@dataclass(frozen=True)
class Run:
    """A run that was started here.

    Attributes:
        mark: what its processes carry in their environment.
        pid: the supervisor; with `created`, its start time, the pid cannot be mistaken for a later process.
        began: Unix time.
        network: third byte of its nodes' loopback addresses.
        url: the endpoint, empty until it is ready.
        leaders: POSIX sessions that it made.
    """

    name: str
    mark: str
    pid: int
    created: float
    began: float
    network: int
    root: str
    logs: str
    spec: str
    url: str = ""
    leaders: tuple[int, ...] = ()

    @property
    def path(self) -> Path:
        """The state file."""
        return _paths.runs_dir() / f"{self.network}.json"

    @property
    def alive(self) -> bool:
        """Whether the supervisor is there."""
        with contextlib.suppress(psutil.NoSuchProcess):
            supervisor = psutil.Process(self.pid)
            # A zombie is over: where process 1 never reaps, as in many containers, it stays one for ever.
            return supervisor.create_time() == self.created and supervisor.status() != psutil.STATUS_ZOMBIE
        return False

    @property
    def guarded(self) -> bool:
        """Whether its guard is at work: it knows shared memory that nobody else can find any more."""
        for process in psutil.process_iter(["cmdline"]):
            command: list[str] = process.info["cmdline"] or []
            if GUARD in command and self.mark in command[-1]:
                return True
        return False

    @staticmethod
    def read(path: Path) -> Run:
        """The run of a state file.

        Raises:
            FileNotFoundError: it ended.
            UserError: the file is not one of a run's.
        """
        try:
            return Run.from_json(path.read_text())
        except FileNotFoundError:
            raise
        except (OSError, ValueError, TypeError, KeyError) as e:
            hint = f"move it away; what that run started has {_processes.MARK} in its environment"
            raise UserError(f"{path}: is not the state of a run: {e}", hint=hint, exit_code=1) from None

    @staticmethod
    def from_json(text: str | bytes) -> Run:
        """The opposite of `to_json`. Raises ValueError, TypeError or KeyError for anything else."""
        fields = json.loads(text)
        return Run(**{**fields, "leaders": tuple(fields["leaders"])})

    def to_json(self) -> str:
        """All of it, in one line."""
        return json.dumps(asdict(self))

    def write(self) -> None:
        """Replace the state file in one step; the cache may have been removed meanwhile."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_text(self.to_json())
        fresh.replace(self.path)

    def processes(self) -> list[psutil.Process]:
        """What the run started and is alive now."""
        return _processes.of_run(self.mark, self.leaders, since=self.began)

    def memory(self) -> int:
        """Bytes of memory (PSS) of everything that the run started."""
        return _processes.memory(self.processes())


def runs() -> list[Run]:
    """All runs, oldest first; those whose supervisor is gone are included (see `sweep`)."""
    found = []
    for path in _paths.runs_dir().glob("*.json"):
        with contextlib.suppress(FileNotFoundError):  # it ended this moment
            found.append(Run.read(path))
    return sorted(found, key=lambda r: r.began)


def find(name: str | None) -> Run:
    """The run of that name, or the only one there is.

    Raises:
        UserError: there is none, or more than one and no name.
    """
    every = runs()
    if not every:
        raise UserError("nothing runs here", hint="start something with `raygang run SPEC --detach`", exit_code=1)
    names = ", ".join(r.name for r in every)
    if name is None and len(every) > 1:
        raise UserError(f"several are running: {names}", hint="name the one you mean")
    for run in every:
        if name in (None, run.name):
            return run
    raise UserError(f"nothing of the name {name!r} runs here", hint=f"running: {names}", exit_code=1)


def stop(run: Run, *, deadline_s: float = 40) -> None:
    """End a run and wait until it is gone.

    Raises:
        UserError: it is still there at the deadline.
    """
    if run.alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(run.pid, signal.SIGTERM)
    until = time.monotonic() + deadline_s
    while (run.alive or run.guarded) and time.monotonic() < until:
        time.sleep(0.05)
    if not run.alive and not run.guarded and run.path.exists():
        remove(run)
    if run.path.exists():
        raise UserError(f"{run.name} (process {run.pid}) is still there after {deadline_s:.0f} s", exit_code=1)


def remove(run: Run, segments: Iterable[Path] = ()) -> list[int]:
    """End what is left of a run and remove its files, but for the logs; returns pids that could not be ended.

    `segments`: shared memory that the run is known to have had, beside what its processes have now.
    """
    left = _processes.end(run.mark, run.leaders, since=run.began, segments=segments)
    root, logs = Path(run.root), Path(run.logs)
    _keep_logs(root, logs)
    shutil.rmtree(root, ignore_errors=True)
    if not left:
        run.path.unlink(missing_ok=True)
    return left


def _keep_logs(root: Path, logs: Path) -> None:
    """Move Ray's logs of each node out of the run's directory, and forget the logs of old runs."""
    for session in root.glob("*/session_2*"):
        target = logs / f"node-{session.parent.name}"
        if (session / "logs").is_dir() and not session.is_symlink() and not target.exists():
            logs.mkdir(parents=True, exist_ok=True)
            shutil.move(session / "logs", target)
    detached = sorted(logs.parent.glob("detached-*"), key=lambda p: p.stat().st_mtime)
    for old in detached[: -2 * KEPT_LOGS]:  # what it told, and its errors
        old.unlink(missing_ok=True)
    others = sorted((p for p in logs.parent.glob("*") if p.is_dir() and p != logs), key=lambda p: p.stat().st_mtime)
    for old in others[: -KEPT_LOGS + 1]:
        shutil.rmtree(old, ignore_errors=True)


def sweep() -> list[Run]:
    """Remove what runs left behind whose supervisor and guard were both killed; returns them."""
    dead = [run for run in runs() if not run.alive]
    for run in dead:
        remove(run)
    return dead


@contextlib.contextmanager
def allocation(deadline_s: float = 10) -> Iterator[None]:
    """Hold the lock under which a run takes its name and network.

    Raises:
        UserError: another process holds it past the deadline.
    """
    directory = _paths.runs_dir()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    until = time.monotonic() + deadline_s
    with (directory / "lock").open("w") as f:
        while True:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise UserError("another raygang holds the lock of the cache", hint=str(directory)) from None
                time.sleep(0.05)
        yield
