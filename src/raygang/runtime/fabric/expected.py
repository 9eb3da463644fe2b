"""What must be seen in the gang's pods before the engine may start."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Transport = Literal["any", "Socket", "IB", "gIB", "Libfabric"]


class Expected(BaseModel):
    """What the specification demands of the network between ranks.

    Transports are those of NCCL's own log: `NET/Socket`, `NET/IB` (InfiniBand and RoCE by verbs), `NET/gIB`
    (Google's plugin), `NET/Libfabric` (aws-ofi-nccl; its older name is "AWS Libfabric").
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    fabric: str = "auto"  # as the specification names it; for messages
    transport: Transport = "any"
    verbs: bool = False  # ranks register memory through /dev/infiniband/uverbs*
    link_layer: Literal["InfiniBand", "Ethernet"] | None = None  # of the HCAs' ports; None: either
    interface: str | None = None  # for bootstrap and sockets
    hcas: tuple[str, ...] = ()  # whole names, as mlx5_0 or mlx5_0:1; empty: any
    huge_pages: bool = False  # of 2 MiB, for EFA
    min_bandwidth: float | None = Field(None, gt=0)  # Gbit/s that each pair of ranks on different nodes must reach
    timeout_s: float = Field(120, gt=0)  # for the whole probe

    @property
    def rdma(self) -> bool:
        """Whether sockets would be a failure."""
        return self.transport not in ("any", "Socket")
