"""The plan: which ranks, on which nodes, with which part of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
class Gang:
    """Pods that are scheduled together or not at all.

    Attributes:
        name: of the Ray workload whose pods they are.
        members: pods by group, the head's included.
        minimum: pods that have to fit at once; all members in a whole gang.
        queue: what it is submitted to; None for the scheduler's own default.
    """

    name: str
    members: tuple[tuple[str, int], ...]
    minimum: int
    queue: str | None = None

    @property
    def size(self) -> int:
        """Pods in all."""
        return sum(pods for _, pods in self.members)

    @property
    def whole(self) -> bool:
        """Whether no pod starts unless all can."""
        return self.minimum == self.size


HEAD_GROUP = "headgroup"  # KubeRay's own name of the head's group


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

    @property
    def worker_groups(self) -> tuple[tuple[str, int, int], ...]:
        """Groups of equal nodes: name, number of nodes, accelerators of each."""
        sizes = sorted({node.gpus for node in self.nodes}, reverse=True)
        name = "workers" if len(sizes) == 1 else "workers-{}"
        return tuple((name.format(size), sum(node.gpus == size for node in self.nodes), size) for size in sizes)

    @property
    def gangs(self) -> tuple[Gang, ...]:
        """The gang of each replica: a head without ranks and a worker for each node."""
        members = ((HEAD_GROUP, 1), *((name, pods) for name, pods, _ in self.worker_groups))
        size = sum(pods for _, pods in members)
        names = (f"{self.spec.name}-{replica}" for replica in range(self.spec.replicas))
        return tuple(Gang(name, members, size, self.spec.scheduler.queue) for name in names)
