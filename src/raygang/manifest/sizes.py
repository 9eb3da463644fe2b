"""What a pod asks for: CPUs, memory, shared memory, accelerators."""

from __future__ import annotations

from dataclasses import dataclass

from raygang.manifest.noted import Noted
from raygang.plan import Plan

GPU = "nvidia.com/gpu"
GIB = 2**30
OBJECT_STORE = 10**9  # Ray's default is 30% of the memory, all of it in /dev/shm; the engine's tensors go elsewhere
HEAD_CPUS, HEAD_MEMORY = "4", "8Gi"
_SHM_FOR_QUEUES = 2 * GIB  # NCCL's and vLLM's queues between processes of a node, beside Ray's objects


@dataclass(frozen=True)
class WorkerSize:
    """A worker pod's size; each value says where it comes from."""

    cpus: Noted
    memory: Noted
    shared_memory: Noted
    gpus: int


def worker_size(plan: Plan, accelerators: int) -> WorkerSize:
    """The size of a worker pod that holds that many ranks.

    Raises:
        SpecError: shared memory would take all of the pod's memory.
    """
    nodes = plan.spec.nodes
    shm = nodes.shared_memory_bytes or (OBJECT_STORE // GIB + 1) * GIB + _SHM_FOR_QUEUES * accelerators
    memory = nodes.memory_bytes or _memory(plan, accelerators) + shm
    if shm >= memory:
        raise plan.spec.problem(
            "nodes.shared_memory",
            f"{nodes.shared_memory or _gib(shm)} of /dev/shm count against the pod's memory, {nodes.memory or ''}",
            allowed="less than nodes.memory",
        )
    cpus = nodes.cpus or 2 + 2 * accelerators
    return WorkerSize(
        Noted(f"{cpus:g}", "of the pod's node" if nodes.cpus else "two for each rank and two beside; nodes.cpus"),
        Noted(nodes.memory or _gib(memory), "with /dev/shm, which counts against it"),
        Noted(nodes.shared_memory or _gib(shm), "Ray's objects, NCCL's and vLLM's queues between processes"),
        0 if nodes.accelerator == "cpu" else accelerators,
    )


def _memory(plan: Plan, accelerators: int) -> int:
    """Bytes: on CPUs weights and KV cache stay in it, with GPUs a node's weights pass through it once."""
    weights = max(sum(plan.ranks[rank].weight_bytes for rank in node.ranks) for node in plan.nodes)
    kv_cache = int(plan.spec.engine.args.get("kv_cache_memory_bytes") or 4 * GIB) * accelerators
    needed = 2 * weights + kv_cache if plan.spec.nodes.accelerator == "cpu" else weights
    return needed + (4 + 4 * accelerators) * GIB


def _gib(size: int) -> str:
    return f"{-(-size // GIB)}Gi"
