"""Whether this machine can take a plan's ranks."""

from __future__ import annotations

from raygang.hardware import Machine
from raygang.plan.model import Plan
from raygang.spec import UserError

# Measured with Ray 2.60 and vLLM 0.32 on CPUs (PSS): Ray's own processes per node, and what a rank holds beside its
# weights and KV cache (Python, torch, vLLM). benchmarks/memory.py measures them again.
NODE_BASE_BYTES = 300 * 1024**2
RANK_BASE_BYTES = 600 * 1024**2
REPLICA_BASE_BYTES = 1200 * 1024**2
DEFAULT_KV_BYTES = 256 * 1024**2


def fits_machine(plan: Plan, machine: Machine) -> None:
    """Raise UserError when the replicas on this machine's CPUs would need more memory than is available.

    Ranks on GPUs are not looked at here.
    """
    if plan.spec.nodes.accelerator not in ("cpu", "auto") or (machine.gpus and plan.spec.nodes.accelerator == "auto"):
        return
    needed, replicas = memory_needed(plan), plan.spec.replicas
    if needed > machine.memory_available_bytes:
        raise UserError(
            f"{plan.world_size * replicas} ranks on {len(plan.nodes) * replicas} nodes need about {_gib(needed)} GiB "
            f"of memory here, and {_gib(machine.memory_available_bytes)} GiB are available",
            hint="use fewer ranks, a smaller model, or a smaller engine.args.kv_cache_memory_bytes",
        )


def memory_needed(plan: Plan) -> int:
    """Bytes of main memory for all replicas on CPU ranks, everything that Ray and vLLM start included."""
    kv = int(plan.spec.engine.args.get("kv_cache_memory_bytes") or DEFAULT_KV_BYTES)
    stored, engine = plan.checkpoint.dtype, str(plan.spec.engine.args.get("dtype", "auto"))
    factor = 2 if engine in ("float32", "float") and stored in ("bfloat16", "float16") else 1
    ranks = sum(r.weight_bytes * factor + kv + RANK_BASE_BYTES for r in plan.ranks)
    return (ranks + REPLICA_BASE_BYTES) * plan.spec.replicas + NODE_BASE_BYTES * len(plan.nodes) * plan.spec.replicas


def _gib(n: int) -> str:
    return f"{n / 1024**3:.1f}"
