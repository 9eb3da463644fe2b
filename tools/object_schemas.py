"""Writes tests/manifest/schemas.json.gz: JSON schemas of what raygang renders, from the published definitions.

The sources are Go modules; fetch them first, for example `go mod download sigs.k8s.io/kueue@v0.17.0` in an empty
directory. Descriptions are left out, and unknown fields become errors, as `kubectl --validate=strict` has it.

    python tools/object_schemas.py "$(go env GOMODCACHE)" tests/manifest/schemas.json.gz
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

KUBERAY = "github.com/ray-project/kuberay/ray-operator@v{}/config/crd/bases"
CRDS = {
    **{f"KubeRay {v}": (KUBERAY.format(v), ("ray.io_rayservices.yaml",)) for v in ("1.5.0", "1.5.1", "1.6.0")},
    "Kueue 0.17.0": ("sigs.k8s.io/kueue@v0.17.0/config/components/crd/bases", ("kueue.x-k8s.io_localqueues.yaml",)),
    "Volcano 1.14.1": (
        "volcano.sh/volcano@v1.14.1/config/crd/volcano/bases",
        ("scheduling.volcano.sh_podgroups.yaml", "scheduling.volcano.sh_queues.yaml"),
    ),
    "scheduler-plugins 0.32.7": (
        "sigs.k8s.io/scheduler-plugins@v0.32.7/config/crd/bases",
        ("scheduling.x-k8s.io_podgroups.yaml",),
    ),
}
KUBERNETES = {f"Kubernetes {v}": f"k8s.io/kubernetes@v{v}/api/openapi-spec/swagger.json" for v in ("1.36.0", "1.37.0")}
KINDS = (
    "ConfigMap", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "NetworkPolicy", "PodGroup",
    "PriorityClass", "Service", "ServiceAccount", "Workload",
)  # fmt: skip
_ANNOTATIONS = {"description", "example", "default", "title", "externalDocs"}


def main(modules: Path, target: Path) -> None:
    found: dict[str, dict[str, Any]] = {}
    for source, (folder, files) in CRDS.items():
        found[source] = dict(entry for file in files for entry in _of_crd(modules / folder / file))
    for source, file in KUBERNETES.items():
        found[source] = dict(_of_swagger(json.loads((modules / file).read_text(encoding="utf-8"))["definitions"]))
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    with target.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(text.encode())


def _of_crd(path: Path) -> Iterator[tuple[str, Any]]:
    spec = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["spec"]
    for version in spec["versions"]:
        if version["served"]:
            schema = _strict(version["schema"]["openAPIV3Schema"])
            yield f"{spec['group']}/{version['name']} {spec['names']['kind']}", schema


def _of_swagger(definitions: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for definition in definitions.values():
        for gvk in definition.get("x-kubernetes-group-version-kind", ()):
            if gvk["kind"] in KINDS and definition.get("properties", {}).get("metadata"):
                group = f"{gvk['group']}/" if gvk["group"] else ""
                yield f"{group}{gvk['version']} {gvk['kind']}", _strict(_inlined(definition, definitions))


def _inlined(schema: Any, definitions: dict[str, Any], inside: tuple[str, ...] = ()) -> Any:
    """References replaced by what they name; one that contains itself takes anything."""
    if isinstance(schema, list):
        return [_inlined(item, definitions, inside) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        return {} if name in inside else _inlined(definitions[name], definitions, (*inside, name))
    return {key: _inlined(value, definitions, inside) for key, value in schema.items()}


def _strict(schema: Any) -> Any:
    """The schema without what says nothing about validity; null stands for a field that is not there."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _ANNOTATIONS or key.startswith("x-"):
            continue
        if key == "properties":
            kept[key] = {name: _strict(inner) for name, inner in value.items()}
        elif isinstance(value, dict):
            kept[key] = _strict(value)
        elif isinstance(value, list) and key in ("anyOf", "oneOf", "allOf"):
            kept[key] = [_strict(inner) for inner in value]
        else:
            kept[key] = value
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        kept = {"type": ["integer", "string"]}
    if "properties" in kept and "additionalProperties" not in kept and not schema.get(_PRESERVED):
        kept["additionalProperties"] = False
    return kept


_PRESERVED = "x-kubernetes-preserve-unknown-fields"

if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
