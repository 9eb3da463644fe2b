"""NAME, RAY013: names of objects, groups, containers and ports, and labels, in the forms that Kubernetes takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from raygang.gang import Context
from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.pods_view import Container, containers, label
from raygang.objects import Bundle, Manifest, Path, at, mapping, sequence, text

_LABEL_1035 = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?\Z", re.ASCII)
_LABEL_1123 = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\Z", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\Z", re.ASCII)
_KEY = re.compile(r"[A-Za-z0-9](?:[-_.A-Za-z0-9]*[A-Za-z0-9])?\Z", re.ASCII)
_PORT = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\Z", re.ASCII)
# KubeRay 1.4-1.7, utils/constant.go: a RayService's and a RayJob's cluster gets six letters behind its name
LONGEST = {"RayCluster": 53, "RayService": 47, "RayJob": 47, "RayCronJob": 36}
_LABEL, _PREFIX, _PORT_NAME = 63, 253, 15
_Identity = tuple[str, str, str | None, str]


def _name(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    longest = LONGEST.get(manifest.kind)
    if manifest.group != "ray.io" or longest is None:
        return
    name, path = manifest.name, ("metadata", "name")
    if not name:
        if not at(manifest.data, "metadata", "generateName"):
            yield Found(("metadata",), f"the {manifest.kind} has no name", "write metadata.name")
    elif not _LABEL_1035.match(name):
        why = "small letters, digits and hyphens, with a letter first and no hyphen last"
        yield Found(
            path, f"the name {name} has another form than KubeRay takes: {why}", f"write {_lowered(name, longest)}"
        )
    elif len(name) > longest:
        what = f"the name {name} has {len(name)} letters, and a {manifest.kind} may have {longest}"
        yield Found(path, what, f"shorten it by {len(name) - longest}")


def _lowered(name: str, longest: int) -> str:
    """A name that is taken and has what can be kept of another one."""
    kept = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    found = kept if kept[:1].isalpha() else f"ray-{kept or 'cluster'}"
    return found[:longest].strip("-")


def _twice(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    """At the later one of two objects, which wins."""
    if manifest.name and bundle.once(_first)[_identity(manifest)] < manifest.index:
        space = f" in the namespace {manifest.namespace}" if manifest.namespace else ""
        yield Found(("metadata", "name"), f"there is another {manifest.kind} {manifest.name}{space} before this one")


def _first(bundle: Bundle) -> dict[_Identity, int]:
    """Where each object comes first."""
    return {_identity(m): m.index for m in reversed(bundle.manifests)}


def _identity(manifest: Manifest) -> _Identity:
    return manifest.group, manifest.kind, manifest.namespace, manifest.name


def _groups(case: Case) -> Report:
    seen: set[str] = set()
    for group in case.workers:
        if not group.name:
            continue
        path = group.at("groupName")
        if group.name in seen:
            yield Found(path, f"there are two worker groups {group.name}", "give each group a name of its own")
        seen.add(group.name)
        if group.name == case.groups[0].name:
            yield Found(path, f"the group name {group.name} is KubeRay's own for the head", "rename the group")
        elif len(group.name) > _LABEL or not _KEY.match(group.name):
            yield Found(path, f"the group name {group.name} is no label's value", "write letters, digits and hyphens")


def _labels(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    yield from _metadata(mapping(manifest.data.get("metadata")), ("metadata",))


def _template_labels(case: Case) -> Report:
    for group in case.groups:
        path = group.at("template", "metadata")
        yield from _metadata(mapping(group.template.get("metadata")), path)
        yield from _pairs(mapping(group.data.get("labels")), group.at("labels"), values=True)


def _metadata(metadata: Mapping[str, Any], path: Path) -> Iterator[Found]:
    yield from _pairs(mapping(metadata.get("labels")), (*path, "labels"), values=True)
    yield from _pairs(mapping(metadata.get("annotations")), (*path, "annotations"), values=False)


def _pairs(found: Mapping[str, Any], path: Path, *, values: bool) -> Iterator[Found]:
    kind = "label" if values else "annotation"
    for key, value in found.items():
        fault = _key_fault(key)
        if fault:
            yield Found((*path, key), f"the {kind} {key} {fault}", "write domain/name, or a name", key=True)
        if values and isinstance(value, str) and value and (len(value) > _LABEL or not _KEY.match(value)):
            fault = f"has {len(value)} letters" if len(value) > _LABEL else "has letters that no label may have"
            write = "write at most 63 letters, digits, -, _ and ., or make it an annotation"
            yield Found((*path, key), f'the value "{value[:70]}" of the label {key} {fault}', write)


def _key_fault(key: str) -> str | None:
    prefix, slash, name = key.rpartition("/")
    if not _KEY.match(name):
        return "has no valid name" + (" behind its /" if slash else "")
    if len(name) > _LABEL:
        return f"has a name of {len(name)} letters, and may have {_LABEL}"
    if slash and (len(prefix) > _PREFIX or not _SUBDOMAIN.match(prefix)):
        return "has a prefix that is no domain"
    return None


def _containers(case: Case) -> Report:
    for group in case.groups:
        seen = {"autoscaler"} if group.head and case.workload.autoscaling else set()
        seen |= set() if group.head else {"wait-gcs-ready"}
        own = set(seen)
        for container in containers(group):
            name = text(container.data.get("name"))
            if name is None:
                continue
            path = container.at("name")
            if name in seen:
                who = "KubeRay adds one of this name" if name in own else "there is one of this name before it"
                yield Found(path, f"the container {name} of {label(group)} is there twice: {who}", "rename it")
            seen.add(name)
            if len(name) > _LABEL or not _LABEL_1123.match(name):
                write = "write small letters, digits and hyphens, 63 at most"
                yield Found(path, f"the container's name {name} has a form that Kubernetes does not take", write)
            yield from _ports(container)


def _ports(container: Container) -> Iterator[Found]:
    seen: set[str] = set()
    for index, port in enumerate(sequence(container.data.get("ports"))):
        name, path = text(at(port, "name")), container.at("ports", index, "name")
        if name is None:
            continue
        if name in seen:
            yield Found(path, f"the container {container.name} has two ports {name}", "rename one of them")
        seen.add(name)
        if len(name) > _PORT_NAME or not _PORT.match(name) or name.isdecimal() or "--" in name:
            write = "write at most 15 small letters, digits and single hyphens"
            yield Found(path, f"the port's name {name} has a form that Kubernetes does not take", write)


_REFUSED = "the API server refuses the object"
_PODS = "the API server refuses the pods that KubeRay makes"
_HEAD = "kind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      "
_LONG = "llama-3-3-70b-instruct-for-the-whole-company-in-europe"

RULES = (
    Rule(
        code="RAY013",
        name="name-invalid",
        severity="error",
        title="a name that KubeRay does not take",
        because="KubeRay refuses the object: it makes nothing",
        why="Names of services are built from it, which have 63 letters at most. A RayService and a RayJob add six to "
        "the name of their RayCluster. The API server takes longer names and dots, so `kubectl apply` succeeds.",
        write="write small letters, digits and hyphens, beginning with a letter",
        since="KubeRay 1.3-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/utils/validation.go:31-39,279-286,378-384, constant.go:283",
        bad=f"kind: RayService\nmetadata:\n  name: {_LONG}\n",
        good="kind: RayService\nmetadata:\n  name: llama-3-3-70b-instruct\n",
        check_manifest=_name,
    ),
    Rule(
        code="NAME001",
        name="object-twice",
        severity="warning",
        title="two objects of the same kind and name",
        because="applied together, the second one overwrites the first",
        why="kubectl applies one after the other, and the last one stays. Files that are alternatives of each other "
        "are better linted one by one.",
        write="rename one of them, or remove it",
        since="Kubernetes, all versions",
        source="kubernetes.io/docs/concepts/overview/working-with-objects/names",
        bad="kind: RayCluster\n---\nkind: RayCluster\n",
        good="kind: RayCluster\n---\nkind: RayCluster\nmetadata:\n  name: mistral\n",
        check_manifest=_twice,
    ),
    Rule(
        code="NAME002",
        name="group-name",
        severity="error",
        title="a worker group's name is there twice or has a wrong form",
        because="KubeRay tells groups apart by the label ray.io/group: it counts the pods of both as one's, or cannot "
        "make any",
        why="The group's name becomes a label of its pods, and the label is how KubeRay finds them again.",
        write="give each group a name of its own",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go labelPod",
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - groupName: headgroup\n",
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - groupName: gpus\n",
        check=_groups,
    ),
    Rule(
        code="NAME003",
        name="label-form",
        severity="error",
        title="a label or an annotation of a wrong form",
        because=_REFUSED,
        why="A key is a name of at most 63 letters, with a domain and a / before it if need be. A label's value has at "
        "most 63 letters, digits, hyphens, underscores and dots.",
        write="write domain/name: value",
        since="Kubernetes, all versions",
        source="k8s.io/apimachinery 0.34-0.37 pkg/util/validation/validation.go",
        bad="kind: RayCluster\nmetadata:\n  labels: {team: search and ads}\n",
        good="kind: RayCluster\nmetadata:\n  labels: {team: search-and-ads}\n",
        check_manifest=_labels,
    ),
    Rule(
        code="NAME004",
        name="pod-label-form",
        severity="error",
        title="a label or an annotation of pods of a wrong form",
        because=_PODS,
        why="As for any label. KubeRay's CustomResourceDefinition does not check it: the fault comes out when pods are "
        "made, as an event of the RayCluster.",
        write="write domain/name: value",
        since="Kubernetes, all versions",
        source="k8s.io/apimachinery 0.34-0.37 pkg/util/validation/validation.go",
        bad=_HEAD + "metadata: {labels: {model: meta-llama/Llama-3.3-70B}}\n",
        good=_HEAD + "metadata: {labels: {model: Llama-3.3-70B}}\n",
        check=_template_labels,
    ),
    Rule(
        code="NAME005",
        name="container-name",
        severity="error",
        title="a container's or a port's name is there twice or has a wrong form",
        because=_PODS,
        why="Names of containers are small letters, digits and hyphens, each once in a pod: KubeRay adds `autoscaler` "
        "to the head and `wait-gcs-ready` to workers. Names of ports have 15 letters at most.",
        write="rename it",
        since="Kubernetes, all versions; KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:28,370; k8s.io/apimachinery IsValidPortName",
        bad=_HEAD + "spec: {containers: [{name: ray_head}]}\n",
        good=_HEAD + "spec: {containers: [{name: ray-head}]}\n",
        check=_containers,
    ),
)
