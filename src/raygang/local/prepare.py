"""From a plan to what this machine is asked to start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from raygang.hardware import Machine
from raygang.local._network import check_port
from raygang.local.session import NodeSize, Request
from raygang.manifest import app_arguments
from raygang.plan import Plan
from raygang.runtime import versions
from raygang.spec import Spec, UserError

CPU_KV_BYTES = 256 * 1024**2  # per rank; vLLM would take 90% of the machine's memory for each rank


def check_place(spec: Spec, machine: Machine, host: str, port: int) -> None:
    """What can be known to be missing here before the model is fetched.

    Raises:
        UserError: Ray or vLLM is missing or of another version than the runtime was built for, the specification asks
            for GPUs and there is none, or the port is taken.
    """
    if problems := versions.problems():
        raise UserError("; ".join(problems), hint="install raygang[cpu], or raygang[gpu] on a machine with GPUs")
    wants_gpus(spec, machine)
    check_port(host, port)


def wants_gpus(spec: Spec, machine: Machine) -> bool:
    """Whether the ranks go on GPUs here. Raises UserError when they should and there is none."""
    wanted = spec.nodes.accelerator
    if wanted == "cpu" or (wanted == "auto" and not machine.gpus):
        return False
    if not machine.gpus:
        raise UserError(
            f"nodes.accelerator is {wanted}, and this machine has no GPU",
            hint="write `accelerator: auto` (or cpu) to run on this machine's CPUs",
        )
    return True


def prepare(plan: Plan, model: Path, machine: Machine, *, host: str, port: int, dashboard: bool = False) -> Request:
    """Share this machine among the plan's nodes.

    Raises:
        UserError: the plan wants GPUs and there is none (`fits_machine` has looked at how many).
    """
    spec = plan.spec
    gpus = wants_gpus(spec, machine)
    return Request(
        name=spec.name,
        spec=str(spec.source_path or ""),
        nodes=_sizes(plan, machine, gpus),
        app=app_arguments(
            plan,
            str(model),
            engine_args={} if gpus else _cpu_defaults(spec.engine.args, machine),
            # All ranks share this machine, and its memory carries what they say: there is no network whose choice
            # could be wrong. A fabric that was named is looked for here as well.
            probe=spec.fabric.type != "auto",
        ),
        host=host,
        port=port,
        dashboard=dashboard,
        start_timeout_s=spec.limits.start_timeout,
    )


def _sizes(plan: Plan, machine: Machine, gpus: bool) -> tuple[NodeSize, ...]:
    nodes = plan.nodes * plan.spec.replicas  # each replica is a gang with nodes of its own
    cpus = max(2, machine.cpus // len(nodes))
    threads = max(1, machine.cpus // (plan.world_size * plan.spec.replicas))
    sizes, first = [], 0
    for node in nodes:
        ranks = len(node.ranks)
        devices = tuple(range(first, first + ranks)) if gpus else ()
        sizes.append(NodeSize(ranks, max(cpus, ranks + 1), threads, devices))
        first += ranks
    return tuple(sizes)


def _cpu_defaults(args: dict[str, Any], machine: Machine) -> dict[str, Any]:
    """vLLM's arguments that several CPU ranks on one machine need; what the user wrote goes before them."""
    defaults: dict[str, Any] = {"enforce_eager": True}
    if "gpu_memory_utilization" not in args:
        defaults["kv_cache_memory_bytes"] = CPU_KV_BYTES
    if not machine.cpu_bfloat16:
        defaults["dtype"] = "float32"
    return defaults
