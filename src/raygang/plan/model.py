"""The plan: which ranks, on which nodes, with which part of the model."""

from __future__ import annotations

from dataclasses import dataclass

from raygang.checkpoint import Checkpoint
from raygang.spec import Spec


@dataclass(frozen=True)
class Rank:
    """A rank. Sizes in bytes; `layers` counts from 0."""

    rank: int
    node: int
    tensor_rank: int
    pipeline_rank: int
    layers: range
    weight_bytes: int
    kv_bytes_per_token: int


@dataclass(frozen=True)
class NodeShape:
    """A node of the gang and the ranks that it holds."""

    index: int
    ranks: tuple[int, ...]

    @property
    def gpus(self) -> int:
        """Accelerators that it gives to the gang, one per rank."""
        return len(self.ranks)


@dataclass(frozen=True)
class Plan:
    """What was decided for one replica. `notes` say why `auto` became what it is."""

    spec: Spec
    checkpoint: Checkpoint
    tensor: int
    pipeline: int
    nodes: tuple[NodeShape, ...]
    ranks: tuple[Rank, ...]
    notes: tuple[str, ...] = ()

    @property
    def world_size(self) -> int:
        """Ranks of one replica."""
        return self.tensor * self.pipeline
