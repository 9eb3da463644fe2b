"""What a model needs, read from its own files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from raygang.checkpoint._config import Config, read_config
from raygang.checkpoint._llama import LlamaShape
from raygang.checkpoint._safetensors import Tensor, tensors_of
from raygang.checkpoint._sizes import Parts, Sizes, sizes_of
from raygang.spec import UserError

# Names of vLLM 0.32's `dtype` and of its `kv_cache_dtype` where a value has a whole number of bytes and no scales.
DTYPE_BYTES = {
    "float32": 4, "float16": 2, "bfloat16": 2, "half": 2, "float": 4,
    "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1, "int8": 1,
}  # fmt: skip
_STORED = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}


@dataclass(frozen=True)
class Checkpoint:
    """A decoder model's shape and sizes. Sizes in bytes, as stored.

    Attributes:
        dtype: the type that its config names for the weights, else the type of most of them.
        layer_bytes: each decoder layer.
        embedding_bytes: the input embedding.
        tied_embeddings: whether the embedding is the output projection, too. A projection that is stored counts even
            where the config ties it: vLLM 0.32 loads it (`ModelConfig.maybe_untie_word_embeddings`), and gives it back
            only when it turns out to be the same.
        head_bytes: the output projection; 0 when it is tied to the embedding.
        other_bytes: the last norm, and whatever else belongs to no layer.
        sizes_from: where the sizes come from.
        experts: routed experts of a layer; 0 for a dense model.
        notes: what is not modelled yet and would change the numbers.
        layer_parts: each decoder layer, by how tensor parallel ranks share in it; empty where that is not known.
        other_parts: likewise, of `other_bytes`.
        path: its directory, None when it was made from a config only.
    """

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
    experts: int = 0
    notes: tuple[str, ...] = ()
    path: Path | None = None
    layer_parts: tuple[Parts, ...] = ()
    other_parts: Parts | None = None

    @property
    def total_bytes(self) -> int:
        """Bytes of all weights."""
        return sum(self.layer_bytes) + self.embedding_bytes + self.head_bytes + self.other_bytes

    def parts(self, layers: range) -> Parts:
        """Some layers together, by how tensor parallel ranks share in them."""
        return sum((self.layer_parts or tuple(map(Parts, self.layer_bytes)))[layers.start : layers.stop], Parts())

    def kv_bytes_per_token(
        self, kv_dtype: str = "auto", *, layers: int | None = None, kv_heads: int | None = None
    ) -> int:
        """Bytes of keys and values of one token.

        Args:
            kv_dtype: vLLM's `kv_cache_dtype`; "auto" is the model's own type.
            layers: how many of the layers; all by default.
            kv_heads: how many of the heads; all by default.

        Raises:
            UserError: a type whose size is not known.
        """
        name = self.dtype if kv_dtype == "auto" else kv_dtype
        if name not in DTYPE_BYTES:
            what = f"engine.args.kv_cache_dtype: the size of {name!r} in the KV cache is not known"
            raise UserError(what, hint=f"known are auto, {', '.join(DTYPE_BYTES)}")
        heads = self.kv_heads if kv_heads is None else kv_heads
        return 2 * (self.layers if layers is None else layers) * heads * self.head_dim * DTYPE_BYTES[name]


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a Hugging Face checkpoint's config and the headers of its weights; without weights, the config alone.

    Raises:
        UserError: there is no usable config, or the weights are not whole.
    """
    return _build(Config(path / "config.json", read_config(path)), tensors_of(path), path)


def checkpoint_from_config(config: Mapping[str, Any], *, name: str = "config.json") -> Checkpoint:
    """A checkpoint by its config alone: what is not there yet. Pure.

    Raises:
        UserError: something is missing in it; `name` says in the message where.
    """
    return _build(Config(Path(name), config), [], None)


def _build(config: Config, tensors: list[Tensor], path: Path | None) -> Checkpoint:
    dtype = config.dtype() or _most_common(tensors) or "bfloat16"
    shape = config.shape()
    stored = tensors or _expected(shape, DTYPE_BYTES.get(dtype, 2))
    sizes = sizes_of(stored, shape.layers, 2 * shape.kv_heads / (shape.heads + 2 * shape.kv_heads))
    _check_layers(sizes, config.path)
    return Checkpoint(
        architecture=config.architecture(),
        layers=shape.layers,
        hidden_size=shape.hidden,
        attention_heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        vocab_size=shape.vocab,
        intermediate_size=shape.intermediate,
        max_position=config.max_position(),
        dtype=dtype,
        quantization=config.quantization(),
        tied_embeddings=not sizes.head,
        layer_bytes=tuple(parts.total for parts in sizes.layers),
        embedding_bytes=sizes.embedding,
        head_bytes=sizes.head,
        other_bytes=sizes.other.total,
        sizes_from="safetensors headers" if tensors else "config",
        experts=config.experts(),
        notes=tuple(config.notes(has_weights=bool(tensors), other_tower=sizes.other_tower)),
        path=path,
        layer_parts=sizes.layers,
        other_parts=sizes.other,
    )


def _expected(shape: LlamaShape, element: int) -> list[Tensor]:
    """The tensors of a dense model with gated feed-forward layers."""
    found = []
    for name, dims in shape.tensors().items():
        nbytes = element
        for n in dims:
            nbytes *= n
        found.append(Tensor(name, "", dims, nbytes))
    return found


def _most_common(tensors: list[Tensor]) -> str | None:
    bytes_by: Counter[str] = Counter()
    for tensor in tensors:
        if tensor.dtype in _STORED:
            bytes_by[_STORED[tensor.dtype]] += tensor.nbytes
    return bytes_by.most_common(1)[0][0] if bytes_by else None


def _check_layers(sizes: Sizes, path: Path) -> None:
    empty = [i for i, parts in enumerate(sizes.layers) if not parts.total]
    if empty:
        what = f"{path} counts {len(sizes.layers)} layers, and the weights have none of layer {empty[0]}"
        raise UserError(what, hint="config and weights are not of the same model, or a file of the weights is missing")
