"""`raygang render`."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.markup import escape

from raygang.cli._console import err
from raygang.cli._prepare import make_plan, read_spec
from raygang.manifest import json_list, render, write_directory, yaml_stream
from raygang.spec import UserError

STDOUT = "-"


def run(path: str, target: str, *, as_json: bool) -> None:
    """Print the objects of a specification, or write them into a directory."""
    if as_json and target != STDOUT:
        raise UserError("--format json goes to standard output only", hint="leave --output away, or --format")
    if not target:
        raise UserError("-o: an empty path names no directory", hint="-o - prints all of it")
    plan, _ = make_plan(read_spec(path), weights=False)
    rendered = render(plan)
    if target == STDOUT:
        sys.stdout.write(json_list(rendered) if as_json else yaml_stream(rendered))
    else:
        try:
            changes = write_directory(Path(target), rendered)
        except OSError as e:
            raise UserError(f"{e.filename or target}: {(e.strerror or str(e)).lower()}") from None
        for change in changes:
            err.print(escape(change))
    if target != STDOUT or sys.stdout.isatty():
        for need in rendered.needs:
            err.print(f"[dim]the cluster needs:[/] {escape(need)}")
