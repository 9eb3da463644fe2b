"""By which fields a pod asks for RDMA, whether or not it gets any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raygang.fabric import nccl_words as nccl
from raygang.fabric.gke import INTERFACES
from raygang.fabric.pod_devices import Device, mounts
from raygang.fabric.pod_network import PodNetwork, Said

_ABOUT_RDMA = ("NCCL_IB_", "NCCL_NET_GDR_")
_NOT = ("NCCL_IB_DISABLE", "NCCL_IB_MERGE_NICS")


def signs(network: PodNetwork, devices: Sequence[Device]) -> Iterator[Said]:
    """The fields, those that say it plainest first."""
    yield from _nets(network)
    for device in devices:
        if device.kind != "unknown" or device.named_for_rdma:
            yield Said(f"the resource {device.resource.name}", device.resource.path)
    yield from _variables(network)
    if network.gke and any(name != "default" for name in network.gke.values()):
        yield Said("GKE's interfaces", network.annotation_at(INTERFACES))
    for path in mounts(network):
        yield Said("the volume /dev/infiniband", path)


def _nets(network: PodNetwork) -> Iterator[Said]:
    net = network.variables.get("NCCL_NET")
    if net is not None and net.value and nccl.transport(net.value) in ("IB", "gIB", "Libfabric"):
        yield Said(f"NCCL_NET: {net.value}", net.path, net.manifest)


def _variables(network: PodNetwork) -> Iterator[Said]:
    for variable in network.variables.values():
        if variable.name.startswith(_ABOUT_RDMA) and variable.name not in _NOT and variable.value != "":
            yield Said(variable.name, variable.path, variable.manifest)
    interface = network.variables.get("NCCL_SOCKET_IFNAME")
    if interface is not None and interface.value:
        listed = nccl.names(interface.value)
        ipoib = [name for name in listed.names if nccl.is_ipoib(name)]
        if ipoib and not listed.exclude:
            yield Said(f"NCCL_SOCKET_IFNAME: {interface.value}", interface.path, interface.manifest)
