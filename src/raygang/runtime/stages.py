"""Reports the stages of the engine and its ranks, and the cause when one of them fails.

vLLM 0.32: `WorkerProc` drives its worker through `WorkerWrapperBase`, on every platform; its `load_model` and
`compile_or_warm_up_model` are forwarded to the worker by `__getattr__`. The engine core makes its executor and then
the KV caches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from raygang.runtime import progress


def install() -> None:
    """Wrap the stages; a second call changes nothing."""
    from vllm.v1.executor.abstract import Executor
    from vllm.v1.worker.worker_base import WorkerWrapperBase as Worker

    if hasattr(Worker, "load_model"):
        return
    Worker.load_model = lambda self, *args, **kwargs: self.worker.load_model(*args, **kwargs)
    Worker.compile_or_warm_up_model = lambda self: self.worker.compile_or_warm_up_model()
    _wrap(Worker, "init_device", _rank, before="device")
    _wrap(Worker, "load_model", _rank, before="weights", after="loaded")
    _wrap(Worker, "initialize_from_config", _rank, after="kv cache")
    _wrap(Worker, "compile_or_warm_up_model", _rank, before="warm-up", after="ready")
    _wrap(Executor, "__init__", _engine, after="workers")
    _wrap(Executor, "initialize_from_config", _engine, after="ready")


def _rank(worker: Any) -> str:
    return progress.part("rank", worker.global_rank)


def _engine(_executor: Any) -> str:
    return progress.part("engine")


def _wrap(
    cls: type, name: str, part: Callable[[Any], str], *, before: str | None = None, after: str | None = None
) -> None:
    inner = getattr(cls, name)

    @functools.wraps(inner)
    def outer(self: Any, *args: Any, **kwargs: Any) -> Any:
        if before:
            _report(part(self), before)
        try:
            result = inner(self, *args, **kwargs)
        except Exception as e:
            cause = getattr(e, "cause", None) or e  # what a remote rank raised, without Ray's copy of its traceback
            _report(part(self), "failed", cause=f"{type(cause).__name__}: {cause}")
            raise
        if after:
            _report(part(self), after)
        return result

    setattr(cls, name, outer)


def _report(part: str, stage: str, **facts: str) -> None:
    import ray

    if ray.is_initialized():  # a single-process engine has ranks, but no cluster to tell
        progress.report(part, stage, **facts)
