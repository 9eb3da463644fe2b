"""Small Ray manifests and the objects around them, for the tests of the gang room."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from raygang.gang import Context, Request, Verdict, effective
from raygang.objects import Bundle, RayWorkload, Version, ray_workloads
from raygang.plan import Gang

SPEC_OF = {"RayCluster": (), "RayService": ("rayClusterConfig",), "RayJob": ("rayClusterSpec",)}
OPT_IN = {"ray.io/gang-scheduling-enabled": "true"}


def template(
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    resources: dict[str, str] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    container = {"name": "ray", "image": "ray", "resources": {"limits": resources or {}}}
    metadata = {"labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"containers": [container], **fields}}


def group(name: str = "workers", replicas: int = 4, **fields: Any) -> dict[str, Any]:
    counts = {"groupName": name, "replicas": replicas, "minReplicas": replicas, "maxReplicas": replicas}
    merged = {**counts, "template": template(), **fields}
    return {key: value for key, value in merged.items() if value is not None}


def ray(
    kind: str = "RayCluster",
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    groups: list[dict[str, Any]] | None = None,
    head: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "headGroupSpec": {"template": head or template()},
        "workerGroupSpecs": [group()] if groups is None else groups,
        **(cluster or {}),
    }
    for key in SPEC_OF[kind]:
        body = {key: body}
    metadata = {"name": "llama", "namespace": "models", "labels": labels or {}, "annotations": annotations or {}}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": {**body, **(spec or {})}}


def context(scheduler: str | None = None, kuberay: str | None = None, kubernetes: str | None = None) -> Context:
    parsed = [Version.parse(v) if v else None for v in (kuberay, kubernetes)]
    return Context(scheduler, *parsed)


def workload(*objects: dict[str, Any]) -> tuple[RayWorkload, Bundle]:
    bundle = Bundle.of(list(objects))
    return next(ray_workloads(bundle)), bundle


def verdict(*objects: dict[str, Any], at: Context | None = None) -> Verdict:
    return effective(*workload(*objects), at)


def gang(size: int = 5, minimum: int | None = None, queue: str | None = None) -> Gang:
    """Of the manifest above: a head and workers."""
    return Gang("llama", (("headgroup", 1), ("workers", size - 1)), size if minimum is None else minimum, queue)


def operator(*args: str, version: str = "v1.6.0") -> dict[str, Any]:
    container = {"name": "kuberay-operator", "image": f"quay.io/kuberay/operator:{version}", "args": list(args)}
    spec = {"template": {"spec": {"containers": [container]}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kuberay-operator"}, "spec": spec}


def asking(request: Request, gang: Gang) -> list[dict[str, Any]]:
    """The smallest RayService of a gang that a request is written into, with the request's objects."""

    def pods() -> dict[str, Any]:
        fields = {entry.key: deepcopy(entry.value) for entry in request.pod_fields}
        return template(_texts(request.pod_labels), _texts(request.pod_annotations), **fields)

    groups = [group(name, count, template=pods()) for name, count in gang.members[1:]]
    service = ray(
        "RayService", labels=_texts(request.labels), annotations=_texts(request.annotations), groups=groups, head=pods(),
        spec={"upgradeStrategy": {"type": "None"}},
    )  # fmt: skip
    service["metadata"]["name"] = gang.name
    return [*deepcopy(list(request.objects)), service]


def _texts(entries: tuple[Any, ...]) -> dict[str, str]:
    return {entry.key: entry.value for entry in entries}
