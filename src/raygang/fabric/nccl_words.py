"""How NCCL reads its variables.

NCCL 2.19-2.30, src/misc/utils.cc parseStringList, src/misc/socket.cc ncclFindInterfaces, src/misc/param.cc
ncclLoadParam: a list of interfaces or HCAs matches by prefix unless it begins with =, ^ excludes, and a number is what
strtoll makes of it, so that "true" is 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Transport = Literal["IB", "Socket", "Libfabric", "gIB", "unknown"]

_NETS: dict[str, Transport] = {  # NCCL compares without regard to case: src/plugin/net.cc
    "ib": "IB",
    "socket": "Socket",
    "gib": "gIB",
    "libfabric": "Libfabric",
    "aws libfabric": "Libfabric",
}
_NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|\d+)", re.ASCII)
_IPOIB = re.compile(r"ib(\d|s|p|o|x|$)", re.ASCII)  # ib0, ibs17, ibp12s0, and the prefix ib alone
_INDEXED = re.compile(r"\d\Z", re.ASCII)


@dataclass(frozen=True)
class Names:
    """A list of interfaces or HCAs.

    Attributes:
        names: without their ports.
        exclude: all but these.
        exact: whole names; else whatever begins with them.
    """

    names: tuple[str, ...]
    exclude: bool
    exact: bool

    @property
    def widening(self) -> tuple[str, ...]:
        """Names that end in a number and match longer ones, too: eth1 is eth10, bond0 is bond0.100."""
        return () if self.exact else tuple(name for name in self.names if _INDEXED.search(name))


def names(value: str) -> Names:
    """The list that a value of NCCL_SOCKET_IFNAME or NCCL_IB_HCA stands for."""
    exclude = value.startswith("^")
    rest = value[1:] if exclude else value
    exact = rest.startswith("=")
    entries = (rest[1:] if exact else rest).split(",")
    return Names(tuple(name for entry in entries if (name := entry.partition(":")[0])), exclude, exact)


def exactly(value: str) -> str:
    """The same list with whole names."""
    return f"^={value[1:]}" if value.startswith("^") else f"={value}"


def number(value: str) -> int:
    """What NCCL makes of a number: 0 of a text that is none."""
    match = _NUMBER.match(value)
    if match is None:
        return 0
    digits = match[2]
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits.startswith("0") else 10
    try:
        found = int(digits, base)
    except ValueError:  # 08: strtoll stops before the 8
        found = 0
    return -found if match[1] == "-" else found


def is_number(value: str) -> bool:
    """Whether a text begins with a number."""
    return _NUMBER.match(value) is not None


def is_ipoib(name: str) -> bool:
    """Whether an interface is IP over InfiniBand, by its name."""
    return _IPOIB.match(name) is not None


def transport(value: str) -> Transport:
    """The transport that NCCL_NET names, as far as its name is known."""
    return _NETS.get(value.strip().lower(), "unknown")
