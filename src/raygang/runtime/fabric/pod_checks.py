"""Checks of one rank's pod against what is expected, in the order of the chain from interface to memory.

Each says what is wrong and what to do; the first failure is the cause, what follows it is often its consequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from raygang.runtime.fabric import interfaces
from raygang.runtime.fabric._words import listed, size
from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.report import Facts, Hca, Port, Severity

QUEUE = 240 << 20  # bytes: vLLM 0.32 shm_broadcast.py, a queue between an engine and its workers on a node
_MEMLOCK = 1 << 30  # NCCL registers its buffers, some hundred MiB on each rank, and the engine's own beside them
_SAME_NET = {"Libfabric": ("Libfabric", "AWS Libfabric")}


class Wrong(NamedTuple):
    """Something wrong in a pod."""

    code: str
    what: str
    do: str
    severity: Severity = "failure"


Check = Callable[[Facts, Expected], Iterator[Wrong]]


def _named_interface(facts: Facts, expected: Expected) -> Iterator[Wrong]:
    names = [interface.name for interface in facts.interfaces]
    asked: list[tuple[str, str, list[str]]] = []
    if expected.interface:
        asked.append(("fabric.interface", expected.interface, [n for n in names if n == expected.interface]))
    if value := facts.variables.get("NCCL_SOCKET_IFNAME"):
        asked.append(("NCCL_SOCKET_IFNAME", value, interfaces.taken_by_nccl(value, names)))
    if value := facts.variables.get("GLOO_SOCKET_IFNAME"):
        asked.append(("GLOO_SOCKET_IFNAME", value, interfaces.taken_by_gloo(value, names)))
    for field, value, taken in asked:
        if not taken:
            there = listed(n for n in names if n != "lo")
            yield Wrong(
                "interface-unknown", f"{field} is {value}, and there are {there}", f"name one of them in {field}"
            )
            continue
        chosen = [interface for interface in facts.interfaces if interface.name in taken]
        if not any(interface.up for interface in chosen):
            what = f"{field} is {value}, and {listed(taken)} is down"
            yield Wrong("interface-down", what, "bring it up, or name another")
        elif not any(interface.addresses for interface in chosen):
            what = f"{field} is {value}, and {listed(taken)} has no address"
            yield Wrong("interface-address", what, "give it an address (ipam of its network), or name another")


def _host_name(facts: Facts, expected: Expected) -> Iterator[Wrong]:
    """Gloo, which vLLM's CPU group uses, listens where the host's name leads when no interface is named."""
    if facts.variables.get("GLOO_SOCKET_IFNAME") or facts.node.startswith("127."):
        return
    if facts.host_addresses and all(address.startswith("127.") for address in facts.host_addresses):
        what = f"the host's name {facts.host} leads to {listed(facts.host_addresses)}, where no other node reaches it"
        do = "set GLOO_SOCKET_IFNAME (fabric.interface in the specification), or mend /etc/hosts"
        yield Wrong("host-name-loopback", what, do)


def _variables(facts: Facts, expected: Expected) -> Iterator[Wrong]:
    if not expected.rdma:
        return
    net = facts.variables.get("NCCL_NET")
    if net and net not in _SAME_NET.get(expected.transport, (expected.transport,)):
        what = f"NCCL_NET is {net}, and {expected.fabric} needs {expected.transport}"
        yield Wrong("network-variable", what, f"remove it, or write {expected.transport}")
    if expected.verbs and facts.variables.get("NCCL_IB_DISABLE", "0") not in ("0", ""):
        yield Wrong("ib-disabled", "NCCL_IB_DISABLE switches RDMA off", "remove it")


def _device(facts: Facts, expected: Expected) -> Iterator[Wrong]:
    if not expected.verbs:
        return
    verbs = {name: why for name, why in facts.devices.items() if name.startswith("uverbs")}
    if not verbs:
        there = f"only {listed(facts.devices)}" if facts.devices else "nothing"
        what = f"needs a device: /dev/infiniband holds {there}, and no uverbs*"
        yield Wrong(
            "device-missing", what, "ask for the fabric's resource (fabric.resource; its device plugin must run)"
        )
    elif all(verbs.values()):
        name, why = next(iter(verbs.items()))
        what = f"/dev/infiniband/{name} does not open: {why}"
        yield Wrong(
            "device-closed", what, "the device plugin must allow it in the pod's cgroup; run as root if it says so"
        )


def _hca(facts: Facts, expected: Expected) -> Iterator[Wrong]:
    if not expected.verbs:
        return
    if not facts.hcas:
        what = "no HCA: /sys/class/infiniband is empty"
        yield Wrong("hca-missing", what, "load the node's RDMA driver (mlx5_ib), or give the pod its function")
        return
    absent = [name for name in expected.hcas if not _chosen(facts, (name,))]
    if absent:
        what = f"no HCA {listed(absent)}; there are {listed(hca.name for hca in facts.hcas)}"
        yield Wrong("hca-unknown", what, "name one of them in fabric.hcas")
        return
    ports = _chosen(facts, expected.hcas)
    live = [(hca, port) for hca, port in ports if port.state == "ACTIVE"]
    if not live:
        states = listed(f"{hca.name}:{port.number} is {port.state or 'silent'}" for hca, port in ports)
        yield Wrong(
            "port-down", f"no port is ACTIVE: {states}", "check cable, switch and, for InfiniBand, subnet manager"
        )
        return
    yield from _link(live, facts, expected)


def _link(live: list[tuple[Hca, Port]], facts: Facts, expected: Expected) -> Iterator[Wrong]:
    right = [(hca, port) for hca, port in live if expected.link_layer in (None, port.link_layer)]
    if not right:
        what = f"{expected.fabric} needs {expected.link_layer}, and the ports are " + listed(
            dict.fromkeys(port.link_layer for _, port in live)
        )
        yield Wrong("link-layer", what, "choose the fabric that the ports have, or other HCAs")
        return
    names = {interface.name for interface in facts.interfaces}
    for hca, port in right:
        if port.link_layer == "Ethernet" and not any(gid.interface in names for gid in port.gids):
            what = f"{hca.name}:{port.number} has no GID of an interface in this pod"
            yield Wrong("gid-missing", what, "its network must move the interface into the pod (fabric.networks)")


def _chosen(facts: Facts, names: tuple[str, ...]) -> list[tuple[Hca, Port]]:
    ports = [(hca, port) for hca in facts.hcas for port in hca.ports]
    return [(h, p) for h, p in ports if not names or {h.name, f"{h.name}:{p.number}"} & set(names)]


def _memory(facts: Facts, expected: Expected) -> Iterator[Wrong]:
    if expected.verbs and facts.memlock is not None and facts.memlock < _MEMLOCK:
        what = f"only {size(facts.memlock)} may be locked (RLIMIT_MEMLOCK), and IPC_LOCK is not effective for user "
        do = "run as root with the capability IPC_LOCK, or set LimitMEMLOCK=infinity for the node's container runtime"
        yield Wrong("memlock", f"{what}{facts.user}", do)
    if expected.huge_pages and not facts.huge_pages_free:
        what = "no free huge page of 2 MiB"
        yield Wrong("huge-pages", what, "ask for hugepages-2Mi, and reserve them on the node", "warning")
    if facts.shm_size < QUEUE:
        what = f"/dev/shm has {size(facts.shm_size)}, and a queue of vLLM's alone {size(QUEUE)}"
        do = "mount an emptyDir with medium: Memory there (nodes.shared_memory)"
        yield Wrong("shared-memory", what, do)
    elif facts.shm_free < QUEUE:
        what = f"/dev/shm has {size(facts.shm_free)} free, and a queue of vLLM's alone {size(QUEUE)}"
        yield Wrong("shared-memory", what, "give it more (nodes.shared_memory), or the object store less")


CHECKS: tuple[Check, ...] = (_named_interface, _host_name, _variables, _device, _hca, _memory)
BETWEEN_NODES: tuple[Check, ...] = (_host_name,)  # says nothing about the ranks of a single node
