"""POD, PROBE: images, volumes and probes of containers."""

from __future__ import annotations

from collections import Counter

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.pods_view import (
    Container,
    all_containers,
    can_have_pods,
    containers,
    gpus,
    label,
    number,
    ray_container,
    ray_containers,
)
from raygang.objects import at, count, mapping, sequence, text

_MUTABLE = ("latest", "nightly", "main", "master", "dev", "stable")
_AGENT = "dashboard-agent-listen-port"
_AGENT_PORT = 52365  # Ray 2.x and KubeRay 1.4-1.7
_AGENT_PATHS = ("/api/local_raylet_healthz", "/api/healthz")
_ADDED = ("shared-mem", "ray-logs", "ray-token")  # volumes that KubeRay adds


def _no_image(case: Case) -> Report:
    for container in all_containers(case):
        if "image" not in container.data or container.data["image"] in (None, ""):
            yield Found(container.path, f"the container {container.name} of {label(container.group)} has no image")


def _mutable(case: Case) -> Report:
    for container in all_containers(case):
        image = container.image
        if not image or "@" in image:
            continue
        _, colon, tag = image.rpartition(":")
        if not colon or "/" in tag:
            tag = ""
        if not tag or any(tag == word or tag.startswith(f"{word}-") for word in _MUTABLE):
            what = f"the image {image} has {'the tag ' + tag if tag else 'no tag'}"
            if container.data.get("imagePullPolicy") in ("IfNotPresent", "Never"):
                what += f", and imagePullPolicy is {container.data['imagePullPolicy']}"
            yield Found(container.at("image"), what)


def _volumes(case: Case) -> Report:
    for group in case.groups:
        there = [text(at(volume, "name")) for volume in sequence(group.pod.get("volumes"))]
        for index, name in enumerate(there):
            if name is not None and name in there[:index]:
                path = group.at("template", "spec", "volumes", index, "name")
                yield Found(path, f"{label(group)} has two volumes {name}", "rename one of them")
        for container in containers(group):
            yield from _mounts(container, there)


def _mounts(container: Container, volumes: list[str | None]) -> Report:
    seen: Counter[str] = Counter()
    for index, mount in enumerate(sequence(container.data.get("volumeMounts"))):
        name, where = text(at(mount, "name")), text(at(mount, "mountPath"))
        path = container.at("volumeMounts", index)
        if name is not None and name not in volumes and name not in _ADDED:
            what = f"the container {container.name} mounts {name}, and {label(container.group)} has no such volume"
            yield Found((*path, "name"), what, f"add {name} to the volumes of {label(container.group)}")
        if where is not None:
            seen[where] += 1
            if seen[where] == 2:
                yield Found((*path, "mountPath"), f"the container {container.name} mounts two volumes at {where}")


def _probe_port(case: Case) -> Report:
    for container in ray_containers(case):
        told = number(container.group, _AGENT)
        listens = _AGENT_PORT if told is None else told
        for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
            get = mapping(at(container.data, probe, "httpGet"))
            port = count(get.get("port"), listens)
            if get.get("path") in _AGENT_PATHS and port != listens:
                path = container.at(probe, "httpGet", "port")
                what = f"{probe} of {label(container.group)} asks port {port}, and Ray's agent listens on {listens}"
                yield Found(path, what, f"write port: {listens}")


def _serve_probe(case: Case) -> Report:
    """KubeRay's own readiness probe of a RayService's workers also asks Serve's proxy, which only nodes with a replica
    have.
    """
    if case.workload.kind != "RayService":
        return
    for group in case.workers:
        container = ray_container(group)
        if container is None or "readinessProbe" in container.data or not can_have_pods(case, group):
            continue
        if gpus(container) and group.pods > 1:
            what = f"{label(group)} has {group.pods} pods with KubeRay's readiness probe, which asks Serve too"
            yield Found(container.path, what)


