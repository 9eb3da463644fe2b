"""What the linter learns from a cluster, and what it says when it may not or cannot."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from raygang.cluster import ClusterFacts, cluster_facts, connect
from raygang.gang import Context
from raygang.lint import Source, lint
from raygang.objects import Version
from raygang.spec import UserError
from tests.cluster.api import FORBIDDEN, api_server, kubeconfig

OPERATOR = {
    "metadata": {"name": "kuberay-operator", "namespace": "ray"},
    "spec": {"template": {"spec": {"containers": [
        {"image": "quay.io/kuberay/operator:v1.6.0", "args": ["--batch-scheduler=volcano"]},
    ]}}},
}  # fmt: skip
PLAIN = {**OPERATOR, "spec": {"template": {"spec": {"containers": [{"image": "quay.io/kuberay/operator:v1.5.1"}]}}}}
ANSWERS: dict[str, Any] = {
    "/version": {"gitVersion": "v1.37.2"},
    "/apis/apps/v1/deployments": [OPERATOR],
    "/api/v1/namespaces": [{"metadata": {"name": f"n{i}"}} for i in range(5)],
}


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def read(answers: dict[str, Any]) -> ClusterFacts:
        with api_server(answers) as server:
            monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", server)))
            with connect("here") as connection:
                return cluster_facts(connection)

    return read


def test_the_operator_says_versions_and_the_scheduler(facts: Any) -> None:
    found = facts(ANSWERS)
    assert found.context == Context("volcano", Version(1, 6), Version(1, 37, 2))
    assert found.unseen == ()


def test_lists_are_read_to_their_last_page_with_kind_and_version(facts: Any) -> None:
    found = [obj for obj in facts(ANSWERS).objects if obj["kind"] == "Namespace"]
    assert [obj["metadata"]["name"] for obj in found] == ["n0", "n1", "n2", "n3", "n4"]
    assert {obj["apiVersion"] for obj in found} == {"v1"}


def test_an_operator_without_a_scheduler_stands_for_none_unless_kueue_is_there(facts: Any) -> None:
    answers = {**ANSWERS, "/apis/apps/v1/deployments": [PLAIN]}
    assert facts(answers).context.scheduler == "none"
    queues = {"/apis/kueue.x-k8s.io/v1beta1/clusterqueues": [{"metadata": {"name": "gpus"}}]}
    assert facts({**answers, **queues}).context.scheduler is None
    assert facts({**answers, "/apis/apps/v1/deployments": []}).context.scheduler is None


def test_what_is_not_allowed_is_said_and_the_rest_is_read(facts: Any) -> None:
    found = facts({**ANSWERS, "/api/v1/namespaces": FORBIDDEN, "/version": FORBIDDEN})
    assert found.unseen == ('Namespaces of context here: User "eve" cannot list /api/v1/namespaces',)
    assert found.context == Context("volcano", Version(1, 6), None)


def test_a_finding_in_the_cluster_is_told_of_the_workload(facts: Any) -> None:
    manifest = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: llama, namespace: n0, labels: {volcano.sh/queue-name: gpus}}
spec:
  headGroupSpec: {template: {spec: {containers: [{name: ray, image: ray:1}]}}}
  workerGroupSpecs:
  - {groupName: w, replicas: 2, minReplicas: 2, maxReplicas: 2, template: {spec: {containers: [{name: ray, image: ray:1}]}}}
"""
    queue = {"metadata": {"name": "gpus"}, "status": {"state": "Closed"}}
    found = facts({**ANSWERS, "/apis/scheduling.volcano.sh/v1beta1/queues": [queue]})
    outcome = lint([Source("x.yaml", manifest)], found.context, there=found.objects)
    (closed,) = [f for f in outcome.findings if "Closed" in f.what]
    assert (closed.file, closed.object, closed.path, closed.fix) == ("x.yaml", "RayCluster/llama", "", ())
    assert "(Queue gpus of the cluster, status.state)" in closed.what
    assert outcome.documents == 1


@pytest.mark.parametrize(
    ("text", "context", "message", "exit_code"),
    [
        (None, "here", "is no kubeconfig", 2),
        ("- 1\n", "here", "is no kubeconfig", 2),
        ("{", "here", "is no kubeconfig", 2),
        ("", "away", "Context 'away' not found", 2),
        ("", "here", "does not answer", 3),
    ],
)
def test_a_cluster_that_cannot_be_had_is_an_error_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, context: str, message: str, exit_code: int
) -> None:
    config = tmp_path / "config"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        if text == "":
            kubeconfig(config, f"http://127.0.0.1:{free.getsockname()[1]}")
        elif text:
            config.write_text(text)
        monkeypatch.setenv("KUBECONFIG", str(config))
        with pytest.raises(UserError, match=message) as e, connect(context) as connection:
            cluster_facts(connection)
    assert e.value.exit_code == exit_code
    assert "secret-token" not in str(e.value.message)


@pytest.mark.parametrize("raw", [bytes(range(128, 256)), b"", b"- 1\n", b"contexts: [{cluster: a}]\n"])
def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    (tmp_path / "config").write_bytes(raw)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    with pytest.raises(UserError, match="is no kubeconfig") as e, connect("x"):
        pass
    assert e.value.exit_code == 2
