"""Argument parsing and rendering to the terminal; nothing else."""

from __future__ import annotations

import sys


def main() -> None:
    """The `raygang` command: exit code 0 ok, 1 failed or findings, 2 usage, 3 not reachable."""
    from raygang.cli._app import app

    try:
        app()
    except Exception as e:
        from raygang.cli._console import print_error  # only now: it needs the packages that make --help slow
        from raygang.spec import UserError

        if not isinstance(e, UserError):
            raise
        print_error(e)
        sys.exit(e.exit_code)


__all__ = ["main"]
