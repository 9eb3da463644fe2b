"""The head's and the workers' pod templates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from raygang.fabric import FabricRequest
from raygang.fabric import request as fabric_request
from raygang.gang import Request
from raygang.manifest import host_network, names
from raygang.manifest.app import SERVE_ENVIRONMENT
from raygang.manifest.model_source import ModelMount
from raygang.manifest.noted import Noted
from raygang.manifest.runtime import FILE, MOUNT, PATH
from raygang.manifest.sizes import GPU, HEAD_CPUS, HEAD_MEMORY, OBJECT_STORE, WorkerSize
from raygang.objects import Entry
from raygang.plan import Plan

RAYLET_HEALTH = "/api/local_raylet_healthz"  # Ray 2.9 and later, dashboard/modules/reporter/healthz_agent.py
_RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def entries(found: tuple[Entry, ...]) -> dict[str, Noted]:
    """Labels, annotations or fields of a scheduler's request, with their reasons."""
    return {entry.key: Noted(entry.value, entry.why) for entry in found}


def variables(found: tuple[Entry, ...]) -> list[dict[str, Any]]:
    """Environment variables with their reasons."""
    return [{"name": entry.key, "value": Noted(entry.value, entry.why)} for entry in found]


def head_group(plan: Plan, request: Request, labels: dict[str, str], runtime: str) -> dict[str, Any]:
    """The head: GCS, Serve's controller and proxy; no rank, no replica."""
    container = _container(plan, "ray-head", HEAD_CPUS, HEAD_MEMORY, {})
    container["ports"] = [
        {"name": "gcs-server", "containerPort": names.GCS_PORT},
        {"name": "dashboard", "containerPort": names.DASHBOARD_PORT},
        {"name": "serve", "containerPort": names.SERVE_PORT},
        {"name": "metrics", "containerPort": names.METRICS_PORT},
    ]
    volumes = [_runtime_volume(runtime), _shared_memory("2Gi")]
    return {
        "rayStartParams": {
            "num-cpus": Noted("0", "no replica and no rank here: an engine would starve the cluster's controller"),
            "num-gpus": "0",
            "object-store-memory": Noted("500000000", "bytes; less than /dev/shm"),
        },
        "template": _template(plan, request, labels, container, volumes),
    }


def worker_group(
    plan: Plan, request: Request, labels: dict[str, Any], runtime: str, size: WorkerSize, model: ModelMount
) -> dict[str, Any]:
    """What all pods of a group of workers have: one node's ranks each. Group name and counts are the caller's."""
    network = fabric_request(plan.spec)
    gpus = {GPU: Noted(str(size.gpus), "one for each rank of this node")} if size.gpus else {}
    container = _container(plan, "ray-worker", size.cpus, size.memory, {**gpus, **entries(network.resources)})
    on_host = bool(plan.spec.fabric.host_network)
    container["ports"] = [
        {"name": "metrics", "containerPort": host_network.METRICS_PORT if on_host else names.METRICS_PORT}
    ]
    container["env"] += _rank_environment(plan) + variables(network.environment) + list(model.env)
    container["volumeMounts"].append(model.mount)
    container |= _probes(host_network.AGENT_PORT if on_host else names.AGENT_PORT)
    _connect(container, network)
    volumes = [_runtime_volume(runtime), _shared_memory(size.shared_memory), model.volume]
    volumes += [volume for volume, _ in network.volumes]
    annotations = (*request.pod_annotations, *network.pod_annotations)
    labels = {**labels, **host_network.labels(plan.spec)}
    template = _template(plan, replace(request, pod_annotations=annotations), labels, container, volumes)
    template["spec"] |= host_network.pod_fields(plan.spec)
    _placement(plan, template["spec"], bool(size.gpus))
    return {
        "rayStartParams": {
            "object-store-memory": Noted(
                str(OBJECT_STORE), "bytes; Ray's default, 30% of the memory, would not fit /dev/shm"
            ),
            **host_network.start_params(plan.spec),
        },
        "template": template,
    }


