"""The probe's report: facts of each rank, what was measured, and the verdict. JSON; version 1 of its form.

Sizes are bytes, times seconds, bandwidths Gbit/s (10^9 bits) of payload, unless a name says otherwise.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from raygang.runtime.fabric.expected import Expected, Transport

Severity = Literal["failure", "warning"]


class Part(BaseModel):
    """A part of the report; what a newer version adds is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Interface(Part):
    """A network interface of the pod."""

    name: str
    up: bool
    addresses: tuple[str, ...] = ()
    mtu: int = 0
    speed: float | None = None  # Gbit/s, as its driver says; virtual ones say nothing or what they like


class Gid(Part):
    """An address of an HCA's port."""

    index: int
    value: str
    type: str = ""  # "IB/RoCE v1" or "RoCE v2"
    interface: str = ""  # whose address it carries


class Port(Part):
    """A port of an HCA."""

    number: int
    state: str = ""  # ACTIVE, DOWN, INIT, ARMED
    physical: str = ""  # LinkUp, Disabled, Polling
    rate: float | None = None
    link_layer: str = ""  # InfiniBand or Ethernet
    gids: tuple[Gid, ...] = ()


class Hca(Part):
    """A host channel adapter that the pod sees in sysfs; seeing it there is not yet the right to use it."""

    name: str
    ports: tuple[Port, ...] = ()


class Facts(Part):
    """What one rank's pod has."""

    host: str
    node: str = ""  # the address by which Ray knows it
    pid: int = 0
    user: int = 0
    host_addresses: tuple[str, ...] = ()  # what the host's name resolves to
    interfaces: tuple[Interface, ...] = ()
    hcas: tuple[Hca, ...] = ()
    devices: dict[str, str] = {}  # files of /dev/infiniband: "" where it opens, else why not
    memlock: int | None = 0  # RLIMIT_MEMLOCK that counts for this user; None: unlimited
    capabilities: tuple[str, ...] = ()  # effective ones
    gpus: tuple[str, ...] = ()
    peer_memory: bool = False  # nvidia_peermem is loaded
    dma_buf: bool | None = None  # whether the first GPU gives its memory to other drivers as DMA-BUF; None: no driver
    shm_size: int = 0
    shm_free: int = 0
    huge_pages_free: int = 0  # of 2 MiB
    variables: dict[str, str] = {}
    versions: dict[str, str] = {}


class Reach(Part):
    """Whether a rank's pod can be reached by plain TCP."""

    rank: int
    address: str
    seconds: float | None = None  # round trip; None where it was not reached
    error: str = ""
    clock: float = 0.0  # how far the other's clock is ahead


class Used(Part):
    """What a rank's collectives went over."""

    backend: str = ""  # nccl or gloo
    transport: Transport | None = None  # None: not told
    devices: tuple[str, ...] = ()  # "mlx5_0:1" or "eth0"
    gpu_direct: bool | None = None  # NIC and GPU memory without a copy in between; None: no channel tells
    moved: dict[str, int] = {}  # bytes sent by each HCA port and interface meanwhile
    sent: int = 0  # payload to ranks on other nodes
    log: tuple[str, ...] = ()  # NCCL's lines that say so


class Link(Part):
    """One direction between two ranks."""

    source: int
    target: int
    same_node: bool = False
    latency: float | None = None  # half a round trip
    bandwidth: float | None = None


class AllReduce(Part):
    """An all-reduce over all ranks; bus bandwidth is 2 (n - 1) / n x size / time, as nccl-tests reports it."""

    ranks: int
    size: int
    seconds: float
    bus_bandwidth: float


class Rank(Part):
    """What is known of a rank."""

    rank: int
    step: str = ""  # the last one it began
    error: str = ""
    facts: Facts | None = None
    reached: tuple[Reach, ...] = ()
    used: Used | None = None


class Finding(Part):
    """Something between the ranks and their network.

    `what` says what was found, with its values; `do` what to do about it.
    """

    code: str
    severity: Severity = "failure"
    what: str
    do: str = ""
    ranks: tuple[int, ...] = ()  # whom it concerns; two of a link


class Report(Part):
    """All of it. Passed where no finding is a failure; the first failure is the first cause in the chain."""

    version: Literal[1] = 1
    expected: Expected = Expected()
    started: float = 0.0  # Unix time
    seconds: float = 0.0
    simulated: str = ""  # what of the hardware is not there: "no GPU: gloo stands for NCCL"
    ranks: tuple[Rank, ...] = ()
    links: tuple[Link, ...] = ()
    all_reduce: AllReduce | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def failures(self) -> tuple[Finding, ...]:
        """Findings that keep the engine from starting."""
        return tuple(finding for finding in self.findings if finding.severity == "failure")

    @property
    def passed(self) -> bool:
        """Whether the engine may start."""
        return not self.failures

    def slowest(self) -> Link | None:
        """The slowest link between nodes, or within the only one."""
        timed = [link for link in self.links if link.bandwidth is not None]
        between = [link for link in timed if not link.same_node] or timed
        return min(between, key=lambda link: link.bandwidth or 0, default=None)

    def sentence(self) -> str:
        """The verdict in one sentence."""
        if not self.passed:
            first = self.failures[0]
            return f"the network check failed: {first.what}" + (f"; {first.do}" if first.do else "")
        used = {rank.used.transport for rank in self.ranks if rank.used and rank.used.transport}
        over = f" over {' and '.join(sorted(used))}" if used else ""
        slowest = self.slowest()
        rate = f", the slowest link {slowest.bandwidth:.3g} Gbit/s" if slowest and slowest.bandwidth else ""
        return f"the network check passed: {len(self.ranks)} ranks{over}{rate}"
