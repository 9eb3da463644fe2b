"""A checkpoint's config.json, whatever names its architecture uses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raygang.checkpoint._llama import LlamaShape
from raygang.spec import UserError

ENGINE_DTYPES = ("float32", "float16", "bfloat16")  # what vLLM 0.32 computes in
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts")


def read_config(directory: Path) -> dict[str, Any]:
    """The checkpoint's config.json, with its text part on top where the model has several.

    Raises:
        UserError: it is missing or not what it should be.
    """
    path = directory / "config.json"
    try:
        config = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        what = "no config.json in it" if directory.is_dir() else "no such directory"
        hint = "model.source has to name the directory of a Hugging Face checkpoint (config.json, *.safetensors)"
        raise UserError(f"{directory}: {what}", hint=hint) from None
    except (OSError, ValueError, RecursionError) as e:
        raise UserError(f"{path}: not a model's config: {e}") from None
    if not isinstance(config, dict):
        raise UserError(f"{path}: not a model's config: a {type(config).__name__}, not a mapping")
    return {**config, **(config.get("text_config") or {})}


@dataclass(frozen=True)
class Config:
    """Reads a config; `path` is for messages."""

    path: Path
    values: Mapping[str, Any]

    def integer(self, *names: str, default: int | None = None) -> int:
        """A whole number above zero, under any of the names that architectures use."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
            if value is not None:
                raise UserError(f"{self.path}: {name} is {value!r}, not a whole number above zero")
        if default is None:
            hint = "is this the config of a language model's checkpoint?"
            raise UserError(f"{self.path}: {names[0]} is missing", hint=hint)
        return default

    def shape(self) -> LlamaShape:
        """The numbers that sizes follow from."""
        hidden, heads = self.integer("hidden_size", "n_embd"), self.integer("num_attention_heads", "n_head")
        return LlamaShape(
            layers=self.integer("num_hidden_layers", "n_layer"),
            hidden=hidden,
            intermediate=self.integer("intermediate_size", "n_inner", default=4 * hidden),
            heads=heads,
            kv_heads=self.integer("num_key_value_heads", default=heads),
            head_dim=self.integer("head_dim", default=max(1, hidden // heads)),
            vocab=self.integer("vocab_size"),
            tied=bool(self.values.get("tie_word_embeddings", False)),
        )

    def max_position(self) -> int:
        return self.integer("max_position_embeddings", "n_positions", default=0)

    def architecture(self) -> str:
        names = self.values.get("architectures")
        return str(names[0]) if isinstance(names, list) and names else "unknown"

    def dtype(self) -> str | None:
        name = self.values.get("dtype") or self.values.get("torch_dtype")
        name = str(name).removeprefix("torch.")
        return name if name in ENGINE_DTYPES else None

    def quantization(self) -> str | None:
        found = self.values.get("quantization_config")
        method = found.get("quant_method") if isinstance(found, dict) else None
        return str(method) if method else None

    def experts(self) -> int:
        return next((v for n in _EXPERTS if isinstance(v := self.values.get(n), int) and v > 0), 0)

    def notes(self, *, has_weights: bool, other_tower: bool) -> Iterator[str]:
        """What the numbers leave out."""
        if not has_weights and self.experts():
            yield "a mixture of experts without weights here: the config gives too small a size"
        if not has_weights and self.quantization():
            yield "quantised, without weights here: the config gives too large a size"
        if other_tower:
            yield "not only a language model: the size of its other parts is shared out like the last layer's"
        if "kv_lora_rank" in self.values:
            yield "multi-head latent attention: the KV cache is smaller than shown"
        if self._windowed():
            yield "sliding window or hybrid attention: the KV cache is smaller than shown for long requests"

    def _windowed(self) -> bool:
        kinds = self.values.get("layer_types")
        if isinstance(kinds, list):
            return any(kind != "full_attention" for kind in kinds)
        return bool(self.values.get("sliding_window")) and self.values.get("use_sliding_window") is not False
