"""Which fabric the nodes of a cluster have: what to write into the specification, and what they do not show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from raygang.fabric import _offers
from raygang.fabric._offers import EFA, GKE, GPU, Offer
from raygang.hardware import Inventory, Node
from raygang.objects import Entry
from raygang.objects.words import agreed, counted

_FIRST = ("efa", "gke-rdma", "aks-infiniband", "infiniband", "sriov-infiniband", "sriov-roce")  # among equals
_GKE_DEFAULT = tuple(f"rdma-{number}" for number in range(8))
_SHOWN = 5  # names in a sentence


@dataclass(frozen=True)
class Choice:
    """A fabric for the nodes that have GPUs.

    Attributes:
        fabric: for fabric.type.
        fields: of the section fabric of a specification, its type among them, each with the reason.
        missing: fields that it needs as well and nodes do not show, with what has to stand there.
        check: what nodes do not show and somebody has to look up, in sentences.
        others: what else was seen, and why it was not chosen, in sentences.
        lacking: names of nodes with GPUs that do not have this fabric.
    """

    fabric: str
    fields: tuple[Entry, ...]
    missing: tuple[Entry, ...] = ()
    check: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


def choose(inventory: Inventory) -> Choice:
    """The fabric that most nodes with GPUs have; TCP where they have none."""
    nodes = [node for node in inventory.nodes if node.count(GPU)]
    if not nodes:
        every = counted(len(inventory.nodes), "node")
        return _tcp(f"none of {every} has {GPU}: ranks would run on CPUs, and talk over TCP", ())
    found = _by_offer(nodes)
    enough = min(2, len(nodes))
    usable = [offer for offer, there in found.items() if offer.fabric and len(there) >= enough]
    if not usable:
        return _tcp(_no_device(nodes), tuple(_others(found, None, enough)))
    best = min(usable, key=lambda offer: (-len(found[offer]), _FIRST.index(offer.fabric or ""), offer.resource))
    there = found[best]
    return Choice(
        fabric=best.fabric or "",
        fields=tuple(_fields(best, there, len(nodes))),
        missing=_missing(best),
        check=_check(best),
        others=tuple(_others(found, best, enough)),
        lacking=tuple(node.name for node in nodes if node not in there),
    )


def _by_offer(nodes: list[Node]) -> dict[Offer, list[Node]]:
    found: dict[Offer, list[Node]] = {}
    for node in nodes:
        for offer in _offers.offers(node):
            found.setdefault(offer, []).append(node)
    return found


def _fields(offer: Offer, nodes: list[Node], gpu_nodes: int) -> Iterator[Entry]:
    name = f"{offer.resource}{'rdma-*' if offer.resource == GKE else ''}"
    seen = f"{len(nodes)} of {counted(gpu_nodes, 'node')} with GPUs {agreed(len(nodes), 'has', 'have')} {name}"
    yield Entry("type", offer.fabric, seen)
    if offer.fabric == "gke-rdma":
        networks = _offers.gke_networks(nodes)
        if networks != _GKE_DEFAULT:
            yield Entry("networks", list(networks), "these are there, and not rdma-0 to rdma-7")
        return
    if offer.resource != EFA:
        yield Entry("resource", offer.resource, "gives a pod the device")
    count = _count(offer, nodes)
    if count > 1:
        differ = len({node.count(offer.resource) for node in nodes}) > 1
        of_node = "the fewest that a node has; others have more" if differ else "all that a node has"
        yield Entry("resource_count", count, f"{of_node}; a node of the gang is one pod")


def _count(offer: Offer, nodes: list[Node]) -> int:
    """A shared device is one, however often the plugin shares it; functions go with the networks that are named."""
    fewest = min(node.count(offer.resource) for node in nodes)
    if offer.fabric == "efa":
        return fewest
    if offer.fabric == "aks-infiniband" and "shared" not in offer.resource:
        # rdma/ib: the virtual machine's own adapters, one for each GPU
        return fewest if fewest <= min(node.count(GPU) for node in nodes) else 1
    return 1


def _missing(offer: Offer) -> tuple[Entry, ...]:
    if not (offer.fabric or "").startswith("sriov"):
        return ()
    what = "the NetworkAttachmentDefinitions that go with the resource, namespace/name for each"
    return (Entry("networks", what, "nodes do not show them: kubectl get net-attach-def -A"),)


def _check(offer: Offer) -> tuple[str, ...]:
    if offer.certain:
        return ()
    if offer.fabric == "infiniband":
        return (
            f"{offer.resource} says RDMA, not which link: cat /sys/class/infiniband/*/ports/*/link_layer on a node has "
            "to say InfiniBand",
        )
    return (
        f"{offer.resource} is a name that the site chose: kubectl get sriovnetworknodepolicies -A -o yaml has to say "
        "isRdma: true for it, and linkType: eth for sriov-roce, ib for sriov-infiniband",
    )


def _others(found: dict[Offer, list[Node]], best: Offer | None, enough: int) -> Iterator[str]:
    for offer, there in found.items():
        if offer == best:
            continue
        who = f"{offer.resource} ({_names(there)})"
        if offer.resource == GKE:
            yield f"{who}: networks for GPUDirect-TCPX, for which raygang has no fabric"
        elif offer.fabric is None and offer.resource.startswith("rdma/"):
            yield f"{who}: RoCE by a shared device, for which raygang has no fabric; SR-IOV gives pods RoCE"
        elif offer.fabric is None:
            yield f"{who}: its name does not say RDMA; if its policy does, write fabric.type and fabric.resource"
        elif len(there) < enough:
            yield f"{who}: one node only, and a gang over several needs it on each"
        elif best and offer.fabric == best.fabric:
            yield f"{who}: a second device of that kind; fabric.resource names one"
        else:
            yield f"{who}: would be fabric.type {offer.fabric}"


def _no_device(nodes: list[Node]) -> str:
    nics = [node for node in nodes if _offers.has_nics(node)]
    gpus = f"{counted(len(nodes), 'node')} with GPUs"
    if nics:
        return (
            f"labels of {_names(nics)} say that an RDMA adapter is there, and no device plugin offers it to pods: "
            "a plugin for shared devices, or the SR-IOV operator, would"
        )
    return f"no RDMA device is allocatable on {agreed(len(nodes), 'the', 'any of the')} {gpus}"


def _tcp(why: str, others: tuple[str, ...]) -> Choice:
    return Choice("tcp", (Entry("type", "tcp", why),), others=others)


def _names(nodes: list[Node]) -> str:
    names = [node.name for node in nodes[:_SHOWN]]
    return ", ".join(names) + (f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else "")
