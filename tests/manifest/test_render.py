"""What people otherwise learn by failing is in the manifests."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from raygang.gang import Context
from raygang.lint import Source, lint
from raygang.manifest import json_list, render, yaml_documents, yaml_stream
from raygang.plan import Plan
from raygang.spec import SpecError
from tests.manifest.planned import planned


def of(plan: Plan, kind: str) -> list[dict[str, Any]]:
    return [obj for obj in render(plan).objects if obj["kind"] == kind]


def cluster(plan: Plan) -> Any:
    return of(plan, "RayService")[0]["spec"]["rayClusterConfig"]


def worker(plan: Plan, group: int = 0) -> Any:
    return cluster(plan)["workerGroupSpecs"][group]["template"]["spec"]


def env(container: Any) -> dict[str, Any]:
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container["env"]}


def test_no_upgrade_starts_a_second_gang_and_no_start_takes_forever() -> None:
    (service,) = of(planned(limits={"start_timeout": "90m", "admission_timeout": "2h"}), "RayService")
    assert service["spec"]["upgradeStrategy"] == {"type": "None"}
    assert service["metadata"]["annotations"]["ray.io/initializing-timeout"] == "12600s"


def test_the_head_takes_no_replica_and_no_rank() -> None:
    head = cluster(planned())["headGroupSpec"]
    assert head["rayStartParams"]["num-cpus"] == head["rayStartParams"]["num-gpus"] == "0"
    assert "nvidia.com/gpu" not in head["template"]["spec"]["containers"][0]["resources"]["limits"]


def test_a_worker_is_ready_without_a_replica_and_says_its_own_address() -> None:
    container = worker(planned())["containers"][0]
    assert container["readinessProbe"]["httpGet"] == {"path": "/api/local_raylet_healthz", "port": 52365}
    assert env(container)["VLLM_HOST_IP"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert container["resources"]["requests"] == container["resources"]["limits"]


def test_shared_memory_holds_the_object_store_and_counts_as_memory() -> None:
    pod = worker(planned(nodes={"count": 2, "accelerators": 8, "memory": "512Gi", "shared_memory": "64Gi"}))
    (volume,) = (v for v in pod["volumes"] if v["name"] == "shared-memory")
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "64Gi"}
    with pytest.raises(SpecError, match="shared_memory"):
        render(planned(nodes={"count": 2, "accelerators": 8, "memory": "64Gi", "shared_memory": "64Gi"}))


def test_the_token_of_the_hub_is_a_reference() -> None:
    plan = planned(model={"source": "a/b", "token": {"secret": "hf", "key": "token"}})
    found = env(worker(plan)["containers"][0])
    assert found["HF_TOKEN"] == {"secretKeyRef": {"name": "hf", "key": "token"}}


def test_rays_token_authentication_is_on_where_kuberay_can() -> None:
    assert cluster(planned())["authOptions"] == {"mode": "token"}
    old = planned(kubernetes={"kuberay_version": "1.5.0"})
    assert "authOptions" not in cluster(old)
    assert any("authentication" in need for need in render(old).needs)


def test_a_model_on_a_volume_is_read_only_and_offline() -> None:
    plan = planned(model={"source": "/models/llama"}, kubernetes={"model_claim": "models"})
    pod = worker(plan)
    assert {"name": "model", "mountPath": "/models/llama", "readOnly": True} in pod["containers"][0]["volumeMounts"]
    assert env(pod["containers"][0])["HF_HUB_OFFLINE"] == "1"
    config = yaml.safe_load(of(plan, "RayService")[0]["spec"]["serveConfigV2"])
    assert config["applications"][0]["args"]["model_path"] == "/models/llama"


def test_each_replica_is_a_service_of_its_own_behind_one_address() -> None:
    plan = planned(replicas=3)
    assert [obj["metadata"]["name"] for obj in of(plan, "RayService")] == ["llama-0", "llama-1", "llama-2"]
    (service,) = of(plan, "Service")
    selector = service["spec"]["selector"]
    head = {
        **cluster(plan)["headGroupSpec"]["template"]["metadata"]["labels"],
        "ray.io/node-type": "head", "ray.io/serve": "true",  # KubeRay adds these
    }  # fmt: skip
    assert selector.items() <= head.items()
    assert "raygang.dev/replica" not in selector


def test_unequal_nodes_are_groups_of_their_sizes() -> None:
    plan = planned(parallelism={"tensor": 4, "pipeline": 3}, nodes={"accelerators": 8})
    groups = cluster(plan)["workerGroupSpecs"]
    found = [
        (g["replicas"], worker(plan, i)["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])
        for i, g in enumerate(groups)
    ]
    assert found == [(1, "8"), (1, "4")]


def test_the_runtime_travels_in_a_config_map_and_can_be_imported(tmp_path: Path) -> None:
    (config_map,) = of(planned(), "ConfigMap")
    (name, packed), *others = config_map["binaryData"].items()
    assert others == []
    data = base64.b64decode(packed)
    assert len(data) < 500 * 1024
    archive = tmp_path / name
    archive.write_bytes(data)
    assert zipfile.ZipFile(io.BytesIO(data)).testzip() is None
    code = (
        "import raygang.runtime.config as c, importlib.metadata as m; print(c.__file__);"
        "print([e.value for e in m.entry_points(group='vllm.general_plugins') if e.name == 'raygang'][0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(archive)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [f"{archive}/raygang/runtime/config.py", "raygang.runtime.plugin:general"]
    assert config_map["immutable"] is True


def test_monitoring_is_there_when_asked_for() -> None:
    plan = planned(kubernetes={"monitoring": True})
    (monitor,) = of(plan, "PodMonitor")
    assert monitor["spec"]["selector"]["matchLabels"] == {"raygang.dev/deployment": "llama"}
    board = next(obj for obj in of(plan, "ConfigMap") if "grafana_dashboard" in obj["metadata"]["labels"])
    panels = json.loads(board["data"]["raygang-llama.json"])["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(panels) >= 10
    assert all('raygang_dev_deployment="llama"' in e and "$filter" not in e for e in expressions)
    assert of(planned(), "PodMonitor") == []


def test_objects_of_the_scheduler_are_of_the_namespace_and_of_the_deployment() -> None:
    plan = planned("native", kubernetes={"namespace": "llm"})
    (group,) = of(plan, "PodGroup")
    assert group["metadata"]["namespace"] == "llm"
    assert group["metadata"]["labels"]["raygang.dev/deployment"] == "llama"
    (policy,) = of(plan, "MutatingAdmissionPolicy")
    assert "namespace" not in policy["metadata"]


def test_the_yaml_says_why_and_is_what_is_meant() -> None:
    rendered = render(planned())
    text = yaml_stream(rendered)
    assert "# needs: KubeRay 1.5.1 or later" in text
    assert "# KubeRay's default starts a second gang beside the first" in text
    for obj, document in zip(rendered.objects, yaml_documents(rendered), strict=True):
        assert yaml.safe_load(document) == obj
    assert json.loads(json_list(rendered))["kind"] == "List"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kubernetes": {"image": None}}, "kubernetes.image: is needed"),
        ({"model": {"source": "demo:smollm2"}}, "model.source: is made into a model directory on this machine"),
        ({"model": {"source": "/m"}}, "kubernetes.model_claim: is needed"),
        ({"fabric": {"type": "infiniband"}}, "fabric.resource: is needed"),
        ({"fabric": {"type": "sriov-roce", "resource": "a/b"}}, "fabric.networks: is needed"),
    ],
)
def test_what_pods_could_not_do_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        render(planned(**fields))


@pytest.mark.parametrize("word", ["no", "yes", "on", "y", "null", "0x1f", "1e3", "010", "1_000"])
def test_words_that_kubectl_reads_as_something_else_are_quoted(word: str) -> None:
    rendered = render(planned("kueue", scheduler={"queue": word}, kubernetes={"labels": {word: word}}))
    text = yaml_stream(rendered)
    assert f"kueue.x-k8s.io/queue-name: '{word}'" in text
    assert f"    '{word}': '{word}'" in text
    assert list(yaml.safe_load_all(text)) == list(rendered.objects)


def test_the_linter_knows_that_our_own_pods_need_each_other() -> None:
    outcome = lint([Source("x.yaml", yaml_stream(render(planned())))], Context("none"))
    assert "GANG026" in {finding.code for finding in outcome.findings}
