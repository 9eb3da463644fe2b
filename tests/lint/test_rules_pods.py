"""Pods and names: environment, sizes, shared memory, security, probes, volumes, names."""

from __future__ import annotations

import json

import pytest

from raygang.lint import Finding, Outcome, Source, lint
from tests.lint.base import documents

HEAD = "kind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      spec:\n        "
WORKER = "kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        "
CONTAINER = HEAD + "containers:\n        - "
GPU = WORKER + "containers:\n        - "


def outcome(fragment: str) -> Outcome:
    return lint([Source("x.yaml", "\n---\n".join(json.dumps(document) for document in documents(fragment)))])


def of(code: str, fragment: str) -> list[Finding]:
    return [finding for finding in outcome(fragment).findings if finding.code == code]


@pytest.mark.parametrize(
    ("code", "fragment", "severity"),
    [
        ("POD001", CONTAINER + "env: [{name: A, value: a}, {name: A, value: a}]\n", None),
        ("POD003", CONTAINER + "env: [{name: RAY_ADDRESS, value: auto}]\n", "warning"),
        ("POD004", GPU + "env: [{name: NVIDIA_VISIBLE_DEVICES, value: all, valueFrom: null}]\n", "warning"),
        ("SEC002", CONTAINER + "env: [{name: HF_TOKEN, value: hf_abcdefghijklmnop}]\n", "error"),
        ("SEC002", CONTAINER + "env: [{name: URL, value: 'https://u:ghp_abcdefghijklmnop@x'}]\n", "error"),
        ("SEC002", CONTAINER + "env: [{name: MAX_TOKENS, value: '4096'}]\n", None),
        ("SEC002", CONTAINER + "env: [{name: TOKENIZERS_PARALLELISM, value: 'no'}]\n", None),
        ("RES002", GPU + "resources: {limits: {rdma/hca: '1'}, requests: {rdma/hca: '2'}}\n", "error"),
        ("RES002", GPU + "resources: {requests: {rdma/hca: '1'}}\n", "error"),
        ("RES004", CONTAINER + "resources: {requests: {cpu: '9'}}\n", "error"),
        ("RES005", CONTAINER + "resources: {limits: {memory: 512m}}\n", "error"),
        ("RES005", CONTAINER + "resources: {limits: {memory: 32 Gi}}\n", "error"),
        ("SHM001", GPU + "name: ray-worker\n        volumes: [{emptyDir: null, hostPath: {path: /dev/shm}}]\n", "warning"),
        ("SHM002", WORKER + "volumes: [{emptyDir: {sizeLimit: 1Gi}}]\n", "error"),
        ("SHM002", "kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - rayStartParams: {object-store-memory: '99000000000'}\n", "error"),
        ("SHM002", "kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - rayStartParams: {object-store-memory: null}\n", None),
        ("SHM003", WORKER + "volumes: [{emptyDir: {sizeLimit: 1000Gi}}]\n", "warning"),
        ("SEC004", GPU + "securityContext: {privileged: true}\n", "warning"),
        ("POD005", CONTAINER + "securityContext: {readOnlyRootFilesystem: true}\n          volumeMounts: [{name: t, mountPath: /tmp/other}]\n", "error"),
        ("POD006", HEAD + "securityContext: {runAsNonRoot: true, runAsUser: 0}\n", "error"),
        ("POD008", CONTAINER + "image: registry:5000/ray\n", "warning"),
        ("POD008", CONTAINER + "image: registry:5000/ray@sha256:0123\n", None),
        ("POD009", HEAD + "volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]\n", "error"),
        ("PROBE003", "kind: RayService\nspec: {rayClusterConfig: {workerGroupSpecs: [{replicas: 1, minReplicas: 1, maxReplicas: 1, template: {spec: {containers: [{readinessProbe: null}]}}}]}}\n", None),
        ("RAY010", CONTAINER + "name: istio-proxy\n          image: istio/proxyv2:1.24\n        - {name: ray-head, image: our/ray:1}\n", "error"),
        ("RAY012", CONTAINER + 'args: ["ray start --head"]\n', None),
        ("RAY013", "kind: RayCluster\nmetadata: {name: Llama}\n", "error"),
        ("RAY013", "kind: RayCluster\nmetadata: {name: 7b-llama}\n", "error"),
        ("RAY013", "kind: RayCluster\nmetadata: {name: llama.v3}\n", "error"),
        ("NAME002", "kind: RayCluster\nspec: {workerGroupSpecs: [{groupName: GPU_a100}]}\n", None),
        ("NAME005", GPU + "name: wait-gcs-ready\n", "error"),
        ("NAME005", GPU + "ports: [{name: a-very-long-port-name, containerPort: 1}]\n", "error"),
    ],
)  # fmt: skip
def test_a_fault_has_its_severity(code: str, fragment: str, severity: str | None) -> None:
    assert sorted({finding.severity for finding in of(code, fragment)}) == ([severity] if severity else [])


