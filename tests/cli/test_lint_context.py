"""`raygang lint --context`: what the options do not say is asked of the cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api import FORBIDDEN, api_server, kubeconfig
from tests.support.cli import raygang

CLUSTER = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: llama, namespace: n0, labels: {volcano.sh/queue-name: gpus}}
spec:
  headGroupSpec: {template: {spec: {containers: [{name: ray, image: ray:1}]}}}
  workerGroupSpecs:
  - {groupName: w, replicas: 2, minReplicas: 2, maxReplicas: 2, template: {spec: {containers: [{name: ray, image: ray:1}]}}}
"""
OPERATOR = {
    "metadata": {"name": "kuberay-operator", "namespace": "ray"},
    "spec": {"template": {"spec": {"containers": [
        {"image": "quay.io/kuberay/operator:v1.6.0", "args": ["--batch-scheduler=volcano"]},
    ]}}},
}  # fmt: skip
ANSWERS: dict[str, Any] = {
    "/version": {"gitVersion": "v1.37.2"},
    "/apis/apps/v1/deployments": [OPERATOR],
    "/apis/scheduling.volcano.sh/v1beta1/queues": [{"metadata": {"name": "gpus"}, "status": {"state": "Closed"}}],
}


def report(tmp_path: Path, answers: dict[str, Any], *options: str) -> dict[str, Any]:
    (tmp_path / "llama.yaml").write_text(CLUSTER)
    with api_server(answers) as server:
        config = kubeconfig(tmp_path / "config", server)
        done = raygang(
            "lint", "-o", "json", "--context", "here", *options, str(tmp_path / "llama.yaml"),
            cache=tmp_path, KUBECONFIG=str(config),
        )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return dict(json.loads(done.stdout))


def test_its_queues_and_its_scheduler_count(tmp_path: Path) -> None:
    found = report(tmp_path, ANSWERS)
    assert any("Closed" in finding["what"] for finding in found["findings"])
    assert not any("KubeRay's version" in text or "scheduler of the cluster" in text for text in found["unchecked"])
    assert found["summary"]["files"] == 1


def test_options_go_before_what_the_cluster_says(tmp_path: Path) -> None:
    found = report(tmp_path, ANSWERS, "--scheduler", "none")
    assert not any("Closed" in finding["what"] for finding in found["findings"])


def test_what_may_not_be_read_is_told_as_unchecked(tmp_path: Path) -> None:
    found = report(tmp_path, {**ANSWERS, "/api/v1/namespaces": FORBIDDEN})
    assert any("Namespaces of context here" in text for text in found["unchecked"])


@pytest.mark.parametrize(("context", "code", "said"), [("away", 2, "contexts there: here"), ("here", 3, "not answer")])
def test_a_cluster_that_cannot_be_asked(tmp_path: Path, context: str, code: int, said: str) -> None:
    (tmp_path / "llama.yaml").write_text(CLUSTER)
    with api_server({}) as server:
        config = kubeconfig(tmp_path / "config", server)
    done = raygang(
        "lint", "--context", context, str(tmp_path / "llama.yaml"), cache=tmp_path, KUBECONFIG=str(config)
    )  # fmt: skip
    assert done.returncode == code
    assert said in done.stderr
    assert done.stdout == ""
