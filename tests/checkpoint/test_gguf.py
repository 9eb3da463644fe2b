"""GGUF files become checkpoints with the same weights, or are refused with a reason."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from raygang.checkpoint._gguf import open_gguf
from raygang.checkpoint._gguf_config import _llama3
from raygang.checkpoint._write import encode, total_bytes, write_safetensors
from raygang.spec import UserError
from tests.checkpoint.gguf_files import Arrays, write_gguf


def weights(path: Path, target: Path) -> Arrays:
    """What a conversion writes."""
    file = open_gguf(path)
    written = list(write_safetensors(target, file.shapes, "float32", file.pieces()))
    assert written[-1] == total_bytes(file.shapes, "float32")
    return load_file(target)


def test_the_weights_come_back_as_they_were(tmp_path: Path, tiny: Path, tiny_gguf: Path) -> None:
    before, after = load_file(tiny / "model.safetensors"), weights(tiny_gguf, tmp_path / "w")
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name], err_msg=name)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_1"])
def test_quantised_weights_come_back_as_gguf_dequantises_them(tmp_path: Path, tiny: Path, kind: str) -> None:
    quant = gguf.GGMLQuantizationType[kind]
    after = weights(write_gguf(tmp_path / "q.gguf", tiny, kind=quant), tmp_path / "w")
    before = load_file(tiny / "model.safetensors")
    name = "model.layers.1.mlp.down_proj.weight"
    expected = dequantize(gguf.quants.quantize(before[name], quant), quant)
    np.testing.assert_array_equal(after[name], expected)
    error = np.abs(after["model.layers.0.self_attn.q_proj.weight"] - before["model.layers.0.self_attn.q_proj.weight"])
    assert error.max() < 0.15, "rows in the right order"


def test_large_tensors_are_converted_in_pieces(
    tmp_path: Path, tiny: Path, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raygang.checkpoint._gguf.PIECE", 1000)
    file = open_gguf(tiny_gguf)
    assert max(piece.size for piece in file.pieces()) <= 32 * 128, "one head of the queries"
    after = weights(tiny_gguf, tmp_path / "w")
    for name, array in load_file(tiny / "model.safetensors").items():
        np.testing.assert_array_equal(array, after[name], err_msg=name)


upper = st.integers(0, 2**16 - 1)
lower = st.sampled_from([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF])  # around the middle: ties are what differs


@given(st.lists(st.builds(lambda u, low: (u << 16) | low, upper, lower), min_size=1, max_size=50))
def test_bfloat16_is_rounded_as_torch_rounds(bits: list[int]) -> None:
    import torch

    values = np.array(bits, dtype=np.uint32).view(np.float32)
    theirs = torch.from_numpy(values.copy()).to(torch.bfloat16)
    ours = torch.frombuffer(bytearray(encode(values, "bfloat16")), dtype=torch.bfloat16)
    assert torch.equal(torch.isnan(theirs), torch.isnan(ours))
    assert torch.equal(theirs.nan_to_num(), ours.nan_to_num())


def test_the_config_says_what_the_metadata_says(tiny: Path, tiny_gguf: Path) -> None:
    before, after = json.loads((tiny / "config.json").read_text()), open_gguf(tiny_gguf).config
    same = before.keys() - {"dtype", "eos_token_id", "pad_token_id"}
    assert {k: after[k] for k in same} == {k: before[k] for k in same}
    assert after["head_dim"] == 32
    assert after["eos_token_id"] == [257, 258], "the end of a turn ends an answer, too"


def test_a_tied_model_has_no_head(tmp_path: Path, tiny: Path) -> None:
    path = write_gguf(tmp_path / "tied.gguf", tiny, change=lambda tensors: tensors.__delitem__("output.weight"))
    assert open_gguf(path).config["tie_word_embeddings"] is True


def test_linear_rotary_scaling_is_kept(tmp_path: Path, tiny: Path) -> None:
    def scaled(writer: gguf.GGUFWriter) -> None:
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(4.0)

    config = open_gguf(write_gguf(tmp_path / "linear.gguf", tiny, extra=scaled)).config
    assert config["rope_scaling"] == {"rope_type": "linear", "factor": 4.0}


def llama3_factors(factor: float, theta: float, head_dim: int) -> list[float]:
    """As llama.cpp's conversion computes them (convert_hf_to_gguf.py, LlamaModel.generate_extra_tensors)."""
    found = []
    for i in range(0, head_dim, 2):
        wavelen = 2 * math.pi * theta ** (i / head_dim)
        if wavelen < 8192 / 4:
            found.append(1.0)
        elif wavelen > 8192 / 1:
            found.append(factor)
        else:
            smooth = (8192 / wavelen - 1) / (4 - 1)
            found.append(1 / ((1 - smooth) / factor + smooth))
    return found


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama_3s_rotary_scaling_is_recognised(tmp_path: Path, tiny: Path, factor: float) -> None:
    factors = np.array(llama3_factors(factor, 500000.0, 128), dtype=np.float32)
    scaling = _llama3(factors.tolist(), 500000.0, 128)
    assert scaling == {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    assert _llama3([*factors[:-1].tolist(), 3.0], 500000.0, 128) is None


def test_unknown_rotary_factors_are_refused(tmp_path: Path, tiny: Path) -> None:
    def add(tensors: Arrays) -> None:
        tensors["rope_freqs.weight"] = np.linspace(1, 5, 16, dtype=np.float32)

    with pytest.raises(UserError, match=r"rope_freqs\.weight are not Llama 3's"):
        open_gguf(write_gguf(tmp_path / "odd.gguf", tiny, change=add))


Extra = Callable[[gguf.GGUFWriter], None]
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another architecture": (
        {"architecture": "qwen2"},
        "a GGUF of architecture 'qwen2'; only llama can be converted",
    ),
    "a mixture of experts": ({"extra": lambda w: w.add_expert_count(8)}, "a mixture of experts"),
    "one of several files": ({"extra": lambda w: w.add_uint16("split.count", 3)}, "one of several files"),
    "yarn": (
        {"extra": lambda w: w.add_rope_scaling_type(gguf.RopeScalingType.YARN)},
        "rotary scaling of type yarn",
    ),
    "a part of each head rotated": ({"extra": lambda w: w.add_rope_dimension_count(16)}, "a part of each head"),
    "an unknown way to split text": ({"pre": "martian"}, "it splits text by 'martian'"),
    "a missing tensor": (
        {"change": lambda t: t.__delitem__("blk.1.attn_k.weight")},
        "1 tensors are missing, model.layers.1.self_attn.k_proj.weight for one",
    ),
    "a bias": (
        {"change": lambda t: t.update({"blk.0.attn_q.bias": np.zeros(128, np.float32)})},
        "no conversion is known for its tensor blk.0.attn_q.bias",
    ),
    "a tensor of another shape": (
        {"change": lambda t: t.update({"blk.0.ffn_up.weight": np.zeros((3, 128), np.float32)})},
        "model.layers.0.mlp.up_proj.weight has shape (3, 128); by its own metadata (256, 128)",
    ),
}


