"""The Serve application of a plan: import path and arguments, the same here and on Kubernetes."""

from __future__ import annotations

from typing import Any

from raygang.plan import Plan

IMPORT_PATH = "raygang.runtime.app:build"


def app_arguments(plan: Plan, model_path: str, *, engine_args: dict[str, Any] | None = None) -> dict[str, Any]:
    """The arguments of `IMPORT_PATH` for a plan (fields of `raygang.runtime.config.AppConfig`).

    Args:
        plan: what was decided.
        model_path: a directory that every node has, or a hub id.
        engine_args: vLLM's arguments that the place adds to the user's own, who has the last word.
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
    }