def test_a_secret_is_never_repeated() -> None:
    found = of("SEC002", CONTAINER + "env: [{name: HF_TOKEN, value: hf_abcdefghijklmnop}]\n")
    assert found and all("hf_abc" not in f"{f}" for f in found)


def test_the_two_names_of_one_object_are_reported_at_the_second() -> None:
    (finding,) = of("NAME001", "kind: RayCluster\n---\nkind: RayCluster\n")
    assert finding.line == 3
    assert of("NAME001", "kind: RayCluster\n---\nkind: RayCluster\nmetadata: {namespace: other}\n") == []


@pytest.mark.parametrize(("kind", "longest"), [("RayCluster", 53), ("RayService", 47), ("RayJob", 47)])
def test_a_name_may_have_as_many_letters_as_kuberay_takes(kind: str, longest: int) -> None:
    assert of("RAY013", f"kind: {kind}\nmetadata: {{name: {'a' * longest}}}\n") == []
    assert len(of("RAY013", f"kind: {kind}\nmetadata: {{name: {'a' * (longest + 1)}}}\n")) == 1


def test_what_a_namespace_allows_is_not_guessed() -> None:
    needs = HEAD + "hostNetwork: true\n"
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: models}\n"
    for text in (needs, f"{space}---\n{needs}"):
        found = outcome(text)
        assert any(line.startswith("SEC001") for line in found.unchecked)
        assert not any(finding.code == "SEC001" for finding in found.findings)


def test_units_of_other_programs_are_rewritten() -> None:
    (finding,) = of("RES005", CONTAINER + "resources: {limits: {memory: 32GB}, requests: {memory: null}}\n")
    assert [fix.value for fix in finding.fix] == ["32G"]


@pytest.mark.parametrize("name", ["MY_PLAIN", "RAY_ADDRESS", "NVIDIA_VISIBLE_DEVICES", "HF_TOKEN", "RAY_CLUSTER_NAME"])
def test_no_finding_repeats_the_value_of_a_variable(name: str) -> None:
    entry = f"{{name: {name}, value: 'https://user:hunter2-hunter2@host'}}"
    found = outcome(CONTAINER + f"env: [{entry}, {entry.replace('host', 'other')}]\n").findings
    assert found
    assert not any("hunter2" in words for f in found for words in (f.what, f.because, f.write))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("Llama 3.3\\t70B", "llama-3-3-70b"),
        ("70b", "ray-70b"),
        ("\\u0001\\u0002", "ray-cluster"),
        ("X" * 90, "x" * 47),
    ],
)
def test_a_name_that_is_not_taken_has_one_that_is_beside_it(name: str, write: str) -> None:
    (found,) = of("RAY013", f'kind: RayService\nmetadata: {{name: "{name}"}}\n')
    assert found.write == f"write {write}"


def test_a_capability_that_is_no_text_is_no_crash() -> None:
    security = "securityContext: {capabilities: {add: [{a: 1}, null, [SYS_ADMIN]]}}\n"
    assert {f.code for f in outcome(CONTAINER + security).findings} >= {"SCHEMA002"}


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("hostNetwork: true", "DNS001"),
        ("hostNetwork: true, dnsPolicy: ClusterFirst", "DNS001"),
        ("hostNetwork: true, dnsPolicy: Default", "DNS001"),
        ("hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet", None),
        ("hostNetwork: true, dnsPolicy: None, dnsConfig: {nameservers: [10.96.0.10]}", None),
        ("dnsPolicy: Default", "DNS002"),
        ("dnsPolicy: ClusterFirst", None),
        ("hostNetwork: false", None),
    ],
)
def test_workers_find_the_head_by_its_name(spec: str, code: str | None) -> None:
    found = outcome(f"kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec: {{{spec}}}\n").findings
    assert {f.code for f in found if f.code.startswith("DNS")} == ({code} if code else set())
