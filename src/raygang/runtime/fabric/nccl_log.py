"""What NCCL says of its transport in its own log (NCCL_DEBUG=INFO).

NCCL 2.19-2.29. The lines, each after "host:pid:tid [gpu] NCCL INFO ":
    NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
    NET/Socket : Using [0]eth0:10.0.0.1<0>
    NET/IB : No device found.
    Using network IB
    Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from raygang.runtime.fabric.expected import Transport

_NETWORK = re.compile(r"Using network (.+)")
_USING = re.compile(r"NET/[\w ]+ : Using (.+)")
_DEVICE = re.compile(r"\[\d+\]([^\s:/<;]+(?::\d+)?)(?=[:/\s<;]|$)")
_VIA = re.compile(r"via NET/([\w ]+?)/\d+(/GDRDMA|\S*)")
_WORTH = re.compile(r"NET/|Using network|via (?:NET|P2P|SHM)|NCCL version|WARN|NCCL_\w+ set|Bootstrap")
_MAX_LINES = 60
_NAMES: dict[str, Transport] = {
    "IB": "IB", "Socket": "Socket", "gIB": "gIB", "Libfabric": "Libfabric", "AWS Libfabric": "Libfabric",
}  # fmt: skip


@dataclass(frozen=True)
class Said:
    """What a log says.

    Attributes:
        network: NCCL's name of the network between nodes, None where the log has none.
        devices: what that network has at hand.
        gpu_direct: whether channels between nodes go between NIC and GPU memory directly; None without such channels.
        lines: those that say so, without host and process.
    """

    network: str | None = None
    devices: tuple[str, ...] = ()
    gpu_direct: bool | None = None
    lines: tuple[str, ...] = ()

    @property
    def transport(self) -> Transport | None:
        """The network as `Expected` names it; None for one that it does not know."""
        return _NAMES.get(self.network or "")


def read(lines: Iterable[str]) -> Said:
    """What the lines of a log say; channels between nodes have the last word on the network."""
    kept = [said for line in lines if _WORTH.search(said := line.partition("NCCL ")[2].strip() or line.strip())]
    networks = [found[1].strip() for line in kept if (found := _NETWORK.search(line))]
    via = [found for line in kept if (found := _VIA.search(line))]
    network = via[-1][1] if via else networks[-1] if networks else None
    using = [found[1] for line in kept if (found := _USING.search(line))]
    devices = tuple(dict.fromkeys(device for text in using[-1:] for device in _DEVICE.findall(text)))
    direct = all("GDRDMA" in found[2] for found in via) if via else None
    return Said(network, devices, direct, tuple(dict.fromkeys(kept))[:_MAX_LINES])