def _connect(container: dict[str, Any], network: FabricRequest) -> None:
    """What the fabric asks of the container itself."""
    container["volumeMounts"] += [
        {"name": volume["name"], "mountPath": path, "readOnly": True} for volume, path in network.volumes
    ]
    if network.before_ray:
        container["args"] = Noted([network.before_ray], "KubeRay runs it before `ray start`, in the same shell")
    if network.capabilities:
        lock = Noted({"add": list(network.capabilities)}, "registered memory is locked, beyond the node's limit")
        container["securityContext"] = {
            "allowPrivilegeEscalation": False,
            "capabilities": lock,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    if network.root:
        container["securityContext"]["runAsUser"] = Noted(0, "an added capability is effective for root only")


def _container(plan: Plan, name: str, cpus: Any, memory: Any, gpus: dict[str, Any]) -> dict[str, Any]:
    size = {"cpu": cpus, "memory": memory, **gpus}
    plain = {key: value.value if isinstance(value, Noted) else value for key, value in size.items()}
    return {
        "name": name,
        "image": plan.spec.kubernetes.image,
        "env": _environment(plan),
        "resources": {
            "requests": Noted(plain, "as the limits: the pod is the last to be evicted, and gang checks see all of it"),
            "limits": size,
        },
        "securityContext": dict(_RESTRICTED),
        "volumeMounts": [
            {"name": "raygang-runtime", "mountPath": MOUNT, "readOnly": True},
            {"name": "shared-memory", "mountPath": "/dev/shm"},
        ],
    }


def _environment(plan: Plan) -> list[dict[str, Any]]:
    ours = {"PYTHONPATH": Noted(PATH, "raygang's runtime, from the ConfigMap"), "RAYGANG_GANG": "1"}
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "VLLM_NO_USAGE_STATS": "1"}
    serve = {**SERVE_ENVIRONMENT, **host_network.environment(plan.spec)}
    return [{"name": key, "value": value} for key, value in {**ours, **serve, **quiet}.items()]


def _rank_environment(plan: Plan) -> list[dict[str, Any]]:
    own = Noted({"fieldRef": {"fieldPath": "status.podIP"}}, "vLLM wants another address for each node")
    env: list[dict[str, Any]] = [{"name": "VLLM_HOST_IP", "valueFrom": own}]
    if plan.spec.nodes.accelerator == "cpu":
        env.append({"name": "RAYGANG_CPU_RANKS", "value": Noted("1", "ranks are slots on CPUs: no GPU is used")})
    return env


def _probes(port: int) -> dict[str, Any]:
    """KubeRay's own readiness probe also asks Serve's proxy, and a pod without a replica has none: never ready."""
    action = {"httpGet": {"path": RAYLET_HEALTH, "port": port}}
    times = {"initialDelaySeconds": 10, "periodSeconds": 5, "timeoutSeconds": 5}
    why = "Ray's node only: KubeRay's own asks Serve as well, and pods without a replica would never be ready"
    return {
        "readinessProbe": Noted({**action, **times, "failureThreshold": 10}, why),
        "livenessProbe": {**action, **times, "initialDelaySeconds": 30, "failureThreshold": 120},
    }


def _template(
    plan: Plan, request: Request, labels: dict[str, Any], container: dict[str, Any], volumes: list[dict[str, Any]]
) -> dict[str, Any]:
    kubernetes = plan.spec.kubernetes
    metadata: dict[str, Any] = {"labels": {**kubernetes.labels, **labels, **entries(request.pod_labels)}}
    annotations = {**kubernetes.annotations, **entries(request.pod_annotations)}
    if annotations:
        metadata["annotations"] = annotations
    pod: dict[str, Any] = {
        **entries(request.pod_fields),
        "serviceAccountName": kubernetes.service_account or plan.spec.name,
        "automountServiceAccountToken": Noted(False, "nothing in the pod talks to the API server"),
    }
    if kubernetes.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in kubernetes.image_pull_secrets]
    return {"metadata": metadata, "spec": {**pod, "containers": [container], "volumes": volumes}}


def _placement(plan: Plan, pod: dict[str, Any], gpus: bool) -> None:
    nodes = plan.spec.nodes
    if nodes.selector:
        pod["nodeSelector"] = dict(nodes.selector)
    tolerations: list[Any] = [t.model_dump(exclude_none=True) for t in nodes.tolerations]
    if gpus and not any(t.get("key") in (GPU, None) for t in tolerations):
        default = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
        tolerations.insert(0, Noted(default, "GPU nodes are often tainted with it"))
    if tolerations:
        pod["tolerations"] = tolerations


def _runtime_volume(config_map: str) -> dict[str, Any]:
    items = [{"key": FILE, "path": FILE}]
    return {"name": "raygang-runtime", "configMap": {"name": config_map, "items": items}}


def _shared_memory(size: Any) -> dict[str, Any]:
    return {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": size}}
