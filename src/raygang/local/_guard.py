"""The process that ends a run: it waits until its standard input closes, then leaves nothing behind.

It is started before anything else of the run and holds nothing but the read end of a pipe whose other end the
supervisor has. However the supervisor goes (end of the command, SIGKILL, a closed terminal), the kernel closes that
pipe. There is no other code path that cleans up, so this one is used on every run.

What it has to end it is told: the run as JSON in its argument, and again as a line of the pipe whenever it changes.
The state file is for others; the guard works without it.

usage: python -m raygang.local._guard RUN
"""

from __future__ import annotations

import os
import select
import signal
import sys
from pathlib import Path

from raygang.local import _processes, state

LOOK_S = 2.0  # between looks at the shared memory in use: what a killed process had mapped nobody can tell afterwards


def main() -> int:
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    run = state.Run.from_json(sys.argv[1])
    segments: set[Path] = set()
    unread = b""
    while True:
        if select.select([0], [], [], LOOK_S)[0]:
            data = os.read(0, 65536)
            if not data:
                return 1 if state.remove(run, segments) else 0
            *lines, unread = (unread + data).split(b"\n")
            run = state.Run.from_json(lines[-1]) if lines else run
        segments |= _processes.shared_memory(run.processes())


if __name__ == "__main__":
    sys.exit(main())
