"""What this machine has, and what of it this process may use."""

from __future__ import annotations

import contextlib
import math
import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil

UNLIMITED = 2**60  # cgroup v1 writes "no limit" as a huge number


@dataclass(frozen=True)
class Gpu:
    """A GPU of this machine. `memory_bytes` is its whole memory."""

    index: int
    name: str
    memory_bytes: int


@dataclass(frozen=True)
class Machine:
    """This machine.

    Attributes:
        system: "Linux", "Darwin", ...
        cpus: CPUs that this process may use (affinity and cgroup quota).
        memory_bytes: memory that this process may use (cgroup limit).
        memory_available_bytes: of that, what is free now.
        gpus: NVIDIA GPUs, as NVML names them.
    """

    hostname: str
    system: str
    cpus: int
    memory_bytes: int
    memory_available_bytes: int
    gpus: tuple[Gpu, ...] = ()


def this_machine() -> Machine:
    """Read it now."""
    memory = psutil.virtual_memory()
    limit, used = cgroup_memory()
    return Machine(
        hostname=platform.node(),
        system=platform.system(),
        cpus=max(1, min(_affinity(), math.ceil(cgroup_cpus() or UNLIMITED))),
        memory_bytes=min(memory.total, limit or UNLIMITED),
        memory_available_bytes=min(memory.available, limit - used if limit else UNLIMITED),
        gpus=_gpus(),
    )


def disk_free(path: Path) -> int:
    """Bytes free for this user on the file system that would hold `path`, which need not exist yet."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def cgroup_cpus(root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """The CPU quota of this process's cgroup (v2, else v1), None without one."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = (root / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    with contextlib.suppress(OSError, ValueError):
        quota_us = int((root / "cpu/cpu.cfs_quota_us").read_text())
        return quota_us / int((root / "cpu/cpu.cfs_period_us").read_text()) if quota_us > 0 else None
    return None


def cgroup_memory(root: Path = Path("/sys/fs/cgroup")) -> tuple[int | None, int]:
    """Memory limit of this process's cgroup (v2, else v1), None without one, and what is used, in bytes."""
    for limit_file, used_file in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError):
            text = (root / limit_file).read_text().strip()
            used = int((root / used_file).read_text())
            if text == "max" or int(text) >= UNLIMITED:
                return None, used
            return int(text), used
    return None, 0


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _gpus() -> tuple[Gpu, ...]:
    try:
        import pynvml
    except ImportError:
        return ()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:  # no driver: no GPU that could be used
        return ()
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return tuple(
            Gpu(i, str(pynvml.nvmlDeviceGetName(h)), int(pynvml.nvmlDeviceGetMemoryInfo(h).total))
            for i, h in enumerate(handles)
        )
    finally:
        pynvml.nvmlShutdown()
