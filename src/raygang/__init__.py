"""raygang: one spec to a multi-node OpenAI endpoint on Ray Serve and vLLM.

The Python API; the command line is a thin layer over it::

    spec = raygang.load_spec("model.yaml")
    model = raygang.obtain(spec.model, base=spec.base, cache=raygang.cache_dir())
    plan = raygang.make_plan(spec, raygang.read_checkpoint(model))
    rendered = raygang.render(plan)  # Kubernetes objects
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from raygang.checkpoint import Checkpoint, obtain, read_checkpoint
    from raygang.hardware import Machine, this_machine
    from raygang.local import cache_dir
    from raygang.manifest import Rendered, render
    from raygang.plan import Plan, fits_machine
    from raygang.plan import plan as make_plan
    from raygang.spec import Problem, Spec, SpecError, UserError, json_schema, load_spec, parse_spec

# Room -> what of it is public here; imported on first use, so that the runtime and `--help` do not pay for all rooms.
_ROOMS = {
    "checkpoint": ("Checkpoint", "obtain", "read_checkpoint"),
    "hardware": ("Machine", "this_machine"),
    "local": ("cache_dir",),
    "manifest": ("Rendered", "render"),
    "plan": ("Plan", "fits_machine"),
    "spec": ("Problem", "Spec", "SpecError", "UserError", "json_schema", "load_spec", "parse_spec"),
}
_HOME = {name: (room, name) for room, names in _ROOMS.items() for name in names}
_HOME["make_plan"] = ("plan", "plan")  # `raygang.plan` is the room

__all__ = [
    "Checkpoint", "Machine", "Plan", "Problem", "Rendered", "Spec", "SpecError", "UserError", "__version__",
    "cache_dir", "fits_machine", "json_schema", "load_spec", "make_plan", "obtain", "parse_spec", "read_checkpoint",
    "render", "this_machine",
]  # fmt: skip


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'raygang' has no attribute {name!r}")
    room, attribute = _HOME[name]
    return getattr(import_module(f"raygang.{room}"), attribute)
