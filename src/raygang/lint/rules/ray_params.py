"""RAY: rayStartParams, which KubeRay writes into a shell command line: `ray start --name=value ...`."""

from __future__ import annotations

from raygang.lint.model import Case, Edit, Found, Report, Rule
from raygang.lint.rules.pods_view import label, param, params
from raygang.lint.rules.ray_options import (
    BYTES,
    FLAGS,
    GONE,
    HEAD_ONLY,
    OPTIONS,
    WHOLE_NUMBERS,
    YES_OR_NO,
)
from raygang.lint.schema_words import meant
from raygang.objects import Group, Path, Version, quantity

_LOG_MONITOR = Version(1, 7)  # KubeRay 1.7 hands include-log-monitor on with its value
_SET_BY_KUBERAY = ("block", "head")


def _path(group: Group, name: str) -> Path:
    return group.at("rayStartParams", name)


def _unknown(case: Case) -> Report:
    for group in case.groups:
        for name in params(group):
            if name in OPTIONS or name in GONE:
                continue
            near = meant(name.lstrip("-"), OPTIONS)
            what = f"`ray start` of Ray 2.60 has no option --{name}"
            if near:
                fix = (Edit("move", _path(group, name), _path(group, near)),) if _same(name, near) else ()
                yield Found(_path(group, name), what, f"write {near}", fix=fix, key=True)
            else:
                yield Found(_path(group, name), what, severity="warning", key=True)


def _same(name: str, near: str) -> bool:
    return name.lstrip("-").lower().replace("_", "-") == near


def _not_a_number(case: Case) -> Report:
    for group in case.groups:
        for name in sorted(WHOLE_NUMBERS & set(params(group))):
            value = (param(group, name) or "").strip()
            bare = value.strip("'\"")
            if not value or "$" in value or bare.lstrip("+-").isdecimal():
                continue  # the shell that runs `ray start` replaces $VARIABLES
            size = quantity(bare)
            if size is not None and size == int(size):
                fix = (Edit("set", _path(group, name), str(int(size))),)
                write = f'write "{int(size)}"' + (", in bytes" if name in BYTES else "")
                yield Found(_path(group, name), f"--{name}={value} is no whole number", write, fix=fix)
            else:
                yield Found(_path(group, name), f"--{name}={value} is no whole number")


def _false(case: Case) -> Report:
    """KubeRay leaves an option out whose value is false, and writes it without a value where it is true."""
    kuberay = case.context.kuberay
    passed_on = {"log-color", "include-dashboard"}
    if kuberay is None or kuberay >= _LOG_MONITOR:
        passed_on.add("include-log-monitor")
    for group in case.groups:
        for name in params(group):
            value = (param(group, name) or "").strip().lower()
            path = _path(group, name)
            if name in _SET_BY_KUBERAY and value == "false":
                what = f"--{name} is set by KubeRay whatever is written here"
                yield Found(path, what, "remove it", fix=(Edit("delete", path),), severity="info")
            elif name in FLAGS and value == "false":
                what = f"--{name} is an on-off switch that is off unless it is written: false changes nothing"
                yield Found(path, what, "remove it", fix=(Edit("delete", path),), severity="info")
            elif name in YES_OR_NO - passed_on and value in ("true", "false"):
                yield Found(path, f"KubeRay {kuberay} drops the value {value} of --{name}")


def _labels(case: Case) -> Report:
    if case.context.kuberay and case.context.kuberay < Version(1, 5):
        return
    for group in case.groups:
        if "labels" in params(group):
            what = f"{label(group)} has labels in rayStartParams"
            yield Found(_path(group, "labels"), what, f"write them as labels of {label(group)}", key=True)


def _head_only(case: Case) -> Report:
    for group in case.workers:
        for name in HEAD_ONLY:
            if name in params(group):
                path = _path(group, name)
                what = f"{label(group)} has --{name}, which only a head may have"
                yield Found(path, what, "remove it", fix=(Edit("delete", path),), key=True)


def _address(case: Case) -> Report:
    for group in case.groups:
        if "address" in params(group):
            path = _path(group, "address")
            if group.head:
                what = "the head has --address: Ray takes it for the address of a Redis"
                yield Found(path, what, "remove it; for a Redis use gcsFaultToleranceOptions.redisAddress")
            else:
                what = f"{label(group)} joins {param(group, 'address')}, not the head that KubeRay makes for it"
                yield Found(path, what, "remove it: KubeRay writes the address of the head")


