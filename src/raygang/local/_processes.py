"""Finding and ending the processes of a run.

Parenthood does not find them: Ray's workers, vLLM's engine core and HAProxy are orphaned when their parent is killed,
and `ray stop` ends other people's Ray too. Two things together do (Linux):

* each process that the supervisor starts leads a POSIX session of its own, and Ray 2.60, vLLM 0.32 and HAProxy stay in
  the session that they were started in;
* each inherits RAYGANG_SESSION=<id>. Ray's processes overwrite their environment with their title, so a missing mark
  says nothing, but a readable environment without the mark says that the process is not ours.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

MARK = "RAYGANG_SESSION"
_SHM_LINE = re.compile(r"(/dev/shm/\S+)")
_GONE = (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess, ProcessLookupError)


def of_run(mark: str, leaders: Iterable[int], *, since: float) -> list[psutil.Process]:
    """The live processes of a run, without the caller.

    Args:
        mark: value of RAYGANG_SESSION.
        leaders: ids of the POSIX sessions that the run made.
        since: Unix time of the run's start; an older process is not ours.
    """
    sessions = set(leaders)
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(*_GONE):
            if process.pid != os.getpid() and _belongs(process, mark, sessions, since):
                found.append(process)
    return found


def _belongs(process: psutil.Process, mark: str, sessions: set[int], since: float) -> bool:
    if process.create_time() < since - 1:  # the kernel counts in hundredths of a second
        return False
    environment = process.environ()
    if environment.get(MARK):
        return environment[MARK] == mark
    return os.getsid(process.pid) in sessions and not environment.get("PATH")


def end(
    mark: str, leaders: Iterable[int], *, since: float, segments: Iterable[Path] = (), deadline_s: float = 20
) -> list[int]:
    """Kill the run's processes and remove the shared memory that they had mapped, and those segments.

    Looks again until none is left: a process can start another while the list is read. Returns the pids that are
    still alive at the deadline (none, but for processes in an uninterruptible wait).
    """
    until = time.monotonic() + deadline_s
    leaders = tuple(leaders)
    mapped = set(segments)
    while processes := of_run(mark, leaders, since=since):
        mapped |= shared_memory(processes)
        for process in processes:
            with contextlib.suppress(*_GONE):
                process.kill()
        psutil.wait_procs(processes, timeout=0.5)
        if time.monotonic() > until:
            return [p.pid for p in processes if p.is_running()]
    for segment in mapped:
        segment.unlink(missing_ok=True)
    return []


def shared_memory(processes: Iterable[psutil.Process]) -> set[Path]:
    """Files in /dev/shm that these processes have mapped; a killed process leaves them behind."""
    found: set[Path] = set()
    for process in processes:
        with contextlib.suppress(OSError):
            found |= {Path(m) for m in _SHM_LINE.findall(Path(f"/proc/{process.pid}/maps").read_text())}
    return {p for p in found if p.exists()}


def memory(processes: Iterable[psutil.Process]) -> int:
    """Bytes of memory that these processes use, shared pages counted once (PSS)."""
    total = 0
    for process in processes:
        with contextlib.suppress(*_GONE):
            total += process.memory_full_info().pss
    return total
