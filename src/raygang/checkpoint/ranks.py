"""What each rank holds, as vLLM divides a model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from raygang.checkpoint.model import Checkpoint
from raygang.spec import UserError


@dataclass(frozen=True)
class RankShare:
    """A rank's part of the model. Sizes in bytes; `layers` counts from 0."""

    rank: int
    tensor_rank: int
    pipeline_rank: int
    layers: range
    weight_bytes: int
    kv_bytes_per_token: int


def rank_shares(model: Checkpoint, tensor: int, pipeline: int, *, kv_dtype: str = "auto") -> tuple[RankShare, ...]:
    """Every rank's part; rank = pipeline rank x tensor + tensor rank.

    Raises:
        UserError: the heads or the layers cannot be divided like that; names what can.
    """
    check_divisible(model, tensor, pipeline)
    kv_heads = max(1, model.kv_heads // tensor)  # fewer heads than ranks: each rank keeps a copy of one
    shares = []
    for stage, layers in enumerate(pipeline_layers(model.layers, pipeline)):
        weights = sum(model.layer_bytes[i] for i in layers) + _ends(model, stage == 0, stage == pipeline - 1)
        for tensor_rank in range(tensor):
            shares.append(
                RankShare(
                    rank=stage * tensor + tensor_rank,
                    tensor_rank=tensor_rank,
                    pipeline_rank=stage,
                    layers=layers,
                    weight_bytes=math.ceil(weights / tensor),
                    kv_bytes_per_token=model.kv_bytes_per_token(kv_dtype, layers=len(layers), kv_heads=kv_heads),
                )
            )
    return tuple(shares)


def pipeline_layers(layers: int, pipeline: int) -> list[range]:
    """The layers of each stage, as vLLM 0.32 divides them (`vllm.distributed.utils.get_pp_indices`).

    A remainder goes one layer each to the stages before the last, from the back: the last also has the head.
    """
    each, remainder = divmod(layers, pipeline)
    sizes = [each] * pipeline
    for i in range(2, remainder + 2):
        sizes[-i] += 1
    starts = [sum(sizes[:i]) for i in range(pipeline)]
    return [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]


def check_divisible(model: Checkpoint, tensor: int, pipeline: int) -> None:
    """Raise UserError when vLLM could not divide the model like that."""
    if model.attention_heads % tensor:
        fits = ", ".join(map(str, divisors(model.attention_heads)))
        raise UserError(
            f"parallelism.tensor {tensor} does not divide the model's {model.attention_heads} attention heads",
            hint=f"parallelism.tensor can be {fits}",
        )
    if pipeline > model.layers:
        raise UserError(
            f"parallelism.pipeline {pipeline} is more than the model's {model.layers} layers",
            hint=f"parallelism.pipeline can be at most {model.layers}",
        )
    if model.kv_heads % tensor and tensor % model.kv_heads:
        fits = ", ".join(
            str(d) for d in divisors(model.attention_heads) if not model.kv_heads % d or not d % model.kv_heads
        )
        raise UserError(
            f"parallelism.tensor {tensor} and the model's {model.kv_heads} key-value heads do not divide each other",
            hint=f"parallelism.tensor can be {fits}",
        )


def divisors(n: int) -> list[int]:
    """All whole numbers that divide n, in order."""
    return [d for d in range(1, n + 1) if n % d == 0]


def _ends(model: Checkpoint, first: bool, last: bool) -> int:
    """Bytes that only the first and the last stage hold; a tied embedding stands in both."""
    size = model.embedding_bytes if first else 0
    if last:
        size += model.other_bytes + (model.head_bytes or (0 if first else model.embedding_bytes))
    return size
