"""PROBE, POD: what ends pods of an engine while it starts or serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raygang.lint.model import Case, Edit, Found, Report, Rule
from raygang.lint.rules.pods_view import Container, gpus, label, ray_containers
from raygang.lint.serve import serve
from raygang.objects import at, count, mapping, sequence

_SERVE_PORT = 8000
_SERVE_PATHS = ("/health", "/v1/models", "/-/healthz", "/-/routes", "/ready")
_LONG = 600  # seconds that a start over several nodes may well take


def _probes(case: Case) -> Report:
    """A failed liveness or startup probe ends the container, and Ray with it."""
    if not (serve(case).text or any(gpus(container) for container in ray_containers(case))):
        return
    for container in ray_containers(case):
        for name in ("livenessProbe", "startupProbe"):
            probe = mapping(container.data.get(name))
            if not probe or not _asks_serve(probe):
                continue
            seconds = _budget(probe)
            if name == "livenessProbe" and not container.group.head and _may_lack_a_proxy(case, container):
                what = f"livenessProbe of {label(container.group)} asks for Serve, which only nodes with a replica have"
                yield Found(
                    container.at(name), what, "ask /api/local_raylet_healthz on 52365, or remove it", severity="error"
                )
            elif seconds < _LONG and (name == "startupProbe" or "startupProbe" not in container.data):
                what = f"{name} of {label(container.group)} gives the model {seconds} s to answer"
                yield Found(container.at(name), what)


def _asks_serve(probe: Mapping[str, Any]) -> bool:
    get = mapping(probe.get("httpGet"))
    if get:
        return get.get("port") in (_SERVE_PORT, "serve") or get.get("path") in _SERVE_PATHS
    words = " ".join(str(word) for word in sequence(at(probe, "exec", "command")))
    return f":{_SERVE_PORT}/" in words or at(probe, "tcpSocket", "port") in (_SERVE_PORT, "serve")


def _budget(probe: Mapping[str, Any]) -> int:
    """Seconds until it ends the container: Kubernetes' defaults are a period of 10 s and 3 failures."""
    tries = count(probe.get("failureThreshold"), 3) * count(probe.get("periodSeconds"), 10)
    return count(probe.get("initialDelaySeconds"), 0) + tries


def _may_lack_a_proxy(case: Case, container: Container) -> bool:
    return serve(case).config.get("proxy_location") == "HeadOnly" or (container.group.pods > 1 and gpus(container) > 0)


def _deadline(case: Case) -> Report:
    if case.workload.kind == "RayJob":
        return
    for group in case.groups:
        seconds = group.pod.get("activeDeadlineSeconds")
        if seconds is not None:
            path = group.at("template", "spec", "activeDeadlineSeconds")
            what = f"pods of {label(group)} are ended after {seconds} s"
            yield Found(path, what, fix=(Edit("delete", path),), key=True)


def _grace(case: Case) -> Report:
    for group in case.groups if case.workload.kind == "RayService" else ():
        seconds = group.pod.get("terminationGracePeriodSeconds")
        if isinstance(seconds, int) and not isinstance(seconds, bool) and seconds < 10:
            what = f"terminationGracePeriodSeconds of {label(group)} is {seconds}"
            yield Found(group.at("template", "spec", "terminationGracePeriodSeconds"), what)


_WORKER = "kind: RayService\nspec:\n  rayClusterConfig:\n    workerGroupSpecs:\n    - template:\n        spec:\n"

RULES = (
    Rule(
        code="PROBE010", name="probe-ends-start", severity="warning",
        title="a probe that ends pods while the model loads",
        because="Kubernetes ends the container before the model is loaded, the engine fails, and it all begins again",
        why="A liveness or startup probe that fails ends the container. One that asks for Serve or the model fails "
        "as long "
        "as images are pulled and weights are loaded on any node, and on nodes without a replica for ever. KubeRay's "
        "own "
        "probes ask for Ray only.",
        write="remove it, or allow at least 30 minutes",
        since="Kubernetes, all versions", source="KubeRay issue 2552; LWS issue 726; production-stack issue 653",
        bad=_WORKER + "          containers:\n          - livenessProbe: {httpGet: {path: /health, port: 8000}}\n",
        good=_WORKER + "          containers:\n          - livenessProbe:\n"
        "              httpGet: {path: /api/local_raylet_healthz, port: 52365}\n",
        check=_probes,
    ),
    Rule(
        code="POD020", name="pod-deadline", severity="warning", title="pods that end after a time",
        because="all ranks end then, and the service with them: it starts again from nothing",
        why="activeDeadlineSeconds of a pod counts from its start, whether it works or not. It is for jobs.",
        write="remove it",
        since="Kubernetes, all versions", source="k8s.io/api 0.34-0.37 core/v1/types.go PodSpec.ActiveDeadlineSeconds",
        bad=_WORKER + "          activeDeadlineSeconds: 3600\n",
        good=_WORKER + "          activeDeadlineSeconds: null\n",
        check=_deadline,
    ),
    Rule(
        code="POD021", name="no-grace", severity="info", title="pods that are killed at once",
        because="requests that are under way break off at every upgrade and every drain",
        why="Within the grace period Serve drains its proxies and Ray takes the node out of the cluster. 30 seconds "
        "are "
        "the default.",
        write="write 30 or more, or leave it out",
        since="Kubernetes, all versions",
        source="k8s.io/api 0.34-0.37 core/v1/types.go PodSpec.TerminationGracePeriodSeconds",
        bad=_WORKER + "          terminationGracePeriodSeconds: 0\n",
        good=_WORKER + "          terminationGracePeriodSeconds: 60\n",
        check=_grace,
    ),
)  # fmt: skip
