"""The check alone: a RayJob with the pods of the deployment, which the scheduler takes as a gang, and which lints clean."""

from __future__ import annotations

import json
import shlex
import subprocess
from subprocess import list2cmdline
from typing import Any

import pytest
from hypothesis import given, reject, settings

from raygang.fabric import prove
from raygang.gang import effective
from raygang.lint import Source, lint
from raygang.manifest import json_list, render, yaml_stream
from raygang.manifest.fabric_job import fabric_job, how_to_read
from raygang.manifest.model import Rendered
from raygang.objects import ray_workloads
from raygang.plan import Plan
from raygang.runtime.fabric.expected import Expected
from raygang.spec import SpecError
from tests.manifest.planned import Draft, drafts, planned
from tests.manifest.test_properties import check, context

SOME = settings(max_examples=50, deadline=None)
IB = {"type": "infiniband", "resource": "rdma/ib", "hcas": ["mlx5_0", "mlx5_1:1"], "min_bandwidth": 300}


def rendered_of(draft: Draft) -> tuple[Plan, Rendered]:
    plan = draft.plan()
    try:
        return plan, fabric_job(plan)
    except SpecError as e:
        assert "RayJob" in str(e), "only where the scheduler's integration takes none"
        reject()


def job_of(plan: Plan) -> Any:
    return next(obj for obj in fabric_job(plan).objects if obj["kind"] == "RayJob")


def as_service(cluster: Any) -> dict[str, Any]:
    """A RayService of the cluster: its definition has the same types, and the linter knows the RayJob's own fields."""
    body = {"rayClusterConfig": cluster}
    return {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "x"}, "spec": body}


@SOME
@given(drafts())
def test_the_check_gets_the_gang_of_the_deployment(draft: Draft) -> None:
    plan, rendered = rendered_of(draft)
    (workload,) = ray_workloads(rendered.bundle)
    gang = effective(workload, rendered.bundle, context(plan)).gang
    if plan.spec.scheduler.type == "none":
        assert gang is None
    else:
        assert gang is not None
        first = plan.gangs[0]
        assert (gang.members, gang.minimum, gang.queue) == (first.members, first.minimum, first.queue)


@SOME
@given(drafts())
def test_it_lints_clean(draft: Draft) -> None:
    plan, rendered = rendered_of(draft)
    outcome = lint([Source("rendered.yaml", yaml_stream(rendered))], context(plan))
    worth = [f for f in outcome.findings if f.severity != "info"]
    if plan.spec.scheduler.type == "none":
        worth = [f for f in worth if f.code != "GANG026"]
    assert worth == []


@SOME
@given(drafts())
def test_every_object_is_valid_by_the_published_definitions(draft: Draft) -> None:
    plan, rendered = rendered_of(draft)
    *others, job = rendered.objects
    for obj in others:
        check(obj, plan)
    body = job["spec"]
    check(as_service(body["rayClusterSpec"]), plan)
    if template := body.get("submitterPodTemplate"):
        (group, *_) = body["rayClusterSpec"]["workerGroupSpecs"]
        check(as_service({**body["rayClusterSpec"], "workerGroupSpecs": [{**group, "template": template}]}), plan)


@pytest.mark.parametrize("fabric", [{"type": "auto"}, {"type": "efa", "resource_count": 32}, IB])
def test_its_pods_are_those_of_the_deployment_but_for_the_model(fabric: dict[str, Any]) -> None:
    plan = planned("volcano", fabric=fabric)
    service = next(obj for obj in render(plan).objects if obj["kind"] == "RayService")
    (ours,), (theirs,) = (
        cluster["workerGroupSpecs"]
        for cluster in (job_of(plan)["spec"]["rayClusterSpec"], service["spec"]["rayClusterConfig"])
    )
    assert [ours[key] for key in ("replicas", "minReplicas", "maxReplicas")] == [2, 2, 2]
    mine, other = (group["template"]["spec"]["containers"][0] for group in (ours, theirs))
    for field in ("resources", "securityContext", "image", "readinessProbe"):
        assert mine[field] == other[field]
    assert [entry for entry in other["env"] if entry not in mine["env"]] == [
        {"name": "HF_HOME", "value": "/model-cache"}
    ]
    volumes = {volume["name"] for volume in ours["template"]["spec"]["volumes"]}
    assert {volume["name"] for volume in theirs["template"]["spec"]["volumes"]} - volumes == {"model"}
    assert {mount["name"] for mount in mine["volumeMounts"]} <= volumes


