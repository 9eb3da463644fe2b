"""What a model needs, read from its own files."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from raygang.checkpoint._safetensors import Tensor, tensors_of
from raygang.spec import UserError

DTYPE_BYTES = {
    "float32": 4, "float16": 2, "bfloat16": 2, "half": 2, "float": 4,
    "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "int8": 1,
}  # fmt: skip
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")


@dataclass(frozen=True)
class Checkpoint:
    """A decoder model's shape and sizes. Sizes in bytes, as stored.

    Attributes:
        dtype: the type that its config names for the weights.
        layer_bytes: each decoder layer.
        embedding_bytes: the input embedding.
        head_bytes: the output projection; 0 when it is tied to the embedding.
        other_bytes: norms and whatever else belongs to no layer.
        sizes_from: where the sizes come from.
        notes: what is not modelled yet and would change the numbers.
    """

    path: Path
    architecture: str
    layers: int
    hidden_size: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    intermediate_size: int
    max_position: int
    dtype: str
    quantization: str | None
    tied_embeddings: bool
    layer_bytes: tuple[int, ...]
    embedding_bytes: int
    head_bytes: int
    other_bytes: int
    sizes_from: Literal["safetensors headers", "config"]
    notes: tuple[str, ...] = ()

    @property
    def total_bytes(self) -> int:
        """Bytes of all weights."""
        return sum(self.layer_bytes) + self.embedding_bytes + self.head_bytes + self.other_bytes

    def kv_bytes_per_token(
        self, kv_dtype: str = "auto", *, layers: int | None = None, kv_heads: int | None = None
    ) -> int:
        """Bytes of keys and values of one token.

        Args:
            kv_dtype: vLLM's `kv_cache_dtype`; "auto" is the model's own type.
            layers: how many of the layers; all by default.
            kv_heads: how many of the heads; all by default.
        """
        element = DTYPE_BYTES.get(self.dtype if kv_dtype == "auto" else kv_dtype, 2)
        return (
            2 * (layers if layers is not None else self.layers) * (kv_heads or self.kv_heads) * self.head_dim * element
        )


def read_checkpoint(directory: Path) -> Checkpoint:
    """Read a Hugging Face checkpoint's config and the headers of its weights.

    Raises:
        UserError: there is no usable config, or the weights are not whole.
    """
    config = read_config(directory)
    return _build(directory, config, tensors_of(directory))


def read_config(directory: Path) -> dict[str, Any]:
    """The checkpoint's config.json, of its text part where the model has several.

    Raises:
        UserError: it is missing or not what it should be.
    """
    path = directory / "config.json"
    try:
        config = json.loads(path.read_text())
    except FileNotFoundError:
        what = "no such directory" if not directory.is_dir() else "no config.json in it"
        hint = "model.source has to name the directory of a Hugging Face checkpoint (config.json, *.safetensors)"
        raise UserError(f"{directory}: {what}", hint=hint) from None
    except (OSError, ValueError) as e:
        raise UserError(f"{path}: not a model's config: {e}") from None
    if not isinstance(config, dict):
        raise UserError(f"{path}: not a model's config: a {type(config).__name__}, not a mapping")
    return {**config, **config.get("text_config", {})}


def _build(directory: Path, config: dict[str, Any], tensors: list[Tensor]) -> Checkpoint:
    get = _Getter(directory / "config.json", config)
    hidden, heads = get.integer("hidden_size", "n_embd"), get.integer("num_attention_heads", "n_head")
    layers = get.integer("num_hidden_layers", "n_layer")
    tied = bool(config.get("tie_word_embeddings", False))
    dtype = str(config.get("dtype") or config.get("torch_dtype") or "bfloat16")
    kv_heads = get.integer("num_key_value_heads", default=heads)
    head_dim = get.integer("head_dim", default=hidden // heads)
    vocab, intermediate = get.integer("vocab_size"), get.integer("intermediate_size", default=4 * hidden)
    if tensors:
        layer_bytes, embedding, head, other = _stored_sizes(tensors, layers)
    else:
        element = DTYPE_BYTES.get(dtype, 2)
        per_layer = hidden * (heads + 2 * kv_heads) * head_dim + heads * head_dim * hidden
        per_layer += 3 * hidden * intermediate + 2 * hidden
        layer_bytes = (per_layer * element,) * layers
        embedding, other = vocab * hidden * element, hidden * element
        head = 0 if tied else embedding
    return Checkpoint(
        path=directory,
        architecture=next(iter(config.get("architectures") or ["unknown"])),
        layers=layers,
        hidden_size=hidden,
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocab_size=vocab,
        intermediate_size=intermediate,
        max_position=get.integer("max_position_embeddings", "n_positions", default=0),
        dtype=dtype,
        quantization=(config.get("quantization_config") or {}).get("quant_method"),
        tied_embeddings=tied or not head,
        layer_bytes=layer_bytes,
        embedding_bytes=embedding,
        head_bytes=head,
        other_bytes=other,
        sizes_from="safetensors headers" if tensors else "config",
        notes=tuple(_notes(config, bool(tensors))),
    )


def _stored_sizes(tensors: list[Tensor], layers: int) -> tuple[tuple[int, ...], int, int, int]:
    by_layer: dict[int, int] = defaultdict(int)
    embedding = head = other = 0
    for tensor in tensors:
        match = _LAYER.search(tensor.name)
        if match and int(match[1]) < layers:
            by_layer[int(match[1])] += tensor.nbytes
        elif "lm_head" in tensor.name:
            head += tensor.nbytes
        elif re.search(r"embed_tokens|\bwte\b|word_embeddings", tensor.name):
            embedding += tensor.nbytes
        else:
            other += tensor.nbytes
    return tuple(by_layer[i] for i in range(layers)), embedding, head, other


def _notes(config: dict[str, Any], has_weights: bool) -> list[str]:
    notes = []
    if not has_weights and any(k for k in config if "expert" in k and config[k]):
        notes.append("a mixture of experts without weights here: the config gives too small a size")
    if "kv_lora_rank" in config:
        notes.append("multi-head latent attention: the KV cache is smaller than shown")
    if config.get("sliding_window") or config.get("layer_types"):
        notes.append("sliding window or hybrid attention: the KV cache is smaller than shown for long requests")
    return notes


class _Getter:
    """Reads whole numbers from a config, under any of the names that architectures use."""

    def __init__(self, path: Path, config: dict[str, Any]) -> None:
        self._path = path
        self._config = config

    def integer(self, *names: str, default: int | None = None) -> int:
        for name in names:
            value = self._config.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
            if value is not None:
                raise UserError(f"{self._path}: {name} is {value!r}, not a whole number above zero")
        if default is None:
            raise UserError(
                f"{self._path}: {names[0]} is missing", hint="is this the config of a language model's checkpoint?"
            )
        return default
