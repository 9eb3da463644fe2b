"""RES: requests and limits of containers."""

from __future__ import annotations

import re
from decimal import Decimal

from raygang.lint.model import Case, Edit, Found, Report, Rule
from raygang.lint.rules.pods_view import (
    all_containers,
    can_have_pods,
    gpus,
    is_gpu,
    label,
    ray_container,
    ray_containers,
)
from raygang.objects import at, quantity, sequence
from raygang.objects.words import agreed

_NATIVE = ("cpu", "memory", "ephemeral-storage")
_UNIT = re.compile(r"\s*([\d.]+)\s*([kKMGTPE])(i?)[bB]\s*\Z", re.ASCII)
_LEAST_MEMORY = 1024 * 1024  # bytes; nothing runs in less


def _extended(name: str) -> bool:
    """Resources that are counted in whole pieces and never shared: those with a domain, but Kubernetes' own."""
    domain, slash, _ = name.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io")


def _zero(case: Case) -> Report:
    for container in all_containers(case):
        for which in ("requests", "limits"):
            for name, value in container.sizes(which).items():
                if _extended(name) and quantity(value) == 0:
                    path = container.at("resources", which, name)
                    what = f"{label(container.group)} has {name}: {value}, which asks for nothing"
                    yield Found(path, what, "remove it", fix=(Edit("delete", path),), key=True)


def _unequal(case: Case) -> Report:
    for container in all_containers(case):
        limits, requests = container.sizes("limits"), container.sizes("requests")
        for name, value in requests.items():
            asked, limit = quantity(value), quantity(limits.get(name))
            path = container.at("resources", "requests", name)
            if not _extended(name) or asked is None:
                continue
            if name not in limits:
                fix = (Edit("set", container.at("resources", "limits", name), value),)
                what = f"{name} {value} of the container {container.name} is requested, and not in its limits"
                yield Found(path, what, f"write {name}: {value} in limits too", fix=fix, key=True)
            elif limit is not None and asked != limit:
                what = f"the container {container.name} requests {name} {value}, and its limit is {limits[name]}"
                yield Found(path, what, "write the same number in both")


def _fraction(case: Case) -> Report:
    for container in all_containers(case):
        for which in ("requests", "limits"):
            for name, value in container.sizes(which).items():
                size = quantity(value)
                if _extended(name) and size is not None and size != int(size):
                    what = f"{name} is {value} in the container {container.name}, and has to be a whole number"
                    yield Found(container.at("resources", which, name), what, "write a whole number")


def _above(case: Case) -> Report:
    for container in all_containers(case):
        limits = container.sizes("limits")
        for name, value in container.sizes("requests").items():
            asked, limit = quantity(value), quantity(limits.get(name))
            if name in _NATIVE and asked is not None and limit is not None and asked > limit:
                path = container.at("resources", "requests", name)
                what = f"the container {container.name} requests {name} {value}, above its limit {limits[name]}"
                yield Found(path, what, f"write at most {limits[name]}")


def _unit(case: Case) -> Report:
    for container in all_containers(case):
        for which in ("requests", "limits"):
            for name, value in container.sizes(which).items():
                path, size = container.at("resources", which, name), quantity(value)
                if size is None and isinstance(value, str):
                    right = _right(value)
                    fix = (Edit("set", path, right),) if right else ()
                    write = f"write {right}" if right else "write a number, with a unit such as m, G or Gi"
                    yield Found(path, f"{name}: {value} is no quantity", write, fix=fix)
                elif name == "memory" and size is not None and 0 < size < _LEAST_MEMORY:
                    yield Found(path, f"memory: {value} is {_bytes(size)}", _meant(str(value)))


def _right(value: str) -> str:
    """16GB and 16GiB as Kubernetes writes them; empty where it is something else."""
    match = _UNIT.match(value)
    if match is None:
        return ""
    letter = "k" if match[2] in "kK" and not match[3] else match[2].upper()
    return f"{match[1]}{letter}{match[3]}"


def _bytes(size: Decimal) -> str:
    return f"{size.normalize():f} {agreed(float(size), 'byte', 'bytes')}"


def _meant(value: str) -> str:
    number = value.rstrip("m")
    return f"write {number}Mi or {number}Gi" if value.endswith("m") or value.isdecimal() else "write a unit: Mi or Gi"


def _unsized(case: Case) -> Report:
    for container in ray_containers(case):
        if not can_have_pods(case, container.group):
            continue
        if container.size("memory") is None or "memory" not in container.sizes("limits"):
            what = f"the Ray container of {label(container.group)} has no memory limit"
            yield Found(container.at("resources"), what, key=True)


def _no_toleration(case: Case) -> Report:
    for group in case.workers:
        container = ray_container(group)
        if container is None or not gpus(container) or not can_have_pods(case, group):
            continue
        name = next(name for name in sorted(container.sizes("limits")) if is_gpu(name))
        if not any(at(t, "key") in (None, name) for t in sequence(group.pod.get("tolerations"))):
            what = f"{label(group)} has GPUs, and tolerates no taint {name}"
            yield Found(group.at("template", "spec"), what, f"add the toleration {{key: {name}, operator: Exists}}")


def _gpu_sidecar(case: Case) -> Report:
    for container in all_containers(case):
        if not container.is_ray and not container.init and gpus(container):
            what = f"the container {container.name} of {label(container.group)} has GPUs, and is not Ray's"
            yield Found(container.at("resources"), what, "give the GPUs to the first container", key=True)


