"""RAY: what KubeRay does to the containers and counts of a group, and what it refuses in them."""

from __future__ import annotations

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.pods_view import Container, containers, label, ray_container, ray_containers
from raygang.lint.rules.ray_images import ray_image
from raygang.objects import count, sequence

_SIDECARS = (
    "istio", "envoy", "fluent", "filebeat", "vector", "promtail", "prometheus", "exporter", "proxy", "sidecar", "otel",
    "gcsfuse", "vault", "redis", "nginx", "busybox",
)  # fmt: skip


def _ray_first(case: Case) -> Report:
    for group in case.groups:
        all_of_them = [c for c in containers(group) if not c.init]
        if len(all_of_them) < 2 or _looks_like_ray(all_of_them[0]):
            continue
        ray = next((c for c in all_of_them[1:] if _looks_like_ray(c)), None)
        if ray is not None and _is_sidecar(all_of_them[0]):
            what = f"the first container of {label(group)} is {all_of_them[0].name}, and {ray.name} comes after it"
            yield Found(all_of_them[0].at("name"), what, f"put {ray.name} first")


def _looks_like_ray(container: Container) -> bool:
    return ray_image(container.image) is not None or "ray" in container.name.lower().split("-")


def _is_sidecar(container: Container) -> bool:
    words = f"{container.name} {container.image or ''}".lower()
    return any(word in words for word in _SIDECARS)


def _counts(case: Case) -> Report:
    for group in case.workers:
        for name in ("replicas", "minReplicas", "maxReplicas"):
            if count(group.data.get(name), 0) < 0:
                yield Found(group.at(name), f"{name} of {label(group)} is {group.data[name]}", "write 0 or more")
        low, high = count(group.data.get("minReplicas"), 0), count(group.data.get("maxReplicas"), 2**31 - 1)
        if low > high >= 0:
            what = f"minReplicas {low} of {label(group)} is above maxReplicas {high}"
            yield Found(group.at("minReplicas" if "minReplicas" in group.data else "maxReplicas"), what)


def _counts_missing(case: Case) -> Report:
    if case.workload.autoscaling:
        return
    for group in case.workers:
        missing = [name for name in ("minReplicas", "maxReplicas") if name not in group.data]
        if missing and count(group.data.get("replicas"), 0) > 0:
            what = f"{label(group)} has no {' and no '.join(missing)}"
            yield Found(group.path, what, f"write minReplicas and maxReplicas {group.data.get('replicas')}")


def _command(case: Case) -> Report:
    if str(case.workload.manifest.annotations.get("ray.io/overwrite-container-cmd")).lower() == "true":
        return
    for container in ray_containers(case):
        parts = [str(part) for name in ("command", "args") for part in sequence(container.data.get(name))]
        line = " ".join(parts)
        if parts and "ray start" not in line and "KUBERAY_GEN_RAY_START_CMD" not in line and "exit 1" not in line:
            field = "command" if sequence(container.data.get("command")) else "args"
            what = f"KubeRay starts {label(container.group)} with its {field}, then `&& ulimit -n 65536; ray start ...`"
            yield Found(container.at(field), what)


def _containers(case: Case) -> Report:
    for group in case.groups:
        if group.data and ray_container(group) is None:
            yield Found(group.at("template", "spec"), f"{label(group)} has no container", "add one with Ray's image")


_REFUSED = "KubeRay refuses the cluster: it makes no pod"
_VALIDATION = "KubeRay 1.6 ray-operator/controllers/ray/utils/validation.go"
_HEAD = "kind: RayCluster\nspec:\n  headGroupSpec:\n"
_CONTAINERS = _HEAD + "    template:\n      spec:\n        containers:\n"

RULES = (
    Rule(
        code="RAY010",
        name="ray-not-first",
        severity="error",
        title="a sidecar stands before the Ray container",
        because="KubeRay starts Ray in the first container: in this sidecar's image",
        why="KubeRay takes the container with index 0 as Ray's, whatever its name.",
        write="put the Ray container first",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/utils/constant.go RayContainerIndex",
        bad=_CONTAINERS + "        - {name: fluentbit, image: fluent/fluent-bit:3.2}\n"
        "        - {name: ray-head, image: rayproject/ray-llm:2.60.0-py311-cu128}\n",
        good=_CONTAINERS + "        - {name: ray-head}\n        - {name: fluentbit, image: fluent/fluent-bit:3.2}\n",
        check=_ray_first,
    ),
    Rule(
        code="RAY011",
        name="replica-bounds-unwritten",
        severity="info",
        title="minReplicas or maxReplicas is not written",
        because="the API server fills in 0 and 2147483647, and gang schedulers count minReplicas",
        why="The CustomResourceDefinition has defaults for both. Without the autoscaler the number of pods is right "
        "all the same; YuniKorn's and KAI's gangs, and the autoscaler when it is switched on, go by minReplicas.",
        write="write both, equal to replicas",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.4-1.7 ray-operator/config/crd/bases/ray.io_rayclusters.yaml workerGroupSpecs",
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - minReplicas: null\n",
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - minReplicas: 2\n",
        check=_counts_missing,
    ),
    Rule(
        code="RAY012",
        name="precommand-not-guarded",
        severity="warning",
        title="a command before `ray start` can fail unseen",
        because="where the command fails, its `&&` skips `ulimit` only: Ray starts without what was to be prepared",
        why="KubeRay joins one's own command and its own with `&&` and `;`: `cmd && ulimit -n 65536; ray start ...`. "
        "It replaces nothing unless the command has `ray start` in it or the annotation ray.io/overwrite-container-cmd "
        "is true.",
        write="end the command with `|| exit 1`",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:886-913; tried with bash",
        bad=_CONTAINERS + "        - args: [pip install numpy]\n",
        good=_CONTAINERS + '        - args: ["pip install numpy || exit 1"]\n',
        check=_command,
    ),
    Rule(
        code="RAY023",
        name="replica-bounds",
        severity="error",
        title="minReplicas is above maxReplicas, or a count is negative",
        because=_REFUSED,
        why="KubeRay validates the counts of each group before it makes pods, and says so in events only.",
        write="write 0 <= minReplicas <= replicas <= maxReplicas",
        since="KubeRay 1.6-1.7; before, no pods or wrong ones",
        source=_VALIDATION + ":121-138",
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - maxReplicas: 1\n",
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - maxReplicas: 2\n",
        check=_counts,
    ),
    Rule(
        code="RAY024",
        name="no-container",
        severity="error",
        title="a group without a container",
        because=_REFUSED,
        why="The head and every worker group need a container that Ray runs in.",
        write="add a container",
        since="KubeRay 1.4-1.7",
        source=_VALIDATION + ":101-103,117-119",
        bad=_HEAD + "    template:\n      spec:\n        containers: null\n",
        good=_HEAD + "    template:\n      spec:\n        containers:\n        - name: ray-head\n",
        check=_containers,
    ),
)
