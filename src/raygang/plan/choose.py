"""From a specification and a checkpoint to a plan. Pure: asks nobody."""

from __future__ import annotations

from raygang.checkpoint import Checkpoint, check_divisible, divisors, rank_shares
from raygang.plan.model import NodeShape, Plan, Rank
from raygang.spec import Spec, UserError


def plan(spec: Spec, checkpoint: Checkpoint) -> Plan:
    """Decide parallelism and place the ranks.

    Raises:
        UserError: the model cannot be divided like that, or the nodes do not hold the ranks.
    """
    if spec.parallelism.data > 1:
        raise spec.problem("parallelism.data", "data parallel ranks cannot be planned yet", suggestion="replicas")
    tensor, pipeline, count, notes = _choose(spec, checkpoint)
    check_divisible(checkpoint, tensor, pipeline)
    nodes = _place(tensor * pipeline, count, spec.nodes.accelerators)
    node_of = {rank: node.index for node in nodes for rank in node.ranks}
    kv_dtype = str(spec.engine.args.get("kv_cache_dtype", "auto"))
    ranks = tuple(
        Rank(s.rank, node_of[s.rank], s.tensor_rank, s.pipeline_rank, s.layers, s.weight_bytes, s.kv_bytes_per_token)
        for s in rank_shares(checkpoint, tensor, pipeline, kv_dtype=kv_dtype)
    )
    return Plan(spec, checkpoint, tensor, pipeline, nodes, ranks, tuple(notes))


def _choose(spec: Spec, checkpoint: Checkpoint) -> tuple[int, int, int, list[str]]:
    """Tensor size, pipeline size and node count, and why where they were `auto`."""
    notes = []
    per_node = spec.nodes.accelerators
    tensor, pipeline, count = spec.parallelism.tensor, spec.parallelism.pipeline, spec.nodes.count
    if isinstance(tensor, str):
        tensor = _largest_tensor(checkpoint, per_node)
        notes.append(
            f"tensor {tensor}: the largest part of the {per_node} accelerators of a node that divides "
            f"{checkpoint.attention_heads} heads"
        )
    if isinstance(pipeline, str):
        nodes = 1 if isinstance(count, str) else count
        pipeline = nodes * per_node // tensor or 1
        notes.append(f"pipeline {pipeline}: fills {nodes} node{'s' if nodes > 1 else ''}")
    if isinstance(count, str):
        count = -(-tensor * pipeline // per_node)
        notes.append(f"{count} nodes: {tensor * pipeline} ranks, {per_node} per node")
    return tensor, pipeline, count, notes


def _largest_tensor(checkpoint: Checkpoint, limit: int) -> int:
    kv = checkpoint.kv_heads
    fits = [d for d in divisors(checkpoint.attention_heads) if d <= limit and (kv % d == 0 or d % kv == 0)]
    return max(fits)


def _place(ranks: int, count: int, per_node: int) -> tuple[NodeShape, ...]:
    """Ranks in order, as evenly as they go, so that a stage stays on a node where it can."""
    each, left = divmod(ranks, count)
    if each + bool(left) > per_node:
        raise UserError(
            f"{ranks} ranks do not fit on {count} nodes with {per_node} accelerators each",
            hint="raise nodes.count or nodes.accelerators, or lower parallelism",
        )
    if each == 0:
        raise UserError(f"{ranks} ranks for {count} nodes: some would hold none", hint="lower nodes.count")
    sizes = [each + (i < left) for i in range(count)]
    starts = [sum(sizes[:i]) for i in range(count)]
    return tuple(NodeShape(i, tuple(range(s, s + n))) for i, (s, n) in enumerate(zip(starts, sizes, strict=True)))
