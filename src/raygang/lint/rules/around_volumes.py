"""BUN: volumes that several nodes cannot share, and objects in another namespace."""

from __future__ import annotations

from collections.abc import Iterator

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.pods_view import all_containers, gpus, label, ray_container
from raygang.objects import Bundle, Group, Manifest, Path, at, mapping, sequence, text

_WHOLE_NODE = 8  # GPUs of a pod that takes all of a node as a rule


def _claims(group: Group) -> Iterator[tuple[str, Path]]:
    for index, volume in enumerate(sequence(group.pod.get("volumes"))):
        name = text(at(volume, "persistentVolumeClaim", "claimName"))
        if name is not None and at(volume, "persistentVolumeClaim", "readOnly") is not True:
            yield name, group.at("template", "spec", "volumes", index, "persistentVolumeClaim", "claimName")


def _here(case: Case, kind: str, name: str | None) -> Manifest | None:
    """The object of a name in the workload's namespace."""
    return case.bundle.get("", kind, case.workload.manifest.namespace, name)


def _shared(case: Case) -> Report:
    for group in case.groups:
        for name, path in _claims(group):
            claim = _here(case, "PersistentVolumeClaim", name)
            modes = sequence(at(claim.data, "spec", "accessModes")) if claim else ()
            if claim is None or not modes or any(mode in ("ReadWriteMany", "ReadOnlyMany") for mode in modes):
                continue
            pods = sum(g.pods for g in case.groups if any(other == name for other, _ in _claims(g)))
            container = ray_container(group)
            apart = container is not None and gpus(container) >= _WHOLE_NODE
            if pods > 1:
                once = "ReadWriteOncePod" in modes
                what = f"{pods} pods mount the claim {name}, which is {modes[0]}"
                sure = once or (apart and group.pods > 1)
                yield Found(path, what, severity="error" if sure else "warning")


_REFERENCES = (
    ("Secret", ("secret", "secretName")), ("ConfigMap", ("configMap", "name")),
    ("PersistentVolumeClaim", ("persistentVolumeClaim", "claimName")),
)  # fmt: skip


def _elsewhere(case: Case) -> Report:
    """Objects that are in the bundle, but in another namespace."""
    namespace = case.workload.manifest.namespace
    if namespace is None:
        return
    for kind, name, path in _references(case):
        if _here(case, kind, name) or case.bundle.get("", kind, None, name):
            continue
        other = case.bundle.once(_first_namespaces).get((kind, name))
        if other is not None:
            what = f"the {kind} {name} is in the namespace {other}, and the pods are in {namespace}"
            yield Found(path, what, f"make {name} in {namespace}")


def _first_namespaces(bundle: Bundle) -> dict[tuple[str, str], str]:
    """By kind and name, the first in the alphabet of the namespaces that have such an object."""
    found: dict[tuple[str, str], str] = {}
    for kind, _ in _REFERENCES:
        for manifest in bundle.find("", kind):
            place, space = (kind, manifest.name), str(manifest.namespace)
            found[place] = min(space, found.get(place, space))
    return found


def _references(case: Case) -> Iterator[tuple[str, str, Path]]:
    for group in case.groups:
        for index, volume in enumerate(sequence(group.pod.get("volumes"))):
            for kind, inner in _REFERENCES:
                name = text(at(volume, *inner))
                if name is not None:
                    yield kind, name, group.at("template", "spec", "volumes", index, *inner)
    for container in all_containers(case):
        for index, entry in enumerate(sequence(container.data.get("env"))):
            for kind, field in (("Secret", "secretKeyRef"), ("ConfigMap", "configMapKeyRef")):
                name = text(at(entry, "valueFrom", field, "name"))
                if name is not None:
                    yield kind, name, container.at("env", index, "valueFrom", field, "name")


def _missing_key(case: Case) -> Report:
    """Keys of Secrets and ConfigMaps that the bundle has, without that key."""
    for container in all_containers(case):
        for index, entry in enumerate(sequence(container.data.get("env"))):
            for kind, field in (("Secret", "secretKeyRef"), ("ConfigMap", "configMapKeyRef")):
                reference = mapping(at(entry, "valueFrom", field))
                name, key = text(reference.get("name")), text(reference.get("key"))
                found = _here(case, kind, name)
                if found is None or key is None or reference.get("optional") is True:
                    continue
                keys = [*mapping(found.data.get("data")), *mapping(found.data.get("stringData"))]
                if keys and key not in keys:
                    path = container.at("env", index, "valueFrom", field, "key")
                    what = f"the {kind} {name} has no key {key}; it has {', '.join(sorted(keys))}"
                    yield Found(path, f"{what} ({label(container.group)})", f"write key: {sorted(keys)[0]}")


_CLAIM = "kind: RayService\nspec:\n  rayClusterConfig:\n    workerGroupSpecs:\n    - template:\n        spec:\n" \
    "          volumes:\n          - {name: shared-memory}\n          - name: models\n" \
    "            persistentVolumeClaim: {claimName: models}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\n" \
    "metadata: {name: models, namespace: models}\nspec: {accessModes: [%s]}\n"  # fmt: skip
_SECRET = "kind: RayService\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: hugging-face, namespace: %s}\n" \
    "stringData: {%s: <your token>}\n"  # fmt: skip

RULES = (
    Rule(
        code="BUN008", name="volume-on-one-node", severity="error", title="a volume for one node in pods of several",
        because="all pods but the first wait for the volume for ever: Multi-Attach error",
        why="ReadWriteOnce means one node at a time, ReadWriteOncePod one pod. An engine over several nodes needs its "
        "weights on each of them.",
        write="use a claim with ReadWriteMany or ReadOnlyMany",
        since="Kubernetes, all versions", source="k8s.io/api 0.34-0.37 core/v1/types.go PersistentVolumeAccessMode",
        bad=_CLAIM % "ReadWriteOnce", good=_CLAIM % "ReadWriteMany",
        check=_shared,
    ),
    Rule(
        code="BUN009", name="other-namespace", severity="error", title="an object in another namespace",
        because="the pods wait for it for ever: CreateContainerConfigError, or a volume that is never mounted",
        why="Secrets, ConfigMaps and claims are looked for in the pod's own namespace.",
        write="make it in the namespace of the pods",
        since="Kubernetes, all versions", source="k8s.io/api 0.34-0.37 core/v1/types.go LocalObjectReference",
        bad=_SECRET % ("secrets", "token"), good=_SECRET % ("models", "token"),
        check=_elsewhere,
    ),
    Rule(
        code="BUN010", name="key-missing", severity="error", title="a key that the Secret or ConfigMap does not have",
        because="the container is not started: CreateContainerConfigError",
        why="A reference to one key has to name one that is there, unless it says optional.",
        write="write a key that is there",
        since="Kubernetes, all versions", source="k8s.io/api 0.34-0.37 core/v1/types.go SecretKeySelector",
        bad=_SECRET % ("models", "hf_token"), good=_SECRET % ("models", "token"),
        check=_missing_key,
    ),
)  # fmt: skip
