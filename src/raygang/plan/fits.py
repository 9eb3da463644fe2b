"""Whether this machine can take a plan's ranks."""

from __future__ import annotations

from raygang.checkpoint import DTYPE_BYTES
from raygang.hardware import Machine
from raygang.plan.model import Plan, Rank
from raygang.spec import UserError

# Ray 2.60 and vLLM 0.32 on CPUs (PSS; `raygang local status -o json` gives the sum): Ray's own processes of a node,
# what a rank holds beside its weights and KV cache (Python, torch, vLLM), the API server with the engine core.
NODE_BASE_BYTES = 300 * 1024**2
RANK_BASE_BYTES = 600 * 1024**2
REPLICA_BASE_BYTES = 1200 * 1024**2
DEFAULT_KV_BYTES = 256 * 1024**2
GPU_UTILIZATION = 0.92  # vLLM 0.32's default


def fits_machine(plan: Plan, machine: Machine) -> None:
    """Raise UserError when this machine cannot take the ranks: too little memory, too few GPUs, too small GPUs.

    A machine without GPUs for a plan that wants them is not looked at here.
    """
    accelerator = plan.spec.nodes.accelerator
    if accelerator == "cpu" or (accelerator == "auto" and not machine.gpus):
        _fits_memory(plan, machine)
    elif machine.gpus:
        _fits_gpus(plan, machine)


def memory_needed(plan: Plan, *, cpu_bfloat16: bool = True) -> int:
    """Bytes of main memory on CPU ranks, everything that Ray and vLLM start included.

    Args:
        plan: for one replica; all of its `replicas` are counted.
        cpu_bfloat16: False where raygang lets the engine compute in float32 unless another type is written.
    """
    ranks = sum(_rank_bytes(plan, rank, cpu_bfloat16) for rank in plan.ranks)
    return ranks * plan.spec.replicas + _fixed_bytes(plan)


def _fits_memory(plan: Plan, machine: Machine) -> None:
    needed, replicas = memory_needed(plan, cpu_bfloat16=machine.cpu_bfloat16), plan.spec.replicas
    available = machine.memory_available_bytes
    if needed <= available:
        return
    largest = max(plan.ranks, key=lambda rank: rank.weight_bytes)
    each = _rank_bytes(plan, largest, machine.cpu_bfloat16)
    room = max(0, (available - _fixed_bytes(plan)) // each)
    kv = _kv_bytes(plan)
    raise UserError(
        f"{plan.world_size * replicas} ranks on {len(plan.nodes) * replicas} nodes need about {_gib(needed)} of memory "
        f"here, and {_gib(available)} are available: room for {room} such rank{'' if room == 1 else 's'}. "
        f"A rank needs up to {_gib(each)}: weights {_gib(each - kv - RANK_BASE_BYTES)}, KV cache {_gib(kv)}, "
        f"the engine itself {_gib(RANK_BASE_BYTES)}; Ray and the API server {_gib(_fixed_bytes(plan))}",
        hint=_memory_hint(plan, room),
    )


def _memory_hint(plan: Plan, room: int) -> str:
    if room:
        return (
            "use fewer ranks (parallelism, replicas), a smaller model, or a smaller engine.args.kv_cache_memory_bytes"
        )
    return "use a smaller model, engine.args.dtype: bfloat16, or a smaller engine.args.kv_cache_memory_bytes"


def _fits_gpus(plan: Plan, machine: Machine) -> None:
    ranks = plan.world_size * plan.spec.replicas
    if ranks > len(machine.gpus):
        raise UserError(
            f"the plan has {ranks} ranks, one GPU each, and this machine has {len(machine.gpus)}",
            hint="lower parallelism or replicas, or write `accelerator: cpu`",
        )
    part = _number(plan, "gpu_memory_utilization", GPU_UTILIZATION)
    for rank, gpu in zip(plan.ranks, machine.gpus, strict=False):
        if rank.weight_bytes > gpu.memory_bytes * part:
            raise UserError(
                f"rank {rank.rank} holds {_gib(rank.weight_bytes)} of weights, and GPU {gpu.index} ({gpu.name}) has "
                f"{_gib(gpu.memory_bytes)}, of which the engine takes {part:.0%}",
                hint="raise parallelism, or use a smaller or a quantised model",
            )


def _rank_bytes(plan: Plan, rank: Rank, cpu_bfloat16: bool) -> int:
    return rank.weight_bytes * _widening(plan, cpu_bfloat16) + _kv_bytes(plan) + RANK_BASE_BYTES


def _widening(plan: Plan, cpu_bfloat16: bool) -> int:
    """How much larger weights become when the engine loads them in another type."""
    engine = plan.spec.engine.args.get("dtype")
    if engine is None and not cpu_bfloat16:
        engine = "float32"
    stored = DTYPE_BYTES.get(plan.checkpoint.dtype, 4)
    return max(1, DTYPE_BYTES.get(str(engine), 1) // stored) if plan.checkpoint.quantization is None else 1


def _kv_bytes(plan: Plan) -> int:
    return int(_number(plan, "kv_cache_memory_bytes", DEFAULT_KV_BYTES))


def _number(plan: Plan, name: str, default: float) -> float:
    """An engine argument that has to be a number above zero; vLLM reads no units here."""
    value = plan.spec.engine.args.get(name)
    if value is None:
        return default
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise plan.spec.problem(f"engine.args.{name}", f"must be a number above zero, without a unit, not {value!r}")
    return value


def _fixed_bytes(plan: Plan) -> int:
    return (REPLICA_BASE_BYTES + NODE_BASE_BYTES * len(plan.nodes)) * plan.spec.replicas


def _gib(n: float) -> str:
    return f"{n / 1024**3:.1f} GiB"
