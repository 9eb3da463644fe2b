"""UPG: what an upgrade of a RayService needs, and deadlines of its start."""

from __future__ import annotations

import re

from raygang.lint.model import Case, Edit, Found, Report, Rule
from raygang.lint.rules.pods_view import gpus, ray_container
from raygang.objects import Path, Version, at, count, mapping, text
from raygang.objects.words import counted

_TYPES = ("NewCluster", "NewClusterWithIncrementalUpgrade", "None")
_INCREMENTAL = _TYPES[1]
_CLUSTER_TYPES = ("Recreate", "None")
_STRATEGY: Path = ("spec", "upgradeStrategy")
_DEADLINE = "ray.io/initializing-timeout"
_DEADLINE_SINCE = Version(1, 5)
_GO_DURATION = re.compile(r"(?:\d+(?:\.\d*)?(?:ns|us|ms|s|m|h))+", re.ASCII)
_DEPRECATED = ("serviceUnhealthySecondThreshold", "deploymentUnhealthySecondThreshold")


def _gpus(case: Case) -> int:
    found = ((group, ray_container(group)) for group in case.workers)
    return sum(group.pods * gpus(container) for group, container in found if container is not None)


def _type(case: Case) -> str | None:
    return text(at(case.workload.manifest.data, *_STRATEGY, "type"))


def _double(case: Case) -> Report:
    if case.workload.kind != "RayService":
        return
    said, total = _type(case), _gpus(case)
    if total == 0 or said == "None" or (said is not None and said not in _TYPES):
        return
    surge = count(at(case.workload.manifest.data, *_STRATEGY, "clusterUpgradeOptions", "maxSurgePercent"), 100)
    if said == _INCREMENTAL:
        if surge < 100:
            return
        what = f"an upgrade with maxSurgePercent {surge} starts a second cluster: {counted(total, 'more GPU')}"
        write = "write a smaller maxSurgePercent, or have as many GPUs again"
        yield Found((*_STRATEGY, "clusterUpgradeOptions", "maxSurgePercent"), what, write, severity="info")
        return
    how = "NewCluster" if said else "not written, which means NewCluster"
    path = (*_STRATEGY, "type") if said else ("spec",)
    what = (
        f"upgradeStrategy.type is {how}: each change starts a second cluster, which needs {counted(total, 'more GPU')}"
    )
    yield Found(path, what, key=not said, fix=(Edit("set", (*_STRATEGY, "type"), "None"),))


def _on_child(case: Case) -> Report:
    path = (*case.workload.path, "upgradeStrategy")
    if case.workload.kind in ("RayService", "RayJob") and at(case.workload.manifest.data, *path, "type") is not None:
        to = "spec.upgradeStrategy" if case.workload.kind == "RayService" else ""
        what = f"upgradeStrategy stands in {case.workload.path[-1]}"
        fix = (Edit("move", path, _STRATEGY),) if to and _type(case) is None and _known(case, path) else ()
        yield Found(path, what, f"move it to {to}" if to else "remove it", fix=fix, key=True)


def _known(case: Case, path: Path) -> bool:
    return at(case.workload.manifest.data, *path, "type") in _TYPES


def _refused(case: Case) -> Report:
    kind, said = case.workload.kind, _type(case)
    types = {"RayService": _TYPES, "RayCluster": _CLUSTER_TYPES}.get(kind)
    if types is None or said is None:
        return
    if said not in types:
        yield Found((*_STRATEGY, "type"), f"upgradeStrategy.type of a {kind} is {said}", f"write {' or '.join(types)}")
    if said == _INCREMENTAL:
        yield from _incremental(case)


def _incremental(case: Case) -> Report:
    options = at(case.workload.manifest.data, *_STRATEGY, "clusterUpgradeOptions")
    path = (*_STRATEGY, "clusterUpgradeOptions")
    if not case.workload.autoscaling:
        what = f"{_INCREMENTAL} needs Ray's autoscaler, and enableInTreeAutoscaling is not true"
        yield Found((*_STRATEGY, "type"), what, "write enableInTreeAutoscaling: true, or another type")
    if not isinstance(options, dict):
        yield Found((*_STRATEGY, "type"), f"{_INCREMENTAL} has no clusterUpgradeOptions", "add clusterUpgradeOptions")
        return
    if not options.get("gatewayClassName"):
        yield Found(path, "clusterUpgradeOptions has no gatewayClassName", "name a GatewayClass of the cluster")
    for name, low, high in (
        ("maxSurgePercent", 0, 100),
        ("stepSizePercent", 0, 100),
        ("intervalSeconds", 1, 2**31 - 1),
    ):
        value = options.get(name)
        if value is None and name != "maxSurgePercent":
            yield Found(path, f"clusterUpgradeOptions has no {name}", f"add {name}")
        elif value is not None and not low <= count(value, low) <= high:
            yield Found((*path, name), f"{name} is {value}", f"write a number from {low} to {high}")


def _old_thresholds(case: Case) -> Report:
    spec = mapping(case.workload.manifest.data.get("spec"))
    for name in _DEPRECATED:
        if case.workload.kind == "RayService" and name in spec:
            fix = (Edit("delete", ("spec", name)),)
            write = f"remove it; {_DEADLINE} is a deadline"
            yield Found(("spec", name), f"KubeRay does not read {name}", write, fix=fix, key=True)


def _no_deadline(case: Case) -> Report:
    kuberay, said = case.context.kuberay, case.workload.manifest.annotations.get(_DEADLINE)
    if case.workload.kind != "RayService" or _gpus(case) == 0 or said or (kuberay and kuberay < _DEADLINE_SINCE):
        return
    path: Path = ("metadata",)
    yield Found(path, f"there is no deadline for its start ({_DEADLINE})", key=True)


