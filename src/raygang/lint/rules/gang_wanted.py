"""Whether a workload needs all of its pods at once, by what it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from raygang.lint._yaml import Tree, read
from raygang.objects import Group, RayWorkload, at, count, mapping, sequence, text

_SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
_ACCELERATORS = ("gpu", "gaudi", "tpu", "neuron", "i915", "/xe", "npu", "mlu")


def why_wanted(workload: RayWorkload) -> str | None:
    """The reason in a few words, None when there is none."""
    if workload.pods <= 1:
        return None
    size, held = world_size(workload), max((accelerators(group) for group in workload.groups), default=0)
    if held and size > held:
        return f"the engine has {size} ranks, and a pod {held} accelerators"
    spread = next((g for g in workload.groups[1:] if g.hosts > 1 and g.pods), None)
    if spread:
        return f"a replica of {spread.name} has {spread.hosts} hosts"
    if workload.kind == "RayService" and not size:
        several = next((g for g in workload.groups[1:] if g.pods > 1 and accelerators(g)), None)
        if several:
            return f"{several.name} has {several.pods} pods with accelerators"
    return None


def accelerators(group: Group) -> int:
    """Of a pod of the group."""
    return sum(int(value) for name, value in group.requests().items() if _is_accelerator(name))


def world_size(workload: RayWorkload) -> int:
    """Ranks of the largest engine in serveConfigV2; 0 when none is found there."""
    written = text(at(workload.manifest.data, "spec", "serveConfigV2"))
    if written is None or len(written) > 1_000_000:
        return 0
    config = next(read(written), None)
    return max((_ranks(args) for args in _engines(config.data, 0)), default=0) if isinstance(config, Tree) else 0


def _ranks(args: Mapping[str, Any]) -> int:
    """A size that is no number counts as 1: it comes from elsewhere."""
    total = 1
    for name in _SIZES:
        total *= max(1, count(args.get(name, args.get(name.replace("_", "-"))), 1))
    return total


def _engines(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    """The engine_kwargs of every application, wherever its arguments stand."""
    if depth > 20:
        return
    for key, inner in mapping(value).items():
        if key in ("engine_kwargs", "engine_args") and isinstance(inner, Mapping):
            yield inner
        elif key == "gang" and isinstance(inner, Mapping):  # of raygang's own application
            yield {f"{name}_parallel_size": inner.get(name) for name in ("tensor", "pipeline")}
        else:
            yield from _engines(inner, depth + 1)
    for inner in sequence(value):
        yield from _engines(inner, depth + 1)


def _is_accelerator(name: str) -> bool:
    return any(word in name.lower() for word in _ACCELERATORS) and "mem" not in name
