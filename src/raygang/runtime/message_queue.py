"""Lets a reader on another node notice that its queue is being shut down.

vLLM 0.32: `MessageQueue.shutdown()` wakes readers of the shared-memory ring only. A reader on another node sits in
one `poll()` for up to VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS (300 s) after the executor saw its worker die, and every
request hangs that long. Polling in slices costs four wake-ups a second and ends within one slice.
"""

from __future__ import annotations

import functools
import time
from typing import Any

SLICE_MS = 250


def install(spin_s: float | None = None) -> None:
    """Replace `MessageQueue.dequeue`; a second call changes nothing.

    Args:
        spin_s: how long a shared-memory reader looks again and again before it sleeps; vLLM's own second by default.
    """
    from vllm.distributed.device_communicators import shm_broadcast

    queue = shm_broadcast.MessageQueue
    dequeue = queue.dequeue
    if getattr(dequeue, "raygang", False):
        return

    def sliced(self: Any, timeout: float | None = None, indefinite: bool = False) -> Any:
        if self._is_local_reader or not self._is_remote_reader:
            return dequeue(self, timeout, indefinite)
        _wait(self, None if timeout is None else time.monotonic() + timeout)
        return dequeue(self, 0, indefinite)

    sliced.raygang = True  # type: ignore[attr-defined]
    queue.dequeue = sliced
    if spin_s is not None:
        condition = shm_broadcast.SpinCondition
        condition.__init__ = functools.partialmethod(condition.__init__, busy_loop_s=spin_s)


def _wait(queue: Any, deadline: float | None) -> None:
    while not queue.remote_socket.poll(timeout=SLICE_MS):
        if queue.shutting_down:
            raise RuntimeError("cancelled: the executor is shutting down")
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError
