"""What each rank holds."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raygang.checkpoint import Checkpoint, checkpoint_from_config, pipeline_layers, rank_shares, tensor_sizes
from raygang.spec import UserError

SMOLLM2 = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152, "dtype": "bfloat16",
    "tie_word_embeddings": True,
}  # fmt: skip


def llama(**changes: Any) -> Checkpoint:
    return checkpoint_from_config({**SMOLLM2, **changes})


@st.composite
def checkpoints(draw: st.DrawFn) -> Checkpoint:
    kv_heads = draw(st.sampled_from([1, 2, 3, 4, 8]))
    heads = kv_heads * draw(st.integers(1, 4))
    return checkpoint_from_config(
        {
            "hidden_size": 16 * heads,
            "intermediate_size": draw(st.integers(1, 8)) * 96,
            "num_hidden_layers": draw(st.integers(1, 40)),
            "num_attention_heads": heads,
            "num_key_value_heads": kv_heads,
            "vocab_size": draw(st.integers(1, 3000)),
            "tie_word_embeddings": draw(st.booleans()),
            "dtype": draw(st.sampled_from(["float32", "bfloat16"])),
        }
    )


@st.composite
def divisions(draw: st.DrawFn) -> tuple[Checkpoint, int, int]:
    c = draw(checkpoints())
    return c, draw(st.sampled_from(tensor_sizes(c))), draw(st.integers(1, c.layers))


def test_a_pipeline_divides_layers_and_ends() -> None:
    c = llama()
    first, last = rank_shares(c, 1, 2)
    assert (first.layers, last.layers) == (range(15), range(15, 30))
    assert first.weight_bytes == 15 * c.layer_bytes[0] + c.embedding_bytes
    assert last.weight_bytes == 15 * c.layer_bytes[0] + c.embedding_bytes + c.other_bytes, "tied: a second copy"
    assert first.kv_bytes_per_token * 2 == c.kv_bytes_per_token()


def test_an_untied_head_stands_in_the_last_stage_only() -> None:
    c = llama(tie_word_embeddings=False)
    first, middle, last = rank_shares(c, 1, 3)
    assert first.weight_bytes - middle.weight_bytes == c.embedding_bytes
    assert last.weight_bytes - middle.weight_bytes == c.head_bytes + c.other_bytes


def test_a_tied_embedding_stands_once_without_a_pipeline() -> None:
    (only,) = rank_shares(llama(), 1, 1)
    assert only.weight_bytes == llama().total_bytes


def test_the_vocabulary_is_padded_in_memory() -> None:
    c = llama(vocab_size=49153)
    (only,) = rank_shares(c, 1, 1)
    assert only.weight_bytes - c.total_bytes == 63 * 576 * 2


def test_norms_are_on_every_tensor_rank() -> None:
    c = llama()
    shares = rank_shares(c, 3, 1)
    norms = (2 * 30 + 1) * 576 * 2
    assert sum(s.weight_bytes for s in shares) == c.total_bytes + 2 * norms


def test_key_value_heads_are_copied_when_there_are_fewer_than_ranks() -> None:
    c = llama(num_attention_heads=12, num_key_value_heads=3, head_dim=64)
    three, six = rank_shares(c, 3, 1)[0], rank_shares(c, 6, 1)[0]
    assert three.kv_bytes_per_token == six.kv_bytes_per_token == c.kv_bytes_per_token() // 3
    projections = 30 * 2 * 3 * 64 * 576 * 2
    assert sum(p.kv for p in c.layer_parts) == projections
    assert six.weight_bytes > three.weight_bytes / 2 + projections / 6 - 1


def test_ranks_are_numbered_stage_by_stage() -> None:
    found = [(s.rank, s.pipeline_rank, s.tensor_rank) for s in rank_shares(llama(), 3, 2)]
    assert found == [(0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 1, 0), (4, 1, 1), (5, 1, 2)]


@pytest.mark.parametrize(
    ("changes", "tensor", "pipeline", "message", "hint"),
    [
        ({}, 4, 1, "parallelism.tensor 4 does not divide the model's 9 attention heads", "can be 1, 3"),
        ({}, 10, 1, "does not divide the model's 9 attention heads", "can be 1, 3"),
        ({}, 9, 1, "the model's vocabulary (49152, padded to 49152)", "can be 1, 3"),
        ({}, 1, 31, "parallelism.pipeline 31 is more than the model's 30 layers", "at most 30"),
        (
            {"num_attention_heads": 12, "num_key_value_heads": 3},
            4,
            1,
            "3 key-value heads do not divide",
            "can be 1, 3, 6, 12",
        ),
        ({"vocab_size": 1000}, 3, 1, "the model's vocabulary (1000, padded to 1024)", "can be 1"),
        ({"intermediate_size": 1000}, 3, 1, "intermediate size 1000", "can be 1"),
    ],
)
def test_what_does_not_divide_names_what_does(
    changes: dict[str, Any], tensor: int, pipeline: int, message: str, hint: str
) -> None:
    with pytest.raises(UserError) as e:
        rank_shares(llama(**changes), tensor, pipeline)
    assert message in e.value.message
    assert hint in (e.value.hint or "")


@given(divisions())
def test_layers_are_covered_exactly_once_by_each_tensor_rank(division: tuple[Checkpoint, int, int]) -> None:
    c, tensor, pipeline = division
    shares = rank_shares(c, tensor, pipeline)
    for tensor_rank in range(tensor):
        covered = [i for s in shares if s.tensor_rank == tensor_rank for i in s.layers]
        assert covered == list(range(c.layers))
    assert all(s.layers for s in shares)


@given(divisions())
def test_ranks_hold_everything_and_no_more_than_copies_explain(division: tuple[Checkpoint, int, int]) -> None:
    c, tensor, pipeline = division
    held = sum(s.weight_bytes for s in rank_shares(c, tensor, pipeline))
    assert c.total_bytes <= held
    assert c.other_parts is not None
    parts = [*c.layer_parts, c.other_parts]
    copies = (tensor - 1) * sum(p.whole for p in parts)
    copies += (max(tensor, c.kv_heads) // c.kv_heads - 1) * sum(p.kv for p in parts)
    embeddings = 2 if pipeline > 1 or not c.tied_embeddings else 1
    padded = math.ceil(c.vocab_size / 64) * 64 * (c.embedding_bytes // c.vocab_size)
    vocabulary = embeddings * padded - c.embedding_bytes - c.head_bytes
    assert held == c.total_bytes + copies + vocabulary


@given(layers=st.integers(1, 200), pipeline=st.integers(1, 64))
def test_stages_differ_by_one_layer_at_most(layers: int, pipeline: int) -> None:
    if pipeline > layers:
        return
    sizes = [len(r) for r in pipeline_layers(layers, pipeline)]
    assert sum(sizes) == layers
    assert max(sizes) - min(sizes) <= 1
    assert sizes[-1] == min(sizes)
