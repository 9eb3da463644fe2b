"""Argument parsing and rendering to the terminal; nothing else."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """The `raygang` command: exit code 0 ok, 1 failed or findings, 2 usage, 3 not reachable."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115  (stays open as long as the process)
    try:
        from raygang.cli._app import app

        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as e:
        from raygang.cli._console import print_error  # only now: it needs the packages that make --help slow
        from raygang.spec import UserError

        if isinstance(e, OSError) and not isinstance(e, BrokenPipeError):  # of the caller's files, disks and pipes
            place = f"{e.filename}: " if e.filename else ""
            e = UserError(f"{place}{(e.strerror or str(e)).lower()}", exit_code=1)
        if not isinstance(e, UserError):
            raise
        print_error(e)
        sys.exit(e.exit_code)


__all__ = ["main"]
