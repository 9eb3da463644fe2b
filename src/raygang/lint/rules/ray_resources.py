"""RAY: what a Ray node offers, from rayStartParams, its group or its container: CPUs, GPUs, resources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from raygang.lint.model import Case, Edit, Found, Report, Rule
from raygang.lint.rules.pods_view import can_have_pods, gpus, label, number, param, params, ray_container
from raygang.objects import Group, mapping, quantity, sequence
from raygang.objects.words import counted

_RESERVED = {"CPU": "num-cpus", "GPU": "num-gpus", "memory": "memory", "object_store_memory": "object-store-memory"}
_SIZES = ("num-cpus", "num-gpus", "memory", "resources")
_QUOTES = "'\"` "


def _unquoted(case: Case) -> Report:
    for group in case.groups:
        for name in params(group):
            value = (param(group, name) or "").strip()
            if value.startswith("{") and any(character in value for character in ' ,"'):
                what = f"the shell takes {name} apart: --{name}={value} has no quotes around it"
                fix: tuple[Edit, ...] = ()
                write = "wrap it in single quotes inside the quotes of YAML"
                if _object(value) is not None and "'" not in value:
                    fix = (Edit("set", group.at("rayStartParams", name), f"'{value}'"),)
                    write = f"write {json.dumps(chr(39) + value + chr(39))}"
                if name == "resources":
                    write += f", or use the field resources of {label(group)}"
                yield Found(group.at("rayStartParams", name), what, write, fix=fix)


def _object(value: str) -> dict[str, Any] | None:
    """The JSON object that a text is, with quotes around it or within."""
    for form in (value, value.replace('\\"', '"')):
        try:
            found = json.loads(form)
        except ValueError:
            continue
        return found if isinstance(found, dict) else None
    return None


def _own(group: Group) -> dict[str, Any] | None:
    value = param(group, "resources")
    return None if value is None else _object(value.strip(_QUOTES))


def _reserved(case: Case) -> Report:
    for group in case.groups:
        for name, option in _RESERVED.items():
            if name in (_own(group) or {}):
                what = f"resources of {label(group)} has {name}, which is Ray's own"
                yield Found(group.at("rayStartParams", "resources"), what, f"write {option} in rayStartParams")


def _both(case: Case) -> Report:
    for group in case.groups:
        twice = [name for name in _SIZES if params(group).get(name)]
        if twice and mapping(group.data.get("resources")):
            what = f"{label(group)} has resources, and {', '.join(twice)} in rayStartParams"
            yield Found(group.at("rayStartParams", twice[0]), what, "keep one of them", key=True)


def _cpus(group: Group) -> bool:
    """Whether a node of the group can have CPUs; where nothing is said Ray counts those that it sees."""
    own = {str(name).lower(): value for name, value in mapping(group.data.get("resources")).items()}
    if "cpu" in own:
        return quantity(own["cpu"]) != 0
    if param(group, "num-cpus") is not None:
        return number(group, "num-cpus") != 0
    container = ray_container(group)
    return container is None or container.size("cpu") != 0 or not container.sizes("limits")


def _no_cpu(case: Case) -> Report:
    if not any(_cpus(group) for group in case.groups if can_have_pods(case, group)):
        worker = next((g for g in case.workers if param(g, "num-cpus") is not None), None)
        path = worker.at("rayStartParams", "num-cpus") if worker else case.groups[0].path
        what = "no node of the Ray cluster has a CPU: the head has none"
        what += ", and no worker has one" if case.workers else ", and there are no workers"
        fix = (Edit("delete", path),) if worker else ()
        yield Found(path, what, "remove num-cpus from the workers: KubeRay sets it to their CPU limit", fix=fix)


def _gpu_mismatch(case: Case) -> Report:
    for group in case.groups:
        asked, container = number(group, "num-gpus"), ray_container(group)
        if asked is None or container is None or container.data.get("resourceClaims") or at_claims(group):
            continue
        real, path = gpus(container), group.at("rayStartParams", "num-gpus")
        if asked == real or (
            container.sizes("requests") != container.sizes("limits") and not container.sizes("limits")
        ):
            continue
        what = f"{label(group)} has num-gpus {asked}, and its container has {counted(real, 'GPU')}"
        if real == 0:
            yield Found(path, what, "remove num-gpus, or give the container GPUs", severity="info")
        else:
            write = "remove num-gpus: KubeRay sets it to the GPU limit"
            yield Found(path, what, write, fix=(Edit("delete", path),))


def at_claims(group: Group) -> bool:
    """Whether its pods get devices by claims, which KubeRay does not count."""
    return bool(sequence(group.pod.get("resourceClaims")))


def _head_gpus(case: Case) -> Report:
    head = case.groups[0]
    container = ray_container(head)
    used = [group for group in case.workers if _has_gpus(group) and can_have_pods(case, group)]
    if container is not None and used and gpus(container) and number(head, "num-gpus") != 0:
        found = next(name for name in container.sizes("limits") if str(name).endswith("gpu") or "mig-" in str(name))
        what = f"the head has {counted(gpus(container), 'GPU')} beside the workers'"
        yield Found(container.at("resources", "limits", found), what)


def _has_gpus(group: Group) -> bool:
    container = ray_container(group)
    return container is not None and gpus(container) > 0


def _cuda_devices(case: Case) -> Report:
    for group in case.groups:
        container = ray_container(group)
        env = container.variable("CUDA_VISIBLE_DEVICES") if container else None
        if container is None or env is None or env.value is None:
            continue
        visible = len([part for part in env.value.split(",") if part.strip()])
        asked = number(group, "num-gpus")
        asked = gpus(container) if asked is None else asked
        what = f"CUDA_VISIBLE_DEVICES of {label(group)} is set by hand to {visible} of {counted(asked, 'GPU')}"
        if asked > visible:
            because = "`ray start` refuses to offer more GPUs than are visible: the pod starts again and again"
            yield Found(env.path, what, because=because, severity="error")
        elif asked:
            yield Found(env.path, what)


def _groups(worker: str) -> str:
    return f"kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - {worker}"


def rules() -> Iterator[Rule]:
    """In the order of their codes."""
    yield Rule(
        code="RAY001",
        name="resources-unquoted",
        severity="error",
        title="JSON in rayStartParams without quotes for the shell",
        because="the shell takes it apart, `ray start` ends with an error, and the pod starts again and again",
        why="KubeRay writes `--resources=<value>` into a line for bash without quoting it. The quotes of YAML are gone "
        "by then, so a second pair has to be inside. KubeRay strips single quotes when it reads the value itself; with "
        "backslashes, as in older samples, it cannot read it and leaves out num-gpus. The field `resources` of the "
        "group, since KubeRay 1.5, needs no quoting.",
        write="wrap it in single quotes inside the quotes of YAML",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:1063-1135",
        bad=_groups("rayStartParams:\n      resources: '{\"nvlink\": 1}'\n"),
        good=_groups('rayStartParams:\n      resources: "\'{\\"nvlink\\": 1}\'"\n'),
        check=_unquoted,
    )
    yield Rule(
        code="RAY002",
        name="resources-reserved",
        severity="error",
        title="Ray's own resources among those of one's own",
        because="`ray start` ends with an error and the pod starts again and again",
        why="CPU, GPU, memory and object_store_memory have options of their own and are refused in --resources.",
        write="write num-cpus, num-gpus, memory or object-store-memory",
        since="Ray 2.x",
        source="Ray 2.60 ray/_private/parameter.py:424-440",
        bad=_groups('rayStartParams:\n      resources: "\'{\\"CPU\\": 8}\'"\n'),
        good=_groups('rayStartParams:\n      num-cpus: "8"\n'),
        check=_reserved,
    )
    yield Rule(
        code="RAY003",
        name="resources-both",
        severity="error",
        title="resources in the group and in rayStartParams",
        because="KubeRay refuses the cluster: it makes no pod",
        why="A group's `resources` are written into rayStartParams, so KubeRay takes one of them only.",
        write="keep the group's resources",
        since="KubeRay 1.5-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/utils/validation.go:59-68",
        bad=_groups('resources:\n      CPU: "8"\n    rayStartParams:\n      num-cpus: "8"\n'),
        good=_groups('resources:\n      CPU: "8"\n'),
        check=_both,
    )
    yield Rule(
        code="RAY004",
        name="zero-cpu-cluster",
        severity="error",
        title="no CPU in the whole Ray cluster",
        because="nothing can be deployed: a replica of Serve, an actor and a task each reserve a CPU",
        why="num-cpus 0 on the head is good practice: it keeps work away from it. On all workers too it leaves no CPU "
        "to reserve, and Ray waits without an error.",
        write="remove num-cpus from the workers",
        since="Ray 2.x",
        source="Ray doc/source/serve/resource-allocation.md; tried with Ray 2.9",
        bad=_groups('rayStartParams:\n      num-cpus: "0"\n'),
        good=_groups('rayStartParams:\n      num-cpus: "60"\n'),
        check=_no_cpu,
    )
    yield Rule(
        code="RAY005",
        name="num-gpus-mismatch",
        severity="warning",
        title="num-gpus is not the container's GPUs",
        because="Ray hands out GPUs that are not there, or leaves some unused",
        why="Without num-gpus KubeRay tells Ray the container's GPU limit. A value of one's own is believed. Without "
        "any GPU it makes slots that are no GPUs, which tests on CPUs may want.",
        write="remove num-gpus",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:1003-1041",
        bad=_groups('rayStartParams:\n      num-gpus: "4"\n'),
        good=_groups('rayStartParams:\n      num-gpus: "8"\n'),
        check=_gpu_mismatch,
    )
    yield Rule(
        code="RAY021",
        name="gpus-on-head",
        severity="warning",
        title="the head has GPUs beside the workers'",
        because="a rank or a replica on the head starves the cluster's controller, or the GPUs stay idle",
        why="The head runs the GCS, the dashboard and Serve's controller: losing it ends the cluster. Keep ranks away "
        "from it, unless the whole cluster is one pod.",
        write='give the GPUs to a worker group, and the head num-gpus "0"',
        since="Ray 2.x",
        source="Ray doc/source/cluster/kubernetes/user-guides/config.md",
        bad="kind: RayCluster\nspec:\n  headGroupSpec:\n    rayStartParams: {num-gpus: null}\n"
        "    template:\n      spec:\n"
        '        containers:\n        - resources: {requests: {nvidia.com/gpu: "1"}, limits: {nvidia.com/gpu: "1"}}\n',
        good='kind: RayCluster\nspec:\n  headGroupSpec:\n    rayStartParams: {num-gpus: "0"}\n',
        check=_head_gpus,
    )
    yield Rule(
        code="RAY022",
        name="cuda-visible-devices",
        severity="warning",
        title="CUDA_VISIBLE_DEVICES is set by hand",
        because="Ray sees these GPUs only, and its own choice for each worker is relative to them",
        why="The device plugin gives a container its GPUs, and Ray sets CUDA_VISIBLE_DEVICES of each of its workers. "
        "Fewer visible than num-gpus is an error of `ray start`.",
        write="remove it",
        since="Ray 2.x",
        source="Ray 2.60 ray/_private/resource_and_label_spec.py:355-373",
        bad=_groups("template:\n      spec:\n        containers:\n        - env:\n"
                    "          - name: CUDA_VISIBLE_DEVICES\n"
                    '            value: "0,1,2,3"\n            valueFrom: null\n'),
        good=_groups('template:\n      spec:\n        containers:\n        - name: ray-worker\n'),
        check=_cuda_devices,
    )  # fmt: skip


RULES = tuple(rules())
