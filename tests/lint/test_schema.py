"""Fields, their types and their values, against KubeRay's own definitions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from raygang.gang import Context
from raygang.lint import Finding, Outcome, Source, lint
from raygang.lint.schema_table import homes, table
from raygang.objects import Version
from tests.lint.base import complete

HEAD = "kind: RayCluster\nspec:\n  headGroupSpec:\n"
WORKER = "kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - "
CONTAINER = HEAD + "    template:\n      spec:\n        containers:\n        - "


def outcome(fragment: str, kuberay: str | None = None) -> Outcome:
    context = Context(kuberay=Version.parse(kuberay) if kuberay else None)
    return lint([Source("x.yaml", json.dumps(complete(fragment)))], context, wanted=lambda c: c.startswith("SCHEMA"))


def only(fragment: str, kuberay: str | None = None) -> Finding:
    (finding,) = outcome(fragment, kuberay).findings
    return finding


@pytest.mark.parametrize(
    ("fragment", "code", "path", "write"),
    [
        (HEAD + "    rayStartParam: {}\n", "SCHEMA001", "spec.headGroupSpec.rayStartParam", "write rayStartParams"),
        (WORKER + "min_replicas: 2\n", "SCHEMA001", "spec.workerGroupSpecs[0].min_replicas", "write minReplicas"),
        (WORKER + "template: {replicas: 2}\n", "SCHEMA001", "spec.workerGroupSpecs[0].template.replicas", "replicas is a field of spec.workerGroupSpecs[]: move it there"),
        (WORKER + "image: x\n", "SCHEMA001", "spec.workerGroupSpecs[0].image", "image is a field of spec.workerGroupSpecs[].template.spec.containers[]"),
        ("kind: RayCluster\nmetadata: {lables: {}}\n", "SCHEMA001", "metadata.lables", "write labels"),
        ("kind: RayService\nspec: {rayClusterSpec: {}}\n", "SCHEMA001", "spec.rayClusterSpec", "write rayClusterConfig"),
        ("kind: RayCluster\nspec: {quark: 1}\n", "SCHEMA001", "spec.quark", "remove it: RayCluster has no field quark anywhere"),
        (WORKER + 'replicas: "four"\n', "SCHEMA002", "spec.workerGroupSpecs[0].replicas", "write a whole number"),
        (WORKER + 'replicas: "4"\n', "SCHEMA002", "spec.workerGroupSpecs[0].replicas", "write 4 without quotes"),
        (WORKER + "replicas: 2.5\n", "SCHEMA002", "spec.workerGroupSpecs[0].replicas", "write a whole number"),
        (WORKER + 'suspend: "true"\n', "SCHEMA002", "spec.workerGroupSpecs[0].suspend", "write true without quotes"),
        (CONTAINER + "resources: {limits: {cpu: 0.5}}\n", "SCHEMA002", "spec.headGroupSpec.template.spec.containers[0].resources.limits.cpu", 'write "0.5" in quotes'),
        (CONTAINER + "args: sleep 1\n", "SCHEMA002", "spec.headGroupSpec.template.spec.containers[0].args", "write a list"),
        (HEAD + "    rayStartParams: [a]\n", "SCHEMA002", "spec.headGroupSpec.rayStartParams", "write a mapping"),
        (HEAD + "    template: null\n", "SCHEMA003", "spec.headGroupSpec", "add template"),
        (CONTAINER + "name: null\n", "SCHEMA003", "spec.headGroupSpec.template.spec.containers[0]", "add name"),
        ("kind: RayCluster\nspec: {autoscalerOptions: {upscalingMode: default}}\n", "SCHEMA004", "spec.autoscalerOptions.upscalingMode", "write Default"),
        (CONTAINER + "env: [{name: A, value: 1}]\n", "SCHEMA005", "spec.headGroupSpec.template.spec.containers[0].env[1].value", "put it in quotes"),
        (CONTAINER + "env: [{name: A, value: on}]\n", "SCHEMA005", "spec.headGroupSpec.template.spec.containers[0].env[1].value", 'put it in quotes: "true"'),
        ("kind: RayCluster\nmetadata: {labels: {a: 1}}\n", "SCHEMA005", "metadata.labels.a", 'put it in quotes: "1"'),
        (HEAD + "    rayStartParams: {block: true}\n", "SCHEMA005", "spec.headGroupSpec.rayStartParams.block", 'put it in quotes: "true"'),
        ("apiVersion: ray.io/v2\nkind: RayCluster\n", "SCHEMA006", "apiVersion", "write ray.io/v1"),
        ("apiVersion: ray.io/v1\nkind: RayClusters\nmetadata: {name: x}\n", "SCHEMA006", "kind", "write kind: RayCluster"),
    ],
)  # fmt: skip
def test_a_slip_is_found_at_its_field_with_what_to_write(fragment: str, code: str, path: str, write: str) -> None:
    finding = only(fragment)
    assert (finding.code, finding.path) == (code, path)
    assert finding.write.startswith(write)


@pytest.mark.parametrize(
    "fragment",
    [
        WORKER + "replicas: 2.0\n",
        WORKER + "rayStartParams:\n",
        CONTAINER + "resources: {limits: {cpu: 8, memory: 32Gi}}\n",
        CONTAINER + "ports: [{containerPort: 80}]\n          livenessProbe: {httpGet: {port: http}}\n",
        "kind: RayCluster\nstatus: {anything: {at: all}}\n",
        "kind: RayService\nspec: {rayClusterConfig: {upgradeStrategy: {type: None}}}\n",
    ],
)
def test_what_the_api_server_takes_is_not_found(fragment: str) -> None:
    assert outcome(fragment).findings == ()


def test_a_field_of_a_later_kuberay_is_an_error_for_an_earlier_one_only() -> None:
    sound = "kind: RayCluster\n"
    assert "authOptions" in only(sound, "1.5.0").what and "1.5.1" in only(sound, "1.5.0").what
    assert outcome(sound, "1.5.1").findings == () and outcome(sound, "1.7.2").findings == ()
    assert only(sound, "1.4.2").path == "spec.authOptions"


def test_without_kuberays_version_a_later_field_is_said_to_be_unchecked() -> None:
    found = outcome("kind: RayCluster\n")
    assert found.findings == () and any("--kuberay" in line for line in found.unchecked)


def test_fields_of_a_kuberay_that_is_not_known_yet_are_not_guessed() -> None:
    found = outcome("kind: RayCluster\nspec: {quark: 1}\n", "1.9")
    assert found.findings == () and any("1.9" in line for line in found.unchecked)


def test_labels_of_any_object_and_data_of_a_config_map_have_to_be_texts() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {b: 1}}\ndata: {c: 2, d: two}\n"
    found = lint([Source("x.yaml", text)], wanted=lambda code: code.startswith("SCHEMA")).findings
    assert sorted(f.path for f in found) == ["data.c", "metadata.labels.b"]


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {"a": 1}, True])
@pytest.mark.parametrize(
    "path", ["metadata", "spec", "spec.workerGroupSpecs", "spec.headGroupSpec.template.spec.containers"]
)
def test_no_shape_makes_it_stumble(path: str, value: Any) -> None:
    data = complete("kind: RayCluster\n")
    *above, last = path.split(".")
    inner = data
    for name in above:
        inner = inner[name]
    inner[last] = value
    lint([Source("x.yaml", json.dumps(data))])


def test_the_table_says_what_it_was_made_from() -> None:
    versions = [str(version) for version in table().versions]
    assert versions == ["1.4.2", "1.5.0", "1.5.1", "1.6.0", "1.7.0"]
    assert {"RayCluster/v1", "RayService/v1", "RayJob/v1", "RayCronJob/v1", "RayCluster/v1alpha1"} <= set(table().roots)


def test_the_nearest_place_of_a_field_comes_first() -> None:
    assert homes("RayService/v1", "replicas") == ("spec.rayClusterConfig.workerGroupSpecs[]",)
