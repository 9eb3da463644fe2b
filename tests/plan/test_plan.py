"""From a specification and a checkpoint to ranks on nodes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raygang.checkpoint import Checkpoint
from raygang.hardware import Gpu, Machine
from raygang.plan import Plan, fits_machine, memory_needed, plan
from raygang.spec import Spec, UserError

GIB = 2**30


def checkpoint(*, layers: int = 80, heads: int = 64, kv_heads: int = 8, layer_bytes: int = 2**20) -> Checkpoint:
    return Checkpoint(
        path=Path("/m"), architecture="LlamaForCausalLM", layers=layers, hidden_size=heads * 128, attention_heads=heads,
        kv_heads=kv_heads, head_dim=128, vocab_size=32000, intermediate_size=28672, max_position=8192, dtype="bfloat16",
        quantization=None, tied_embeddings=False, layer_bytes=(layer_bytes,) * layers, embedding_bytes=2**20,
        head_bytes=2**20, other_bytes=2**10, sizes_from="config",
    )  # fmt: skip


def spec(**fields: object) -> Spec:
    return Spec.model_validate({"name": "x", "model": {"source": "a/b"}, **fields})


def made(parallelism: dict[str, object], nodes: dict[str, object], **model: int) -> Plan:
    return plan(spec(parallelism=parallelism, nodes=nodes), checkpoint(**model))


@pytest.mark.parametrize(
    ("parallelism", "nodes", "expected"),
    [
        ({}, {"count": 2, "accelerators": 8}, (8, 2, 2)),
        ({}, {"accelerators": 8}, (8, 1, 1)),
        ({}, {}, (1, 1, 1)),
        ({}, {"count": 4}, (1, 4, 4)),
        ({"tensor": 16}, {"accelerators": 8}, (16, 1, 2)),
        ({"tensor": 4, "pipeline": 4}, {"accelerators": 8}, (4, 4, 2)),
        ({"pipeline": 2}, {"accelerators": 6}, (4, 2, 2)),
    ],
)
def test_auto_keeps_tensor_parallel_within_a_node(
    parallelism: dict[str, object], nodes: dict[str, object], expected: tuple[int, int, int]
) -> None:
    found = made(parallelism, nodes)
    assert (found.tensor, found.pipeline, len(found.nodes)) == expected


def test_each_automatic_choice_is_explained_and_no_other() -> None:
    assert made({"tensor": 8, "pipeline": 2}, {"count": 2, "accelerators": 8}).notes == ()
    notes = made({}, {"accelerators": 8}).notes
    assert [n.split(":")[0] for n in notes] == ["tensor 8", "pipeline 1", "1 nodes"]


@given(
    tensor=st.sampled_from([1, 2, 4, 8, "auto"]),
    pipeline=st.integers(1, 8) | st.just("auto"),
    count=st.integers(1, 8) | st.just("auto"),
    accelerators=st.integers(1, 8),
)
def test_every_rank_is_on_one_node_and_no_node_holds_too_many(
    tensor: object, pipeline: object, count: object, accelerators: int
) -> None:
    try:
        found = made({"tensor": tensor, "pipeline": pipeline}, {"count": count, "accelerators": accelerators})
    except UserError:
        return
    placed = [r for n in found.nodes for r in n.ranks]
    assert placed == list(range(found.world_size)) == [r.rank for r in found.ranks]
    assert all(1 <= n.gpus <= accelerators for n in found.nodes)
    assert all(r.rank in found.nodes[r.node].ranks for r in found.ranks)
    assert all(r.rank == r.pipeline_rank * found.tensor + r.tensor_rank for r in found.ranks)
    for tensor_rank in range(found.tensor):
        layers = [i for r in found.ranks if r.tensor_rank == tensor_rank for i in r.layers]
        assert layers == list(range(80))


@pytest.mark.parametrize(
    ("parallelism", "nodes", "message"),
    [
        ({"tensor": 3}, {"accelerators": 8}, "does not divide"),
        ({"pipeline": 81}, {"count": 81}, "more than the model's 80 layers"),
        ({"tensor": 1}, {"count": 2, "accelerators": 8, "accelerator": "cpu"}, ""),
    ],
)
def test_what_cannot_be_planned(parallelism: dict[str, object], nodes: dict[str, object], message: str) -> None:
    if message:
        with pytest.raises(UserError, match=message):
            made(parallelism, nodes)
    else:
        assert made(parallelism, nodes).pipeline == 16


def machine(available: int, gpus: int = 0) -> Machine:
    cards = tuple(Gpu(i, "H200", 141 * GIB) for i in range(gpus))
    return Machine("h", "Linux", 2, 64 * GIB, available, cards)


def test_more_ranks_than_the_machine_has_memory_for_are_refused_with_the_figures() -> None:
    big = made({}, {"count": 8, "accelerator": "cpu"}, layer_bytes=GIB)
    with pytest.raises(
        UserError, match=r"8 ranks on 8 nodes need about 9\d\.\d GiB of memory here, and 20\.0 GiB"
    ) as e:
        fits_machine(big, machine(20 * GIB))
    assert e.value.hint is not None
    fits_machine(big, machine(100 * GIB))


def test_ranks_on_gpus_are_not_measured_by_main_memory() -> None:
    fits_machine(made({}, {"count": 8, "accelerator": "auto"}, layer_bytes=GIB), machine(GIB, gpus=8))


def test_float32_needs_twice_what_bfloat16_is_stored_in() -> None:
    def needed(dtype: str) -> int:
        fields = spec(nodes={"accelerator": "cpu"}, engine={"args": {"dtype": dtype, "kv_cache_memory_bytes": 1}})
        return memory_needed(plan(fields, checkpoint(layer_bytes=GIB)))

    assert needed("float32") - needed("bfloat16") == pytest.approx(80 * GIB, rel=0.01)
