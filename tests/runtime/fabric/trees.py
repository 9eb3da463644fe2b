"""Trees of sysfs and /dev, written by hand from the kernel's ABI documentation: no HCA is here to copy them from.

Linux Documentation/ABI/stable/sysfs-class-infiniband; forms of `rate` and `state` from drivers/infiniband/core/sysfs.c
(6.x).
"""

from __future__ import annotations

from pathlib import Path

ZEROS = "0000:0000:0000:0000:0000:0000:0000:0000"
GUID = "fe80:0000:0000:0000:506b:4b03:00c1:"


def hca(
    root: Path,
    name: str = "mlx5_0",
    *,
    link_layer: str = "InfiniBand",
    state: str = "4: ACTIVE",
    interface: str = "",
    words: int | None = 1000,
) -> Path:
    """An HCA of one port with 400 Gbit/s; `words` of four bytes were sent, None hides the counters."""
    port = root / "sys/class/infiniband" / name / "ports/1"
    write(port / "state", f"{state}\n")
    write(port / "phys_state", "5: LinkUp\n" if "ACTIVE" in state else "3: Disabled\n")
    write(port / "rate", "400 Gb/sec (4X NDR)\n")
    write(port / "link_layer", f"{link_layer}\n")
    kind = "IB/RoCE v1" if link_layer == "InfiniBand" else "RoCE v2"
    for index, value in enumerate((GUID + "0a1b", ZEROS)):
        write(port / "gids" / str(index), f"{value}\n")
    write(port / "gid_attrs/types/0", f"{kind}\n")
    write(port / "gid_attrs/ndevs/0", f"{interface}\n")
    if words is not None:
        write(port / "counters/port_xmit_data", f"{words}\n")
    return port


def devices(root: Path, *names: str) -> None:
    """Files that stand for those of /dev/infiniband: they open."""
    for name in names:
        write(root / "dev/infiniband" / name, "")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="ascii")