def _deadline(case: Case) -> Report:
    said = case.workload.manifest.annotations.get(_DEADLINE)
    path: Path = ("metadata", "annotations", _DEADLINE)
    if case.workload.kind != "RayService" or not isinstance(said, str) or not said:
        return
    seconds = _seconds(said)
    if seconds is None or seconds <= 0:
        yield Found(path, f"{_DEADLINE} is {said}", "write a duration such as 1h or 3600s")
    elif seconds < 600 and _gpus(case) > 8:
        what = f"{_DEADLINE} is {said}, for an engine on {_gpus(case)} GPUs"
        because = "pulling images and loading weights takes longer: KubeRay deletes the cluster and gives up for good"
        yield Found(path, what, "write 1h or more", because, severity="warning")


_UNIT = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(value: str) -> float | None:
    if value.isascii() and value.isdecimal():
        return float(value)
    if not _GO_DURATION.fullmatch(value):
        return None
    return sum(float(number) * _UNIT[unit] for number, unit in re.findall(r"(\d+(?:\.\d*)?)(ns|us|ms|s|m|h)", value))


_REFUSED = "KubeRay refuses it: nothing starts, and only an event says so"
_VALIDATION = "KubeRay 1.6 ray-operator/controllers/ray/utils/validation.go"
_CONTROLLER = "KubeRay 1.6 ray-operator/controllers/ray/rayservice_controller.go"
_SERVICE = "kind: RayService\n"

RULES = (
    Rule(
        code="UPG001", name="double-gang", severity="warning", title="an upgrade that needs a second gang",
        because="where there are not as many GPUs again, the new pods wait for ever, and the change never comes",
        why="With NewCluster, the default, KubeRay starts a whole second cluster at each change of rayClusterConfig "
        "and "
        "moves traffic when it is ready. With None it changes nothing until the RayService is made anew.",
        write="write upgradeStrategy: {type: None}, or have room for two",
        since="KubeRay 1.2-1.7", source=f"{_CONTROLLER}:1148-1200; KubeRay issues 4239, 1476",
        bad=_SERVICE + "spec:\n  upgradeStrategy: null\n", good=_SERVICE + "spec:\n  upgradeStrategy: {type: None}\n",
        check=_double,
    ),
    Rule(
        code="UPG002", name="upgrade-on-child", severity="error", title="upgradeStrategy in the cluster's spec",
        because="KubeRay refuses the cluster that it makes of it: no pod starts",
        why="The strategy of a RayService stands in its own spec. In rayClusterConfig it would be that of a "
        "RayCluster, "
        "which only one made by hand may have.",
        write="move it to spec.upgradeStrategy",
        since="KubeRay 1.6-1.7", source=f"{_VALIDATION}:42-56",
        bad=_SERVICE + "spec:\n  rayClusterConfig:\n    upgradeStrategy: {type: None}\n",
        good=_SERVICE + "spec:\n  upgradeStrategy: {type: None}\n",
        check=_on_child,
    ),
    Rule(
        code="UPG003", name="upgrade-refused", severity="error", title="an upgradeStrategy that KubeRay refuses",
        because=_REFUSED,
        why="An incremental upgrade moves traffic by a Gateway and pods by Ray's autoscaler: it needs both, and its "
        "step "
        "and interval.",
        write="add what it needs, or write another type",
        since="KubeRay 1.4-1.7; incremental 1.5-1.7", source=f"{_VALIDATION}:439-490",
        bad=_SERVICE + "spec:\n  upgradeStrategy: {type: Rolling}\n",
        good=_SERVICE + "spec:\n  upgradeStrategy: {type: None}\n",
        check=_refused,
    ),
    Rule(
        code="UPG004", name="unread-threshold", severity="warning", title="a threshold that KubeRay does not read",
        because="nothing happens when it passes: a service that never becomes healthy is left as it is",
        why="Since KubeRay 1.2 a RayService that is not healthy is not restarted as a whole; the fields are still "
        "there.",
        write="remove it",
        since="KubeRay 1.2-1.7",
        source="KubeRay 1.6 ray-operator/apis/ray/v1/rayservice_types.go:86-92; KubeRay issue 1685",
        bad=_SERVICE + "spec:\n  serviceUnhealthySecondThreshold: 900\n", good=_SERVICE + "spec: {}\n",
        check=_old_thresholds,
    ),
    Rule(
        code="UPG005", name="no-deadline", severity="info", title="no deadline for the start",
        because="where it cannot start, its pods hold their GPUs until somebody looks",
        why="With the annotation KubeRay marks a RayService that was not ready in time as failed and deletes its "
        "cluster.",
        write=f"add the annotation {_DEADLINE}: 1h",
        since="KubeRay 1.5-1.7", source=f"{_CONTROLLER}:1887-1985",
        bad=_SERVICE + f"metadata:\n  annotations: {{{_DEADLINE}: null}}\n",
        good=_SERVICE + f"metadata:\n  annotations: {{{_DEADLINE}: 1h}}\n",
        check=_no_deadline,
    ),
    Rule(
        code="UPG006", name="deadline-form", severity="error", title="a deadline that KubeRay cannot read",
        because=_REFUSED,
        why="It is a duration of Go, such as 1h30m, or whole seconds.",
        write="write 1h or 3600s",
        since="KubeRay 1.5-1.7", source=f"{_VALIDATION}:394-424",
        bad=_SERVICE + f"metadata:\n  annotations: {{{_DEADLINE}: 1 hour}}\n",
        good=_SERVICE + f"metadata:\n  annotations: {{{_DEADLINE}: 1h}}\n",
        check=_deadline,
    ),
)  # fmt: skip
