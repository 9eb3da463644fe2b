"""A checkpoint's sizes from its own files, and what is wrong with files that are not whole."""

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raygang.checkpoint import checkpoint_from_config, read_checkpoint
from raygang.spec import UserError
from tests.support.tiny import make_tiny_llama

LLAMA_70B = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
    "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "torch_dtype": "bfloat16",
    "max_position_embeddings": 131072,
}  # fmt: skip
DENSE = {**LLAMA_70B, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "vocab_size": 100}  # fmt: skip


@pytest.fixture
def model(tmp_path: Path, tiny: Path) -> Path:
    return Path(shutil.copytree(tiny, tmp_path / "model"))


def edit(model: Path, **values: Any) -> None:
    config = json.loads((model / "config.json").read_text()) | values
    (model / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v is not ...}))


def split(model: Path, *, index: bool) -> list[Path]:
    """Two shards instead of one file."""
    from safetensors.numpy import load_file, save_file

    tensors = load_file(model / "model.safetensors")
    (model / "model.safetensors").unlink()
    files = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    places = {name: files[i % 2] for i, name in enumerate(tensors)}
    for file in files:
        save_file({n: t for n, t in tensors.items() if places[n] == file}, model / file)
    if index:
        (model / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return [model / f for f in files]


def drop_head(model: Path) -> None:
    from safetensors.numpy import load_file, save_file

    tensors = load_file(model / "model.safetensors")
    del tensors["lm_head.weight"]
    save_file(tensors, model / "model.safetensors")


def save(path: Path, header: bytes, data: bytes = b"") -> None:
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


def test_a_published_model_has_its_published_size() -> None:
    c = checkpoint_from_config(LLAMA_70B)
    assert c.total_bytes == 2 * 70_553_706_496  # parameters of Llama 3 70B, as its model card's safetensors say
    assert c.kv_bytes_per_token() == 2 * 80 * 8 * 128 * 2
    assert (c.sizes_from, c.path, c.notes) == ("config", None, ())


def test_headers_and_config_agree(model: Path) -> None:
    stored = read_checkpoint(model)
    (model / "model.safetensors").unlink()
    expected = read_checkpoint(model)
    assert (stored.sizes_from, expected.sizes_from) == ("safetensors headers", "config")
    for field in ("layer_bytes", "layer_parts", "embedding_bytes", "head_bytes", "other_parts", "total_bytes"):
        assert getattr(stored, field) == getattr(expected, field)


def test_sizes_add_up_to_the_file(model: Path) -> None:
    c = read_checkpoint(model)
    header = struct.unpack("<Q", (model / "model.safetensors").read_bytes()[:8])[0]
    assert c.total_bytes == (model / "model.safetensors").stat().st_size - 8 - header
    assert len(set(c.layer_bytes)) == 1


@pytest.mark.parametrize("index", [True, False])
def test_shards_are_one_checkpoint(model: Path, index: bool) -> None:
    whole = read_checkpoint(model)
    split(model, index=index)
    assert read_checkpoint(model) == whole


def test_a_second_copy_beside_the_weights_is_not_counted(model: Path) -> None:
    whole = read_checkpoint(model)
    shutil.copy(model / "model.safetensors", model / "consolidated.safetensors")
    assert read_checkpoint(model).total_bytes == whole.total_bytes


def test_a_head_counts_when_it_is_stored_whatever_the_config_says(model: Path) -> None:
    untied = read_checkpoint(model)
    edit(model, tie_word_embeddings=True)
    assert read_checkpoint(model) == untied
    drop_head(model)
    tied = read_checkpoint(model)
    assert (tied.tied_embeddings, tied.head_bytes) == (True, 0)
    assert untied.total_bytes - tied.total_bytes == untied.head_bytes == untied.embedding_bytes


def test_the_weights_tell_the_type_that_the_config_does_not(tmp_path: Path) -> None:
    model = make_tiny_llama(tmp_path / "m", layers=1, dtype="bfloat16")
    edit(model, dtype=...)
    assert read_checkpoint(model).dtype == "bfloat16"


def test_layers_of_another_tower_are_not_the_decoders(model: Path) -> None:
    from safetensors.numpy import load_file, save_file

    before = read_checkpoint(model)
    tensors = load_file(model / "model.safetensors")
    extra = tensors["model.layers.0.mlp.up_proj.weight"]
    save_file({**tensors, "vision_tower.encoder.layers.0.mlp.fc1.weight": extra}, model / "model.safetensors")
    after = read_checkpoint(model)
    assert after.layer_parts == before.layer_parts
    assert after.other_bytes - before.other_bytes == extra.nbytes
    assert "not only a language model" in after.notes[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_local_experts": 8}, "mixture of experts"),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantised"),
        ({"kv_lora_rank": 512}, "latent attention"),
        ({"sliding_window": 4096}, "sliding window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding window"),
    ],
)
def test_what_is_not_modelled_is_said(change: dict[str, Any], words: str) -> None:
    assert words in checkpoint_from_config({**DENSE, **change}).notes[0]


