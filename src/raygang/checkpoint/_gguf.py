"""Opens GGUF files of architecture llama and yields their tensors as Hugging Face has them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raygang.checkpoint._gguf_config import config_of, shape_of
from raygang.checkpoint._llama import EMBEDDING, HEAD, NORM
from raygang.checkpoint._tokenizer import check_tokenizer
from raygang.spec import UserError

if TYPE_CHECKING:
    import numpy as np
    from gguf import GGUFReader, ReaderTensor

SUPPORTED = ("llama",)
VERSIONS = (2, 3)
PIECE = 2**21  # elements that are converted at a time
AGAIN = "copy or download it again"
ELSE = "use the model's Hugging Face checkpoint (a directory or org/name)"

# llama.cpp's names -> Hugging Face's.
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
TOP_NAMES = {"token_embd.weight": EMBEDDING, "output_norm.weight": NORM, "output.weight": HEAD}
NO_WEIGHTS = ("rope_freqs.weight",)  # goes into the config


@dataclass(frozen=True)
class Gguf:
    """A GGUF file that can be converted: checked, nothing read yet but its metadata."""

    path: Path
    config: dict[str, Any]
    tensors: dict[str, ReaderTensor]  # by Hugging Face's names, in the order of the file
    split: str  # how its tokenizer splits text

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: _shape(tensor) for name, tensor in self.tensors.items()}

    def pieces(self) -> Iterator[np.ndarray[Any, Any]]:
        """All tensors in order, as float32, some rows at a time."""
        from gguf.quants import dequantize

        for name, tensor in self.tensors.items():
            heads = self._rotated_heads(name)
            step = _rows_at_once(_shape(tensor), heads)
            for start in range(0, _shape(tensor)[0], step):
                rows = dequantize(tensor.data[start : start + step], tensor.tensor_type)
                yield _deinterleave(rows, _shape(tensor)[0] // heads) if heads else rows

    def _rotated_heads(self, name: str) -> int:
        if name.endswith(".q_proj.weight"):
            return int(self.config["num_attention_heads"])
        return int(self.config["num_key_value_heads"]) if name.endswith(".k_proj.weight") else 0


def open_gguf(path: Path) -> Gguf:
    """Open a GGUF file that can be converted.

    Raises:
        UserError: it is none, cut off, of another architecture, or has something that no conversion is known for.
    """
    reader = _open(path)
    config = config_of(reader, path)
    tensors = {_name(t, path): t for t in reader.tensors if t.name not in NO_WEIGHTS}
    if EMBEDDING not in tensors:
        raise UserError(f"{path}: the GGUF file has no token_embd.weight", hint=AGAIN)
    config |= {"tie_word_embeddings": HEAD not in tensors, "vocab_size": _shape(tensors[EMBEDDING])[0]}
    _check_shapes({name: _shape(t) for name, t in tensors.items()}, shape_of(config).tensors(), path)
    _check_types(tensors.values(), path)
    return Gguf(path, config, tensors, check_tokenizer(reader, path))


def _open(path: Path) -> GGUFReader:
    _check_start(path)
    from gguf import GGUFReader

    try:
        reader = GGUFReader(path)
        architecture = str(reader.fields["general.architecture"].contents())
    except (ValueError, IndexError, KeyError, OverflowError, TypeError):
        raise UserError(f"{path}: a damaged or cut off GGUF file", hint=AGAIN) from None
    if architecture not in SUPPORTED:
        what = f"{path}: a GGUF of architecture {architecture!r}; only {', '.join(SUPPORTED)} can be converted"
        raise UserError(what, hint=ELSE)
    return reader


def _check_start(path: Path) -> None:
    try:
        with path.open("rb") as f:
            start = f.read(8)
    except OSError as e:
        raise UserError(f"{path}: cannot be read: {e.strerror}") from None
    if start[:4] != b"GGUF":
        raise UserError(f"{path}: not a GGUF file")
    version = struct.unpack("<I", start[4:])[0] if len(start) == 8 else None
    if version is not None and version not in VERSIONS:
        raise UserError(f"{path}: a GGUF of version {version} (or of the other byte order); only 2 and 3 can be read")


def _name(tensor: ReaderTensor, path: Path) -> str:
    if tensor.name in TOP_NAMES:
        return TOP_NAMES[tensor.name]
    block, _, rest = tensor.name.removesuffix(".weight").removeprefix("blk.").partition(".")
    if not block.isdecimal() or rest not in LAYER_NAMES or not tensor.name.endswith(".weight"):
        raise UserError(f"{path}: no conversion is known for its tensor {tensor.name}", hint=ELSE)
    return f"model.layers.{block}.{LAYER_NAMES[rest]}.weight"


def _check_shapes(found: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]], path: Path) -> None:
    missing = sorted(wanted.keys() - found.keys())
    if missing:
        raise UserError(f"{path}: {len(missing)} tensors are missing, {missing[0]} for one", hint=AGAIN)
    for name, shape in found.items():
        if shape != wanted.get(name):
            raise UserError(f"{path}: {name} has shape {shape}; by its own metadata {wanted.get(name)}", hint=ELSE)


def _check_types(tensors: Any, path: Path) -> None:
    from gguf.quants import dequantize

    for kind, tensor in {t.tensor_type: t for t in tensors}.items():
        try:
            dequantize(tensor.data[:1], kind)
        except NotImplementedError:
            what = f"{path}: tensors of type {kind.name} cannot be dequantised"
            raise UserError(what, hint="use another quantisation of it") from None


def _shape(tensor: ReaderTensor) -> tuple[int, ...]:
    return tuple(int(n) for n in reversed(tensor.shape))


def _rows_at_once(shape: tuple[int, ...], heads: int) -> int:
    unit = shape[0] // heads if heads else 1
    return unit * max(1, PIECE // (unit * (shape[1] if len(shape) > 1 else 1)))


def _deinterleave(rows: np.ndarray[Any, Any], head: int) -> np.ndarray[Any, Any]:
    """llama.cpp interleaves the two halves of each head's rotary dimensions; undo it for whole heads of rows."""
    halves = rows.reshape(-1, head // 2, 2, rows.shape[1])
    return halves.swapaxes(1, 2).reshape(rows.shape)
