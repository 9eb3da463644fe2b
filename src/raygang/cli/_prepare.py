"""From a specification's file to a plan, with the model at hand: what `run` and `plan` have in common."""

from __future__ import annotations

from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from raygang.checkpoint import obtain, read_checkpoint
from raygang.cli._console import err
from raygang.local import cache_dir
from raygang.plan import Plan, plan
from raygang.spec import Spec, SpecError, check_engine_args, load_spec


def read_spec(path: str) -> Spec:
    """The specification of a file, its engine arguments checked against the installed vLLM."""
    spec = load_spec(path)
    if problems := check_engine_args(spec):
        raise SpecError(problems)
    return spec


def make_plan(spec: Spec) -> tuple[Plan, Path]:
    """The plan of a specification and the directory of its model; converts or fetches the model when needed."""
    model = obtain_model(spec)
    return plan(spec, read_checkpoint(model)), model


def obtain_model(spec: Spec) -> Path:
    """The model's directory; a bar on the terminal while it is converted or fetched."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        tasks: dict[str, int] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = int(bar.add_task(what, total=total))
            bar.update(tasks[what], completed=done, total=total)  # type: ignore[arg-type]

        dtype = str(spec.engine.args.get("dtype", "auto"))
        return obtain(spec.model, base=spec.base, cache=cache_dir(), dtype=dtype, progress=progress)
