"""Ray's own fields: parameters, resources, images, versions, fault tolerance, jobs."""

from __future__ import annotations

import json

import pytest

from raygang.gang import Context
from raygang.lint import Finding, Outcome, Source, lint
from raygang.lint.rules.ray_images import ray_image
from raygang.objects import Version
from tests.lint.base import complete, documents

HEAD = "kind: RayCluster\nspec:\n  headGroupSpec:\n"
HEAD_PARAMS = HEAD + "    rayStartParams:\n      "
WORKER = "kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - "
PARAMS = WORKER + "rayStartParams:\n      "
CONTAINER = HEAD + "    template:\n      spec:\n        containers:\n        - "


def outcome(fragment: str, kuberay: str | None = None) -> Outcome:
    context = Context(kuberay=Version.parse(kuberay) if kuberay else None)
    text = "\n---\n".join(json.dumps(document) for document in documents(fragment))
    return lint([Source("x.yaml", text)], context)


def of(code: str, fragment: str, kuberay: str | None = None) -> list[Finding]:
    return [finding for finding in outcome(fragment, kuberay).findings if finding.code == code]


@pytest.mark.parametrize(
    ("code", "fragment", "severity"),
    [
        ("RAY001", PARAMS + "resources: '{\"a\": 1, \"b\": 2}'\n", "error"),
        ("RAY001", PARAMS + "system-config: '{\"a\": 1}'\n", "error"),
        ("RAY002", PARAMS + "resources: \"'{\\\"GPU\\\": 8}'\"\n", "error"),
        ("RAY002", PARAMS + "resources: '\"{\\\"memory\\\": 8}\"'\n", "error"),
        ("RAY004", "kind: RayCluster\nspec:\n  workerGroupSpecs: []\n", None),
        ("RAY004", WORKER + 'resources: {CPU: "0"}\n', "error"),
        ("RAY005", PARAMS + 'num-gpus: "0"\n', "warning"),
        ("RAY005", HEAD_PARAMS + 'num-gpus: "1"\n', "info"),
        ("RAY007", HEAD_PARAMS + 'block: "false"\n', "info"),
        ("RAY008", "kind: RayCluster\nspec: {rayVersion: 2.59.0}\n", "warning"),
        ("RAY016", PARAMS + 'nodes: "8"\n', "warning"),
        ("RAY016", PARAMS + 'num_gpus: "8"\n', "error"),
        ("RAY016", PARAMS + '--num-gpus: "8"\n', "error"),
        ("RAY017", PARAMS + 'num-cpus: "1.5"\n', "error"),
        ("RAY017", PARAMS + "memory: 8Gi\n", "error"),
        ("RAY017", PARAMS + "num-cpus: $CPUS\n", None),
        ("RAY018", PARAMS + 'include-dashboard: "true"\n', "error"),
        ("RAY022", WORKER + "template: {spec: {containers: [{env: [{name: CUDA_VISIBLE_DEVICES, value: '0,1', valueFrom: null}]}]}}\n", "error"),
        ("RAY025", "kind: RayCluster\nspec: {rayVersion: nightly}\n", "error"),
        ("RAY025", "kind: RayService\nspec: {rayClusterConfig: {authOptions: {enableK8sTokenAuth: true}}}\n", "error"),
        ("RAY028", HEAD_PARAMS + 'metrics-export-port: "9000"\n', "warning"),
        ("RAY029", "kind: RayCluster\nmetadata: {annotations: {ray.io/ft-enabled: 'true'}}\n", "warning"),
        ("RAY030", "kind: RayCluster\nspec:\n  gcsFaultToleranceOptions: {redisAddress: r}\n  headGroupSpec: {rayStartParams: {redis-password: x}}\n", "error"),
        ("RAY031", CONTAINER + "env: [{name: REDIS_USERNAME, value: ray}]\n", "error"),
        ("AUTO001", CONTAINER + "env: [{name: RAY_enable_autoscaler_v2, value: '1'}]\n", "error"),
        ("JOB001", "kind: RayJob\nspec: {clusterSelector: {ray.io/cluster: x}, rayClusterSpec: null, backoffLimit: 1}\n", "error"),
        ("JOB002", "kind: RayJob\nspec: {activeDeadlineSeconds: 0}\n", "error"),
        ("JOB003", "kind: RayJob\nspec: {entrypoint: null}\n", "error"),
        ("VER001", "kind: RayCluster\nspec: {rayVersion: 2.50.0}\n", "info"),
        ("VER001", "kind: RayCluster\nspec: {rayVersion: 2.51.0}\n", None),
        ("VER003", "kind: RayCluster\nspec: {rayVersion: latest}\n", "info"),
    ],
)  # fmt: skip
def test_a_fault_has_its_severity(code: str, fragment: str, severity: str | None) -> None:
    assert sorted({finding.severity for finding in of(code, fragment)}) == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("code", "fragment", "edit"),
    [
        ("RAY001", PARAMS + "resources: '{\"a\": 1}'\n", ("set", "resources", "'{\"a\": 1}'")),
        ("RAY005", PARAMS + 'num-gpus: "4"\n', ("delete", "num-gpus", None)),
        ("RAY007", HEAD_PARAMS + 'no-monitor: "false"\n', ("delete", "no-monitor", None)),
        ("RAY016", PARAMS + 'num_gpus: "8"\n', ("move", "num_gpus", None)),
        ("RAY017", PARAMS + "object-store-memory: 20Gi\n", ("set", "object-store-memory", "21474836480")),
    ],
)
def test_a_certain_fix_comes_with_it(code: str, fragment: str, edit: tuple[str, str, str | None]) -> None:
    (finding,) = of(code, fragment)
    (fix,) = finding.fix
    assert (fix.action, fix.path[-1]) == edit[:2]
    assert edit[2] is None or fix.value == edit[2]


