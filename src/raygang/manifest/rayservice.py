"""The RayService of one replica: one gang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from raygang.gang import Entry, Request
from raygang.manifest import names, pods
from raygang.manifest.app import IMPORT_PATH, app_arguments
from raygang.manifest.model_source import ModelMount
from raygang.manifest.noted import Noted
from raygang.manifest.sizes import worker_size
from raygang.objects import Version
from raygang.plan import Gang, Plan

RAY = "2.60.0"
TIMEOUT = "ray.io/initializing-timeout"
AUTH_SINCE = Version(1, 5, 1)  # authOptions in the CRD; 1.5.0 drops it without a word
TIMEOUT_SINCE = Version(1, 5)


def ray_service(
    plan: Plan, replica: int, request: Request, runtime: str, model: ModelMount, to_yaml: Callable[[Any], str]
) -> dict[str, Any]:
    """The RayService of a replica.

    Args:
        plan: what was decided.
        replica: its number, from 0.
        request: what asks the scheduler for its gang.
        runtime: the name of the runtime's ConfigMap.
        model: how pods get the model.
        to_yaml: writes `serveConfigV2`, which is a text of YAML.
    """
    gang = plan.gangs[replica]
    own = {names.DEPLOYMENT: plan.spec.name, names.REPLICA: str(replica)}
    metadata = names.metadata(plan, gang.name, **{names.REPLICA: str(replica)})
    metadata["labels"] |= pods.entries(request.labels)
    annotations = {**metadata.pop("annotations", {}), **pods.entries((*_deadline(plan), *request.annotations))}
    if annotations:
        metadata["annotations"] = annotations
    cluster = {
        "rayVersion": plan.spec.kubernetes.ray_version or RAY,
        **_authentication(plan),
        "headGroupSpec": pods.head_group(plan, request, own, runtime),
        "workerGroupSpecs": [_workers(plan, request, own, runtime, group, model) for group in _groups(plan, gang)],
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": metadata,
        "spec": {
            "upgradeStrategy": Noted(
                {"type": "None"}, "KubeRay's default starts a second gang beside the first; raygang upgrades by replica"
            ),
            "serveConfigV2": to_yaml(serve_config(plan, model)),
            "rayClusterConfig": Noted(
                cluster,
                "without GCS fault tolerance: the gang starts anew when the head is lost, and no Redis is needed",
            ),
        },
    }


def serve_config(plan: Plan, model: ModelMount) -> dict[str, Any]:
    """What Serve deploys: the same application as on one machine, with one replica in each Ray cluster."""
    metrics = not plan.spec.engine.args.get("disable_log_stats")  # no statistics, nothing to export
    ours = {"replicas": 1, "engine_metrics": metrics}
    arguments = app_arguments(plan, model.path, engine_args=model.engine_args) | ours
    return {
        "proxy_location": "HeadOnly",
        "http_options": {"host": "0.0.0.0", "port": names.SERVE_PORT},
        "applications": [
            {"name": "raygang", "route_prefix": "/", "import_path": IMPORT_PATH, "args": arguments},
        ],
    }


def needs(plan: Plan) -> tuple[str, ...]:
    """What the cluster must have, whatever schedules the gang."""
    kuberay = plan.spec.kubernetes.kuberay_version
    if kuberay is None:
        return ("KubeRay 1.5.1 or later (or say which in kubernetes.kuberay_version)",)
    if Version.parse(kuberay) < AUTH_SINCE:
        return (f"nothing else in the network of the pods: KubeRay {kuberay} cannot switch Ray's authentication on",)
    return ()


def _groups(plan: Plan, gang: Gang) -> list[tuple[str, int, int]]:
    counts = dict(gang.members)
    return [(name, counts[name], gpus) for name, _, gpus in plan.worker_groups]


def _deadline(plan: Plan) -> tuple[Entry, ...]:
    kuberay, limits = plan.spec.kubernetes.kuberay_version, plan.spec.limits
    if kuberay and Version.parse(kuberay) < TIMEOUT_SINCE:
        return ()
    seconds = int(limits.admission_timeout + limits.start_timeout)
    why = "KubeRay gives up for good after this; the wait for the gang's turn counts as well"
    return (Entry(TIMEOUT, f"{seconds}s", why),)


def _authentication(plan: Plan) -> dict[str, Any]:
    kuberay = plan.spec.kubernetes.kuberay_version
    if kuberay and Version.parse(kuberay) < AUTH_SINCE:
        return {}
    return {"authOptions": Noted({"mode": "token"}, "nobody joins the cluster or submits code without its token")}


def _workers(
    plan: Plan, request: Request, own: dict[str, str], runtime: str, group: tuple[str, int, int], model: ModelMount
) -> dict[str, Any]:
    name, count, gpus = group
    body = pods.worker_group(plan, request, own, runtime, worker_size(plan, gpus), model)
    if plan.spec.nodes.accelerator == "cpu":
        body["rayStartParams"]["num-gpus"] = Noted(str(gpus), "slots for ranks; no GPU is there")
    counts = {
        "groupName": name,
        "replicas": Noted(
            count, "one pod for each node of the gang; minimum and maximum are equal: none may be missing"
        ),
        "minReplicas": count,
        "maxReplicas": count,
        "numOfHosts": 1,
    }
    return {**counts, **body}
