"""Which shape `auto` becomes, where its ranks stand, and what is said about it."""

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raygang.checkpoint import Checkpoint, checkpoint_from_config
from raygang.plan import Plan, describe, plan
from raygang.spec import SpecError, UserError, parse_spec

LLAMA_70B = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
    "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "dtype": "bfloat16",
}  # fmt: skip
SMOLLM2 = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152, "dtype": "bfloat16",
    "tie_word_embeddings": True,
}  # fmt: skip
GROUPED = {**SMOLLM2, "num_attention_heads": 12, "num_key_value_heads": 3, "head_dim": 64}


def made(config: dict[str, Any], parallelism: dict[str, Any], nodes: dict[str, Any], **engine: Any) -> Plan:
    text = {"name": "x", "model": {"source": "a/b"}, "parallelism": parallelism, "nodes": nodes, "engine": engine}
    return plan(parse_spec(json.dumps(text)), checkpoint_from_config(config))


def sizes(p: Plan) -> list[int]:
    return [node.gpus for node in p.nodes]


@pytest.mark.parametrize(
    ("config", "parallelism", "nodes", "shape", "expected"),
    [
        (LLAMA_70B, {}, {"count": 2, "accelerators": 8}, (8, 2), [8, 8]),
        (LLAMA_70B, {}, {"count": 4, "accelerators": 1}, (1, 4), [1, 1, 1, 1]),
        (SMOLLM2, {}, {"count": 2, "accelerators": 8}, (3, 4), [6, 6]),  # 9 does not divide the vocabulary
        (SMOLLM2, {"pipeline": 2}, {"count": 2, "accelerators": 4}, (3, 2), [3, 3]),
        (SMOLLM2, {"tensor": 1}, {"count": 2, "accelerators": 16}, (1, 30), [15, 15]),  # a stage has a layer at least
        (GROUPED, {"tensor": 3, "pipeline": 4}, {"accelerators": 4}, (3, 4), [3, 3, 3, 3]),  # a group stays together
        (LLAMA_70B, {"tensor": 2, "pipeline": 3}, {"count": 2, "accelerators": 4}, (2, 3), [4, 2]),
        (LLAMA_70B, {"tensor": 16}, {"count": 2, "accelerators": 8}, (16, 1), [8, 8]),
        (LLAMA_70B, {"pipeline": 4}, {"count": 1, "accelerators": 8}, (2, 4), [8]),  # room for the stages asked for
    ],
)
def test_shapes(
    config: dict[str, Any],
    parallelism: dict[str, Any],
    nodes: dict[str, Any],
    shape: tuple[int, int],
    expected: list[int],
) -> None:
    found = made(config, parallelism, nodes)
    assert ((found.tensor, found.pipeline), sizes(found)) == (shape, expected)


def test_a_group_that_spans_nodes_is_said() -> None:
    assert "spans nodes" in made(LLAMA_70B, {"tensor": 16}, {"count": 2, "accelerators": 8}).notes[-1]
    assert not any("spans" in note for note in made(LLAMA_70B, {}, {"count": 2, "accelerators": 8}).notes)


def test_each_note_is_one_sentence() -> None:
    for note in made(SMOLLM2, {}, {"accelerators": 8}).notes:
        assert "\n" not in note
        assert len(note) < 120


@pytest.mark.parametrize(
    ("args", "factor"),
    [
        ({}, 1),
        ({"kv_cache_dtype": "fp8"}, 0.5),
        ({"dtype": "float32"}, 2),
        ({"dtype": "float32", "kv_cache_dtype": "fp8"}, 0.5),
        ({"dtype": "auto", "kv_cache_dtype": "auto"}, 1),
    ],
)
def test_the_kv_cache_has_the_engines_type_unless_it_has_its_own(args: dict[str, Any], factor: float) -> None:
    found = made(SMOLLM2, {"tensor": 1, "pipeline": 2}, {"count": 2}, args=args)
    assert [rank.kv_bytes_per_token for rank in found.ranks] == [15 * 2 * 3 * 64 * 2 * factor] * 2


def test_a_type_of_unknown_size_is_said_and_does_not_stop_the_plan() -> None:
    found = made(SMOLLM2, {"tensor": 1, "pipeline": 1}, {"count": 1}, args={"kv_cache_dtype": "nvfp4"})
    assert found.notes == ("the size of nvfp4 in the KV cache is not known here: shown is the model's own type",)


def test_a_partition_of_the_users_own_is_said() -> None:
    env = {"VLLM_PP_LAYER_PARTITION": "10,20"}
    found = made(SMOLLM2, {"tensor": 1, "pipeline": 2}, {"count": 2}, env=env)
    assert "VLLM_PP_LAYER_PARTITION" in found.notes[-1]


