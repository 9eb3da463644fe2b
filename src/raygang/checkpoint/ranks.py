"""What each rank holds, as vLLM divides a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from raygang.checkpoint._sizes import Parts
from raygang.checkpoint.model import Checkpoint
from raygang.spec import UserError

VOCABULARY_UNIT = 64  # vLLM 0.32: `DEFAULT_VOCAB_PADDING_SIZE` in model_executor/layers/vocab_parallel_embedding.py


@dataclass(frozen=True)
class RankShare:
    """A rank's part of the model. Sizes in bytes; `layers` counts from 0."""

    rank: int
    tensor_rank: int
    pipeline_rank: int
    layers: range
    weight_bytes: int
    kv_bytes_per_token: int


@dataclass(frozen=True)
class Indivisible:
    """Why a model cannot be divided so: the field to blame, what is wrong with it, what it can be."""

    field: str
    message: str
    allowed: str


def rank_shares(model: Checkpoint, tensor: int, pipeline: int, *, kv_dtype: str = "auto") -> tuple[RankShare, ...]:
    """Every rank's part; rank = pipeline rank x tensor + tensor rank.

    Raises:
        UserError: the heads or the layers cannot be divided like that; names what can.
    """
    check_divisible(model, tensor, pipeline)
    kv_heads = max(1, model.kv_heads // tensor)  # fewer heads than ranks: each rank keeps a copy of one
    return tuple(
        RankShare(
            rank=stage * tensor + tensor_rank,
            tensor_rank=tensor_rank,
            pipeline_rank=stage,
            layers=layers,
            weight_bytes=_stage_bytes(model, layers, tensor),
            kv_bytes_per_token=model.kv_bytes_per_token(kv_dtype, layers=len(layers), kv_heads=kv_heads),
        )
        for stage, layers in enumerate(pipeline_layers(model.layers, pipeline))
        for tensor_rank in range(tensor)
    )


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
    problem = indivisible(model, tensor, pipeline)
    if problem:
        raise UserError(f"{problem.field} {problem.message}", hint=f"{problem.field} can be {problem.allowed}")


def indivisible(model: Checkpoint, tensor: int, pipeline: int) -> Indivisible | None:
    """Why vLLM 0.32 could not divide the model like that; None when it can."""
    why = next(_why_not(model, tensor), None)
    if why:
        return Indivisible("parallelism.tensor", f"{tensor} {why}", ", ".join(map(str, tensor_sizes(model))))
    if pipeline > model.layers:
        what = f"{pipeline} is more than the model's {model.layers} layers"
        return Indivisible("parallelism.pipeline", what, f"at most {model.layers}")
    return None


def tensor_sizes(model: Checkpoint) -> list[int]:
    """All sizes of tensor parallelism that vLLM can divide the model by, in order."""
    return [n for n in divisors(model.attention_heads) if next(_why_not(model, n), None) is None]


def divisors(n: int) -> list[int]:
    """All whole numbers that divide n, in order."""
    return [d for d in range(1, n + 1) if n % d == 0]


def _why_not(model: Checkpoint, tensor: int) -> Iterator[str]:
    """What vLLM would refuse with an assertion, deep in a worker."""
    if model.attention_heads % tensor:
        yield f"does not divide the model's {model.attention_heads} attention heads"
    if model.kv_heads % tensor and tensor % model.kv_heads:
        yield f"and the model's {model.kv_heads} key-value heads do not divide each other"
    if padded_vocabulary(model) % tensor:
        yield f"does not divide the model's vocabulary ({model.vocab_size}, padded to {padded_vocabulary(model)})"
    if not model.experts and model.intermediate_size % tensor:
        yield f"does not divide the model's intermediate size {model.intermediate_size}"


def padded_vocabulary(model: Checkpoint) -> int:
    """Rows of the embedding and of the head in memory."""
    return -(-model.vocab_size // VOCABULARY_UNIT) * VOCABULARY_UNIT


def _stage_bytes(model: Checkpoint, layers: range, tensor: int) -> int:
    """Bytes of a tensor parallel rank of a stage; a tied embedding stands in the first and in the last."""
    first, last = layers.start == 0, layers.stop == model.layers
    size = model.parts(layers).on_one(tensor, model.kv_heads)
    if first or (last and model.tied_embeddings):
        size += _vocabulary_bytes(model, model.embedding_bytes, tensor)
    if last:
        size += _vocabulary_bytes(model, model.head_bytes, tensor)
        size += (model.other_parts or Parts(model.other_bytes)).on_one(tensor, model.kv_heads)
    return size


def _vocabulary_bytes(model: Checkpoint, stored: int, tensor: int) -> int:
    return -(-stored * padded_vocabulary(model) // (model.vocab_size * tensor))
