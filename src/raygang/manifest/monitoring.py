"""How a deployment is watched: Prometheus' operator scrapes the pods, Grafana shows the dashboard."""

from __future__ import annotations

from typing import Any

from raygang.manifest import names
from raygang.manifest.noted import Noted
from raygang.plan import Plan


def monitoring(plan: Plan) -> list[dict[str, Any]]:
    """A PodMonitor and the dashboard's ConfigMap, where `kubernetes.monitoring` asks for them."""
    return [_pod_monitor(plan), _dashboard(plan)] if plan.spec.kubernetes.monitoring else []


def needs(plan: Plan) -> tuple[str, ...]:
    """What the cluster must have for it."""
    what = "Prometheus' operator (PodMonitor), and Grafana's sidecar for ConfigMaps with the label grafana_dashboard"
    return (what,) if plan.spec.kubernetes.monitoring else ()


def _pod_monitor(plan: Plan) -> dict[str, Any]:
    spec = {
        "selector": {"matchLabels": {names.DEPLOYMENT: plan.spec.name}},
        "podTargetLabels": Noted(
            [names.DEPLOYMENT, names.REPLICA], "labels of the pods that the metrics get: the dashboard selects by them"
        ),
        "podMetricsEndpoints": [
            {"port": Noted("metrics", "Ray's own, vLLM's and the node's metrics, from every pod"), "interval": "15s"}
        ],
    }
    metadata = names.metadata(plan, plan.spec.name)
    return {"apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor", "metadata": metadata, "spec": spec}


def _dashboard(plan: Plan) -> dict[str, Any]:
    from raygang.manifest.dashboard import dashboard_json  # here: Grafana's types take time to import

    metadata = names.metadata(plan, f"{plan.spec.name}-dashboard", grafana_dashboard="1")
    data = {f"raygang-{plan.spec.name}.json": dashboard_json(plan)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
