"""The collective between CPU ranks: gloo over TCP."""

from __future__ import annotations

from vllm.distributed.device_communicators.cpu_communicator import CpuCommunicator


class NetworkCpuCommunicator(CpuCommunicator):
    """Never the shared-memory collective, which stock vLLM 0.32 chooses by comparing a port number.

    Ranks of different hosts can agree on that number, and with three ranks and bfloat16 it gave wrong answers.
    """

    def _all_group_ranks_share_shm_group_name(self) -> bool:
        return False
