"""From a specification and a checkpoint to a plan. Pure: asks nobody."""

from __future__ import annotations

from dataclasses import dataclass

from raygang.checkpoint import DTYPE_BYTES, Checkpoint, check_divisible, rank_shares, tensor_sizes
from raygang.plan._place import nodes_needed, place, stages_that_fit
from raygang.plan.model import Plan, Rank
from raygang.spec import Spec


def plan(spec: Spec, checkpoint: Checkpoint) -> Plan:
    """Decide parallelism and place the ranks.

    Where the specification says `auto`: the tensor size is the largest that the model can be divided by within a
    node, and the pipeline has as many stages as the nodes hold.

    Raises:
        UserError: the model cannot be divided like that, or the nodes do not hold the ranks.
    """
    if spec.parallelism.data > 1:
        raise spec.problem("parallelism.data", "data parallel ranks cannot be planned yet", suggestion="replicas")
    shape, notes = _choose(spec, checkpoint)
    _check(spec, checkpoint, shape)
    kv_dtype, kv_notes = _kv_dtype(spec)
    nodes = place(shape.tensor, shape.pipeline, shape.nodes, spec.nodes.accelerators)
    node_of = {rank: node.index for node in nodes for rank in node.ranks}
    ranks = tuple(
        Rank(s.rank, node_of[s.rank], s.tensor_rank, s.pipeline_rank, s.layers, s.weight_bytes, s.kv_bytes_per_token)
        for s in rank_shares(checkpoint, shape.tensor, shape.pipeline, kv_dtype=kv_dtype)
    )
    notes = [*notes, *kv_notes, *_crossing(ranks), *_unseen(spec)]
    return Plan(spec, checkpoint, shape.tensor, shape.pipeline, nodes, ranks, tuple(notes))


@dataclass(frozen=True)
class _Shape:
    tensor: int
    pipeline: int
    nodes: int


def _choose(spec: Spec, checkpoint: Checkpoint) -> tuple[_Shape, list[str]]:
    """The shape, and a sentence on each part of it that was `auto`."""
    notes = []
    per_node, count = spec.nodes.accelerators, spec.nodes.count
    tensor, pipeline = spec.parallelism.tensor, spec.parallelism.pipeline
    if isinstance(tensor, str):
        tensor, why = _choose_tensor(checkpoint, per_node, None if isinstance(count, str) else count, pipeline)
        notes.append(why)
    if isinstance(pipeline, str):
        pipeline, why = _choose_pipeline(checkpoint, tensor, per_node, 1 if isinstance(count, str) else count)
        notes.append(why)
    if isinstance(count, str):
        count = nodes_needed(tensor, pipeline, per_node)
        notes.append(f"{count} nodes: {tensor * pipeline} ranks, at most {per_node} per node")
    return _Shape(tensor, pipeline, count), notes


def _choose_tensor(checkpoint: Checkpoint, per_node: int, count: int | None, pipeline: int | str) -> tuple[int, str]:
    sizes = [n for n in tensor_sizes(checkpoint) if n <= per_node]
    if count is not None and isinstance(pipeline, int):  # the stages that are asked for have to fit as well
        sizes = [n for n in sizes if stages_that_fit(n, count, per_node) >= pipeline] or sizes[:1]
    tensor = sizes[-1]
    why = f"the largest part of a node's {per_node} accelerators that the model can be divided by"
    return tensor, f"tensor {tensor}: {why} ({checkpoint.attention_heads} heads, {checkpoint.kv_heads} for keys)"


def _choose_pipeline(checkpoint: Checkpoint, tensor: int, per_node: int, count: int) -> tuple[int, str]:
    fit = max(1, stages_that_fit(tensor, count, per_node))
    if fit > checkpoint.layers:
        return checkpoint.layers, f"pipeline {checkpoint.layers}: one stage for each layer"
    return fit, f"pipeline {fit}: fills {count} node{'s' if count > 1 else ''}"


def _check(spec: Spec, checkpoint: Checkpoint, shape: _Shape) -> None:
    check_divisible(checkpoint, shape.tensor, shape.pipeline)
    ranks, per_node = shape.tensor * shape.pipeline, spec.nodes.accelerators
    held = f"{shape.nodes} nodes with {per_node} accelerators each hold {shape.nodes * per_node} ranks"
    if ranks > shape.nodes * per_node:
        what = f"{held}, and tensor {shape.tensor} x pipeline {shape.pipeline} are {ranks}"
        raise spec.problem("nodes.count", what, allowed="more nodes, more accelerators, or less parallelism")
    if ranks < shape.nodes:
        what = f"{shape.nodes} nodes for {ranks} ranks: some would hold none"
        raise spec.problem("nodes.count", what, allowed=f"at most {ranks}, or auto")


def _kv_dtype(spec: Spec) -> tuple[str, list[str]]:
    """The type of the KV cache: its own, else the one that the engine computes in, else the model's."""
    asked, engine = str(spec.engine.args.get("kv_cache_dtype", "auto")), str(spec.engine.args.get("dtype", "auto"))
    name = asked if asked != "auto" else engine
    if name == "auto" or name in DTYPE_BYTES:
        return name, []
    return "auto", [f"the size of {name} in the KV cache is not known here: shown is the model's own type"]


def _crossing(ranks: tuple[Rank, ...]) -> list[str]:
    stages = {(rank.pipeline_rank, rank.node) for rank in ranks}
    if len(stages) == len({stage for stage, _ in stages}):
        return []
    return ["a tensor parallel group spans nodes: each layer of it then waits for the network, twice per token"]


def _unseen(spec: Spec) -> list[str]:
    """What a user can write that is not planned yet."""
    if "VLLM_PP_LAYER_PARTITION" in spec.engine.env:
        return ["VLLM_PP_LAYER_PARTITION divides the layers otherwise than shown"]
    return []
