"""The arguments of the Serve application, as they stand in `serveConfigV2` or are handed to `build`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from raygang.runtime.fabric.expected import Expected


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GangConfig(_Strict):
    """The gang of one replica: what the placement group reserves.

    Ranks fill the nodes in order; rank = pipeline rank x tensor + tensor rank, as vLLM's Ray executor numbers them.
    """

    tensor: int = Field(1, ge=1)
    pipeline: int = Field(1, ge=1)
    nodes: int = Field(1, ge=1)
    cpus_per_rank: float = Field(0.5, ge=0)  # Ray CPUs that each rank's bundle reserves beside its GPU
    replica_cpus: float = Field(0.5, ge=0)  # Ray CPUs of the replica's own process, which shares rank 0's bundle

    @property
    def ranks(self) -> int:
        """Number of ranks, one bundle each."""
        return self.tensor * self.pipeline

    def bundles(self) -> list[dict[str, float]]:
        """One bundle per rank; the first also holds the replica's process (API server and engine core)."""
        bundles = [{"GPU": 1.0, "CPU": self.cpus_per_rank} for _ in range(self.ranks)]
        bundles[0]["CPU"] += self.replica_cpus
        return bundles

    def strategy(self) -> str:
        """`STRICT_SPREAD` where each node holds one rank, else `PACK`, which fills nodes of the planned size."""
        return "STRICT_SPREAD" if self.nodes == self.ranks else "PACK"


class AppConfig(_Strict):
    """Everything `raygang.runtime.app:build` needs. Durations in seconds."""

    served_name: str  # what clients write as `model`
    model_path: str  # a directory that every node has, or a hub id
    engine_args: dict[str, Any] = {}  # vLLM's, as the user wrote them
    env: dict[str, str] = {}  # environment of the engine's processes
    gang: GangConfig = GangConfig.model_validate({})
    replicas: int = Field(1, ge=1)
    engine_metrics: bool = False  # vLLM's metrics among Ray's, on every node's metrics port
    max_concurrent_requests: int = Field(256, ge=1)
    request_timeout_s: float = Field(600, gt=0)
    start_timeout_s: float = Field(1800, gt=0)
    fabric: Expected | None = None  # the network is checked before the engine starts; None: it is not
