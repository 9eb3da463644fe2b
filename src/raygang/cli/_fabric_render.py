"""`raygang fabric render`."""

from __future__ import annotations

import sys

from rich.markup import escape

from raygang.cli._console import err
from raygang.cli._prepare import make_plan, read_spec
from raygang.manifest import json_list, yaml_stream
from raygang.manifest.fabric_job import fabric_job, how_to_read


def run(path: str, *, as_json: bool) -> None:
    """Print the objects of a specification's check."""
    plan, _ = make_plan(read_spec(path), weights=False)
    rendered = fabric_job(plan)
    sys.stdout.write(json_list(rendered) if as_json else yaml_stream(rendered))
    if sys.stdout.isatty():
        for need in rendered.needs:
            err.print(f"[dim]the cluster needs:[/] {escape(need)}")
        err.print(f"[dim]read its report:[/] {escape(how_to_read(plan, rendered))}")
