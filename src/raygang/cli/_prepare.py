"""From a specification's file to a plan, with the model at hand: what `run` and `plan` have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from raygang.checkpoint import obtain, obtain_config, read_checkpoint
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


def make_plan(spec: Spec, *, weights: bool = True) -> tuple[Plan, Path]:
    """The plan of a specification and the directory of its model; converts or fetches the model when needed.

    Args:
        spec: what the user wrote.
        weights: False where the sizes are enough: of a hub model only the config is fetched.
    """
    model = _obtain(spec, obtain if weights else obtain_config)
    return plan(spec, read_checkpoint(model)), model


def _obtain(spec: Spec, how: Callable[..., Path]) -> Path:
    """The model's directory; a bar on the terminal while it is converted or fetched."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        dtype = str(spec.engine.args.get("dtype", "auto"))
        return how(spec.model, base=spec.base, cache=cache_dir(), dtype=dtype, progress=progress)
