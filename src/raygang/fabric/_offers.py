"""What the nodes of a cluster offer: the fabric that each of their extended resources stands for.

Names as their makers give them: aws-efa-k8s-device-plugin 0.5; GKE with multi-networking; k8s-rdma-shared-dev-plugin
1.5, whose prefix is rdma; Azure/aks-rdma-infiniband. Those of SR-IOV are the site's own, so that a name is a hint only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from raygang.hardware import Node

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
GKE = "networking.gke.io.networks/"
_AKS, _RDMA, _OPENSHIFT = "kubernetes.azure.com/", "rdma/", "openshift.io/"
_NO_NETWORK = re.compile(
    r"nvidia\.com/(gpu|mig-|pgpu|vgpu)|(amd|intel)\.com/gpu|devices\.kubevirt\.io/|.*\.kubernetes\.io/"
)
_WORD = r"(?:^|[-_.\d])(?:{})(?:$|[-_.\d]|rail|net|vf|shared)"
_IB, _ROCE = re.compile(_WORD.format("ib|infiniband")), re.compile(_WORD.format("roce|eth|ethernet"))
_HINT = re.compile(_WORD.format("ib|hca") + "|rdma|roce|infiniband|mlnx")


@dataclass(frozen=True)
class Offer:
    """A resource of a node that is a network between ranks.

    Attributes:
        fabric: fabric.type; None where it is a network that raygang has no fabric for.
        resource: its name; of GKE's networks, all that begins alike.
        certain: whether the name settles it.
    """

    fabric: str | None
    resource: str
    certain: bool = True


def offers(node: Node) -> list[Offer]:
    """What a node offers, by name."""
    found = (_offer(name, node) for name in sorted(node.allocatable) if "/" in name and node.count(name))
    return list(dict.fromkeys(offer for offer in found if offer))


def _offer(name: str, node: Node) -> Offer | None:
    domain, _, short = name.partition("/")
    if name == EFA:
        found = Offer("efa", name)
    elif name.startswith(GKE):
        found = Offer("gke-rdma" if short.startswith("rdma-") else None, GKE)
    elif f"{domain}/" == _RDMA:
        found = _shared(name, node)
    elif _HINT.search(short) and not _NO_NETWORK.match(name):
        found = Offer("sriov-infiniband" if _IB.search(short) else "sriov-roce", name, certain=False)
    else:
        return Offer(None, name) if f"{domain}/" == _OPENSHIFT else None
    return found


def _shared(name: str, node: Node) -> Offer:
    if _ROCE.search(name.removeprefix(_RDMA)):  # rdma_shared_device_eth is the plugin's own example
        return Offer(None, name)
    aks = any(label.startswith(_AKS) for label in node.labels)
    return Offer("aks-infiniband" if aks else "infiniband", name, certain=aks)


def gke_networks(nodes: list[Node]) -> tuple[str, ...]:
    """The RDMA networks that all of the nodes have, in the order of their numbers."""
    each = [{name.removeprefix(GKE) for name in node.allocatable if name.startswith(f"{GKE}rdma-")} for node in nodes]
    names = {name for name in set.intersection(*each) if not name.endswith(".IP")} if each else set()
    return tuple(sorted(names, key=lambda name: (len(name), name)))


def has_nics(node: Node) -> bool:
    """Whether node feature discovery, or NVIDIA's network operator, saw an adapter that can do RDMA."""
    labels = node.labels
    nfd = "feature.node.kubernetes.io/"
    return (
        labels.get(f"{nfd}rdma.capable") == "true"
        or labels.get(f"{nfd}rdma.available") == "true"
        or labels.get(f"{nfd}pci-15b3.present") == "true"
        or any(label.startswith("network.nvidia.com/") for label in labels)
    )
