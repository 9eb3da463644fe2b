"""Whatever is planned, under every scheduler: what is rendered is valid, gangs as planned, and lints clean."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from raygang.gang import Context, effective
from raygang.lint import Source, lint
from raygang.manifest import Rendered, json_list, render, yaml_stream
from raygang.objects import Version, ray_workloads
from raygang.plan import Plan
from tests.manifest.planned import Draft, drafts, planned

RENDERED = settings(max_examples=50, deadline=None)  # each renders and reads back some thousand lines
OTHERS = ("Kueue 0.17.0", "Volcano 1.14.1", "scheduler-plugins 0.32.7")
# KubeRay 1.7 is no Go module; its CRDs take all that those of 1.6 take.
KUBERAY = {"1.5.0": "1.5.0", "1.5.1": "1.5.1", "1.6.0": "1.6.0", "1.7.0": "1.6.0"}
UNKNOWN = ("PodMonitor",)  # the module of Prometheus' operator has no CRD in it


def context(plan: Plan) -> Context:
    kubernetes, scheduler = plan.spec.kubernetes, plan.spec.scheduler.type
    return Context(
        scheduler=None if scheduler == "none" else scheduler,
        kuberay=Version.parse(kubernetes.kuberay_version) if kubernetes.kuberay_version else None,
        kubernetes=Version.parse(kubernetes.version) if kubernetes.version else None,
    )


@RENDERED
@given(drafts())
def test_each_replica_gets_the_gang_of_the_plan(draft: Draft) -> None:
    plan = draft.plan()
    rendered = render(plan)
    found = list(ray_workloads(rendered.bundle))
    assert [workload.manifest.name for workload in found] == [gang.name for gang in plan.gangs]
    verdicts = [effective(workload, rendered.bundle, context(plan)) for workload in found]
    if plan.spec.scheduler.type == "none":
        assert [verdict.gang for verdict in verdicts] == [None] * len(plan.gangs)
    else:
        assert tuple(verdict.gang for verdict in verdicts) == plan.gangs


@RENDERED
@given(drafts())
def test_what_is_rendered_lints_clean(draft: Draft) -> None:
    plan = draft.plan()
    outcome = lint([Source("rendered.yaml", yaml_stream(render(plan)))], context(plan))
    worth = [f for f in outcome.findings if f.severity != "info"]
    if plan.spec.scheduler.type == "none":  # without a gang scheduler there is no gang, and the linter says so
        worth = [f for f in worth if f.code != "GANG026"]
    assert worth == []


@RENDERED
@given(drafts())
def test_rendering_is_deterministic_and_both_forms_are_the_same(draft: Draft) -> None:
    plan = draft.plan()
    rendered = render(plan)
    assert yaml_stream(render(plan)) == yaml_stream(rendered)
    assert list(yaml.safe_load_all(yaml_stream(rendered))) == json.loads(json_list(rendered))["items"]


@RENDERED
@given(drafts())
def test_every_object_is_valid_by_the_published_definitions(draft: Draft) -> None:
    plan = draft.plan()
    for obj in render(plan).objects:
        if obj["kind"] not in UNKNOWN:
            check(obj, plan)


def check(obj: dict[str, Any], plan: Plan) -> None:
    there = plan.spec.kubernetes
    sources = (
        f"Kubernetes {there.version or '1.36'}.0",
        f"KubeRay {KUBERAY[there.kuberay_version or '1.5.1']}",
        *OTHERS,
    )
    schema = validator(f"{obj['apiVersion']} {obj['kind']}", sources)
    errors = [f"{'.'.join(map(str, e.absolute_path))}: {e.message:.300}" for e in schema.iter_errors(obj)]
    assert errors == []


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """By source and kind; tools/object_schemas.py wrote them."""
    packed = Path(__file__).with_name("schemas.json.gz").read_bytes()
    return json.loads(gzip.decompress(packed))  # type: ignore[no-any-return]


@cache
def validator(kind: str, sources: tuple[str, ...]) -> Draft202012Validator:
    found = next((schemas()[source][kind] for source in sources if kind in schemas()[source]), None)
    assert found is not None, f"no published definition of {kind} (of {', '.join(sources)})"
    return Draft202012Validator(found)


def test_the_definitions_refuse_what_the_api_server_refuses() -> None:
    """The check above can fail."""
    plan = planned()
    rendered = json.loads(json_list(render(plan)))["items"]
    (service,) = (obj for obj in rendered if obj["kind"] == "RayService")
    group = service["spec"]["rayClusterConfig"]["workerGroupSpecs"][0]
    group["template"]["spec"]["containers"][0]["securityContex"] = {}
    with pytest.raises(AssertionError, match="securityContex"):
        check(service, plan)
    del group["template"]["spec"]["containers"][0]["securityContex"]
    group["replicas"] = "two"
    with pytest.raises(AssertionError, match="'two' is not of type 'integer'"):
        check(service, plan)


def owned(rendered: Rendered, replica: int) -> list[Any]:
    return [o for o in rendered.objects if o["metadata"].get("labels", {}).get("raygang.dev/replica") == str(replica)]


@RENDERED
@given(drafts())
def test_a_replica_is_the_same_however_many_there_are(draft: Draft) -> None:
    """So that adding, losing or upgrading one leaves the objects of the others as they are."""
    plan = draft.plan()
    alone = plan.spec.model_copy(update={"replicas": 1})
    first = render(Plan(alone, plan.checkpoint, plan.tensor, plan.pipeline, plan.nodes, plan.ranks))
    assert owned(first, 0) == owned(render(plan), 0)