@pytest.mark.parametrize(
    "change",
    [
        {"sliding_window": None},
        {"sliding_window": 4096, "use_sliding_window": False},
        {"layer_types": ["full_attention"] * 2, "sliding_window": 4096},
        {"quantization_config": None},
        {"num_local_experts": None},
    ],
)
def test_nothing_is_said_where_nothing_is_left_out(change: dict[str, Any]) -> None:
    assert checkpoint_from_config({**DENSE, **change}).notes == ()


def test_the_text_part_of_a_config_counts(model: Path) -> None:
    before = read_checkpoint(model)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({"architectures": ["Some"], "text_config": config}))
    assert read_checkpoint(model).layers == before.layers


def test_the_kv_cache_has_the_type_that_is_asked_for() -> None:
    c = checkpoint_from_config(DENSE)
    assert c.kv_bytes_per_token("auto") == 2 * c.kv_bytes_per_token("fp8") == c.kv_bytes_per_token("float32") // 2
    with pytest.raises(UserError, match="size of 'int3'"):
        c.kv_bytes_per_token("int3")


def cut(path: Path, size: int) -> None:
    with path.open("r+b") as f:
        f.truncate(size)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no directory": (shutil.rmtree, "no such directory"),
    "no config": (lambda m: (m / "config.json").unlink(), "no config.json in it"),
    "a config that is no JSON": (lambda m: (m / "config.json").write_text("{"), "not a model's config"),
    "a config that is no text": (lambda m: (m / "config.json").write_bytes(b"\xff\xfe{}"), "not a model's config"),
    "a config that is a list": (lambda m: (m / "config.json").write_text("[]"), "a list, not a mapping"),
    "a key is missing": (lambda m: edit(m, hidden_size=...), "hidden_size is missing"),
    "a key is no number": (lambda m: edit(m, num_hidden_layers="2"), "num_hidden_layers is '2', not a whole number"),
    "more layers than weights": (lambda m: edit(m, num_hidden_layers=3), "the weights have none of layer 2"),
    "an empty file": (lambda m: cut(m / "model.safetensors", 0), "cut off in its header (0 bytes)"),
    "cut off in the header": (lambda m: cut(m / "model.safetensors", 100), "cut off in its header (100 bytes)"),
    "cut off in the data": (
        lambda m: cut(m / "model.safetensors", (m / "model.safetensors").stat().st_size - 5),
        "cut off, 5 of",
    ),
    "a header that is no JSON": (lambda m: save(m / "model.safetensors", b"{nonsense"), "its header is damaged"),
    "a header without offsets": (lambda m: save(m / "model.safetensors", b'{"a": {}}'), "its header is damaged"),
    "a header that is a list": (lambda m: save(m / "model.safetensors", b"[]"), "its header is damaged"),
    "a missing shard": (
        lambda m: split(m, index=True)[1].unlink(),
        "the index names model-00002-of-00002.safetensors, which is not there",
    ),
    "a missing shard, without an index": (
        lambda m: split(m, index=False)[0].unlink(),
        "it has model-00001-of-00002.safetensors, which is not there",
    ),
    "an index that is none": (
        lambda m: (m / "model.safetensors.index.json").write_text('{"weight_map": 3}'),
        "not an index",
    ),
    "an index with a tensor that no file has": (
        lambda m: (m / "model.safetensors.index.json").write_text('{"weight_map": {"x": "model.safetensors"}}'),
        "the index names the tensor x, and no file has it",
    ),
}


@pytest.mark.parametrize(("damage", "words"), BROKEN.values(), ids=BROKEN)
def test_a_checkpoint_that_is_not_whole(model: Path, damage: Callable[[Path], object], words: str) -> None:
    damage(model)
    with pytest.raises(UserError) as e:
        read_checkpoint(model)
    assert words in e.value.message
    assert str(model) in e.value.message
    assert e.value.exit_code == 2