_PODS = "the API server refuses the pods that KubeRay makes"
_HEAD = "kind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      spec:\n        containers:\n        - "
_WORKER = "spec:\n  WHERE:\n    workerGroupSpecs:\n    - template:\n        spec:\n          containers:\n          - "

RULES = (
    Rule(
        code="POD007",
        name="image-missing",
        severity="error",
        title="a container without an image",
        because=_PODS,
        why="KubeRay fills in no image, neither from rayVersion nor from another group.",
        write="write image",
        since="Kubernetes, all versions",
        source="kubernetes pkg/apis/core/validation/validation.go validateContainers",
        bad=_HEAD + "image: null\n",
        good=_HEAD + "image: rayproject/ray-llm:2.60.0-py311-cu128\n",
        check=_no_image,
    ),
    Rule(
        code="POD008",
        name="image-mutable",
        severity="warning",
        title="an image's tag that moves",
        because="nodes that pull it on different days run different versions, and Ray refuses to join those",
        why="A tag such as latest or nightly is another image tomorrow. A pod that starts again, or a node that is "
        "new, gets the new one, while the rest of the gang has the old one.",
        write="name a version, or a digest",
        since="Kubernetes, all versions",
        source="kubernetes.io/docs/concepts/containers/images",
        bad=_HEAD + "image: rayproject/ray-llm:latest\n",
        good=_HEAD + "image: rayproject/ray-llm:2.60.0-py311-cu128\n",
        check=_mutable,
    ),
    Rule(
        code="POD009",
        name="volume-missing",
        severity="error",
        title="a volume that is not there, or there twice",
        because=_PODS,
        why="Each mount names a volume of its pod; names and mount paths are there once. KubeRay's "
        "CustomResourceDefinition checks none of it.",
        write="add the volume",
        since="Kubernetes, all versions",
        source="kubernetes pkg/apis/core/validation/validation.go ValidateVolumeMounts",
        bad=_HEAD + "volumeMounts: [{name: models, mountPath: /models}]\n",
        good=_HEAD + "volumeMounts: [{name: models, mountPath: /models}]\n        volumes:\n"
        "        - {name: models, persistentVolumeClaim: {claimName: models}}\n",
        check=_volumes,
    ),
    Rule(
        code="PROBE002",
        name="probe-port",
        severity="error",
        title="a probe asks Ray's agent on a port where it does not listen",
        because="the probe fails every time: the pod never becomes ready, or is restarted again and again",
        why="The agent listens on 52365, or on dashboard-agent-listen-port. KubeRay keeps its own probes in step, not "
        "one's own.",
        write="write the agent's port",
        since="Ray 2.x, KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:489-500,961-966",
        bad=_HEAD + "readinessProbe: {httpGet: {path: /api/local_raylet_healthz, port: 8265}}\n",
        good=_HEAD + "readinessProbe: {httpGet: {path: /api/local_raylet_healthz, port: 52365}}\n",
        check=_probe_port,
    ),
    Rule(
        code="PROBE003",
        name="serve-probe-on-workers",
        severity="warning",
        title="workers without a replica of Serve never become ready",
        because="a model over several pods has its replica in one of them: the others stay at 0/1 ready",
        why="KubeRay's readiness probe for workers of a RayService asks Serve's proxy on port 8000, and Serve starts "
        "a proxy only where a replica is. The service works all the same, but tools that wait for ready pods, "
        "disruption budgets and people are misled.",
        write="write a readinessProbe with httpGet: {path: /api/local_raylet_healthz, port: 52365}",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:559-575; kuberay issue 2552",
        bad="kind: RayService\n" + _WORKER.replace("WHERE", "rayClusterConfig") + "readinessProbe: null\n",
        good="kind: RayService\n"
        + _WORKER.replace("WHERE", "rayClusterConfig")
        + "readinessProbe: {httpGet: {path: /api/local_raylet_healthz, port: 52365}}\n",
        check=_serve_probe,
    ),
)
