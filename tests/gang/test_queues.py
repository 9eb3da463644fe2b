"""Queues, Kueue's configuration and KubeRay's operator among the manifests."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import yaml

from raygang.gang import clashes, operator_of, refused_jobs
from raygang.gang.queues import plain
from raygang.objects import Bundle, Manifest
from tests.gang.manifests import context, group, operator, ray, template, verdict

VOLCANO = {"volcano.sh/queue-name": "gpus"}
LOCAL = {"kueue.x-k8s.io/queue-name": "gpus"}
PODS = {
    "head": template(resources={"cpu": "8", "memory": "32Gi"}),
    "groups": [group(template=template(resources={"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "8"}))],
}
Object = dict[str, Any]


def thing(
    api: str, kind: str, name: str, spec: Object | None = None, status: Object | None = None, **meta: Any
) -> Object:
    metadata = {"name": name, **meta}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec or {}, "status": status or {}}


def volcano(name: str = "gpus", state: str | None = None, **capability: str) -> Object:
    limits = {key.replace("gpu", "nvidia.com/gpu"): value for key, value in capability.items()}
    return thing(
        "scheduling.volcano.sh/v1beta1", "Queue", name, {"capability": limits}, {"state": state} if state else {}
    )


def causes(*objects: Object) -> dict[str, str]:
    return {cause.rule: cause.why for cause in verdict(*objects).causes}


def unseen(*objects: Object) -> set[str]:
    return {item.rule for item in verdict(*objects).unseen}


def test_a_queue_that_is_elsewhere_is_said_and_not_guessed_at() -> None:
    assert causes(ray(labels=VOLCANO)) == {}
    assert unseen(ray(labels=VOLCANO)) == {"queue-missing"}
    assert unseen(ray(labels={"volcano.sh/queue-name": "default"})) == set()
    assert unseen(ray(labels=VOLCANO), volcano()) == set()


def test_who_brings_queues_and_names_another_has_mistyped_it() -> None:
    found = verdict(volcano("gpu"), ray(labels=VOLCANO))
    (cause,) = found.causes
    assert (cause.rule, cause.severity, cause.path) == (
        "queue-missing", "warning", ("metadata", "labels", "volcano.sh/queue-name"),
    )  # fmt: skip
    assert "gpu" in cause.advice


def test_a_queue_that_is_not_open() -> None:
    assert "Closed" in causes(volcano(state="Closed"), ray(labels=VOLCANO))["queue-missing"]
    assert causes(volcano(state="Open"), ray(labels=VOLCANO)) == {}


@pytest.mark.parametrize(
    ("capability", "fault"),
    [({"gpu": "32"}, None), ({"gpu": "31"}, "nvidia.com/gpu"), ({"memory": "287Gi"}, "288Gi memory"), ({"cpu": "72"}, None), ({}, None)],
)  # fmt: skip
def test_volcanos_capability_against_the_whole_gang(capability: dict[str, str], fault: str | None) -> None:
    found = causes(volcano(**capability), ray(labels=VOLCANO, **PODS))
    assert ("queue-too-small" in found) == bool(fault)
    if fault:
        assert fault in found["queue-too-small"]


def test_the_default_queue_has_limits_as_well() -> None:
    assert "queue-too-small" in causes(
        volcano("default", gpu="8"), ray(labels={"volcano.sh/queue-name": "default"}, **PODS)
    )


def test_kais_queue() -> None:
    labels = {"kai.scheduler/queue": "team"}
    queue = thing("scheduling.run.ai/v2", "Queue", "team")
    assert unseen(ray(labels=labels)) == {"queue-missing"}
    assert unseen(ray(labels=labels), queue) == set()
    assert "queue-missing" in causes(ray(labels={"kai.scheduler/queue": "tema"}), queue)


def local(namespace: str = "models", name: str = "gpus") -> Object:
    return thing("kueue.x-k8s.io/v1beta2", "LocalQueue", name, {"clusterQueue": "all"}, namespace=namespace)


def cluster(gpus: str | None = "32", **spec: Any) -> Object:
    names = {"cpu": "1000", "memory": "1Ti", **({"nvidia.com/gpu": gpus} if gpus else {})}
    resources = [{"name": name, "nominalQuota": quota} for name, quota in names.items()]
    groups = [{"coveredResources": list(names), "flavors": [{"name": "h100", "resources": resources}]}]
    return thing("kueue.x-k8s.io/v1beta2", "ClusterQueue", "all", {"resourceGroups": groups, **spec})


def configuration(**fields: Any) -> Object:
    body = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **fields}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kueue-manager-config"}}
    return {**config, "data": {"controller_manager_config.yaml": yaml.safe_dump(body)}}


def test_kueues_queues_are_followed_as_far_as_they_are_here() -> None:
    job = ray(labels=LOCAL, **PODS)
    assert unseen(job) == {"queue-missing", "kueue-not-gang"}
    assert unseen(job, local()) == {"kueue-uncovered-resource", "kueue-not-gang"}
    assert unseen(job, local(), cluster()) == {"kueue-not-gang"}
    assert causes(job, local(), cluster()) == {}


def test_a_local_queue_is_in_the_workloads_namespace() -> None:
    assert unseen(ray(labels=LOCAL), local("other")) == {"queue-missing", "kueue-not-gang"}
    assert "queue-missing" in causes(ray(labels=LOCAL), local(name="cpus"))


def test_a_resource_that_is_not_covered() -> None:
    job = ray(labels=LOCAL, **PODS)
    assert "nvidia.com/gpu" in causes(job, local(), cluster(None))["kueue-uncovered-resource"]
    excluded = configuration(resources={"excludeResourcePrefixes": ["nvidia.com"]}, waitForPodsReady={"timeout": "5m"})
    assert causes(job, local(), cluster(None), excluded) == {}
    zero = ray(labels=LOCAL, head=template(resources={"nvidia.com/gpu": "0"}), groups=[group()])
    assert causes(zero, local(), cluster(None)) == {}


def test_a_quota_below_the_gang_unless_it_may_borrow() -> None:
    job = ray(labels=LOCAL, **PODS)
    assert "needs 32 nvidia.com/gpu at once" in causes(job, local(), cluster("31"))["queue-too-small"]
    assert causes(job, local(), cluster("31", cohortName="research")) == {}


def test_kueue_is_a_gang_with_topology_or_with_wait_for_pods_ready() -> None:
    job = ray(labels=LOCAL, **PODS)
    assert "kueue-not-gang" in causes(job, configuration())
    assert causes(job, configuration(waitForPodsReady={"timeout": "5m"})) == {}
    placed = template(annotations={"kueue.x-k8s.io/podset-preferred-topology": "rack"})
    assert causes(ray(labels=LOCAL, groups=[group(template=placed)]), configuration()) == {}


@pytest.mark.parametrize(
    ("value", "text"), [("24", "24"), ("0.5", "0.5"), (str(2**34), "16Gi"), ("100", "100"), (str(2**21), "2Mi")]
)
def test_quantities_are_written_as_people_do(value: str, text: str) -> None:
    assert plain(Decimal(value)) == text


@pytest.mark.parametrize(
    ("args", "version", "rule", "words"),
    [
        (["--batch-scheduler=volcano"], "v1.5.0", None, ""),
        (["--batch-scheduler=volcano", "--enable-batch-scheduler"], "v1.5.0", "scheduler-config-clash", "both set"),
        (["--batch-scheduler=volcano", "--enable-batch-scheduler=false"], "v1.5.0", None, ""),
        (["--batch-scheduler=slurm"], "v1.5.0", "scheduler-config-clash", "slurm"),
        (["--batch-scheduler", "slurm"], "v1.5.0", "scheduler-config-clash", "slurm"),
        (["--batch-scheduler=kai-scheduler"], "v1.4.2", "scheduler-config-clash", "1.4.2"),
        (["--batch-scheduler=kai-scheduler"], "nightly-1", None, ""),
        (["--feature-gates=KubernetesWAS=true", "--batch-scheduler=volcano"], "v1.7.0", "scheduler-config-clash", "goes with no"),
        (["--feature-gates=RayMultiHostIndexing=true, KubernetesWAS=true"], "v1.7.0", None, ""),
        (["--feature-gates=KubernetesWAS=false", "--batch-scheduler=volcano"], "v1.7.0", None, ""),
    ],
)  # fmt: skip
def test_flags_that_clash(args: list[str], version: str, rule: str | None, words: str) -> None:
    found = operator_of(Manifest(operator(*args, version=version)))
    if found is None:
        assert rule is None
        return
    clash = [(cause.rule, cause.why) for cause in clashes(found, Bundle(), context())]
    assert [name for name, _ in clash] == ([rule] if rule else [])
    assert all(words in why and cause_is_short(why) for _, why in clash)


def cause_is_short(why: str) -> bool:
    return len(why) < 200


@pytest.mark.parametrize(("release", "clash"), [("1.36.3", False), ("1.37.2", True), ("1.35.0", True), (None, False)])
def test_the_gate_of_native_gangs_fits_one_release(release: str | None, clash: bool) -> None:
    found = operator_of(Manifest(operator("--feature-gates=KubernetesWAS=true", version="v1.7.0")))
    assert found is not None
    rules = [cause.rule for cause in clashes(found, Bundle(), context(kubernetes=release))]
    assert rules == (["was-k8s-version"] if clash else [])


def test_other_deployments_are_no_operator() -> None:
    other = operator("--batch-scheduler=volcano")
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "quay.io/example/operator:v1.0.0"
    other["metadata"]["name"] = "other"
    assert operator_of(Manifest(other)) is None
    assert operator_of(Manifest({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": 3}})) is None


@pytest.mark.parametrize(
    ("scheduler", "kuberay", "labels", "refused"),
    [
        ("volcano", None, {}, True), ("volcano", "1.4.2", {}, False), ("coscheduling", "1.6.0", {}, True),
        ("yunikorn", None, {}, False), (None, None, VOLCANO, True), (None, None, {}, False),
    ],
)  # fmt: skip
def test_a_rayjob_that_uses_another_cluster(
    scheduler: str | None, kuberay: str | None, labels: dict[str, str], refused: bool
) -> None:
    spec = {"clusterSelector": {"ray.io/cluster": "x"}}
    job = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "j", "labels": labels}, "spec": spec}
    found = [cause.rule for cause in refused_jobs(Manifest(job), context(scheduler, kuberay))]
    assert found == (["rayjob-unsupported"] if refused else [])
