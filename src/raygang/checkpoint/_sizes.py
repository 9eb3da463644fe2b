"""Where a checkpoint's bytes are, and what tensor parallelism does with them.

By vLLM 0.32's layers: column and row parallel linear layers are divided; key and value projections are divided by
whole heads, and copied when there are fewer heads than ranks; the rest is on every rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from raygang.checkpoint._safetensors import Tensor

_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")
_OTHER_TOWER = re.compile(r"(?:^|[._])(?:vision|visual|audio|speech|image)")  # has layers that are not the decoder's
_EMBEDDING = re.compile(r"(?:^|\.)(?:embed_tokens|wte|word_embeddings)\.")
_HEAD = re.compile(r"(?:^|\.)lm_head\.")
_KV = re.compile(r"\.[kv]_proj\.")
_QKV = re.compile(r"\.(?:qkv_proj|query_key_value|c_attn|Wqkv)\.")
_WHOLE = re.compile(
    r"norm|ln_\d|ln_f"
    r"|\.(?:o_proj|down_proj|c_proj|dense_4h_to_h)\.bias$"  # the sum over ranks is taken before the bias
    r"|\.(?:gate|router)\.(?:weight|bias|e_score_correction_bias)$"  # a mixture's router (never gate_proj)
    r"|\.(?:q_a_proj|kv_a_proj_with_mqa)\."  # latent attention: down to the latent
)


@dataclass(frozen=True)
class Parts:
    """Bytes of some tensors, by how a tensor parallel rank shares in them."""

    divided: int = 0
    kv: int = 0
    whole: int = 0

    @property
    def total(self) -> int:
        return self.divided + self.kv + self.whole

    def on_one(self, tensor: int, kv_heads: int) -> int:
        """Bytes on one of `tensor` ranks; rounded up where they do not divide."""
        kv = -(-self.kv * max(1, kv_heads // tensor) // kv_heads)
        return -(-self.divided // tensor) + kv + self.whole

    def __add__(self, other: Parts) -> Parts:
        return Parts(self.divided + other.divided, self.kv + other.kv, self.whole + other.whole)


@dataclass(frozen=True)
class Sizes:
    """All of a checkpoint's bytes. Layers that its config does not count are in `other`."""

    layers: tuple[Parts, ...]
    embedding: int
    head: int
    other: Parts
    other_tower: bool


def sizes_of(tensors: Iterable[Tensor], layers: int, kv_fraction: float) -> Sizes:
    """Sort tensors into their places.

    Args:
        tensors: all of them.
        layers: decoder layers by the config.
        kv_fraction: keys' and values' part of a fused query-key-value projection.
    """
    by_layer, other = [Parts()] * layers, Parts()
    embedding = head = 0
    tower = False
    for tensor in tensors:
        in_tower = bool(_OTHER_TOWER.search(tensor.name))
        tower |= in_tower
        layer = None if in_tower else _LAYER.search(tensor.name)
        if layer and int(layer[1]) < layers:
            by_layer[int(layer[1])] += parts_of(tensor, kv_fraction)
        elif _HEAD.search(tensor.name):
            head += tensor.nbytes
        elif _EMBEDDING.search(tensor.name) and not layer:
            embedding += tensor.nbytes
        else:
            other += parts_of(tensor, kv_fraction)
    return Sizes(tuple(by_layer), embedding, head, other, tower)


def parts_of(tensor: Tensor, kv_fraction: float) -> Parts:
    """How ranks share in one tensor."""
    size = tensor.nbytes
    if _WHOLE.search(tensor.name) or len(tensor.shape) == 0:
        return Parts(whole=size)
    if _KV.search(tensor.name):
        return Parts(kv=size)
    if _QKV.search(tensor.name):
        kv = round(size * kv_fraction)
        return Parts(divided=size - kv, kv=kv)
    return Parts(divided=size)
