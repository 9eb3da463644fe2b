"""HCAs as the kernel shows them: /sys/class/infiniband and /dev/infiniband.

Linux Documentation/ABI/stable/sysfs-class-infiniband (4.x-6.x): `state` is "4: ACTIVE", `phys_state` "5: LinkUp",
`rate` "400 Gb/sec (4X NDR)", `link_layer` "InfiniBand" or "Ethernet"; counters/port_xmit_data counts words of four
bytes. EFA has no such counter, but hw_counters/tx_bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from raygang.runtime.fabric.report import Gid, Hca, Port

CLASS, DEVICES = "sys/class/infiniband", "dev/infiniband"
_NO_GID = re.compile(r"[0:]*")
_WORD = 4  # bytes of port_xmit_data's unit


def hcas(root: Path) -> tuple[Hca, ...]:
    """All HCAs below a root directory, in the order of their names."""
    return tuple(Hca(name=device.name, ports=tuple(_ports(device))) for device in _entries(root / CLASS))


def devices(root: Path) -> dict[str, str]:
    """The files of /dev/infiniband: "" for one that opens, else why not."""
    return {file.name: _opens(file) for file in _entries(root / DEVICES) if not file.is_dir()}


def sent(root: Path) -> dict[str, int]:
    """Bytes that each port has sent so far, as "mlx5_0:1"; a port without a counter (some virtual functions) is absent.

    A container sees the counters of the whole port, which other pods may share.
    """
    found = {}
    for device in _entries(root / CLASS):
        for port in _entries(device / "ports"):
            if (words := _number(port / "counters" / "port_xmit_data")) is not None:
                found[f"{device.name}:{port.name}"] = words * _WORD
            elif (size := _number(port / "hw_counters" / "tx_bytes")) is not None:
                found[f"{device.name}:{port.name}"] = size
    return found


def _ports(device: Path) -> Iterator[Port]:
    for port in _entries(device / "ports"):
        yield Port(
            number=int(port.name),
            state=_text(port / "state").partition(": ")[2],
            physical=_text(port / "phys_state").partition(": ")[2],
            rate=_rate(_text(port / "rate")),
            link_layer=_text(port / "link_layer"),
            gids=tuple(_gids(port)),
        )


def _gids(port: Path) -> Iterator[Gid]:
    for file in sorted(_entries(port / "gids"), key=lambda file: int(file.name)):
        value = _text(file)
        if not _NO_GID.fullmatch(value):  # empty entries of the table read as zeros
            attributes = port / "gid_attrs"
            kind, interface = _text(attributes / "types" / file.name), _text(attributes / "ndevs" / file.name)
            yield Gid(index=int(file.name), value=value, type=kind, interface=interface)


def _rate(text: str) -> float | None:
    number = text.partition(" ")[0]
    return float(number) if re.fullmatch(r"\d+(\.\d+)?", number) else None


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:  # absent, or not ours to read: there is none for us
        return []


def _text(file: Path) -> str:
    """What a file says; nothing where the driver answers with an error, as for the attributes of an empty GID."""
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _number(file: Path) -> int | None:
    text = _text(file)
    return int(text) if text.isdecimal() else None


def _opens(file: Path) -> str:
    try:
        os.close(os.open(file, os.O_RDWR))
    except OSError as e:
        return e.strerror or str(e)
    return ""
