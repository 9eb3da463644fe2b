"""SCHEMA: fields, their types and their values, against KubeRay's own definitions of each version."""

from __future__ import annotations

from raygang.gang import Context
from raygang.lint.model import CheckManifest, Found, Report, Rule, Unchecked
from raygang.lint.schema import Kind, Problem, first_version, outside, problems, root_name
from raygang.lint.schema_table import GROUP, table
from raygang.lint.schema_words import instead, meant, place, quoted, repeated, right_value, secret, shown, wanted
from raygang.objects import Bundle, Manifest

_KUBERAY = "KubeRay's version (--kuberay)"
_CHILD = {("rayClusterConfig", "upgradeStrategy"), ("rayClusterSpec", "upgradeStrategy")}  # a rule of its own: UPG002
_TEXT_MAPS = ("labels", "annotations", "rayStartParams", "nodeSelector", "matchLabels")


def _unknown(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    found = table()
    for problem in problems(manifest):
        if problem.path[-2:] in _CHILD:
            continue
        if problem.kind == "span":
            yield from _span(problem, context)
        elif problem.kind == "unknown" and found.newer(context.kuberay):
            yield Unchecked(f"a raygang that knows KubeRay {context.kuberay}")
        elif problem.kind == "unknown":
            write, fix = instead(problem, root_name(manifest))
            where = place(problem.path[:-1]) or f"a {manifest.kind}"
            yield Found(problem.path, f"{where} has no field {problem.path[-1]}", write, fix=fix, key=True)


def _span(problem: Problem, context: Context) -> Report:
    found = table()
    index = found.index(context.kuberay)
    if index is None:
        yield Unchecked(_KUBERAY)
        return
    if not outside(problem.span, index, len(found.versions)):
        return
    first, last = problem.span
    name = problem.value if problem.path == ("kind",) else problem.path[-1]
    if index < (first or 0):
        what = f"KubeRay {context.kuberay} has no {name}: it came with {first_version(found, problem.span)}"
        yield Found(problem.path, what, "update KubeRay, or remove it", key=True)
    elif last is not None:
        what = f"KubeRay {context.kuberay} has no {name} any more: {found.versions[last]} was the last"
        yield Found(problem.path, what, "remove it", key=True)


def _of_kind(kind: Kind, report: CheckManifest) -> CheckManifest:
    """A check that costs nothing for objects without such a problem."""

    def check(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
        if any(problem.kind == kind for problem in problems(manifest)):
            yield from report(manifest, bundle, context)

    return check


def _types(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    for problem in problems(manifest):
        if problem.kind == "type":
            write, fix = right_value(problem)
            what = f"is {repeated(problem)}, and has to be {wanted(problem.node.kind)}"
            yield Found(problem.path, f"{_last(problem)} {what}", write, fix=fix)


def _required(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    for problem in problems(manifest):
        if problem.kind == "required":
            where = place(problem.path) or f"the {manifest.kind}"
            yield Found(problem.path, f"{where} has no {problem.name}", f"add {problem.name}", key=True)


def _values(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    for problem in problems(manifest):
        name = _last(problem)
        if problem.kind == "enum":
            allowed = ", ".join(sorted(problem.node.enum))
            near = meant(str(problem.value), problem.node.enum)
            write = f"write {near}" if near else f"write one of {allowed}"
            yield Found(problem.path, f"{name} is {repeated(problem)}, and can only be {allowed}", write)
        elif problem.kind == "minimum":
            least = f"{problem.node.minimum:g}"
            yield Found(problem.path, f"{name} is {problem.value}, below {least}", f"write {least} or more")


def _unquoted(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    for problem in problems(manifest):
        if problem.kind == "unquoted":
            write, fix = quoted(problem)
            what = f"{_owner(problem)} is {_read_as(problem)}, and has to be a text"
            yield Found(problem.path, what, write, fix=fix)


def _read_as(problem: Problem) -> str:
    if isinstance(problem.value, bool):
        return f"YAML's {shown(problem.value)}"
    return "a number" if secret(problem.path) else f"the number {shown(problem.value)}"


def _last(problem: Problem) -> str:
    """The field as a message calls it: the last name, with the index of a list's item."""
    names = [index for index, part in enumerate(problem.path) if isinstance(part, str)]
    return place(problem.path[names[-1] :]) if names else "the object"


def _owner(problem: Problem) -> str:
    path = problem.path
    if len(path) > 2 and path[-1] == "value" and path[-3] == "env":
        return "the value of an environment variable"
    if len(path) > 1 and path[-2] in _TEXT_MAPS:
        return f"{path[-2]}[{path[-1]}]"
    return _last(problem)


def _kinds(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if manifest.group != GROUP or root_name(manifest) in table().roots:
        return
    if table().newer(context.kuberay):
        yield Unchecked(f"a raygang that knows KubeRay {context.kuberay}")
        return
    kinds = sorted({name.partition("/")[0] for name in table().roots})
    if manifest.kind in kinds:
        what = f"KubeRay has no API version {manifest.data.get('apiVersion')}"
        yield Found(("apiVersion",), what, f"write {GROUP}/v1")
    else:
        near = meant(manifest.kind, kinds)
        write = f"write kind: {near}" if near else f"write one of {', '.join(kinds)}"
        yield Found(("kind",), f"KubeRay has no kind {manifest.kind}", write)


_REFUSED = "the API server refuses the object"
_VERSIONS = "KubeRay 1.4-1.7"
_CRDS = "KubeRay ray-operator/config/crd/bases of 1.4.2, 1.5.0, 1.5.1, 1.6.0 and 1.7.0"

RULES = (
    Rule(
        code="SCHEMA001",
        name="unknown-field",
        severity="error",
        title="a field that KubeRay does not have",
        because="kubectl refuses the object; Helm and most other clients apply it, and the API server drops the field",
        why="The CustomResourceDefinition lists every field. What it does not list is pruned before anyone sees it, so "
        "a misspelt or misplaced field acts as if it were not written. `kubectl apply` asks for strict validation "
        "since 1.25; Helm, Kustomize controllers and Argo CD show a warning at most. Fields that came or went between "
        "versions of KubeRay are compared with `--kuberay`.",
        write="write the field's right name in its right place",
        since=_VERSIONS,
        source=_CRDS,
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      replicas: 2\n",
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - replicas: 2\n",
        check_manifest=_unknown,
    ),
    Rule(
        code="SCHEMA002",
        name="wrong-type",
        severity="error",
        title="a value of the wrong type",
        because=_REFUSED,
        why='Each field takes one type only: nothing is converted, neither "4" to 4 nor 0.5 to a quantity.',
        write="write a value of the field's type",
        since=_VERSIONS,
        source=_CRDS,
        bad='kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - replicas: "four"\n',
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - replicas: 2\n",
        check_manifest=_of_kind("type", _types),
    ),
    Rule(
        code="SCHEMA003",
        name="missing-required",
        severity="error",
        title="a field is missing",
        because=_REFUSED,
        why="Some fields have no default: a group's template and name, a container's name, the containers of a pod.",
        write="add the field",
        since=_VERSIONS,
        source=_CRDS,
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - groupName: null\n",
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - groupName: gpus\n",
        check_manifest=_of_kind("required", _required),
    ),
    Rule(
        code="SCHEMA004",
        name="value-not-allowed",
        severity="error",
        title="a value that the field does not take",
        because=_REFUSED,
        why="Some fields take a few words only, in exactly this spelling, and some numbers have a lower bound.",
        write="write one of the allowed values",
        since=_VERSIONS,
        source=_CRDS,
        bad="kind: RayCluster\nspec:\n  autoscalerOptions:\n    upscalingMode: default\n",
        good="kind: RayCluster\nspec:\n  autoscalerOptions:\n    upscalingMode: Default\n",
        check_manifest=_values,
    ),
    Rule(
        code="SCHEMA005",
        name="unquoted-text",
        severity="error",
        title="a number, true or false where a text belongs",
        because=_REFUSED,
        why="YAML makes a number of 0 and true or false of true, yes, on, no and off. Environment variables, labels, "
        "annotations, rayStartParams and selectors are texts: the value needs quotes.",
        write="put the value in quotes",
        since="Kubernetes, all versions",
        source="k8s.io/api 0.34-0.37 core/v1/types.go EnvVar.Value, KubeRay rayStartParams map[string]string",
        bad="kind: RayCluster\nspec:\n  headGroupSpec:\n    rayStartParams:\n      num-cpus: 0\n",
        good='kind: RayCluster\nspec:\n  headGroupSpec:\n    rayStartParams:\n      num-cpus: "0"\n',
        check_manifest=_of_kind("unquoted", _unquoted),
    ),
    Rule(
        code="SCHEMA006",
        name="unknown-kind",
        severity="error",
        title="a kind or an API version that KubeRay does not have",
        because='kubectl says "no matches for kind" and applies nothing',
        why="KubeRay serves the kinds RayCluster, RayService, RayJob and, since 1.6, RayCronJob in ray.io/v1.",
        write="write ray.io/v1 and one of KubeRay's kinds",
        since=_VERSIONS,
        source=_CRDS,
        bad="apiVersion: ray.io/v1\nkind: RayServe\nmetadata:\n  name: llama\n",
        good="kind: RayService\n",
        check_manifest=_kinds,
    ),
)
