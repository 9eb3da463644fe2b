"""Sizes come from the files, and every byte is on some rank."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raygang.checkpoint import Checkpoint, divisors, pipeline_layers, rank_shares, read_checkpoint
from raygang.spec import UserError
from tests.support.tiny import make_tiny_llama

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2,
    "num_hidden_layers": 6, "vocab_size": 1000, "intermediate_size": 128, "dtype": "bfloat16",
}  # fmt: skip


def checkpoint(directory: Path, **config: Any) -> Checkpoint:
    (directory / "config.json").write_text(json.dumps({**CONFIG, **config}))
    return read_checkpoint(directory)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_llama(tmp_path_factory.mktemp("tiny"))


def test_stored_sizes_add_up_to_the_file(tiny: Path) -> None:
    found = read_checkpoint(tiny)
    header = struct.unpack("<Q", (tiny / "model.safetensors").read_bytes()[:8])[0]
    assert found.total_bytes == (tiny / "model.safetensors").stat().st_size - 8 - header
    assert found.sizes_from == "safetensors headers"
    assert found.head_bytes == found.embedding_bytes == 320 * 128 * 4


def test_the_config_alone_gives_the_size_of_a_llama_to_the_byte(tiny: Path, tmp_path: Path) -> None:
    stored = read_checkpoint(tiny)
    (tmp_path / "config.json").write_text((tiny / "config.json").read_text())
    computed = read_checkpoint(tmp_path)
    assert computed.sizes_from == "config"
    assert computed.layer_bytes == stored.layer_bytes
    assert computed.total_bytes == stored.total_bytes


def test_kv_bytes_per_token_are_keys_and_values_of_all_layers(tmp_path: Path) -> None:
    assert checkpoint(tmp_path).kv_bytes_per_token() == 2 * 6 * 2 * 8 * 2
    assert checkpoint(tmp_path).kv_bytes_per_token("fp8") == 2 * 6 * 2 * 8


def test_a_model_with_parts_is_read_by_its_text_part(tmp_path: Path) -> None:
    inner = {k: v for k, v in CONFIG.items() if k != "architectures"}
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["Seeing"], "text_config": inner}))
    assert read_checkpoint(tmp_path).layers == 6


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (None, "no config.json in it"),
        ("{", "not a model's config"),
        ("[1]", "not a model's config: a list"),
        ({**CONFIG, "hidden_size": None}, "hidden_size is missing"),
        ({**CONFIG, "num_hidden_layers": "many"}, "num_hidden_layers is 'many', not a whole number"),
    ],
)
def test_a_config_that_cannot_be_used(tmp_path: Path, config: object, message: str) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    with pytest.raises(UserError, match=message):
        read_checkpoint(tmp_path)


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such directory"):
        read_checkpoint(tmp_path / "none")


@pytest.mark.parametrize("keep", [0, 4, 100, 100_000])
def test_weights_that_are_cut_off_are_found_without_reading_them(tiny: Path, tmp_path: Path, keep: int) -> None:
    (tmp_path / "config.json").write_text((tiny / "config.json").read_text())
    (tmp_path / "model.safetensors").write_bytes((tiny / "model.safetensors").read_bytes()[:keep])
    with pytest.raises(UserError, match="cut off"):
        read_checkpoint(tmp_path)


def test_a_damaged_header(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", 5) + b'{"a":' + b"x" * 10)
    with pytest.raises(UserError, match="header is damaged"):
        read_checkpoint(tmp_path)


def test_an_index_that_names_a_missing_shard(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    names = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(names))
    with pytest.raises(UserError, match=r"names model-1\.safetensors and 1 more, which is not there"):
        read_checkpoint(tmp_path)


sizes = st.integers(1, 12)


@given(st.integers(1, 100), sizes)
def test_each_layer_is_on_exactly_one_stage(layers: int, pipeline: int) -> None:
    if pipeline <= layers:
        stages = pipeline_layers(layers, pipeline)
        assert [i for stage in stages for i in stage] == list(range(layers))
        assert max(map(len, stages)) - min(map(len, stages)) <= 1


@given(tensor=st.sampled_from([1, 2, 4, 8]), pipeline=st.integers(1, 6), tied=st.booleans())
def test_the_ranks_hold_all_weights_and_copies_only_where_vllm_copies(tensor: int, pipeline: int, tied: bool) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        model = checkpoint(Path(directory), tie_word_embeddings=tied)
    shares = rank_shares(model, tensor, pipeline)
    assert [s.rank for s in shares] == list(range(tensor * pipeline))
    held = sum(s.weight_bytes for s in shares)
    norms = (2 * 6 + 1) * 64 * 2  # on every tensor rank
    keys_and_values = 6 * 2 * (2 * 8) * 64 * 2  # whole heads: copied when there are fewer than ranks
    padding = (1024 - 1000) * 64 * 2  # rows of the embedding and of the head
    copied = (tensor - 1) * norms + (max(tensor, 2) // 2 - 1) * keys_and_values
    copied += (model.embedding_bytes if tied and pipeline > 1 else 0) + (2 if pipeline > 1 or not tied else 1) * padding
    assert held == model.total_bytes + copied
    heads = max(1, model.kv_heads // tensor) * tensor
    assert sum(s.kv_bytes_per_token for s in shares) == model.kv_bytes_per_token(kv_heads=heads)


@pytest.mark.parametrize(
    ("tensor", "pipeline", "message", "hint"),
    [
        (3, 1, "parallelism.tensor 3 does not divide the model's 8 attention heads", "can be 1, 2, 4, 8"),
        (1, 7, "parallelism.pipeline 7 is more than the model's 6 layers", "at most 6"),
    ],
)
def test_what_cannot_be_divided_names_what_can(
    tmp_path: Path, tensor: int, pipeline: int, message: str, hint: str
) -> None:
    with pytest.raises(UserError, match=message) as e:
        rank_shares(checkpoint(tmp_path), tensor, pipeline)
    assert e.value.hint is not None
    assert hint in e.value.hint


def test_key_value_heads_that_neither_divide_nor_are_divided(tmp_path: Path) -> None:
    divides = {"vocab_size": 960, "intermediate_size": 192}  # by 3, 6 and 12 as well
    with pytest.raises(UserError, match="3 key-value heads do not divide each other") as e:
        rank_shares(checkpoint(tmp_path, num_attention_heads=12, num_key_value_heads=3, head_dim=8, **divides), 4, 1)
    assert e.value.hint is not None
    assert "can be 1, 3, 6, 12" in e.value.hint


def test_divisors() -> None:
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
