"""Starts real Ray nodes on this machine and ends them again."""

from raygang.local._paths import cache_dir
from raygang.local.events import Event
from raygang.local.state import Run, runs
from raygang.local.state import find as find_run
from raygang.local.state import stop as stop_run
from raygang.local.state import sweep as sweep_runs

__all__ = ["Event", "Run", "cache_dir", "find_run", "runs", "stop_run", "sweep_runs"]
