"""RAY, AUTO: settings of the whole cluster that KubeRay's own validation refuses, and ports that nothing links."""

from __future__ import annotations

from raygang.lint.model import Case, Found, Report, Rule, Severity
from raygang.lint.rules.pods_view import Env, containers, label, params, ray_container, ray_containers
from raygang.lint.rules.ray_images import ray_version
from raygang.objects import Group, Path, Version, at, count, mapping, sequence, text
from raygang.objects.fields import digits

_V2 = "RAY_enable_autoscaler_v2"
_ON = ("1", "true")
_AUTH_SINCE, _K8S_AUTH_SINCE = Version(2, 52), Version(2, 55)


def _auth(case: Case) -> Report:
    options = mapping(case.workload.cluster.get("authOptions"))
    path: Path = (*case.workload.path, "authOptions")
    k8s = options.get("enableK8sTokenAuth") is True
    if k8s and case.workload.kind != "RayCluster":
        what = f"a {case.workload.kind} cannot have enableK8sTokenAuth yet"
        yield Found((*path, "enableK8sTokenAuth"), what, "remove it")
    if options.get("mode") != "token":
        if k8s:
            yield Found((*path, "enableK8sTokenAuth"), "enableK8sTokenAuth needs mode: token", "write mode: token")
        return
    least, version = _K8S_AUTH_SINCE if k8s else _AUTH_SINCE, ray_version(case)
    if version is None:
        said = case.workload.cluster.get("rayVersion")
        what = f"rayVersion {said} is no version" if said else "there is no rayVersion"
        yield Found(path, f"authOptions needs Ray {least} or later, and {what}", "write rayVersion")
    elif version < least:
        yield Found(path, f"authOptions needs Ray {least} or later, and rayVersion is {version}", "update Ray")


def _head_service(case: Case) -> Report:
    path: Path = (*case.workload.path, "headGroupSpec", "headService", "metadata", "name")
    name = at(case.workload.manifest.data, *path)
    if case.workload.kind == "RayService" and name:
        yield Found(path, f"the head's service of a RayService is named {name}", "remove the name")


def _autoscaler(case: Case) -> Report:
    switch, version = _switch(case), at(case.workload.cluster, "autoscalerOptions", "version")
    if case.workload.autoscaling:
        if switch and version is not None:
            what = f"{_V2} and autoscalerOptions.version {version} are both there"
            yield Found(switch.path, what, "remove the variable")
        yield from _scaled_groups(case, version == "v2")
    elif switch and switch.value in _ON:
        yield Found(switch.path, f"{_V2} is {switch.value}, and enableInTreeAutoscaling is not true")


def _scaled_groups(case: Case, v2: bool) -> Report:
    for group in case.groups:
        policy = group.pod.get("restartPolicy")
        if v2 and policy not in (None, "", "Never"):
            what = f"restartPolicy of {label(group)} is {policy}, and the autoscaler is v2"
            yield Found(group.at("template", "spec", "restartPolicy"), what, "remove it, or write Never")
        if not group.head and group.data.get("suspend") is True:
            yield Found(group.at("suspend"), f"{label(group)} is suspended, and the autoscaler is on")


def _switch(case: Case) -> Env | None:
    """The variable that switches the autoscaler v2 on."""
    head = ray_container(case.groups[0])
    return head.variable(_V2) if head else None


def _idle_timeout(case: Case) -> Report:
    switch = _switch(case)
    v2 = at(case.workload.cluster, "autoscalerOptions", "version") == "v2" or (switch and switch.value in _ON)
    for group in case.workers:
        for name in ("idleTimeoutSeconds", "priority"):
            if count(group.data.get(name), 0) and not v2:
                what = f"{name} of {label(group)} is set, and the autoscaler is not v2"
                yield Found(group.at(name), what, "write autoscalerOptions.version: v2, or remove it", key=True)


_PORTS = (("dashboard-port", "dashboard", 8265), ("metrics-export-port", "metrics", 8080))


def _ports(case: Case) -> Report:
    """KubeRay's services and probes take a port from the container's ports, by name, or its default."""
    for container in ray_containers(case):
        group = container.group
        for option, name, default in _PORTS:
            if name == "dashboard" and (not group.head or _behind_a_proxy(group)):
                continue
            named = [p for p in sequence(container.data.get("ports")) if text(at(p, "name")) == name]
            there = count(at(named[0], "containerPort"), default) if named else default
            told = _port(params(group).get(option), default)
            if told is not None and told != there:
                path = group.at("rayStartParams", option) if option in params(group) else container.at("ports")
                what = f"Ray's {name} listens on {told} ({option}), and KubeRay looks for it on {there}"
                severity: Severity | None = None if name == "dashboard" else "warning"
                write = f"write {option} and the containerPort named {name} alike"
                yield Found(path, what, write, severity=severity)


