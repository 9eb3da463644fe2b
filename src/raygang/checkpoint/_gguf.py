"""GGUF to a Hugging Face checkpoint that vLLM loads: dequantised, tensor by tensor."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raygang.spec import UserError

if TYPE_CHECKING:
    import numpy as np
    from gguf import GGUFReader, ReaderTensor

Progress = Callable[[str, int, int], None]  # what, bytes done, bytes in all

# llama.cpp's names -> Hugging Face's, for the architectures that this knows.
LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TOP_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
SUPPORTED = ("llama",)


def open_gguf(path: Path) -> GGUFReader:
    """Open a GGUF file of an architecture that can be converted.

    Raises:
        UserError: it is none, cut off, or of another architecture.
    """
    from gguf import GGUFReader

    with path.open("rb") as f:
        if f.read(4) != b"GGUF":
            raise UserError(f"{path}: not a GGUF file")
    try:
        reader = GGUFReader(path)
        architecture = str(reader.fields["general.architecture"].contents())
    except (ValueError, IndexError, KeyError, OverflowError) as e:
        raise UserError(f"{path}: a damaged or cut off GGUF file ({e})", hint="copy or download it again") from None
    if architecture not in SUPPORTED:
        raise UserError(
            f"{path}: a GGUF of architecture {architecture!r}; only {', '.join(SUPPORTED)} can be converted",
            hint="use the model's Hugging Face checkpoint (a directory or org/name)",
        )
    return reader


def converted_bytes(reader: GGUFReader, element: int) -> int:
    """Size of the converted weights."""
    return sum(int(t.n_elements) * element for t in reader.tensors)


def convert(path: Path, target: Path, dtype: str, progress: Progress) -> None:
    """Write weights, config and tokenizer of a GGUF file into the directory `target`."""
    import torch
    from safetensors.torch import save_file

    reader = open_gguf(path)
    config = _config(reader, path)
    kind = getattr(torch, dtype)
    total = converted_bytes(reader, kind.itemsize)
    tensors, done = {}, 0
    for name, array in _tensors(reader, config, path):
        tensors[name] = torch.from_numpy(array).to(kind).contiguous()
        done += tensors[name].nbytes
        progress(f"converting {path.name}", done, total)
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    config |= {"dtype": dtype, "tie_word_embeddings": "lm_head.weight" not in tensors}
    config["vocab_size"] = tensors["model.embed_tokens.weight"].shape[0]
    (target / "config.json").write_text(json.dumps(config, indent=1))
    ends = {"bos_token_id": config["bos_token_id"], "eos_token_id": [config["eos_token_id"]]}
    (target / "generation_config.json").write_text(json.dumps(ends))
    _tokenizer(path, target)


def _config(reader: GGUFReader, path: Path) -> dict[str, Any]:
    def value(name: str, default: Any = None) -> Any:
        field = reader.fields.get(name)
        if field is None and default is None:
            raise UserError(f"{path}: the GGUF file has no {name}")
        return field.contents() if field is not None else default

    heads = value("llama.attention.head_count")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": value("llama.embedding_length"),
        "intermediate_size": value("llama.feed_forward_length"),
        "num_hidden_layers": value("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": value("llama.attention.head_count_kv", heads),
        "max_position_embeddings": value("llama.context_length"),
        "rms_norm_eps": round(value("llama.attention.layer_norm_rms_epsilon"), 9),
        "rope_theta": float(value("llama.rope.freq_base", 10000.0)),
        "hidden_act": "silu",
        "attention_bias": False,
        "bos_token_id": value("tokenizer.ggml.bos_token_id", 1),
        "eos_token_id": value("tokenizer.ggml.eos_token_id", 2),
        "pad_token_id": value("tokenizer.ggml.padding_token_id", value("tokenizer.ggml.eos_token_id", 2)),
    }


def _tensors(reader: GGUFReader, config: dict[str, Any], path: Path) -> Iterator[tuple[str, np.ndarray]]:
    from gguf.quants import dequantize

    for tensor in reader.tensors:
        try:
            array = dequantize(tensor.data, tensor.tensor_type).copy()
        except NotImplementedError:
            kind = tensor.tensor_type.name
            raise UserError(
                f"{path}: tensors of type {kind} cannot be dequantised", hint="use another quantisation"
            ) from None
        name = _name(tensor, path)
        if ".q_proj" in name or ".k_proj" in name:
            array = _deinterleave(array, config["num_attention_heads" if ".q_proj" in name else "num_key_value_heads"])
        yield name, array


def _name(tensor: ReaderTensor, path: Path) -> str:
    stem = tensor.name.removesuffix(".weight")
    if stem in TOP_NAMES:
        return f"{TOP_NAMES[stem]}.weight"
    _, _, rest = stem.partition("blk.")
    layer, _, part = rest.partition(".")
    if part not in LAYER_NAMES:
        raise UserError(f"{path}: unknown tensor {tensor.name}", hint="use the model's Hugging Face checkpoint")
    return f"model.layers.{layer}.{LAYER_NAMES[part]}.weight"


def _deinterleave(array: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp interleaves the two halves of the rotary dimensions; undo it."""
    halves = array.reshape(heads, array.shape[0] // heads // 2, 2, array.shape[1])
    return halves.swapaxes(1, 2).reshape(array.shape).copy()


def _tokenizer(path: Path, target: Path) -> None:
    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(target)
