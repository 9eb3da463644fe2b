"""What an engine asks Ray for, against what the pods offer.

ray.serve.llm makes a placement group for each replica: a bundle for each of tensor_parallel_size x
pipeline_parallel_size ranks, and the replica itself, with one CPU unless ray_actor_options say otherwise, in the first
of them (Ray 2.60 ray/llm/_internal/serve/core/server/llm_server.py:784-820, engines/vllm/vllm_models.py:300-350). A
placement group that fits nowhere stays pending without an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from raygang.lint.model import Case
from raygang.lint.rules.pods_view import Container, gpus, is_gpu, number, param, ray_container
from raygang.lint.serve import DATA_PARALLEL, Llm, serve
from raygang.objects import Group, Path, at, count, mapping, quantity, sequence

MANY = 2**31 - 1  # pods: as many as it takes
_MOST_BUNDLES = 65_536  # more ranks than any model has are not laid out one by one
Bundle = Mapping[str, float]
_KEY = "_nodes"
_FOUND_BY_RAY = frozenset({"memory", "object_store_memory", "TPU", "neuron_cores", "HPU", "NPU", "RBLN", "FURIOSA"})


@dataclass(frozen=True)
class Node:
    """The Ray nodes of a group, as one of its pods offers them.

    Attributes:
        group: the group.
        pods: how many there can be.
        gpus: of a pod, None where it cannot be told.
        cpus: of a pod, None where it cannot be told.
        own: resources of one's own; None where they cannot be read.
    """

    group: Group
    pods: int
    gpus: int | None
    cpus: float | None
    own: Mapping[str, float] | None

    def lacks(self, bundle: Bundle) -> str:
        """The resource that a pod has too little of for a bundle; empty where it fits or may fit."""
        for name, want in bundle.items():
            have = self.has(name)
            if have is not None and want > have:
                return name
        return ""

    def has(self, name: str) -> float | None:
        """How much of a resource a pod has; None where it cannot be told."""
        if name == "GPU":
            return self.gpus
        if name == "CPU":
            return self.cpus
        if name in _FOUND_BY_RAY or ":" in name or name.startswith("TPU-"):
            return None
        return None if self.own is None else self.own.get(name, 0)


def nodes(case: Case) -> tuple[Node, ...]:
    """The nodes of each group that has or can have pods, the head first. Worked out once for each case."""
    known = vars(case).get(_KEY)
    if not isinstance(known, tuple):
        known = vars(case)[_KEY] = tuple(node for group in case.groups if (node := _node(case, group)).pods)
    return known


def _node(case: Case, group: Group) -> Node:
    pods = group.pods
    if case.workload.autoscaling and not group.head:
        pods = max(0, count(group.data.get("maxReplicas"), MANY)) * group.hosts
    own = mapping(group.data.get("resources"))
    return Node(group, pods, _gpus(group, own), _cpus(group, own), _own(group, own))


def _gpus(group: Group, own: Mapping[str, Any]) -> int | None:
    if "GPU" in own:
        value = quantity(own["GPU"])
        return None if value is None else int(value)
    container = ray_container(group)
    if param(group, "num-gpus") is not None:
        return number(group, "num-gpus")
    if container is None or sequence(container.data.get("resourceClaims")) or sequence(group.pod.get("resourceClaims")):
        return None
    return gpus(container) or (None if _may_see_gpus(group, container) else 0)


def _may_see_gpus(group: Group, container: Container) -> bool:
    """Whether a pod that asks for no GPU may have some: Ray counts those that it sees, or other accelerators."""
    visible = container.variable("NVIDIA_VISIBLE_DEVICES")
    others = any(isinstance(name, str) and "/" in name and not is_gpu(name) for name in container.sizes("limits"))
    shown = visible is not None and visible.value not in ("void", "none", "")
    return others or shown or "runtimeClassName" in group.pod


def _cpus(group: Group, own: Mapping[str, Any]) -> float | None:
    if "CPU" in own:
        value = quantity(own["CPU"])
        return None if value is None else float(value)
    if param(group, "num-cpus") is not None:
        return number(group, "num-cpus")
    container = ray_container(group)
    size = container.size("cpu") if container else None
    return None if size is None else float(math.ceil(size))


def _own(group: Group, own: Mapping[str, Any]) -> Mapping[str, float] | None:
    raw = param(group, "resources")
    found = {name: float(quantity(value) or 0) for name, value in own.items()}
    if raw is None:
        return found
    for form in (raw.strip("'\"` "), raw.strip("'\"` ").replace('\\"', '"')):
        try:
            value = json.loads(form)
        except ValueError:
            continue
        if isinstance(value, dict) and all(isinstance(amount, int | float) for amount in value.values()):
            return found | {name: float(amount) for name, amount in value.items()}
    return None


@dataclass(frozen=True)
class Engine:
    """A model's engine."""

    llm: Llm

    def size(self, name: str) -> int | None:
        """One of the sizes that multiply to the ranks; None where it is no number above 0."""
        value = self.llm.engine.get(name, 1)
        return value if count(value, 0) >= 1 else None

    @cached_property
    def tp(self) -> int:
        """tensor_parallel_size."""
        return self.size("tensor_parallel_size") or 1

    @cached_property
    def pp(self) -> int:
        """pipeline_parallel_size."""
        return self.size("pipeline_parallel_size") or 1

    @property
    def ranks(self) -> int:
        """Ranks of one replica's placement group."""
        return self.tp * self.pp

    @property
    def groups(self) -> int:
        """Placement groups of one replica: with the data-parallel builder one for each rank of data_parallel_size."""
        return (self.size("data_parallel_size") or 1) if self.llm.builder == DATA_PARALLEL else 1

    @property
    def placement(self) -> Mapping[str, Any]:
        """placement_group_config."""
        return mapping(self.llm.data.get("placement_group_config"))

    @property
    def strategy(self) -> str:
        """How its bundles are spread over nodes."""
        return str(self.placement.get("strategy", "PACK"))

    @property
    def sized(self) -> bool:
        """Whether its sizes are numbers, and it is one for GPUs."""
        names = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
        kind = at(self.llm.data, "accelerator_config", "kind")
        tpu = str(self.llm.data.get("accelerator_type")).startswith("TPU")
        return all(self.size(name) for name in names) and not tpu and kind in (None, "gpu")

    @cached_property
    def own_bundles(self) -> tuple[Bundle, ...]:
        """The bundles of its ranks, before the replica itself comes into the first."""
        worker = _bundle(self.placement.get("bundle_per_worker"))
        if worker is not None:
            return (worker,) * min(self.ranks, _MOST_BUNDLES)
        listed = sequence(self.placement.get("bundles"))
        if listed:
            return tuple(_bundle(item) or {} for item in listed)
        return ({"GPU": 1.0},) * min(self.ranks, _MOST_BUNDLES)

    @cached_property
    def bundles(self) -> tuple[Bundle, ...]:
        """All bundles of a placement group, as Ray gets them."""
        first, *others = self.own_bundles
        return (_sum(first, self.replica), *others)

    @property
    def replica(self) -> Bundle:
        """What the replica itself takes."""
        options = mapping(self.llm.deployment.get("ray_actor_options"))
        own = _bundle(options.get("resources")) or {}
        return {"CPU": _amount(options.get("num_cpus"), 1.0), "GPU": _amount(options.get("num_gpus"), 0.0), **own}

    @property
    def gpus(self) -> float:
        """GPUs of one replica."""
        return sum(bundle.get("GPU", 0) for bundle in self.bundles) * self.groups

    @property
    def replicas(self) -> tuple[int | None, int | None]:
        """Fewest and most replicas; None where that cannot be told."""
        deployment = self.llm.deployment
        fixed, auto = deployment.get("num_replicas"), mapping(deployment.get("autoscaling_config"))
        if isinstance(fixed, int) and not isinstance(fixed, bool):
            return fixed, fixed
        if not auto and fixed is None:
            return 1, 1
        least = auto.get("initial_replicas", auto.get("min_replicas", 1))
        most = auto.get("max_replicas", 100 if fixed == "auto" else None)
        return _whole(least), _whole(most)


def _bundle(value: Any) -> Bundle | None:
    if not isinstance(value, Mapping):
        return None
    return {str(name): _amount(amount, 0.0) for name, amount in value.items()}


def _amount(value: Any, default: float) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _sum(one: Bundle, other: Bundle) -> Bundle:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def engines(case: Case) -> Iterator[Engine]:
    """The engines of a workload whose sizes can be told."""
    for llm in serve(case).llms:
        engine = Engine(llm)
        if llm.engine and engine.sized:
            yield engine


def where(engine: Engine) -> Path:
    """The field to blame for the shape: the larger of its sizes."""
    name = "tensor_parallel_size" if engine.tp >= engine.pp else "pipeline_parallel_size"
    return engine.llm.at("engine_kwargs", name)
