"""A plan in plain values, for whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass

from raygang.plan.model import Plan


@dataclass(frozen=True)
class RankRow:
    """A rank. `first_layer` and `last_layer` count from 0, both included; sizes in bytes."""

    rank: int
    node: int
    tensor_rank: int
    pipeline_rank: int
    first_layer: int
    last_layer: int
    weight_bytes: int
    kv_bytes_per_token: int


@dataclass(frozen=True)
class Description:
    """What a plan says, ready for a table or for `dataclasses.asdict` and JSON.

    Attributes:
        weight_bytes: the checkpoint's; ranks hold copies of some of it.
        weights_from: whether that was read from the weights or follows from the config.
        kv_bytes_per_token: of all layers and heads of the model, once.
        notes: why `auto` became what it is, and what the numbers leave out.
    """

    name: str
    architecture: str
    layers: int
    tensor: int
    pipeline: int
    nodes: int
    ranks_per_node: tuple[int, ...]
    replicas: int
    weight_bytes: int
    weights_from: str
    kv_bytes_per_token: int
    ranks: tuple[RankRow, ...]
    notes: tuple[str, ...]


def describe(plan: Plan) -> Description:
    """The plan of one replica."""
    model = plan.checkpoint
    return Description(
        name=plan.spec.name,
        architecture=model.architecture,
        layers=model.layers,
        tensor=plan.tensor,
        pipeline=plan.pipeline,
        nodes=len(plan.nodes),
        ranks_per_node=tuple(node.gpus for node in plan.nodes),
        replicas=plan.spec.replicas,
        weight_bytes=model.total_bytes,
        weights_from=model.sizes_from,
        kv_bytes_per_token=_kv_bytes(plan),
        ranks=tuple(_row(plan, i) for i in range(plan.world_size)),
        notes=(*plan.notes, *model.notes),
    )


def _kv_bytes(plan: Plan) -> int:
    """One rank's share has the type; heads that are copied count once."""
    first = plan.ranks[0]
    heads = max(1, plan.checkpoint.kv_heads // plan.tensor)
    return first.kv_bytes_per_token * plan.checkpoint.layers * plan.checkpoint.kv_heads // (len(first.layers) * heads)


def _row(plan: Plan, index: int) -> RankRow:
    rank = plan.ranks[index]
    return RankRow(
        rank=rank.rank,
        node=rank.node,
        tensor_rank=rank.tensor_rank,
        pipeline_rank=rank.pipeline_rank,
        first_layer=rank.layers.start,
        last_layer=rank.layers.stop - 1,
        weight_bytes=rank.weight_bytes,
        kv_bytes_per_token=rank.kv_bytes_per_token,
    )
