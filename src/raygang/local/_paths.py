"""Where a run keeps its files.

What stays (state, logs, models) is in raygang's cache. What goes with the run is in a directory of its own below the
temporary directory: Ray's and HAProxy's sockets need a short path, and a home directory can be long.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from raygang.spec import UserError

# Linux takes 107 characters for the path of a socket, HAProxy 97. HAProxy's are at
# <root>/h/<56 digits of the Ray node's id>/metrics.sock, Ray's at <root>/<node>/session_<42>/sockets/plasma_store.
LONGEST_ROOT = min(97 - len("/h/") - 56 - len("/metrics.sock"), 107 - len("/999") - 64)


def cache_dir() -> Path:
    """raygang's cache: $RAYGANG_CACHE, or the user's cache directory of the platform."""
    chosen = os.environ.get("RAYGANG_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("raygang"))


def runs_dir() -> Path:
    return cache_dir() / "run"


def logs_dir() -> Path:
    return cache_dir() / "logs"


@dataclass(frozen=True)
class RunPaths:
    """The files of one run; `root` goes away when it ends, `logs` stays."""

    root: Path
    logs: Path

    @property
    def token(self) -> Path:
        return self.root / "token"

    @property
    def tmp(self) -> Path:
        return self.root / "t"

    @property
    def haproxy(self) -> Path:
        return self.root / "h"

    def ray(self, node: int) -> Path:
        return self.root / str(node)

    def node_log(self, node: int) -> Path:
        return self.logs / f"node-{node}.log"

    def make(self) -> None:
        for directory in (self.tmp, self.haproxy, self.logs):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def make_root() -> Path:
    """A new directory for a run, readable by this user only.

    Raises:
        UserError: every temporary directory has a path that is too long, or cannot be written.
    """
    tried = []
    for base in dict.fromkeys((tempfile.gettempdir(), "/tmp")):
        tried.append(base)
        if len(base) + len("/rg-") + 8 <= LONGEST_ROOT and os.access(base, os.W_OK | os.X_OK):
            return Path(tempfile.mkdtemp(prefix="rg-", dir=base))
    raise UserError(
        f"no usable temporary directory: {', '.join(tried)} (writable, at most {LONGEST_ROOT - 12} characters)",
        hint="set TMPDIR to a writable directory with a short path",
    )
