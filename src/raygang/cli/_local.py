"""`raygang local status` and `raygang local stop`."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import httpx
from rich.table import Table

from raygang.cli._console import bytes_text, out
from raygang.local import Run, find_run, runs, stop_run, sweep_runs


def status(*, as_json: bool) -> int:
    """Print the runs; exit code 0 when all answer, 1 when one does not or nothing runs."""
    sweep_runs()
    rows = [(run, _answer(run), run.memory()) for run in runs()]
    if as_json:
        every = [{**asdict(run), "answers": answer, "memory_bytes": memory} for run, answer, memory in rows]
        out.print_json(json.dumps(every))
    elif rows:
        _print_table(rows)
    else:
        out.print("nothing runs here")
    return 0 if rows and all(answer == "yes" for _, answer, _ in rows) else 1


def stop(name: str | None) -> None:
    """End a run."""
    run = find_run(name)
    stop_run(run)
    out.print(f"{run.name} ended; its logs are in {run.logs}")


def _print_table(rows: list[tuple[Run, str, int]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("name", "endpoint", "answers", "up", "memory", "process"):
        table.add_column(column)
    for run, answer, memory in rows:
        up = f"{time.time() - run.began:.0f} s"
        table.add_row(run.name, run.url or "starting", answer, up, bytes_text(memory), str(run.pid))
    out.print(table)


def _answer(run: Run) -> str:
    """Asked now, never remembered."""
    if not run.url:
        return "not yet"
    try:
        response = httpx.get(run.url.removesuffix("/v1") + "/health", timeout=5, trust_env=False)
    except httpx.TransportError as e:
        return f"no: {type(e).__name__}"
    return "yes" if response.status_code == 200 else f"no: HTTP {response.status_code}"
