"""The worker of a CPU rank."""

from __future__ import annotations

import os
from typing import Any

from vllm.v1.worker.cpu_worker import CPUWorker


class RayCpuWorker(CPUWorker):
    """vLLM's CPU worker, made to work on a node that is not the driver's."""

    def init_device(self) -> None:
        """Bind gloo to the interface of the Ray node before the process group is made."""
        interface = _interface_of_node()
        if interface:
            os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
        super().init_device()

    def load_model(self, *args: Any, **kwargs: Any) -> Any:
        """Load, then make the buffer that receives the previous stage's output.

        Stock vLLM makes it in a warm-up run that the CPU worker skips with eager execution, and asserts on the first
        request of a rank above 0.
        """
        result = super().load_model(*args, **kwargs)
        from vllm.distributed.parallel_state import get_pp_group

        runner = self.model_runner
        if not get_pp_group().is_first_rank and runner.intermediate_tensors is None:
            runner.intermediate_tensors = runner.model.make_empty_intermediate_tensors(
                batch_size=runner.max_num_tokens, dtype=runner.model_config.dtype, device=runner.device
            )
        return result


def _interface_of_node() -> str | None:
    """The interface that carries this Ray node's address; gloo would take the host name's."""
    import psutil
    import ray

    if not ray.is_initialized():
        return None
    address = ray.util.get_node_ip_address()
    for name, addresses in psutil.net_if_addrs().items():
        if any(a.address == address for a in addresses):
            return str(name)
    return "lo" if address.startswith("127.") else None