def test_the_entrypoint_arrives_whole_behind_the_shells_and_ray() -> None:
    """KubeRay puts it into a script, `ray job submit` joins its words anew, and Ray gives that to a shell."""
    plan = planned(fabric=IB)
    line = job_of(plan)["spec"]["entrypoint"]
    words = subprocess.run(["bash", "-c", f"printf '%s\\0' {line} ;"], capture_output=True, text=True, check=True)
    again = list2cmdline(words.stdout.split("\0")[:-1])
    for shell in ("sh", "bash"):
        done = subprocess.run([shell, "-c", f"printf '%s\\0' {again}"], capture_output=True, text=True, check=True)
        *command, expected = done.stdout.split("\0")[:-1]
        assert command == shlex.split("python3 -m raygang.runtime.fabric --nodes 2 --ranks 16 --expected")
        assert Expected.model_validate_json(expected) == prove(plan.spec)


def test_it_ends_by_itself_and_gives_the_gpus_back() -> None:
    body = job_of(planned("volcano", limits={"start_timeout": "90m", "admission_timeout": "2h"}))["spec"]
    assert body["shutdownAfterJobFinishes"] is True
    assert (body["ttlSecondsAfterFinished"], body["backoffLimit"]) == (0, 0)
    assert body["activeDeadlineSeconds"] == 12600


def test_it_stands_beside_the_deployment_and_touches_nothing_of_it() -> None:
    plan = planned("native", replicas=3)
    shared = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    ours, theirs = (
        {(obj["kind"], obj["metadata"]["name"]) for obj in found.objects if obj["kind"] not in shared}
        for found in (fabric_job(plan), render(plan))
    )
    assert not ours & theirs
    assert {kind for kind, _ in ours} == {"ServiceAccount", "ConfigMap", "PodGroup", "NetworkPolicy", "RayJob"}


def test_the_longest_name_that_a_specification_takes_is_not_too_long() -> None:
    assert len(job_of(planned(name="a" * 40))["metadata"]["name"]) <= 47


@pytest.mark.parametrize("source", ["demo:smollm2", "./model", "a/b"])
def test_no_model_is_needed_in_the_pods(source: str) -> None:
    text = json_list(fabric_job(planned(model={"source": source, "token": {"secret": "hf", "key": "token"}})))
    assert "HF_" not in text
    assert "model-cache" not in text


def test_the_submitter_is_let_in_by_the_network_policy() -> None:
    rendered = fabric_job(planned("kueue"))
    policy, job = (next(o for o in rendered.objects if o["kind"] == kind) for kind in ("NetworkPolicy", "RayJob"))
    allowed = policy["spec"]["ingress"][0]["from"][0]["podSelector"]["matchLabels"]
    assert allowed.items() <= job["spec"]["submitterPodTemplate"]["metadata"]["labels"].items()


def test_kai_gets_no_submitters_pod() -> None:
    plan = planned("kai", kubernetes={"kuberay_version": "1.6.0"})
    body = job_of(plan)["spec"]
    assert body["submissionMode"] == "HTTPMode"
    assert "submitterPodTemplate" not in body
    assert body["ttlSecondsAfterFinished"] > 0
    assert "kubectl exec" in how_to_read(plan, fabric_job(plan))


def test_the_report_is_read_from_the_submitters_log() -> None:
    plan = planned("volcano")
    rendered = fabric_job(plan)
    assert how_to_read(plan, rendered) == "kubectl logs job/llama-net-0 | raygang fabric show -"
    assert "kubectl logs job/llama-net-0" in yaml_stream(rendered)


@pytest.mark.parametrize(("scheduler", "kuberay"), [("coscheduling", "1.6.0"), ("kai", "1.5.1")])
def test_a_scheduler_that_takes_no_ray_job_is_told_with_the_other_way(scheduler: str, kuberay: str) -> None:
    with pytest.raises(SpecError, match=r"scheduler\.type: .*RayJob.*fabric\.probe"):
        fabric_job(planned(scheduler, kubernetes={"kuberay_version": kuberay}))


def test_kueue_needs_its_integration_of_ray_jobs() -> None:
    (need,) = (need for need in fabric_job(planned("kueue")).needs if "LocalQueue" in need)
    assert "ray.io/rayjob" in need
    assert "rayservice" not in json.dumps(need)
