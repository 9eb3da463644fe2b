"""The Serve application: `raygang.runtime.app:build`.

One deployment, whose replica serves vLLM's own OpenAI routes itself (Serve's ingress). Against
`ray.serve.llm.build_openai_app` that leaves out a process and two hops per token, and it keeps `ray.serve.llm` out
of the process that builds the application: importing it there costs a start 10-20 s.
"""

from __future__ import annotations

from typing import Any

from ray import serve
from ray.serve.deployment import Application

from raygang.runtime.config import AppConfig
from raygang.runtime.server import GangServer


def build(args: dict[str, Any]) -> Application:
    """Build the application from the fields of `AppConfig`.

    Raises:
        pydantic.ValidationError: a field is missing, unknown, or out of range.
    """
    config = AppConfig.model_validate(args)
    deployment = serve.deployment(
        serve.ingress()(GangServer),
        name="engine",
        num_replicas=config.replicas,
        max_ongoing_requests=config.max_concurrent_requests,
        placement_group_bundles=config.gang.bundles(),
        placement_group_strategy=config.gang.strategy(),
        ray_actor_options={"num_cpus": config.gang.replica_cpus, "runtime_env": {"env_vars": config.env}},
        health_check_period_s=2,
        health_check_timeout_s=10,
        graceful_shutdown_timeout_s=10,
    )
    return deployment.bind(config.model_dump())
