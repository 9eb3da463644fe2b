"""Network interfaces of this process's namespace, and which of them a list of NCCL's or Gloo's takes.

NCCL (2.19-2.29, env.rst): a list matches by prefix, `=` before it makes it whole names, `^` excludes. Gloo as torch
2.13 uses it (ProcessGroupGloo.cpp): whole names, separated by commas.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

import psutil

from raygang.runtime.fabric.report import Interface

_FAMILIES = (socket.AF_INET, socket.AF_INET6)


def interfaces() -> tuple[Interface, ...]:
    """All of them with their addresses."""
    addresses, stats = psutil.net_if_addrs(), psutil.net_if_stats()
    return tuple(
        Interface(
            name=name,
            up=stat.isup,
            addresses=tuple(a.address.partition("%")[0] for a in addresses.get(name, ()) if a.family in _FAMILIES),
            mtu=stat.mtu,
            speed=stat.speed / 1000 if stat.speed > 0 else None,
        )
        for name, stat in sorted(stats.items())
    )


def sent() -> dict[str, int]:
    """Bytes that each interface has sent so far."""
    return {name: count.bytes_sent for name, count in psutil.net_io_counters(pernic=True).items()}


def host_addresses() -> tuple[str, ...]:
    """What the host's own name resolves to; Gloo listens there when no interface is named."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET, socket.SOCK_STREAM)
    except socket.gaierror:
        return ()
    return tuple(dict.fromkeys(str(address[4][0]) for address in found))


def taken_by_nccl(value: str, names: Sequence[str]) -> list[str]:
    """The interfaces that a value of NCCL_SOCKET_IFNAME or NCCL_IB_HCA takes, in their order.

    Loopback and docker's bridges are left out where the value only excludes, as NCCL does.
    """
    sign = value[:2] if value[:2] in ("^=", "=^") else value[:1]
    excluded, whole = "^" in sign, "=" in sign
    wanted = [name.partition(":")[0] for name in value.lstrip("^=").split(",") if name]
    hits = [name for name in names if any(name == w if whole else name.startswith(w) for w in wanted)]
    if not excluded:
        return hits
    return [name for name in names if name not in hits and not name.startswith(("lo", "docker"))]


def taken_by_gloo(value: str, names: Sequence[str]) -> list[str]:
    """The interfaces that a value of GLOO_SOCKET_IFNAME takes."""
    return [name for name in value.split(",") if name in names]
