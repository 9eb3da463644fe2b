"""The replica: one engine over its gang, and vLLM's OpenAI routes."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import ray
from ray import serve

from raygang.runtime import ingress, progress
from raygang.runtime.config import AppConfig

if TYPE_CHECKING:
    from fastapi import FastAPI

    from raygang.runtime.engine import Engine


class GangServer:
    """A replica of the model over its whole gang.

    Serve places it in the bundle of rank 0; the engine puts one worker into each bundle of the same placement group.
    """

    async def __init__(self, config: dict[str, Any]) -> None:  # type: ignore[misc]  # Serve awaits it
        ingress.listen_on_node()
        os.environ[progress.REPLICA_VARIABLE] = str(serve.get_replica_context().rank.rank)
        self._part = progress.part("replica")
        progress.report(self._part, "importing")
        self._engine = await self._start(AppConfig.model_validate(config))
        progress.report(self._part, "ready")

    async def _start(self, config: AppConfig) -> Engine:
        checked = await self._check(config)
        from raygang.runtime import engine  # here, so that Serve's controller and the builder never import vLLM

        try:
            if checked:
                progress.report(self._part, "fabric")
                await checked
            progress.report(self._part, "engine")
            return await engine.start(config)
        except Exception as e:  # noqa: BLE001  (whatever vLLM raises: name its first cause)
            cause = progress.first_failure() or f"{type(e).__name__}: {e}"
            progress.report(self._part, "failed", cause=cause)
            raise RuntimeError(cause) from None

    @staticmethod
    async def _check(config: AppConfig) -> asyncio.Task[None] | None:
        """Begin to check the network, in a thread: meanwhile this process loads the engine's libraries."""
        if config.fabric is None:
            return None
        from raygang.runtime.fabric import gate

        group, replica = ray.util.get_current_placement_group(), str(serve.get_replica_context().rank.rank)
        checked = asyncio.create_task(asyncio.to_thread(gate.check, group, config.fabric, replica))
        await asyncio.sleep(0)  # the import that follows holds the event loop: let the task begin before
        return checked

    async def __serve_build_asgi_app__(self) -> FastAPI:
        return await self._engine.__serve_build_asgi_app__()

    async def check_health(self) -> None:
        """Raise when the engine is dead, so that Serve replaces the replica.

        A plain RuntimeError: to unpickle vLLM's own, Serve's controller would import vLLM and torch and stall for
        half a minute (seen with Ray 2.60, vLLM 0.32).
        """
        try:
            await self._engine.check_health()
        except Exception as e:  # noqa: BLE001  (whatever the engine raises, the replica is not healthy)
            raise RuntimeError(f"{type(e).__name__}: {e}") from None