def _behind_a_proxy(group: Group) -> bool:
    """Whether the dashboard listens within the pod only: another container may pass KubeRay's requests on."""
    return params(group).get("dashboard-host") in ("127.0.0.1", "localhost") and len(list(containers(group))) > 1


def _port(value: object, default: int) -> int | None:
    if value is None:
        return default
    return digits(str(value).strip("'\" "))


_REFUSED = "KubeRay refuses the cluster: it makes no pod"
_VALIDATION = "KubeRay 1.6 ray-operator/controllers/ray/utils/validation.go"
_HEAD = "kind: RayCluster\nspec:\n  headGroupSpec:\n"

RULES = (
    Rule(
        code="RAY025",
        name="auth-options",
        severity="error",
        title="authOptions that KubeRay refuses",
        because=_REFUSED,
        why="Token authentication needs Ray 2.52, by rayVersion; Kubernetes' own tokens Ray 2.55, and a RayCluster.",
        write="write a rayVersion that can do it",
        since="KubeRay 1.5.1-1.7; Kubernetes' tokens 1.6-1.7",
        source=_VALIDATION + ":240-268,340-342,424-427",
        bad="kind: RayCluster\nspec:\n  rayVersion: 2.51.0\n",
        good="kind: RayCluster\nspec:\n  rayVersion: 2.60.0\n",
        check=_auth,
    ),
    Rule(
        code="RAY026",
        name="head-service-name",
        severity="error",
        title="the head's service of a RayService has a name",
        because="KubeRay refuses the RayService: it makes no cluster",
        why="A RayService has two clusters during an upgrade, each with a service for its head: a fixed name clashes.",
        write="remove headService.metadata.name",
        since="KubeRay 1.4-1.7",
        source=_VALIDATION + ":433-437",
        bad="kind: RayService\nspec:\n  rayClusterConfig:\n    headGroupSpec:\n"
        "      headService: {metadata: {name: head}}\n",
        good="kind: RayService\nspec:\n  rayClusterConfig:\n    headGroupSpec:\n"
        "      headService: {spec: {type: ClusterIP}}\n",
        check=_head_service,
    ),
    Rule(
        code="RAY027",
        name="autoscaler-v2-field",
        severity="error",
        title="a field that needs the autoscaler v2",
        because=_REFUSED,
        why="Only the autoscaler v2 knows the idle time and the priority of a group.",
        write="write autoscalerOptions.version: v2",
        since="KubeRay 1.5-1.7; priority 1.7",
        source=_VALIDATION + ":729-751",
        bad="kind: RayCluster\nspec:\n  enableInTreeAutoscaling: true\n"
        "  workerGroupSpecs:\n  - idleTimeoutSeconds: 60\n",
        good="kind: RayCluster\nspec:\n  enableInTreeAutoscaling: true\n  autoscalerOptions: {version: v2}\n"
        "  workerGroupSpecs:\n  - idleTimeoutSeconds: 60\n",
        check=_idle_timeout,
    ),
    Rule(
        code="RAY028",
        name="ports-not-linked",
        severity="error",
        title="a port of Ray's is not the one that KubeRay looks for",
        because="KubeRay and Prometheus ask the other port: a RayService or RayJob waits for the dashboard for ever",
        why="dashboard-port and metrics-export-port tell Ray where to listen. KubeRay makes its services from the "
        "container's ports named dashboard and metrics, or from 8265 and 8080. Nothing links the two.",
        write="write both alike, or neither",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:258-266,951-957, common/service.go",
        bad=_HEAD + '    rayStartParams:\n      dashboard-port: "8266"\n',
        good=_HEAD + '    rayStartParams:\n      dashboard-port: "8265"\n',
        check=_ports,
    ),
    Rule(
        code="AUTO001",
        name="autoscaler-v2",
        severity="error",
        title="settings that contradict the autoscaler",
        because=_REFUSED,
        why="The autoscaler v2 replaces pods itself: they must not restart. Its variable does nothing without "
        "enableInTreeAutoscaling, and it is written once: as autoscalerOptions.version or as the variable. A suspended "
        "group cannot be scaled.",
        write="keep one of the two",
        since="KubeRay 1.4-1.7",
        source=_VALIDATION + ":196-228",
        bad="kind: RayCluster\nspec:\n  enableInTreeAutoscaling: true\n  autoscalerOptions: {version: v2}\n"
        "  headGroupSpec: {template: {spec: {restartPolicy: Always}}}\n",
        good="kind: RayCluster\nspec:\n  enableInTreeAutoscaling: true\n  autoscalerOptions: {version: v2}\n"
        "  headGroupSpec: {template: {spec: {restartPolicy: Never}}}\n",
        check=_autoscaler,
    ),
)
