"""GGUF files for tests, written with llama.cpp's own writer from a tiny checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import load_file

TOP = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
LAYER = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"

MERGED = ["12", "ab"]

Arrays = dict[str, np.ndarray[Any, Any]]


def write_gguf(
    path: Path,
    checkpoint: Path,
    *,
    architecture: str = "llama",
    pre: str = "smollm",
    extra: Callable[[gguf.GGUFWriter], None] | None = None,
    change: Callable[[Arrays], None] | None = None,
    kind: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.F32,
) -> Path:
    """As llama.cpp's conversion of `checkpoint` would. `change` gets the tensors by their GGUF names."""
    config = json.loads((checkpoint / "config.json").read_text())
    writer = gguf.GGUFWriter(path, architecture)
    _metadata(writer, config)
    _tokenizer(writer, checkpoint, config, pre)
    if extra:
        extra(writer)
    tensors = _tensors(checkpoint, config)
    if change:
        change(tensors)
    for name, array in tensors.items():
        if array.ndim == 1 or kind == gguf.GGMLQuantizationType.F32:
            writer.add_tensor(name, array)
        else:
            writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_enormous_gguf(path: Path, checkpoint: Path, rows: int) -> Path:
    """A whole and sparse file whose embedding has that many rows."""
    config = json.loads((checkpoint / "config.json").read_text())
    writer = gguf.GGUFWriter(path, "llama")
    _metadata(writer, config)
    _tokenizer(writer, checkpoint, config, "smollm")
    tensors = _tensors(checkpoint, config)
    del tensors["output.weight"]
    for name, array in tensors.items():
        shape = (rows, array.shape[1]) if name == "token_embd.weight" else array.shape
        writer.add_tensor_info(name, shape, np.dtype(np.float32), int(np.prod(shape, dtype=np.int64)) * 4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as f:
        f.truncate(path.stat().st_size + rows * config["hidden_size"] * 4 + 2**28)
    return path


def _metadata(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])


def _tokenizer(writer: gguf.GGUFWriter, checkpoint: Path, config: dict[str, Any], pre: str) -> None:
    vocabulary = json.loads((checkpoint / "tokenizer.json").read_text())["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    tokens[-2:] = MERGED
    control = [3 if token.startswith("<|") else 1 for token in tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(control)
    writer.add_token_merges([" ".join(token) for token in MERGED])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_eot_token_id(258)
    writer.add_chat_template(TEMPLATE)


def _tensors(checkpoint: Path, config: dict[str, Any]) -> Arrays:
    found = {}
    for name, array in load_file(checkpoint / "model.safetensors").items():
        stem = name.removesuffix(".weight")
        if stem in TOP:
            found[f"{TOP[stem]}.weight"] = array
            continue
        _, _, layer, part = stem.split(".", 3)
        heads = {"self_attn.q_proj": "num_attention_heads", "self_attn.k_proj": "num_key_value_heads"}.get(part)
        found[f"blk.{layer}.{LAYER[part]}.weight"] = _permute(array, config[heads]) if heads else array
    return found


def _permute(array: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """llama.cpp's own (convert_hf_to_gguf.py, LlamaModel.permute)."""
    shape = (heads, 2, array.shape[0] // heads // 2, *array.shape[1:])
    return np.ascontiguousarray(array.reshape(shape).swapaxes(1, 2).reshape(array.shape))
