"""What several fabrics say to NCCL and Gloo alike.

NCCL 2.29 docs env.rst; the same back to 2.19: a list of interfaces or HCAs matches by prefix unless it begins with =,
and NCCL_NET with a name that is not there ends the communicator instead of falling back to sockets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raygang.objects import Entry

if TYPE_CHECKING:
    from raygang.runtime.fabric.expected import Expected, Transport
    from raygang.spec import Spec

FIND_RESOURCE = "kubectl get nodes -o json | jq '.items[].status.allocatable' shows what the nodes have"


def net(name: str) -> Entry:
    """The transport between nodes, by name."""
    return Entry("NCCL_NET", name, "this or nothing: without it NCCL falls back to TCP and says so in its log only")


def control(spec: Spec) -> tuple[Entry, ...]:
    """The interface for bootstrap and control traffic, where the specification names one."""
    interface = spec.fabric.interface
    if interface is None:
        return ()
    return (
        Entry("NCCL_SOCKET_IFNAME", f"={interface}", "for bootstrap; the = makes it this name and no longer one"),
        Entry("GLOO_SOCKET_IFNAME", interface, "the same one for vLLM's CPU group; Gloo knows no ="),
    )


def hcas(spec: Spec) -> tuple[Entry, ...]:
    """The HCAs that NCCL may use, where the specification names some."""
    names = spec.fabric.hcas
    if not names:
        return ()
    why = "these and no others, such as those of storage; without the =, mlx5_1 would be mlx5_10 too"
    ports = ",".join(name if ":" in name else f"{name}:1" for name in names)
    return (
        Entry("NCCL_IB_HCA", f"={','.join(names)}", why),
        Entry("UCX_NET_DEVICES", ports, "the same for what speaks UCX, such as NIXL; it wants the port as well"),
    )


def device(spec: Spec, example: str) -> tuple[Entry, ...]:
    """The resource that gives a pod its device.

    Raises:
        SpecError: it is not named, and its name is the site's own.
    """
    fabric = spec.fabric
    if fabric.resource is None:
        raise spec.problem(
            "fabric.resource",
            f"is needed: {fabric.type} gives a pod its device by an extended resource, which each cluster names itself",
            suggestion=f"{example} ({FIND_RESOURCE})",
        )
    why = "gives the pod the network's device; a gang check counts it as it counts GPUs"
    return (Entry(fabric.resource, str(fabric.resource_count), why),)


def expected(spec: Spec, transport: Transport, **more: Any) -> Expected:
    """What must be seen: this transport, what the specification names, and what else the fabric knows."""
    from raygang.runtime.fabric.expected import Expected  # pydantic: the linter imports this room and needs neither

    fabric = spec.fabric
    return Expected(
        fabric=fabric.type,
        transport=transport,
        interface=fabric.interface,
        hcas=fabric.hcas,
        min_bandwidth=fabric.min_bandwidth,
        **more,
    )