def _temp_dir(case: Case) -> Report:
    for group in case.groups:
        directory = (param(group, "temp-dir") or "").strip("'\" ")
        if directory and not directory.startswith(("/", "$")):
            yield Found(_path(group, "temp-dir"), f"temp-dir {directory} is no absolute path")


_BAD = "kind: RayCluster\nspec:\n  headGroupSpec:\n    rayStartParams:\n      "
_WORKER = "kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - rayStartParams:\n      "
_EXITS = "`ray start` ends with an error and the pod starts again and again"
_SCRIPTS = "Ray 2.60 ray/scripts/scripts.py"

RULES = (
    Rule(
        code="RAY006",
        name="labels-in-ray-start-params",
        severity="error",
        title="labels in rayStartParams",
        because="KubeRay refuses the cluster: it makes no pod",
        why="Ray's node labels have a field of their own in each group since KubeRay 1.5, and KubeRay writes --labels "
        "from it.",
        write="write them in the group's field labels",
        since="KubeRay 1.5-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/utils/validation.go:71-74",
        bad=_WORKER + 'labels: "zone=a"\n',
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - labels:\n      zone: a\n",
        check=_labels,
    ),
    Rule(
        code="RAY007",
        name="false-flag-dropped",
        severity="warning",
        title="false in rayStartParams does not arrive",
        because="the option keeps Ray's default",
        why="KubeRay takes the values true and false for on-off switches: true becomes the bare option, false becomes "
        "nothing. Only log-color and include-dashboard, with KubeRay 1.7 include-log-monitor too, are handed on.",
        write="remove it",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:1108-1135",
        bad=_BAD + 'no-monitor: "false"\n',
        good=_BAD + 'include-dashboard: "false"\n',
        check=_false,
    ),
    Rule(
        code="RAY016",
        name="unknown-ray-option",
        severity="error",
        title="an option that `ray start` does not have",
        because=_EXITS,
        why="Each entry of rayStartParams becomes an option of `ray start`, in exactly this spelling: with hyphens, "
        "without leading ones.",
        write="remove it, or write an option of `ray start --help`",
        since="Ray 2.x",
        source=_SCRIPTS + ":458-800",
        bad=_BAD + 'num_cpus: "0"\n',
        good=_BAD + 'num-cpus: "0"\n',
        check=_unknown,
    ),
    Rule(
        code="RAY017",
        name="ray-option-not-a-number",
        severity="error",
        title="an option of `ray start` needs a whole number",
        because=_EXITS,
        why="Ray's command line knows no units: memory is in bytes, CPUs and GPUs are whole.",
        write='write a whole number in quotes, such as "8"',
        since="Ray 2.x",
        source=_SCRIPTS + ":458-800 (type=int)",
        bad=_WORKER + "object-store-memory: 20Gi\n",
        good=_WORKER + 'object-store-memory: "20000000000"\n',
        check=_not_a_number,
    ),
    Rule(
        code="RAY018",
        name="head-option-on-worker",
        severity="error",
        title="a worker has an option that only a head may have",
        because=_EXITS,
        why="Ray checks that port, redis-shard-ports and include-dashboard come with --head.",
        write="remove it",
        since="Ray 2.x",
        source=_SCRIPTS + ":1193-1215",
        bad=_WORKER + 'port: "6379"\n',
        good=_BAD + 'port: "6379"\n',
        check=_head_only,
    ),
    Rule(
        code="RAY019",
        name="ray-address-by-hand",
        severity="warning",
        title="the address of the head is written by hand",
        because="the node joins another cluster than its own, or none",
        why="KubeRay gives every worker the address of its head's service, and the head none. In a RayService the "
        "cluster's name, and with it the address, changes with each upgrade.",
        write="remove it",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:943-949, " + _SCRIPTS + ":1003-1016",
        bad=_WORKER + "address: llama-head-svc:6379\n",
        good='kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - rayStartParams:\n      num-cpus: "60"\n',
        check=_address,
    ),
    Rule(
        code="RAY020",
        name="temp-dir-relative",
        severity="error",
        title="temp-dir is no absolute path",
        because=_EXITS,
        why="Ray takes an absolute path only.",
        write="write an absolute path",
        since="Ray 2.x",
        source="Ray 2.60 ray/_private/parameter.py:447-448",
        bad=_BAD + "temp-dir: tmp/ray\n",
        good=_BAD + "temp-dir: /tmp/ray\n",
        check=_temp_dir,
    ),
)
