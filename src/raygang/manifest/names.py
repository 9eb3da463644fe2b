"""Names and labels of what belongs to a deployment."""

from __future__ import annotations

from typing import Any

from raygang.plan import Plan

MANAGED_BY = "app.kubernetes.io/managed-by"
DEPLOYMENT, REPLICA = "raygang.dev/deployment", "raygang.dev/replica"
SERVE_PORT, DASHBOARD_PORT, AGENT_PORT, METRICS_PORT, GCS_PORT, CLIENT_PORT = 8000, 8265, 52365, 8080, 6379, 10001


def common_labels(plan: Plan) -> dict[str, str]:
    """Of every object of the deployment."""
    own = {"app.kubernetes.io/name": plan.spec.name, MANAGED_BY: "raygang", DEPLOYMENT: plan.spec.name}
    return {**plan.spec.kubernetes.labels, **own}


def metadata(plan: Plan, name: str, **labels: str) -> dict[str, Any]:
    """An object's metadata; the namespace only where the specification names one."""
    found: dict[str, Any] = {"name": name}
    if plan.spec.kubernetes.namespace:
        found["namespace"] = plan.spec.kubernetes.namespace
    found["labels"] = {**common_labels(plan), **labels}
    if plan.spec.kubernetes.annotations:
        found["annotations"] = dict(plan.spec.kubernetes.annotations)
    return found
