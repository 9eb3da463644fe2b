"""The two consoles, and how errors look."""

from __future__ import annotations

import logging

from rich.console import Console
from rich.markup import escape

from raygang.spec import UserError

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(error: UserError) -> None:
    err.print(f"[bold red]error:[/] {escape(error.message)}")
    if error.hint:
        err.print(f"[dim]hint:[/] {escape(error.hint)}")


def set_verbosity(verbose: int) -> None:
    """Quiet by default; -v tells what raygang does, -vv what its libraries do."""
    level = [logging.WARNING, logging.INFO, logging.DEBUG][min(verbose, 2)]
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def bytes_text(n: float) -> str:
    """Bytes with a binary unit, as people read them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024:
            return f"{n:.0f} {unit}" if unit in ("B", "KiB") else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} TiB"