@pytest.mark.parametrize(("options", "words"), REFUSED.values(), ids=REFUSED)
def test_what_would_come_out_wrong_is_refused(tmp_path: Path, tiny: Path, options: Any, words: str) -> None:
    path = write_gguf(tmp_path / "other.gguf", tiny, **options)
    with pytest.raises(UserError) as e:
        open_gguf(path)
    assert words in e.value.message
    assert str(path) in e.value.message
    assert e.value.hint


@pytest.mark.parametrize("content", [b"", b"GG", b"{}", b"PK\x03\x04 a zip"])
def test_what_is_no_gguf_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.gguf").write_bytes(content)
    with pytest.raises(UserError, match="not a GGUF file"):
        open_gguf(tmp_path / "x.gguf")


def test_a_gguf_of_an_unknown_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + (99).to_bytes(4, "little") + bytes(64))
    with pytest.raises(UserError, match="version 99"):
        open_gguf(tmp_path / "x.gguf")


@given(part=st.floats(0, 1, exclude_max=True))
def test_a_gguf_that_is_cut_off_anywhere_is_refused(
    tmp_path_factory: pytest.TempPathFactory, tiny_gguf: Path, part: float
) -> None:
    whole = tiny_gguf.read_bytes()
    path = tmp_path_factory.mktemp("cut") / "cut.gguf"
    path.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(UserError):
        open_gguf(path)


@given(size=st.integers(0, 12000))
def test_a_gguf_that_is_cut_off_in_its_metadata_is_refused(
    tmp_path_factory: pytest.TempPathFactory, tiny_gguf: Path, size: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "cut.gguf"
    path.write_bytes(tiny_gguf.read_bytes()[:size])
    with pytest.raises(UserError):
        open_gguf(path)
