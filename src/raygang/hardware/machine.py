"""What this machine has, and what of it this process may use."""

from __future__ import annotations

import math
import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil

from raygang.hardware._cgroup import cgroup_cpus, cgroup_memory

BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}  # of /proc/cpuinfo, on x86 and Arm


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
        cpu_bfloat16: whether its CPUs multiply bfloat16; without, vLLM's bfloat16 is slower than float32.
    """

    hostname: str
    system: str
    cpus: int
    memory_bytes: int
    memory_available_bytes: int
    gpus: tuple[Gpu, ...] = ()
    cpu_bfloat16: bool = True


def this_machine() -> Machine:
    """Read it now."""
    memory, quota = psutil.virtual_memory(), cgroup_cpus()
    limit, used = cgroup_memory()
    return Machine(
        hostname=platform.node(),
        system=platform.system(),
        cpus=_least(_affinity(), None if quota is None else max(1, math.ceil(quota))),
        memory_bytes=_least(memory.total, limit),
        memory_available_bytes=_least(memory.available, None if limit is None else max(0, limit - used)),
        gpus=_gpus(),
        cpu_bfloat16=cpu_bfloat16(),
    )


def disk_free(path: Path) -> int:
    """Bytes free for this user on the file system that would hold `path`, which need not exist yet."""
    path = path.absolute()
    return shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free


def cpu_bfloat16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the CPUs multiply bfloat16 (Linux; False where that cannot be read)."""
    try:
        return bool(BFLOAT16_FLAGS & set(cpuinfo.read_text().split()))
    except OSError:
        return False


def _least(there: int, limit: int | None) -> int:
    return there if limit is None else min(there, limit)


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
