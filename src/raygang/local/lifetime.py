"""When a run in the foreground has to end: which signals, and with whom."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def ending_signals() -> list[signal.Signals]:
    """SIGINT, SIGTERM and SIGHUP (a closed terminal), but for those that the caller chose to ignore, as nohup does."""
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [s for s in wanted if signal.getsignal(s) is not signal.SIG_IGN]


def follow_parent() -> None:
    """End when the parent ends, however it ends (Linux).

    Not for a process that was meant to outlive it: one that ignores SIGHUP (nohup) or leads a session (setsid,
    --detach).
    """
    meant_to_stay = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN or os.getsid(0) == os.getpid()
    if sys.platform == "linux" and not meant_to_stay and os.getppid() != 1:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
