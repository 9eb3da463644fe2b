"""The platform: vLLM's CPU platform, with Ray ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm.platforms.cpu import CpuPlatform

if TYPE_CHECKING:
    from vllm.config import VllmConfig


class RayCpuPlatform(CpuPlatform):
    """CPU ranks that Ray schedules as GPUs."""

    ray_device_key = "GPU"

    @classmethod
    def get_device_communicator_cls(cls) -> str:
        """The communicator that works between hosts."""
        return "raygang.runtime.cpu.communicator.NetworkCpuCommunicator"

    @classmethod
    def check_and_update_config(cls, vllm_config: VllmConfig) -> None:
        """Name the worker before the stock platform does."""
        if vllm_config.parallel_config.worker_cls == "auto":
            vllm_config.parallel_config.worker_cls = "raygang.runtime.cpu.worker.RayCpuWorker"
        super().check_and_update_config(vllm_config)
