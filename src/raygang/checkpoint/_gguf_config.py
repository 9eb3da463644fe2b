"""The config.json that a GGUF's metadata amounts to (architecture llama, llama.cpp's keys as of GGUF version 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raygang.checkpoint._llama import LlamaShape
from raygang.spec import UserError

if TYPE_CHECKING:
    from gguf import GGUFReader

ELSE = "use the model's Hugging Face checkpoint (a directory or org/name)"


class Metadata:
    """Reads typed values; what is missing or of another type is the file's fault."""

    def __init__(self, reader: GGUFReader, path: Path) -> None:
        self._fields = reader.fields
        self._path = path

    def get(self, key: str) -> Any:
        field = self._fields.get(key)
        return None if field is None else field.contents()

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number above zero, the same for all layers."""
        value = self.get(key)
        if isinstance(value, list) and len(set(value)) == 1:
            value = value[0]
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or value <= 0:
            raise self.wrong(f"{key} is {'missing' if value is None else value}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong(f"{key} is {'missing' if value is None else value}")
        return float(value)

    def token(self, name: str) -> int | None:
        value = self.get(f"tokenizer.ggml.{name}_token_id")
        return value if isinstance(value, int) else None

    def wrong(self, what: str) -> UserError:
        return UserError(f"{self._path}: no conversion is known for this GGUF: {what}", hint=ELSE)


def config_of(reader: GGUFReader, path: Path) -> dict[str, Any]:
    """All but `vocab_size`, `tie_word_embeddings` and `dtype`.

    Raises:
        UserError: something is missing, or would be lost.
    """
    data = Metadata(reader, path)
    _refuse(data)
    heads, hidden = data.whole("llama.attention.head_count"), data.whole("llama.embedding_length")
    head_dim = data.whole("llama.attention.key_length", hidden // heads)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": data.whole("llama.feed_forward_length"),
        "num_hidden_layers": data.whole("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": data.whole("llama.attention.head_count_kv", heads),
        "head_dim": head_dim,
        "max_position_embeddings": data.whole("llama.context_length"),
        "rms_norm_eps": round(data.number("llama.attention.layer_norm_rms_epsilon"), 9),
        "hidden_act": "silu",
        "attention_bias": False,
    }
    return config | _rope(data, reader, head_dim) | _ends(data)


def shape_of(config: dict[str, Any]) -> LlamaShape:
    return LlamaShape(
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        intermediate=config["intermediate_size"],
        heads=config["num_attention_heads"],
        kv_heads=config["num_key_value_heads"],
        head_dim=config["head_dim"],
        vocab=config["vocab_size"],
        tied=config["tie_word_embeddings"],
    )


def _refuse(data: Metadata) -> None:
    """What is a llama to llama.cpp and more than that to others."""
    if (data.get("split.count") or 0) > 1:
        raise data.wrong("it is one of several files; merge them first (llama-gguf-split --merge)")
    if data.get("llama.expert_count"):
        raise data.wrong("a mixture of experts")
    head = data.get("llama.attention.key_length")
    if head != data.get("llama.attention.value_length"):
        raise data.wrong("keys and values of different length")


def _ends(data: Metadata) -> dict[str, Any]:
    """Ids of the special tokens; a chat model often ends a turn with another token than a text."""
    ends = [t for name in ("eos", "eot", "eom") if (t := data.token(name)) is not None]
    if not ends:
        raise data.wrong("tokenizer.ggml.eos_token_id is missing")
    padding = data.token("padding")
    unique = list(dict.fromkeys(ends))
    return {
        "bos_token_id": data.token("bos"),
        "eos_token_id": unique[0] if len(unique) == 1 else unique,
        "pad_token_id": unique[0] if padding is None else padding,
    }


def _rope(data: Metadata, reader: GGUFReader, head_dim: int) -> dict[str, Any]:
    if data.whole("llama.rope.dimension_count", head_dim) != head_dim:
        raise data.wrong("rotary embedding of a part of each head")
    theta = data.number("llama.rope.freq_base", 10000.0)
    factors = next((t.data.tolist() for t in reader.tensors if t.name == "rope_freqs.weight"), None)
    kind, scale = data.get("llama.rope.scaling.type"), data.number("llama.rope.scale_linear", 1.0)
    if factors is not None:
        scaling = _llama3(factors, theta, head_dim)
        if scaling is None:
            raise data.wrong("rope_freqs.weight are not Llama 3's")
        return {"rope_theta": theta, "rope_scaling": scaling}
    if kind == "linear" or (kind is None and scale != 1.0):
        factor = data.number("llama.rope.scaling.factor", scale)
        return {"rope_theta": theta, "rope_scaling": {"rope_type": "linear", "factor": factor}}
    if kind not in (None, "none"):
        raise data.wrong(f"rotary scaling of type {kind}")
    return {"rope_theta": theta}


def _llama3(factors: Sequence[float], theta: float, head_dim: int) -> dict[str, Any] | None:
    """Llama 3's scaling from the divisors that llama.cpp stores; None when they are not those.

    All of Meta's models have these limits and this original length; only the factor differs.
    """
    factor, low, high, original = round(max(factors), 3), 1.0, 4.0, 8192
    for i, found in enumerate(factors):
        turns = original / (2 * math.pi * theta ** (2 * i / head_dim))  # within the original length
        smooth = min(max((turns - low) / (high - low), 0.0), 1.0)
        if not math.isclose(found, 1 / ((1 - smooth) / factor + smooth), rel_tol=1e-3):
            return None
    return {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": original,
    }
