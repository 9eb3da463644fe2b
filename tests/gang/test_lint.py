"""What the linter makes of it: a rule for each cause, findings where a gang is wanted, fixes that mend."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import raygang.gang
from raygang.gang import Context
from raygang.lint import RULES, Edit, Finding, Outcome, Source, lint
from raygang.lint.rules.gang_wanted import why_wanted, world_size
from raygang.objects import Bundle, ray_workloads
from tests.gang.manifests import OPT_IN, context, group, ray, template

SEED = Path(__file__).parents[1] / "lint/cases/seed-manifest.yaml"
GPUS = {"nvidia.com/gpu": "8"}
ENGINE = "applications:\n- args:\n    llm_configs:\n    - engine_kwargs: {tensor_parallel_size: %s, pipeline_parallel_size: %s}\n"


def outcome(*objects: dict[str, Any], at: Context | None = None) -> Outcome:
    text = "\n---\n".join(json.dumps(o) for o in objects)
    return lint([Source("x.yaml", text)], at, wanted=lambda code: code.startswith("GANG"))


def names(*objects: dict[str, Any], at: Context | None = None) -> set[str]:
    return {finding.name for finding in outcome(*objects, at=at).findings}


def service(tensor: Any = 8, pipeline: Any = 2, **fields: Any) -> dict[str, Any]:
    engine = fields.pop("engine", ENGINE % (tensor, pipeline))
    groups = fields.pop("groups", [group(replicas=2, template=template(resources=GPUS))])
    spec = {"upgradeStrategy": {"type": "None"}, "serveConfigV2": engine}
    return ray("RayService", groups=groups, spec=spec, **fields)


def test_every_cause_has_a_rule_and_every_rule_a_cause() -> None:
    room = Path(raygang.gang.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in room.glob("*.py"))
    given = set(re.findall(r"(?:Cause|Unseen)\(\s*\"([a-z0-9-]+)\"", text))
    rules = {rule.name for rule in RULES.values() if rule.topic == "GANG"}
    assert given == rules


def test_codes_have_no_gaps() -> None:
    codes = sorted(int(code[4:]) for code in RULES if code.startswith("GANG"))
    assert codes == list(range(1, len(codes) + 1))


@pytest.mark.parametrize(
    ("manifest", "wanted"),
    [
        pytest.param(service(), "16 ranks", id="more ranks than a pod holds"),
        pytest.param(service(8, 1), None, id="an engine in each pod"),
        pytest.param(service(16, 1), "16 ranks", id="tensor over nodes"),
        pytest.param(service(engine="import_path: x"), "2 pods with accelerators", id="a service of several GPU pods"),
        pytest.param(service(engine=": ["), "2 pods with accelerators", id="unreadable"),
        pytest.param(service(engine="a: &a [*a]"), "2 pods with accelerators", id="endless"),
        pytest.param(service("auto", "x"), None, id="sizes from elsewhere"),
        pytest.param(ray(groups=[group(replicas=1, numOfHosts=4)]), "4 hosts", id="a replica of several hosts"),
        pytest.param(ray(groups=[group(replicas=1)]), None, id="a cluster with one CPU worker"),
        pytest.param(ray(cluster={"enableInTreeAutoscaling": True}), None, id="an autoscaled CPU cluster"),
        pytest.param(ray(groups=[]), None, id="a head"),
    ],
)
def test_when_a_gang_is_wanted(manifest: dict[str, Any], wanted: str | None) -> None:
    (workload,) = ray_workloads(Bundle.of([manifest]))
    found = why_wanted(workload)
    assert (found is None) == (wanted is None)
    assert (wanted or "") in (found or "")
    assert ("no-gang" in names(manifest)) == bool(wanted)


def test_the_largest_engine_counts() -> None:
    two = "applications: [{args: {engine_kwargs: {tensor_parallel_size: 2}}}, {args: {engine_kwargs: {data_parallel_size: 3}}}]"
    (workload,) = ray_workloads(Bundle.of([service(engine=two)]))
    assert world_size(workload) == 3


@pytest.mark.parametrize("scheduler", ["kueue", "yunikorn", "coscheduling", "native"])
def test_a_cluster_with_a_gang_scheduler_forces_none_on_what_wants_none(scheduler: str) -> None:
    assert names(ray(groups=[group(replicas=1)]), at=context(scheduler)) == set()
    assert names(service(), at=context(scheduler)) != set()


def test_what_the_gang_depends_on_and_was_not_given_is_said_once() -> None:
    found = outcome(ray(labels=OPT_IN), deepcopy(ray(labels=OPT_IN)))
    assert [f.name for f in found.findings] == []
    assert len([line for line in found.unchecked if "--scheduler" in line]) == 1
    assert outcome(ray(labels=OPT_IN), at=context("coscheduling")).unchecked == ()


def test_a_minimum_is_blamed_on_the_podgroup() -> None:
    pods = template(labels={"raygang.dev/gang": "llama"})
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    podgroup = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "llama"},
        "spec": spec,
    }
    (found,) = outcome(ray(head=pods, groups=[group(template=pods)]), podgroup).findings
    assert (found.object, found.path, found.name) == (
        "PodGroup/llama", "spec.schedulingPolicy.gang.minCount", "podgroup-minimum",
    )  # fmt: skip


def test_the_seed_manifests_faults_stand_on_their_lines() -> None:
    found = lint([Source("seed.yaml", SEED.read_text(encoding="utf-8"))], wanted=lambda c: c.startswith("GANG"))
    lines = {finding.name: finding.line for finding in found.findings}
    text = SEED.read_text(encoding="utf-8").splitlines()
    assert set(lines) == {"schedulername-only", "queue-as-annotation"}
    assert "schedulerName: volcano" in text[lines["schedulername-only"] - 1]
    assert "volcano.sh/queue-name" in text[lines["queue-as-annotation"] - 1]


APP = {**OPT_IN, "yunikorn.apache.org/app-id": "llama"}
FIXABLE = [
    ("queue-as-annotation", ray(annotations={"volcano.sh/queue-name": "gpus"}), context("volcano")),
    ("kueue-queue-annotation", ray(annotations={"kueue.x-k8s.io/queue-name": "gpus"}), context("kueue")),
    ("gang-label-missing", ray(labels={"yunikorn.apache.org/app-id": "llama"}), context("yunikorn")),
    ("gang-label-false", ray(labels={"ray.io/gang-scheduling-enabled": "no"}), context("coscheduling")),
    ("gang-label-false", ray(labels={"ray.io/gang-scheduling-enabled": "on"}), context("native")),
    ("legacy-scheduler-label", ray(labels={"ray.io/scheduler-name": "volcano"}), context("volcano")),
    ("yunikorn-soft", ray(labels=APP), context("yunikorn")),
    ("gang-min-below-replicas", ray(labels=APP, groups=[group(minReplicas=2)]), context("yunikorn")),
    ("gang-min-zero", ray(labels=APP, groups=[group(minReplicas=None)]), context("yunikorn")),
    ("schedulername-conflict", ray(head=template(schedulerName="volcano")), context("kai")),
    (
        "volcano-min-member-annotation",
        ray(annotations={"scheduling.volcano.sh/group-min-member": "5"}),
        context("volcano"),
    ),
]


@pytest.mark.parametrize(("name", "manifest", "at"), FIXABLE, ids=[f"{row[0]} {i}" for i, row in enumerate(FIXABLE)])
def test_a_fix_mends_what_it_is_for(name: str, manifest: dict[str, Any], at: Context) -> None:
    found = [finding for finding in outcome(manifest, at=at).findings if finding.name == name]
    assert found
    mended = deepcopy(manifest)
    for finding in found:
        for edit in finding.fix:
            apply(mended, edit)
    assert name not in names(mended, at=at)


def apply(manifest: dict[str, Any], edit: Edit) -> None:
    parent = reach(manifest, edit.path[:-1])
    if edit.action == "set":
        parent[edit.path[-1]] = edit.value
    elif edit.action == "delete":
        del parent[edit.path[-1]]
    else:
        reach(manifest, edit.value[:-1])[edit.value[-1]] = parent.pop(edit.path[-1])


def reach(data: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        data = data[part] if isinstance(part, int) else data.setdefault(part, {})
    return data


def test_a_message_is_one_sentence_of_ours() -> None:
    for finding in every_finding():
        assert "\n" not in finding.what
        assert not finding.what.endswith(".")
        assert len(finding.what) < 260


def every_finding() -> list[Finding]:
    from tests.gang.test_effective import ROWS

    return [finding for _, manifest, at, _, _ in ROWS for finding in outcome(manifest, at=at).findings]


@pytest.mark.parametrize(
    ("label", "right"),
    [
        ("volcano.sh/queue", "volcano.sh/queue-name"),
        ("kueue.x-k8s.io/queuename", "kueue.x-k8s.io/queue-name"),
        ("kai.scheduler/queue-name", "kai.scheduler/queue"),
        ("yunikorn.apache.org/queue_name", "yunikorn.apache.org/queue"),
        ("volcano.sh/queue-name", None),
        ("example.com/queue", None),
    ],
)
def test_a_label_that_is_nearly_a_queues_is_told(label: str, right: str | None) -> None:
    text = f"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {{name: x, labels: {{{label}: gpus}}}}\nspec: {{}}\n"
    found = [f for f in lint([Source("x.yaml", text)]).findings if f.code == "NAME006"]
    assert [f.write for f in found] == ([f"write {right}: gpus"] if right else [])