def test_json_that_is_none_has_no_fix() -> None:
    (finding,) = of("RAY001", PARAMS + "resources: '{a: 1, b}'\n")
    assert finding.fix == ()


@pytest.mark.parametrize(
    ("image", "version", "python", "accelerator"),
    [
        ("rayproject/ray:2.9.0-gpu", "2.9.0", None, "gpu"),
        ("rayproject/ray:2.9.0", "2.9.0", None, None),
        ("rayproject/ray-llm:2.52.0-py311-cu128", "2.52.0", "py311", "cu128"),
        ("docker.io/rayproject/ray:2.46.0-py310-cpu", "2.46.0", "py310", "cpu"),
        ("registry:5000/mirror/rayproject/ray:2.46.0", "2.46.0", None, None),
        ("rayproject/ray:nightly-py311-cu121", None, "py311", "cu121"),
        ("rayproject/ray", None, None, None),
    ],
)
def test_a_tag_of_ray_says_what_is_in_it(
    image: str, version: str | None, python: str | None, accelerator: str | None
) -> None:
    found = ray_image(image)
    assert found is not None
    assert (str(found.version) if found.version else None, found.python, found.accelerator) == (
        version,
        python,
        accelerator,
    )


@pytest.mark.parametrize(
    "image", ["vllm/vllm-openai:v0.32.0", "example.com/our-ray:2.9.0", "myrayproject/ray:1", "", None]
)
def test_nothing_is_said_of_other_images(image: str | None) -> None:
    assert ray_image(image) is None


def test_the_probe_of_an_old_image_is_an_error_where_kuberay_asks_it_so() -> None:
    fragment = CONTAINER + "image: rayproject/ray-llm:2.46.0-py311-cu124\n"
    assert [f.severity for f in of("RAY008", fragment, "1.7")] == ["error"]
    assert [f.severity for f in of("RAY008", fragment, "1.5.1")] == ["warning"]


def test_a_slim_image_depends_on_kuberays_version() -> None:
    fragment = CONTAINER + "image: registry.example.com/ray:2.60.0-slim\n"
    assert of("PROBE001", fragment, "1.6.0") == [] and len(of("PROBE001", fragment, "1.5.1")) == 1
    assert any(line.startswith("PROBE001") for line in outcome(fragment).unchecked)


def test_a_group_that_has_no_pods_gives_no_cpus() -> None:
    fragment = WORKER + "{replicas: 0, minReplicas: 0}\n"
    assert len(of("RAY004", fragment)) == 1
    assert of("RAY004", fragment + "  enableInTreeAutoscaling: true\n") == []


def test_the_sound_manifests_stay_as_they_are() -> None:
    first, second = complete("kind: RayCluster\n"), complete("kind: RayCluster\nspec: {rayVersion: null}\n")
    assert first["spec"]["rayVersion"] == "2.60.0" and "rayVersion" not in second["spec"]
