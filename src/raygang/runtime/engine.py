"""The engine of a replica: `ray.serve.llm`'s server for vLLM, as raygang starts it.

Importing this module imports Ray's LLM packages and vLLM (5-20 s): import it where it is needed, not above.
Read in Ray 2.60 and vLLM 0.32.
"""

from __future__ import annotations

import os
import uuid
from typing import Any

import ray
from ray.llm._internal.common.callbacks.base import CallbackBase
from ray.llm._internal.serve.engines.vllm.vllm_engine import VLLMEngine, _get_vllm_engine_config
from ray.serve.llm import LLMConfig
from ray.serve.llm.deployment import LLMServer
from vllm import SamplingParams
from vllm.entrypoints.launchers.cli_args import FrontendArgs
from vllm.platforms import current_platform

from raygang.runtime import progress
from raygang.runtime.config import AppConfig


class Engine(LLMServer):
    """Ready only after a token went through all ranks; reports no usage, so it starts no telemetry actor (0.4 GB)."""

    async def _start_engine(self) -> None:
        await self.engine.start()
        progress.report(progress.part("replica"), "first token")
        await self._first_token()

    async def _first_token(self) -> None:
        client = self.engine._engine_client
        sampling = SamplingParams(max_tokens=1, temperature=0.0)
        async for _ in client.generate({"prompt_token_ids": [1]}, sampling, f"raygang-{uuid.uuid4()}"):
            pass


class CpuEngine(VLLMEngine):
    """Makes vLLM's configuration in the replica itself.

    Ray makes it in a task that holds a GPU, since the replica sees none; a CPU rank's platform is the replica's own,
    and the task would import vLLM once more (5-10 s).
    """

    def _prepare_engine_config(self, callback_ctx: Any) -> tuple[Any, FrontendArgs, Any]:
        # vLLM tells its engine core where Ray is only when it has to change the way processes are started; its CPU
        # platform has set that way in this process, and the engine core would start a Ray of its own.
        os.environ["RAY_ADDRESS"] = ray.get_runtime_context().gcs_address
        args, config = _get_vllm_engine_config(self.llm_config)
        return args, FrontendArgs(**self.llm_config.get_engine_config().frontend_kwargs), config


class ModelIsThere(CallbackBase):
    """Leaves out the task on each node that fetches the model, and imports vLLM to do so (5-10 s)."""

    async def on_before_node_init(self) -> None:
        """Called by Ray before it would start the tasks."""
        self.ctx.run_init_node = False


async def start(config: AppConfig) -> Engine:
    """Start the engine over the placement group of the calling replica.

    Raises:
        Exception: whatever vLLM raises; the cause of a failing rank or engine core is in `progress`.
    """
    engine = Engine.sync_init(llm_config(config), engine_cls=CpuEngine if current_platform.is_cpu() else VLLMEngine)
    await engine.start()
    return engine


def llm_config(config: AppConfig) -> LLMConfig:
    """The same configuration in the words of `ray.serve.llm`."""
    callback = {"callback_class": ModelIsThere} if os.path.isdir(config.model_path) else {}  # noqa: PTH112
    return LLMConfig(
        model_loading_config={"model_id": config.served_name, "model_source": config.model_path},
        placement_group_config={"bundles": config.gang.bundles(), "strategy": config.gang.strategy()},
        engine_kwargs={
            **config.engine_args,
            "tensor_parallel_size": config.gang.tensor,
            "pipeline_parallel_size": config.gang.pipeline,
            "distributed_executor_backend": "ray",
        },
        runtime_env={"env_vars": config.env} if config.env else None,
        callback_config=callback,
        log_engine_metrics=config.engine_metrics,
    )