@pytest.mark.parametrize(
    ("parallelism", "nodes", "place", "message", "allowed"),
    [
        ("{tensor: 3, pipeline: auto}", "{count: 40, accelerators: 3}", "4:9", "some would hold none", "at most"),
        (
            "{tensor: auto, pipeline: 5}",
            "{count: 2, accelerators: 2}",
            "4:9",
            "tensor 1 x pipeline 5 are 5",
            "more nodes",
        ),
    ],
)
def test_nodes_that_do_not_go_with_the_ranks_are_blamed_on_their_field(
    parallelism: str, nodes: str, place: str, message: str, allowed: str
) -> None:
    text = f"name: x\nmodel: {{source: a/b}}\nparallelism: {parallelism}\nnodes: {nodes}\n"
    small = {**SMOLLM2, "num_hidden_layers": 30}
    if "none" in message:
        small["num_hidden_layers"] = 10
    with pytest.raises(SpecError) as e:
        plan(parse_spec(text, file="f.yaml"), checkpoint_from_config(small))
    assert str(e.value).startswith(f"f.yaml:{place}: ")
    assert message in str(e.value)
    assert allowed in str(e.value)


@st.composite
def checkpoints(draw: st.DrawFn) -> Checkpoint:
    kv_heads = draw(st.sampled_from([1, 2, 3, 8]))
    return checkpoint_from_config(
        {
            "hidden_size": 64,
            "head_dim": 16,
            "intermediate_size": 96 * draw(st.integers(1, 4)),
            "num_hidden_layers": draw(st.integers(1, 60)),
            "num_attention_heads": kv_heads * draw(st.integers(1, 4)),
            "num_key_value_heads": kv_heads,
            "vocab_size": draw(st.integers(1, 2000)),
            "tie_word_embeddings": draw(st.booleans()),
        }
    )


sizes_or_auto = st.integers(1, 12) | st.just("auto")


@given(
    checkpoint=checkpoints(),
    tensor=sizes_or_auto,
    pipeline=sizes_or_auto,
    count=sizes_or_auto,
    accelerators=st.integers(1, 8),
)
def test_a_plan_is_sound_and_always_the_same(
    checkpoint: Checkpoint, tensor: object, pipeline: object, count: object, accelerators: int
) -> None:
    text = {
        "name": "x",
        "model": {"source": "a/b"},
        "parallelism": {"tensor": tensor, "pipeline": pipeline},
        "nodes": {"count": count, "accelerators": accelerators},
    }
    try:
        spec = parse_spec(json.dumps(text))
        found = plan(spec, checkpoint)
    except UserError:
        assert (tensor, pipeline, count) != ("auto", "auto", "auto"), "what is all automatic can always be planned"
        return
    assert plan(spec, checkpoint) == found
    assert [rank for node in found.nodes for rank in node.ranks] == list(range(found.world_size))
    assert all(1 <= node.gpus <= accelerators for node in found.nodes)
    for tensor_rank in range(found.tensor):
        layers = [i for rank in found.ranks if rank.tensor_rank == tensor_rank for i in rank.layers]
        assert layers == list(range(checkpoint.layers))
    assert sum(rank.weight_bytes for rank in found.ranks) >= checkpoint.total_bytes
    automatic = sum(value == "auto" for value in (tensor, pipeline, count))
    assert len([note for note in found.notes if "spans nodes" not in note]) == automatic


def test_a_description_is_plain_values() -> None:
    found = describe(made(GROUPED, {"tensor": 6, "pipeline": 2}, {"count": 2, "accelerators": 6}))
    assert json.loads(json.dumps(dataclasses.asdict(found)))["ranks"][6] == {
        "rank": 6,
        "node": 1,
        "tensor_rank": 0,
        "pipeline_rank": 1,
        "first_layer": 15,
        "last_layer": 29,
        "weight_bytes": found.ranks[6].weight_bytes,
        "kv_bytes_per_token": 15 * 2 * 1 * 64 * 2,
    }
    assert (found.tensor, found.pipeline, found.nodes, found.ranks_per_node) == (6, 2, 2, (6, 6))
    assert found.kv_bytes_per_token == 30 * 2 * 3 * 64 * 2, "heads that are copied count once"
    assert found.weights_from == "config"


def test_a_description_says_what_the_checkpoint_leaves_out() -> None:
    found = describe(made({**SMOLLM2, "sliding_window": 128}, {"tensor": 1, "pipeline": 1}, {"count": 1}))
    assert "sliding window" in found.notes[-1]
