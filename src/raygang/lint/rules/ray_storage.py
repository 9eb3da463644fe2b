"""RAY: fault tolerance of the GCS, Ray's control store: half of it is worse than none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raygang.lint.model import Case, Edit, Found, Report, Rule
from raygang.lint.rules.pods_view import param, ray_container
from raygang.objects import Path, at, mapping, text

_ENABLED, _NAMESPACE = "ray.io/ft-enabled", "ray.io/external-storage-namespace"
_ADDRESS, _PASSWORD, _USERNAME = "RAY_REDIS_ADDRESS", "REDIS_PASSWORD", "REDIS_USERNAME"
_FIELDS = {
    _ADDRESS: "redisAddress",
    _PASSWORD: "redisPassword",
    _NAMESPACE: "externalStorageNamespace",
}


def _options(case: Case) -> Mapping[str, Any] | None:
    found = case.workload.cluster.get("gcsFaultToleranceOptions")
    return found if isinstance(found, Mapping) else None


def _annotation(name: str) -> Path:
    return ("metadata", "annotations", name)


def _half(case: Case) -> Report:
    """What KubeRay's validation refuses, and fault tolerance that is switched on without a store."""
    head, annotations = ray_container(case.groups[0]), case.workload.manifest.annotations
    options = _options(case)
    enabled = str(annotations.get(_ENABLED, "")).lower() == "true"
    redis = head.variable(_ADDRESS) if head else None
    if redis and options is None and not enabled:
        what = f"{_ADDRESS} is set, and there are no gcsFaultToleranceOptions"
        yield Found(redis.path, what, "write gcsFaultToleranceOptions.redisAddress instead")
    if enabled and options is None and redis is None and param(case.groups[0], "address") is None:
        what = f"{_ENABLED} is true, and nothing names a Redis"
        because = "the GCS keeps its state in memory: a restart of the head loses it, and workers wait for it"
        write = "write gcsFaultToleranceOptions.redisAddress, and remove the annotation"
        yield Found(_annotation(_ENABLED), what, write, because, severity="warning")


def _both(case: Case) -> Report:
    head, annotations = ray_container(case.groups[0]), case.workload.manifest.annotations
    options = _options(case)
    if options is None:
        return
    twice = f"beside gcsFaultToleranceOptions.{_FIELDS[_PASSWORD]}"
    if annotations.get(_ENABLED):
        path = _annotation(_ENABLED)
        what = f"the annotation {_ENABLED} stands beside gcsFaultToleranceOptions"
        yield Found(path, what, "remove the annotation", fix=(Edit("delete", path),), key=True)
    if annotations.get(_NAMESPACE):
        what = f"the annotation {_NAMESPACE} stands beside gcsFaultToleranceOptions"
        yield Found(_annotation(_NAMESPACE), what, f"write it as {_FIELDS[_NAMESPACE]}", key=True)
    for name in (_ADDRESS, _PASSWORD):
        variable = head.variable(name) if head else None
        if variable:
            what = f"the variable {name} stands beside gcsFaultToleranceOptions"
            yield Found(variable.path, what, f"write it as gcsFaultToleranceOptions.{_FIELDS[name]}")
    if param(case.groups[0], "redis-password"):
        path = case.groups[0].at("rayStartParams", "redis-password")
        yield Found(path, f"redis-password stands {twice}", f"write it as {_FIELDS[_PASSWORD]}", key=True)


def _username(case: Case) -> Report:
    group = case.groups[0]
    head = ray_container(group)
    variable = head.variable(_USERNAME) if head else None
    write = "write gcsFaultToleranceOptions.redisUsername"
    if variable:
        yield Found(variable.path, f"the variable {_USERNAME} is set", write)
    if param(group, "redis-username"):
        path = group.at("rayStartParams", "redis-username")
        yield Found(path, "redis-username is in rayStartParams", write, key=True)


def _deprecated(case: Case) -> Report:
    if case.workload.manifest.annotations.get(_ENABLED) and _options(case) is None:
        yield Found(_annotation(_ENABLED), f"the annotation {_ENABLED} is the old way", key=True)


def _password(case: Case) -> Report:
    path: Path = (*case.workload.path, "gcsFaultToleranceOptions", "redisPassword", "value")
    found = [(path, text(at(case.workload.manifest.data, *path)))]
    group = case.groups[0]
    found.append((group.at("rayStartParams", "redis-password"), param(group, "redis-password")))
    for where, value in found:
        if value and not value.strip().startswith("$"):
            yield Found(where, "Redis' password stands in the manifest")


def _rocksdb(case: Case) -> Report:
    options = mapping(_options(case))
    path: Path = (*case.workload.path, "gcsFaultToleranceOptions")
    if options.get("backend") == "rocksdb":
        for name in ("redisAddress", "redisUsername", "redisPassword", "externalStorageNamespace"):
            if options.get(name):
                yield Found((*path, name), f"{name} is there, and the backend is rocksdb", f"remove {name}", key=True)
    elif options.get("storage"):
        what = "storage is there, and the backend is redis"
        yield Found((*path, "storage"), what, "write backend: rocksdb", key=True)


