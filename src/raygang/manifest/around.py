"""What stands around the replicas: the common Service, the service account, the network policy of each replica."""

from __future__ import annotations

from typing import Any

from raygang.manifest import names
from raygang.manifest.noted import Noted
from raygang.plan import Plan

# Labels of KubeRay's operator: its Helm chart, and its kustomize files (1.4-1.7).
_OPERATOR = ({"app.kubernetes.io/name": "kuberay-operator"}, {"app.kubernetes.io/name": "kuberay"})


def service(plan: Plan) -> dict[str, Any]:
    """The endpoint: spreads requests over the heads of all ready replicas."""
    selector = {
        names.DEPLOYMENT: plan.spec.name,
        "ray.io/node-type": "head",
        "ray.io/serve": Noted("true", "set by KubeRay while Serve's proxy of that replica is healthy"),
    }
    ports = [{"name": "http", "port": names.SERVE_PORT, "targetPort": names.SERVE_PORT}]
    metadata = names.metadata(plan, plan.spec.name)
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": selector, "ports": ports},
    }  # fmt: skip


def service_account(plan: Plan) -> list[dict[str, Any]]:
    """An account without rights, unless the specification names one."""
    if plan.spec.kubernetes.service_account:
        return []
    metadata = names.metadata(plan, plan.spec.name)
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    return [{**body, "automountServiceAccountToken": False}]


def network_policy(plan: Plan, replica: int) -> dict[str, Any]:
    """Pods of a replica reach each other; from outside only the API, the metrics, and the dashboard for KubeRay."""
    own = {names.DEPLOYMENT: plan.spec.name, names.REPLICA: str(replica)}
    operator = [{"namespaceSelector": {}, "podSelector": {"matchLabels": labels}} for labels in _OPERATOR]
    ingress = [
        Noted({"from": [{"podSelector": {"matchLabels": own}}]}, "ranks and Ray of this replica, on any port"),
        {"ports": [{"port": names.SERVE_PORT}, {"port": names.METRICS_PORT}]},
        Noted({"from": operator, "ports": [{"port": names.DASHBOARD_PORT}]}, "KubeRay deploys the application here"),
    ]
    metadata = names.metadata(plan, plan.gangs[replica].name, **{names.REPLICA: str(replica)})
    spec = {"podSelector": {"matchLabels": own}, "policyTypes": ["Ingress"], "ingress": ingress}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}
