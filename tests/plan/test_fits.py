"""What a machine cannot take: how much is needed, which limit, what to change."""

from dataclasses import replace
from typing import Any

import pytest

from raygang.checkpoint import checkpoint_from_config
from raygang.hardware import Gpu, Machine
from raygang.plan import Plan, fits_machine, memory_needed, plan
from raygang.spec import Spec, SpecError, UserError

GIB = 2**30
CONFIG = {
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "dtype": "bfloat16",
}  # fmt: skip
HERE = Machine("h", "Linux", 8, 64 * GIB, 64 * GIB)


def made(accelerator: str = "cpu", replicas: int = 1, count: int = 2, **args: Any) -> Plan:
    spec = Spec.model_validate(
        {
            "name": "x",
            "model": {"source": "a/b"},
            "replicas": replicas,
            "parallelism": {"tensor": 1, "pipeline": count},
            "nodes": {"count": count, "accelerator": accelerator},
            "engine": {"args": args},
        }
    )
    return plan(spec, checkpoint_from_config(CONFIG))


def gpus(number: int, gib: int) -> Machine:
    return replace(HERE, gpus=tuple(Gpu(i, "H200", gib * GIB) for i in range(number)))


def test_the_message_has_the_parts_and_how_many_ranks_there_is_room_for() -> None:
    with pytest.raises(UserError) as e:
        fits_machine(made(), replace(HERE, memory_available_bytes=12 * GIB))
    for words in (
        "2 ranks on 2 nodes need about",
        "12.0 GiB are available: room for 1 such rank.",
        "weights 7.5 GiB, KV cache 0.2 GiB, the engine itself 0.6 GiB",
    ):
        assert words in e.value.message
    assert "use fewer ranks" in (e.value.hint or "")


def test_where_not_even_one_rank_fits_fewer_are_no_help() -> None:
    with pytest.raises(UserError, match="room for 0 such ranks") as e:
        fits_machine(made(), replace(HERE, memory_available_bytes=GIB))
    assert "fewer ranks" not in (e.value.hint or "")


def test_what_is_needed_is_enough() -> None:
    found = made()
    fits_machine(found, replace(HERE, memory_available_bytes=memory_needed(found)))
    with pytest.raises(UserError):
        fits_machine(found, replace(HERE, memory_available_bytes=memory_needed(found) - 1))


def test_a_cpu_without_bfloat16_computes_in_float32() -> None:
    weights = sum(rank.weight_bytes for rank in made().ranks)
    assert memory_needed(made(), cpu_bfloat16=False) - memory_needed(made()) == weights
    asked = made(dtype="bfloat16")
    assert memory_needed(asked, cpu_bfloat16=False) == memory_needed(asked)


def test_each_replica_needs_as_much() -> None:
    assert memory_needed(made(replicas=3)) == 3 * memory_needed(made())


@pytest.mark.parametrize("replicas", [1, 2])
def test_more_ranks_than_gpus(replicas: int) -> None:
    with pytest.raises(UserError, match=rf"has {2 * replicas} ranks, one GPU each, and this machine has 1"):
        fits_machine(made("auto", replicas), gpus(1, 141))


def test_weights_that_do_not_fit_a_gpu() -> None:
    fits_machine(made("auto"), gpus(2, 16))
    with pytest.raises(UserError, match=r"rank 0 holds 7\.\d GiB of weights, and GPU 0 \(H200\) has 8\.0 GiB, .* 92%"):
        fits_machine(made("auto"), gpus(2, 8))
    with pytest.raises(UserError, match="50%"):
        fits_machine(made("auto", gpu_memory_utilization=0.5), gpus(2, 12))


@pytest.mark.parametrize(
    ("args", "machine"),
    [({"kv_cache_memory_bytes": "128Mi"}, HERE), ({"gpu_memory_utilization": "high"}, gpus(2, 141))],
)
def test_a_number_that_is_none_is_blamed_on_its_field(args: dict[str, Any], machine: Machine) -> None:
    with pytest.raises(SpecError, match=rf"engine\.args\.{next(iter(args))}: must be a number above zero"):
        fits_machine(made("auto", **args), machine)