_REFUSED = "KubeRay refuses the cluster: it makes no pod"
_VALIDATION = "KubeRay 1.6 ray-operator/controllers/ray/utils/validation.go"
_ENV = "kind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      spec:\n        containers:\n        - env:\n"
_OPTIONS = "  gcsFaultToleranceOptions:\n    redisAddress: redis:6379\n"

RULES = (
    Rule(
        code="RAY029",
        name="gcs-store-half",
        severity="error",
        title="half of the GCS's fault tolerance",
        because=_REFUSED,
        why="The address of a Redis alone switches it on in Ray, but KubeRay then would not clean up the store, nor "
        "give workers the time to wait for the head.",
        write="write gcsFaultToleranceOptions",
        since="KubeRay 1.4-1.7",
        source=_VALIDATION + ":160-166",
        bad=_ENV + "          - {name: RAY_REDIS_ADDRESS, value: redis:6379}\n",
        good="kind: RayCluster\nspec:\n" + _OPTIONS,
        check=_half,
    ),
    Rule(
        code="RAY030",
        name="gcs-store-twice",
        severity="error",
        title="the GCS's fault tolerance is written twice",
        because=_REFUSED,
        why="gcsFaultToleranceOptions replaces the annotations and variables of earlier versions; KubeRay refuses both "
        "together.",
        write="keep gcsFaultToleranceOptions",
        since="KubeRay 1.4-1.7",
        source=_VALIDATION + ":155-189",
        bad='kind: RayCluster\nmetadata:\n  annotations: {ray.io/ft-enabled: "true"}\nspec:\n' + _OPTIONS,
        good="kind: RayCluster\nspec:\n" + _OPTIONS,
        check=_both,
    ),
    Rule(
        code="RAY031",
        name="redis-username",
        severity="error",
        title="the user's name for Redis is in the wrong place",
        because=_REFUSED,
        why="KubeRay takes it from gcsFaultToleranceOptions only, with or without the rest of it.",
        write="write gcsFaultToleranceOptions.redisUsername",
        since="KubeRay 1.4-1.7",
        source=_VALIDATION + ":190-193",
        bad="kind: RayCluster\nspec:\n  headGroupSpec:\n    rayStartParams:\n      redis-username: ray\n",
        good="kind: RayCluster\nspec:\n" + _OPTIONS + "    redisUsername: {value: ray}\n",
        check=_username,
    ),
    Rule(
        code="RAY032",
        name="ft-annotation",
        severity="info",
        title="the old annotation for the GCS's fault tolerance",
        because="it works, without the checks of gcsFaultToleranceOptions",
        why="gcsFaultToleranceOptions came with KubeRay 1.3.",
        write="write gcsFaultToleranceOptions",
        since="KubeRay 1.3-1.7",
        source="KubeRay 1.5 config/samples/ray-cluster.deprecate-gcs-ft.yaml",
        bad='kind: RayCluster\nmetadata:\n  annotations: {ray.io/ft-enabled: "true"}\n',
        good="kind: RayCluster\nspec:\n" + _OPTIONS,
        check=_deprecated,
    ),
    Rule(
        code="SEC003",
        name="redis-password-in-manifest",
        severity="warning",
        title="Redis' password stands in the manifest",
        because="everyone who may read the object, its history or its repository has it",
        why="Kubernetes keeps Secrets apart from other objects, with rights of their own.",
        write="write redisPassword.valueFrom.secretKeyRef",
        since="Kubernetes, all versions",
        source="KubeRay 1.5 config/samples/ray-cluster.external-redis.yaml",
        bad="kind: RayCluster\nspec:\n" + _OPTIONS + "    redisPassword: {value: not-so-secret}\n",
        good="kind: RayCluster\nspec:\n"
        + _OPTIONS
        + "    redisPassword: {valueFrom: {secretKeyRef: {name: redis, key: password}}}\n",
        check=_password,
    ),
    Rule(
        code="RAY033",
        name="gcs-backend",
        severity="error",
        title="fields of the other store of the GCS",
        because=_REFUSED,
        why="redis and rocksdb each have fields of their own.",
        write="keep the fields of one",
        since="KubeRay 1.7",
        source="KubeRay 1.7 ray-operator/controllers/ray/utils/validation.go validateGcsFaultToleranceBackend",
        bad="kind: RayCluster\nspec:\n" + _OPTIONS + "    backend: rocksdb\n",
        good="kind: RayCluster\nspec:\n  gcsFaultToleranceOptions:\n    backend: rocksdb\n",
        check=_rocksdb,
    ),
)
