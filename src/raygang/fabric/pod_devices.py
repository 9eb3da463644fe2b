"""Which network devices a pod gets, and by which field.

k8s-rdma-shared-dev-plugin 1.5 pkg/resources/server.go Allocate: its resource mounts /dev/infiniband. The SR-IOV device
plugin does so where isRdma is true. Names of resources are each site's own: what neither the bundle nor a default of
these plugins says is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from raygang.fabric.device_pools import Pool
from raygang.fabric.efa import RESOURCE as EFA
from raygang.fabric.pod_network import PodNetwork, Resource
from raygang.fabric.sriov_chain import definition, pool_of
from raygang.objects import Path, at, sequence, text

VERBS = "/dev/infiniband"
_PLUGINS = ("openshift.io", "intel.com", "mellanox.com", "sriovdev.com")  # prefixes of the SR-IOV plugins by default
_FUNCTION = re.compile(r"sriov|mlnx|hostdev|(?:^|[^a-z])vfs?(?:$|[^a-z])", re.ASCII)
_NO_NETWORK = re.compile(  # prefixes of accelerators, and what is not a device at all
    r"gpu|(?:amd|habana|furiosa|rebellions|qualcomm|google|huawei|cambricon)\.(?:com|ai)/|neuron|/mig-|tpu|ray\.io/|"
    r"kubernetes\.io/|smarter-devices|devices\.kubevirt|/(?:fuse|kvm|tun)\Z",
    re.ASCII,
)


@dataclass(frozen=True)
class Device:
    """A network device, or what may be one.

    Attributes:
        resource: by which it comes.
        kind: an SR-IOV function, a shared RDMA device, an adapter of EFA, or not known.
        rdma: whether RDMA comes with it; None where nothing says so.
        pool: who offers it, as far as the bundle says.
    """

    resource: Resource
    kind: Literal["function", "shared", "efa", "unknown"]
    rdma: bool | None
    pool: Pool | None = None

    @property
    def named_for_rdma(self) -> bool:
        """Whether its name says RDMA, which proves nothing and means something."""
        return re.search(r"rdma|roce|infiniband|hca|(?:^|[^a-z])ib(?:$|[^a-z])", self.resource.name) is not None


def devices(network: PodNetwork) -> tuple[Device, ...]:
    """Those of a pod's Ray container."""
    return tuple(_device(network, one) for one in network.resources if not _NO_NETWORK.search(one.name))


def _device(network: PodNetwork, resource: Resource) -> Device:
    if resource.name == EFA:
        return Device(resource, "efa", rdma=True)
    pool = pool_of(network.bundle, resource.name)
    if pool is not None:
        return Device(resource, pool.kind, pool.rdma and not pool.vfio, pool)
    prefix, _, name = resource.name.partition("/")
    if prefix == "rdma":
        return Device(resource, "shared", rdma=True)
    named = (definition(network.bundle, one) for one in network.networks)
    wanted = any(found is not None and found.takes(resource.name) for found in named)
    if wanted or prefix in _PLUGINS or _FUNCTION.search(name.lower()):
        return Device(resource, "function", rdma=None)
    return Device(resource, "unknown", rdma=None)


def mounts(network: PodNetwork) -> Iterator[Path]:
    """Volumes that are the node's directory of RDMA devices, or a file in it."""
    for index, volume in enumerate(sequence(network.group.pod.get("volumes"))):
        host = (text(at(volume, "hostPath", "path")) or "").rstrip("/")
        if host == VERBS or host.startswith(f"{VERBS}/"):
            yield network.pod_at("volumes", index, "hostPath")
