"""The pod that submits a RayJob and prints what it says: KubeRay gives it its command, and the scheduler's marks."""

from __future__ import annotations

from typing import Any

from raygang.gang import Request
from raygang.manifest import names, pods
from raygang.manifest.noted import Noted
from raygang.plan import Plan

CONTAINER = "ray-job-submitter"  # KubeRay's own name
_SIZE = {"cpu": "500m", "memory": "500Mi"}


def submitter(plan: Plan, asked: Request) -> dict[str, Any]:
    """Its template, for a RayJob of the first gang of a plan."""
    kubernetes = plan.spec.kubernetes
    own = {names.DEPLOYMENT: plan.spec.name, names.REPLICA: Noted("0", "the network policy lets it reach the head")}
    container = {
        "name": CONTAINER,
        "image": kubernetes.image,
        "resources": {"requests": dict(_SIZE), "limits": dict(_SIZE)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    pod: dict[str, Any] = {
        **pods.entries(asked.pod_fields),
        "restartPolicy": "Never",
        "serviceAccountName": kubernetes.service_account or plan.spec.name,
        "automountServiceAccountToken": False,
        "containers": [container],
    }
    if kubernetes.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in kubernetes.image_pull_secrets]
    metadata: dict[str, Any] = {"labels": {**kubernetes.labels, **own}}
    if kubernetes.annotations:
        metadata["annotations"] = dict(kubernetes.annotations)
    return {"metadata": metadata, "spec": pod}
