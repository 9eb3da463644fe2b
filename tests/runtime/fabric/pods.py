"""Facts of pods, by hand."""

from __future__ import annotations

from typing import Any

from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.report import Facts, Gid, Hca, Interface, Port, Rank, Used

GIB = 1 << 30
ETH0 = Interface(name="eth0", up=True, addresses=("10.0.0.1",), mtu=1500)
IB = Expected(fabric="infiniband", transport="IB", verbs=True, link_layer="InfiniBand")
ROCE = Expected(fabric="sriov-roce", transport="IB", verbs=True, link_layer="Ethernet")
TCP = Expected(fabric="tcp", transport="Socket")


def port(**fields: Any) -> Port:
    gid = Gid(index=0, value="fe80::1", type="RoCE v2", interface="net1")
    default = {"number": 1, "state": "ACTIVE", "rate": 400.0, "link_layer": "InfiniBand", "gids": (gid,)}
    return Port(**{**default, **fields})


def facts(**fields: Any) -> Facts:
    """A pod in which nothing is wrong."""
    default: dict[str, Any] = {
        "host": "pod-a",
        "node": "10.0.0.1",
        "host_addresses": ("10.0.0.1",),
        "interfaces": (ETH0, Interface(name="lo", up=True, addresses=("127.0.0.1",))),
        "hcas": (Hca(name="mlx5_0", ports=(port(),)),),
        "devices": {"uverbs0": "", "rdma_cm": ""},
        "memlock": None,
        "shm_size": 16 * GIB,
        "shm_free": 16 * GIB,
    }
    return Facts(**{**default, **fields})


def rank(number: int, node: str = "", used: Used | None = None, **fields: Any) -> Rank:
    address = node or f"10.0.0.{number + 1}"
    told = {"host_addresses": (address,), **fields}
    return Rank(rank=number, step="the end", facts=facts(node=address, **told), used=used)


def used(transport: Any = "IB", **fields: Any) -> Used:
    return Used(**{"backend": "nccl", "transport": transport, "gpu_direct": True, **fields})