_PODS = "the API server refuses the pods that KubeRay makes"
_SIZES = (
    "kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        containers:\n"
    "        - resources:\n            "
)
_API = "kubernetes 1.34-1.37 pkg/apis/core/validation/validation.go ValidateResourceRequirements"

RULES = (
    Rule(
        code="RES001",
        name="zero-extended",
        severity="info",
        title="none of an extended resource is asked for",
        because="it does nothing, and it still shows up in a gang's resources",
        why="0 of a resource is the same as nothing. Kueue and Volcano see the name all the same: Kueue refuses a "
        "workload whose queue does not cover it.",
        write="remove it",
        since="Kubernetes, all versions",
        source="kubernetes pkg/apis/core/v1/defaults.go; KubeRay 1.6 utils/util.go CalculateDesiredResources",
        bad="kind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      spec:\n        containers:\n"
        '        - resources: {limits: {nvidia.com/gpu: "0"}}\n',
        good="kind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      spec:\n        containers:\n"
        '        - resources: {limits: {cpu: "8"}}\n',
        check=_zero,
    ),
    Rule(
        code="RES002",
        name="extended-requests-differ",
        severity="error",
        title="GPUs or other devices are requested otherwise than limited",
        because=_PODS,
        why="Devices are not shared, so the request has to be the limit; the limit alone is enough.",
        write="write the same number in requests and limits",
        since="Kubernetes, all versions",
        source=_API,
        bad=_SIZES + 'requests: {nvidia.com/gpu: "4"}\n',
        good=_SIZES + 'requests: {nvidia.com/gpu: "8"}\n',
        check=_unequal,
    ),
    Rule(
        code="RES003",
        name="extended-fraction",
        severity="error",
        title="a part of a device",
        because=_PODS,
        why="Kubernetes counts devices in whole pieces. Ray's fractions of GPUs are for actors, inside a pod that has "
        "whole ones.",
        write="write a whole number",
        since="Kubernetes, all versions",
        source=_API,
        bad=_SIZES + 'limits: {nvidia.com/gpu: "0.5"}\n',
        good=_SIZES + 'limits: {nvidia.com/gpu: "8"}\n',
        check=_fraction,
    ),
    Rule(
        code="RES004",
        name="request-above-limit",
        severity="error",
        title="a request above its limit",
        because=_PODS,
        why="A container cannot be promised more than it may use.",
        write="lower the request or raise the limit",
        since="Kubernetes, all versions",
        source=_API,
        bad=_SIZES + "requests: {memory: 1000Gi}\n",
        good=_SIZES + "requests: {memory: 800Gi}\n",
        check=_above,
    ),
    Rule(
        code="RES005",
        name="quantity-unit",
        severity="error",
        title="a size with a wrong unit",
        because="the API server refuses it, or the container gets next to no memory and is killed",
        why="Kubernetes' units are m (thousandths), k, M, G, T and Ki, Mi, Gi, Ti. 512m of memory is half a byte.",
        write="write Mi or Gi",
        since="Kubernetes, all versions",
        source="k8s.io/apimachinery 0.34-0.37 pkg/api/resource/quantity.go",
        bad=_SIZES + "limits: {memory: 900GB}\n",
        good=_SIZES + "limits: {memory: 900Gi}\n",
        check=_unit,
    ),
    Rule(
        code="RES006",
        name="memory-unlimited",
        severity="info",
        title="the Ray container has no memory limit",
        because="Ray counts the whole node's memory as its own, and the kernel kills what is over it without warning",
        why="KubeRay tells Ray the memory limit and sizes /dev/shm by it. Without one, Ray's own memory monitor starts "
        "too late.",
        write="write resources.limits.memory, equal to the request",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:989-994,1192-1206",
        bad=_SIZES + "limits: {memory: null}\n",
        good=_SIZES + "limits: {memory: 900Gi}\n",
        check=_unsized,
    ),
    Rule(
        code="RES007",
        name="gpu-toleration-missing",
        severity="info",
        title="pods with GPUs tolerate no taint of GPU nodes",
        because="where GPU nodes are tainted, the pods stay pending",
        why="Most managed clusters taint GPU nodes with the resource's name, so that other pods stay away.",
        write="add the toleration",
        since="Kubernetes, all versions",
        source="KubeRay 1.5 config/samples/ray-service.deepseek.yaml",
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template: {spec: {tolerations: null}}\n",
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        tolerations:\n"
        "        - {key: nvidia.com/gpu, operator: Exists}\n",
        check=_no_toleration,
    ),
    Rule(
        code="RES008",
        name="gpu-in-sidecar",
        severity="warning",
        title="a sidecar has GPUs",
        because="Ray does not see them: KubeRay counts those of the first container only",
        why="The GPUs of a pod belong to the container that asks for them.",
        write="give the GPUs to the first container",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:897,1003-1041",
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        containers:\n"
        "        - name: ray-worker\n"
        '        - {name: exporter, image: dcgm:4.1.0, resources: {limits: {nvidia.com/gpu: "1"}}}\n',
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        containers:\n"
        "        - name: ray-worker\n        - {name: exporter, image: dcgm:4.1.0}\n",
        check=_gpu_sidecar,
    ),
)
