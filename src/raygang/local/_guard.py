"""The process that ends a run: it waits until its standard input closes, then leaves nothing behind.

It is started before anything else of the run and holds nothing but the read end of a pipe whose other end the
supervisor has. However the supervisor goes (end of the command, SIGKILL, a closed terminal), the kernel closes that
pipe. There is no other code path that cleans up, so this one is used on every run.

usage: python -m raygang.local._guard STATE_FILE
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from raygang.local import state


def main() -> int:
    path = Path(sys.argv[1])
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    return 1 if state.remove(state.Run.read(path)) else 0


if __name__ == "__main__":
    sys.exit(main())
