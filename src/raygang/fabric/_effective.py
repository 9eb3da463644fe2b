"""The transport that NCCL would really pick in the pods of a group, and why it is not the one that was meant.

NCCL 2.19-2.30, src/plugin/net.cc: it asks plugins, then IB, then Socket, takes the first that finds a device, and says
which in its log only. NCCL_NET names one: NCCL takes that or ends with an error. IB needs /dev/infiniband/uverbs* in
the container, and libibverbs in the image (src/misc/ibvsymbols.cc).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from raygang.fabric import _intent as intent
from raygang.fabric import nccl_words as nccl
from raygang.fabric.nccl_words import Transport
from raygang.fabric.pod_devices import VERBS, Device, devices, mounts
from raygang.fabric.pod_network import PodNetwork, Said, Variable, pod_network
from raygang.objects import Bundle, Group, RayWorkload

NO_DEVICE = f"NCCL's IB needs a device: no resource gives this pod {VERBS}/uverbs*"
_PLUGINS = {"Libfabric": "ofi", "gIB": "gib"}  # transport -> what the path of its plugin has in it


@dataclass(frozen=True)
class Effective:
    """What the pods of a group would talk by.

    Attributes:
        network: what their template says.
        devices: what gives them a network device, or may.
        meant: the fields that ask for RDMA.
        transport: what NCCL would pick; "unknown" where the bundle does not tell.
        causes: why that is not RDMA, or may not be, the first cause first.
        fails: NCCL ends with an error instead: NCCL_NET names what is not there.
        unchecked: what would have to be known, in sentences.
    """

    network: PodNetwork
    devices: tuple[Device, ...]
    meant: tuple[Said, ...]
    transport: Transport
    causes: tuple[Said, ...]
    fails: bool
    unchecked: tuple[str, ...]

    @cached_property
    def verbs(self) -> bool:
        """Whether it may use verbs by itself: not by EFA's plugin, nor by Google's."""
        return any(one.kind in ("function", "shared") and one.rdma is not False for one in self.devices)

    @property
    def certain(self) -> bool:
        """Whether a device with RDMA is there for certain."""
        return any(one.rdma is True for one in self.devices)

    @property
    def without_device(self) -> bool:
        """Whether there is none for certain."""
        return not _may_have_device(self.network, self.devices)


def effective(group: Group, workload: RayWorkload, bundle: Bundle, more: Sequence[Variable] = ()) -> Effective:
    """The transport of a group's pods.

    Args:
        group: a group of the workload.
        workload: the workload.
        bundle: where networks, policies, device plugins and ConfigMaps are looked up; what is not in it is not guessed.
        more: variables that the ranks get beside those of their container, such as those of a runtime_env.
    """
    network = pod_network(group, bundle, workload.manifest.namespace, more)
    found = devices(network)
    causes = tuple(_causes(network, found))
    transport, unchecked = _pick(network, found)
    return Effective(
        network, found, tuple(intent.signs(network, found)), transport, causes,
        _fails(network, found), tuple(unchecked),
    )  # fmt: skip


def _may_have_device(network: PodNetwork, found: Sequence[Device]) -> bool:
    some = any(one.rdma is not False for one in found)
    return some or network.privileged or network.claims or bool(network.gke)


def _disabled(network: PodNetwork) -> Variable | None:
    variable = network.variables.get("NCCL_IB_DISABLE")
    return variable if variable and variable.value and nccl.number(variable.value) else None


def _causes(network: PodNetwork, found: Sequence[Device]) -> Iterator[Said]:
    yield from _device_causes(network, found)
    if not _may_have_device(network, found):
        yield Said(NO_DEVICE, network.at("resources") if "resources" in network.container else network.at())
    for path in mounts(network):
        if not network.privileged:
            yield Said("a mounted /dev/infiniband may not be opened: the container is not privileged", path)
    disabled = _disabled(network)
    if disabled is not None:
        yield Said(f"NCCL_IB_DISABLE: {disabled.value} switches IB off", disabled.path, disabled.manifest)
    net = network.variables.get("NCCL_NET")
    if net is not None and net.value and nccl.transport(net.value) == "Socket":
        yield Said(f"NCCL_NET: {net.value} is TCP", net.path, net.manifest)


def _device_causes(network: PodNetwork, found: Sequence[Device]) -> Iterator[Said]:
    """What is wrong with what looks like a device."""
    for one in found:
        name, pool = one.resource.name, one.pool
        if pool is not None and pool.vfio:
            why = f"{name} has functions with the driver vfio-pci (DPDK): no kernel network driver and no RDMA device"
            yield Said(why, pool.path, pool.manifest)
        elif pool is not None and not pool.rdma:
            yield Said(f"{name} comes without RDMA: isRdma is not true", pool.path, pool.manifest)
        if one.kind != "function":
            continue
        if network.host:
            why = f"hostNetwork: no CNI runs for the pod, so that nothing moves the function of {name} into it"
            yield Said(why, network.pod_at("hostNetwork"))
        elif not network.networks:
            yield Said(f"no annotation k8s.v1.cni.cncf.io/networks moves the function of {name} in", one.resource.path)


def _fails(network: PodNetwork, found: Sequence[Device]) -> bool:
    """Whether NCCL_NET names IB for certain where there is none for certain."""
    net = network.value("NCCL_NET")
    if net is None or nccl.transport(net) != "IB":
        return False
    return not _may_have_device(network, found) or _disabled(network) is not None


def _pick(network: PodNetwork, found: Sequence[Device]) -> tuple[Transport, list[str]]:
    """The transport, and what would have to be known for it."""
    net = network.value("NCCL_NET")
    if net is not None:
        return nccl.transport(net), [*_unseen(network, found)]
    if not _may_have_device(network, found):
        return "Socket", []
    if network.may_have("NCCL_NET"):
        return "unknown", ["the value of NCCL_NET, which comes from outside of the manifests"]
    plugin: Transport = "gIB" if network.gke else "Libfabric"
    if network.gke or any(one.kind == "efa" for one in found):
        there = _has_plugin(network, plugin)
        return plugin if there else "unknown", [] if there else [f"whether the image has NCCL's plugin {plugin}"]
    return _verbs(network, found)


def _verbs(network: PodNetwork, found: Sequence[Device]) -> tuple[Transport, list[str]]:
    """What NCCL's own transports make of the devices."""
    if _disabled(network) is not None:
        return "Socket", []
    if any(one.rdma is True for one in found):
        return "IB", []
    return "unknown", [*_unseen(network, found)]


def _has_plugin(network: PodNetwork, name: Transport) -> bool:
    """Whether the variables lead to the plugin of a transport."""
    known = (network.value("LD_LIBRARY_PATH"), network.value("NCCL_NET_PLUGIN"))
    return any(_PLUGINS[name] in value.lower() for value in known if value)


def _unseen(network: PodNetwork, found: Sequence[Device]) -> Iterator[str]:
    for one in found:
        if one.rdma is None and one.kind == "function":
            yield f"the SriovNetworkNodePolicy, or the ConfigMap of the device plugin, that offers {one.resource.name}"
        elif one.rdma is None:
            yield f"what the resource {one.resource.name} gives a pod"
    if not any(one.rdma is True for one in found):
        if network.claims:
            yield "the devices of the pod's resourceClaims"
        if network.privileged:
            yield "the devices of the node, all of which a privileged container sees"
