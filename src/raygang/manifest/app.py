"""The Serve application of a plan: import path and arguments, the same here and on Kubernetes."""

from __future__ import annotations

from typing import Any

from raygang.fabric import prove
from raygang.plan import Plan

IMPORT_PATH = "raygang.runtime.app:build"


def app_arguments(
    plan: Plan, model_path: str, *, engine_args: dict[str, Any] | None = None, probe: bool = True
) -> dict[str, Any]:
    """The arguments of `IMPORT_PATH` for a plan (fields of `raygang.runtime.config.AppConfig`).

    Args:
        plan: what was decided.
        model_path: a directory that every node has, or a hub id.
        engine_args: vLLM's arguments that the place adds to the user's own, who has the last word.
        probe: whether the place has a network that can be checked; the specification can still say no.
    """
    spec = plan.spec
    return {
        "served_name": spec.model.served_name or spec.name,
        "model_path": model_path,
        "engine_args": {**(engine_args or {}), **spec.engine.args},
        "env": dict(spec.engine.env),
        "gang": {"tensor": plan.tensor, "pipeline": plan.pipeline, "nodes": len(plan.nodes)},
        "replicas": spec.replicas,
        "max_concurrent_requests": spec.limits.max_concurrent_requests,
        "request_timeout_s": spec.limits.request_timeout,
        "start_timeout_s": spec.limits.start_timeout,
        **(_probe(plan) if probe else {}),
    }


def _probe(plan: Plan) -> dict[str, Any]:
    """What the network must show; one rank has nobody to talk to."""
    spec = plan.spec
    if not spec.fabric.probe or plan.world_size == 1:
        return {}
    found = prove(spec).model_dump(mode="json", exclude_defaults=True)
    return {"fabric": {"fabric": spec.fabric.type, **found}}


# Ray 2.60. Needed on every node, here and on Kubernetes alike; docs/performance.md says what each is worth.
SERVE_ENVIRONMENT = {
    # Requests go from HAProxy straight to the replica that owns the engine: no Python between them.
    "RAY_SERVE_ENABLE_HA_PROXY": "1",
    # The replica's own code is asynchronous: a thread of its own costs two hops per token.
    "RAY_SERVE_RUN_USER_CODE_IN_SEPARATE_THREAD": "0",
    "RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "0",
    "RAY_SERVE_REQUEST_PATH_LOG_BUFFER_SIZE": "1000",
}
