"""Which gang a manifest would really get, scheduler by scheduler, version by version."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from raygang.gang import SCHEDULERS, Context, Gang, effective
from raygang.objects import Bundle, ray_workloads
from tests.gang.manifests import OPT_IN, context, gang, group, operator, ray, template, verdict

SEED = Path(__file__).parents[1] / "lint/cases/seed-manifest.yaml"
QUEUE = {"volcano.sh/queue-name": "gpus"}
LOCAL = {"kueue.x-k8s.io/queue-name": "gpus"}
TEAM = {"kai.scheduler/queue": "team", "ray.io/priority-class-name": "inference"}
APP = {**OPT_IN, "yunikorn.apache.org/app-id": "llama"}
HARD = {"yunikorn.apache.org/schedulingPolicyParameters": "placeholderTimeoutInSeconds=600 gangSchedulingStyle=Hard"}
ELASTIC = {"enableInTreeAutoscaling": True}
TIER, MODE = "volcano.sh/network-topology-highest-tier-allowed", "volcano.sh/network-topology-mode"
HARD_PODS = {"head": template(annotations=HARD), "groups": [group(template=template(annotations=HARD))]}
KAI_PODS = {
    "head": template(schedulerName="kai-scheduler"),
    "groups": [group(template=template(schedulerName="kai-scheduler"))],
}
REQUIRED, TOGETHER = "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-group-name"

Row = tuple[str, dict[str, Any], Context, Gang | None, set[str]]


def check(
    manifest: dict[str, Any], at: Context, expected: Gang | None, causes: set[str], *more: dict[str, Any]
) -> None:
    found = verdict(*more, manifest, at=at)
    assert {cause.rule for cause in found.causes} == causes
    assert found.gang == expected


VOLCANO: list[Row] = [
    ("the label means that the operator is told", ray(labels=QUEUE), context(), gang(queue="gpus"), set()),
    ("without a queue it is the default one", ray(), context("volcano"), gang(), set()),
    ("the queue default is no queue of one's own", ray(labels={"volcano.sh/queue-name": "default"}), context(), gang(), set()),
    (
        "schedulerName alone makes no gang", ray(head=template(schedulerName="volcano")), context(), None,
        {"schedulername-only"},
    ),
    ("labels do not help where it does not run", ray(labels=QUEUE), context("none"), None, {"schedulername-only"}),
    (
        "an annotation is no label", ray(annotations={"volcano.sh/queue-name": "gpus"}), context("volcano"), gang(),
        {"queue-as-annotation"},
    ),
    (
        "the autoscaler counts minReplicas", ray(labels=QUEUE, groups=[group(minReplicas=2)], cluster=ELASTIC), context(),
        gang(minimum=3, queue="gpus"), {"gang-min-below-replicas"},
    ),
    (
        "the autoscaler may count nothing", ray(labels=QUEUE, groups=[group(minReplicas=None)], cluster=ELASTIC),
        context(), gang(minimum=1, queue="gpus"), {"gang-min-zero"},
    ),
    (
        "without the autoscaler replicas counts", ray(labels=QUEUE, groups=[group(minReplicas=0)]), context(),
        gang(queue="gpus"), set(),
    ),
    ("hosts count", ray(labels=QUEUE, groups=[group(replicas=2, numOfHosts=2)]), context(), gang(queue="gpus"), set()),
    (
        "a suspended group has no pods", ray(labels=QUEUE, groups=[group(), group("more", suspend=True)]), context(),
        gang(queue="gpus"), set(),
    ),
    (
        "replicas are clamped", ray(labels=QUEUE, groups=[group(replicas=2, minReplicas=4, maxReplicas=8)]), context(),
        gang(queue="gpus"), {"replicas-outside-range"},
    ),
    ("a tier is a number", ray(labels={**QUEUE, MODE: "hard", TIER: "rack"}), context(), None, {"tier-label"}),
    ("a tier needs a mode", ray(labels={**QUEUE, TIER: "1"}), context(), gang(queue="gpus"), {"tier-label"}),
    (
        "KubeRay 1.4 knows no topology", ray(labels={**QUEUE, MODE: "hard", TIER: "1"}), context("volcano", "1.4.2"),
        gang(queue="gpus"), {"topology-label-ignored"},
    ),
    ("KubeRay 1.5 does", ray(labels={**QUEUE, MODE: "hard", TIER: "1"}), context("volcano", "1.5.0"), gang(queue="gpus"), set()),
    (
        "nobody reads group-min-member", ray(labels=QUEUE, annotations={"scheduling.volcano.sh/group-min-member": "5"}),
        context(), gang(queue="gpus"), {"volcano-min-member-annotation"},
    ),
    (
        "the old label does nothing", ray(labels={"ray.io/scheduler-name": "volcano"}), context(), None,
        {"legacy-scheduler-label", "no-gang"},
    ),
    (
        "KubeRay overwrites another name", ray(head=template(schedulerName="yunikorn")), context("volcano"), gang(),
        {"schedulername-conflict"},
    ),
    ("fields of another scheduler", ray(labels=TEAM), context("volcano"), gang(), {"scheduler-mismatch"}),
    ("a RayJob has a gang of its own", ray("RayJob", labels=QUEUE), context(), gang(queue="gpus"), set()),
]  # fmt: skip

KUEUE: list[Row] = [
    ("all pods or none", ray(labels=LOCAL), context(), gang(queue="gpus"), set()),
    ("an annotation is no label", ray(annotations=LOCAL), context(), None, {"kueue-queue-annotation"}),
    ("no queue", ray(labels={"kueue.x-k8s.io/priority-class": "x"}), context(), None, {"kueue-queue-missing"}),
    ("Kueue runs and nothing asks", ray(), context("kueue"), None, {"kueue-queue-missing"}),
    ("no Kueue", ray(labels=LOCAL), context("none"), None, {"scheduler-mismatch"}),
    ("the autoscaler is refused", ray(labels=LOCAL, cluster=ELASTIC), context(), None, {"kueue-autoscaling"}),
    (
        "but not of an elastic job",
        ray(labels=LOCAL, annotations={"kueue.x-k8s.io/elastic-job": "true"}, cluster=ELASTIC), context(),
        gang(queue="gpus"), set(),
    ),
    ("a group named head is refused", ray(labels=LOCAL, groups=[group("head")]), context(), None, {"kueue-groups"}),
    (
        "18 groups are refused", ray(labels=LOCAL, groups=[group(f"g{i}") for i in range(18)]), context(), None,
        {"kueue-groups"},
    ),
    (
        "the topology belongs on pods", ray(labels=LOCAL, annotations={REQUIRED: "rack"}), context(), gang(queue="gpus"),
        {"kueue-topology-level"},
    ),
    (
        "quota is counted by replicas as written",
        ray(labels=LOCAL, groups=[group(replicas=2, minReplicas=4, maxReplicas=8)]), context(), gang(queue="gpus"),
        {"replicas-outside-range"},
    ),
    (
        "also of a suspended group", ray(labels=LOCAL, groups=[group(), group("more", suspend=True)]), context(),
        gang(queue="gpus"), {"suspended-group-counted"},
    ),
]  # fmt: skip

YUNIKORN: list[Row] = [
    ("whole and hard", ray(labels=APP, **HARD_PODS), context(), gang(), set()),
    ("its own queue", ray(labels={**APP, "yunikorn.apache.org/queue": "root.a"}, **HARD_PODS), context(), gang(queue="root.a"), set()),
    ("soft by default", ray(labels=APP), context("yunikorn"), gang(), {"yunikorn-soft"}),
    (
        "no label, no gang", ray(labels={"yunikorn.apache.org/app-id": "x"}, **HARD_PODS), context(), None,
        {"gang-label-missing"},
    ),
    ("nothing asks", ray(), context("yunikorn"), None, {"gang-label-missing"}),
    (
        "false is on", ray(labels={**APP, "ray.io/gang-scheduling-enabled": "false"}, **HARD_PODS), context(), gang(),
        {"gang-label-false"},
    ),
    ("no application", ray(labels=OPT_IN, **HARD_PODS), context("yunikorn"), None, {"yunikorn-app-id-missing"}),
    ("labels where it does not run", ray(labels=APP, **HARD_PODS), context("none"), None, {"schedulername-only"}),
    (
        "minReplicas counts, always",
        ray(labels=APP, head=HARD_PODS["head"], groups=[group(minReplicas=2, template=template(annotations=HARD))]),
        context(), gang(minimum=3), {"gang-min-below-replicas"},
    ),
    (
        "one group with 0 is the end of all",
        ray(labels=APP, head=HARD_PODS["head"], groups=[*HARD_PODS["groups"], group("more", 1, minReplicas=0, template=template(annotations=HARD))]),
        context(), None, {"gang-min-zero"},
    ),
    (
        "KubeRay 1.4 leaves hosts out",
        ray(labels=APP, head=HARD_PODS["head"], groups=[group(replicas=2, numOfHosts=2, template=template(annotations=HARD))]),
        context("yunikorn", "1.4.2"), gang(minimum=3), {"gang-min-below-replicas"},
    ),
    (
        "KubeRay 1.5 counts them",
        ray(labels=APP, head=HARD_PODS["head"], groups=[group(replicas=2, numOfHosts=2, template=template(annotations=HARD))]),
        context("yunikorn", "1.5.0"), gang(), set(),
    ),
    (
        "an upgrade reuses the id", ray("RayService", labels=APP, **HARD_PODS), context(), gang(), {"yunikorn-appid-reuse"},
    ),
    (
        "the head outgrows its placeholder", ray(labels=APP, cluster=ELASTIC, **HARD_PODS), context(), gang(),
        {"yunikorn-autoscaler-head"},
    ),
    (
        "suspended groups are counted",
        ray(labels=APP, head=HARD_PODS["head"], groups=[*HARD_PODS["groups"], group("more", suspend=True, template=template(annotations=HARD))]),
        context(), gang(), {"suspended-group-counted"},
    ),
]  # fmt: skip

KAI: list[Row] = [
    ("queue and name", ray(labels=TEAM, **KAI_PODS), context(), gang(queue="team"), set()),
    ("the operator names it", ray(labels=TEAM), context("kai", "1.6.0"), gang(queue="team"), set()),
    ("KubeRay 1.4 does not", ray(labels=TEAM), context("kai", "1.4.2"), None, {"kuberay-too-old"}),
    ("templates may, with any KubeRay", ray(labels=TEAM, **KAI_PODS), context("kai", "1.4.2"), gang(queue="team"), set()),
    ("no queue", ray(**KAI_PODS), context(), gang(), {"kai-queue-missing"}),
    ("KAI does not run", ray(labels=TEAM, **KAI_PODS), context("none"), None, {"scheduler-mismatch"}),
    ("nothing names it", ray(labels={"kai.scheduler/x": "y"}), context(), None, {"schedulername-only"}),
    ("serving with the priority of training", ray("RayService", labels={"kai.scheduler/queue": "team"}, **KAI_PODS), context(), gang(queue="team"), {"kai-train-priority"}),
    (
        "minReplicas above replicas is an error",
        ray(labels=TEAM, groups=[group(replicas=2, minReplicas=4, maxReplicas=8)]), context("kai"), None,
        {"replicas-outside-range"},
    ),
    ("minReplicas counts above zero", ray(labels=TEAM, groups=[group(minReplicas=2)]), context("kai"), gang(minimum=3, queue="team"), {"gang-min-below-replicas"}),
    ("at zero replicas count", ray(labels=TEAM, groups=[group(minReplicas=0)]), context("kai"), gang(queue="team"), set()),
    ("but not with the autoscaler", ray(labels=TEAM, groups=[group(minReplicas=0)], cluster=ELASTIC), context("kai"), gang(minimum=1, queue="team"), {"gang-min-zero"}),
    ("suspended groups are counted", ray(labels=TEAM, groups=[group(), group("more", suspend=True)]), context("kai"), None, {"suspended-group-counted"}),
    ("K8sJobMode is refused", ray("RayJob", labels=TEAM), context("kai"), None, {"rayjob-unsupported"}),
    ("HTTPMode is not", ray("RayJob", labels=TEAM, spec={"submissionMode": "HTTPMode"}), context("kai", "1.6.0"), gang(queue="team"), set()),
    ("KubeRay 1.5 refuses both", ray("RayJob", labels=TEAM, spec={"submissionMode": "HTTPMode"}), context("kai", "1.5.1"), None, {"rayjob-unsupported"}),
    ("a placement needs a topology", ray(labels=TEAM, groups=[group(template=template(annotations={"kai.scheduler/topology-required-placement": "rack"}))]), context("kai"), None, {"kai-topology-missing"}),
    ("on pod templates", ray(labels=TEAM, annotations={"kai.scheduler/topology": "dc"}), context("kai"), gang(queue="team"), {"kai-topology-level"}),
    ("an incremental upgrade", ray("RayService", labels=TEAM, spec={"upgradeStrategy": {"type": "NewClusterWithIncrementalUpgrade"}}), context("kai"), gang(queue="team"), {"kai-incremental-upgrade"}),
]  # fmt: skip

COSCHEDULING: list[Row] = [
    ("the label alone", ray(labels=OPT_IN), context(), gang(), set()),
    ("with the operator", ray(labels=OPT_IN), context("coscheduling"), gang(), set()),
    ("nothing asks", ray(), context("coscheduling"), None, {"gang-label-missing"}),
    ("another scheduler runs", ray(labels=OPT_IN), context("none"), None, {"schedulername-only"}),
    ("the name alone", ray(head=template(schedulerName="scheduler-plugins-scheduler")), context(), None, {"schedulername-only"}),
    ("false is on", ray(labels={"ray.io/gang-scheduling-enabled": "False"}), context(), gang(), {"gang-label-false"}),
    ("the autoscaler", ray(labels=OPT_IN, cluster=ELASTIC), context(), gang(), {"coscheduling-static"}),
    ("a RayJob never starts", ray("RayJob", labels=OPT_IN), context("coscheduling"), None, {"rayjob-unsupported"}),
    ("with KubeRay 1.4 it does", ray("RayJob", labels=OPT_IN), context("coscheduling", "1.4.2"), gang(), set()),
    ("KubeRay 1.4 leaves hosts out", ray(labels=OPT_IN, groups=[group(replicas=2, numOfHosts=2)]), context("coscheduling", "1.4.2"), gang(minimum=3), {"gang-min-below-replicas"}),
    ("KubeRay 1.5 counts them", ray(labels=OPT_IN, groups=[group(replicas=2, numOfHosts=2)]), context("coscheduling", "1.5.0"), gang(), set()),
    ("KubeRay 1.4 counts what is never made", ray(labels=OPT_IN, groups=[group(replicas=8, minReplicas=0, maxReplicas=4)]), context("coscheduling", "1.4.2"), None, {"replicas-outside-range"}),
]  # fmt: skip

WAS: list[Row] = [
    ("with the label", ray(labels=OPT_IN), context("native", "1.7.0", "1.36.3"), gang(), set()),
    ("any case of true", ray(labels={"ray.io/gang-scheduling-enabled": "True"}), context("native", "1.7.0", "1.36"), gang(), set()),
    ("not yet in 1.6", ray(labels=OPT_IN), context("native", "1.6.2", "1.36.3"), None, {"kuberay-too-old"}),
    ("no more in Kubernetes 1.37", ray(labels=OPT_IN), context("native", "1.7.0", "1.37.2"), None, {"was-k8s-version"}),
    ("nor in 1.35", ray(labels=OPT_IN), context("native", "1.7.0", "1.35.4"), None, {"was-k8s-version"}),
    ("the value counts here", ray(labels={"ray.io/gang-scheduling-enabled": "yes"}), context("native"), None, {"gang-label-false"}),
    ("the autoscaler", ray(labels=OPT_IN, cluster=ELASTIC), context("native"), None, {"was-autoscaling"}),
    ("nothing asks", ray(), context("native"), None, {"podgroup-missing"}),
]  # fmt: skip

NONE: list[Row] = [
    ("pods one by one", ray(), context(), None, {"no-gang"}),
    ("one pod needs no gang", ray(groups=[]), context(), None, set()),
    ("a scheduler that nobody knows", ray(), context("slurm"), None, {"no-gang"}),
]

ROWS = [*VOLCANO, *KUEUE, *YUNIKORN, *KAI, *COSCHEDULING, *WAS, *NONE]


@pytest.mark.parametrize(("manifest", "at", "expected", "causes"), [pytest.param(*row[1:], id=row[0]) for row in ROWS])
def test_the_gang_that_one_gets(manifest: dict[str, Any], at: Context, expected: Gang | None, causes: set[str]) -> None:
    check(manifest, at, expected, causes)


def volcano_group(minimum: int, **spec: Any) -> dict[str, Any]:
    body = {"minMember": minimum, "queue": "gpus", **spec}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "own"},
        "spec": body,
    }


OWN = template(annotations={"scheduling.k8s.io/group-name": "own"}, schedulerName="volcano")


@pytest.mark.parametrize(
    ("minimum", "expected", "causes"),
    [
        (5, gang(queue="gpus"), set()),
        (3, gang(minimum=3, queue="gpus"), {"podgroup-minimum"}),
        (6, None, {"podgroup-minimum"}),
    ],
)
def test_a_podgroup_of_ones_own_for_volcano(minimum: int, expected: Gang | None, causes: set[str]) -> None:
    check(ray(head=OWN, groups=[group(template=OWN)]), context(), expected, causes, volcano_group(minimum))


def test_a_podgroup_that_only_the_workers_name_is_no_gang() -> None:
    check(ray(groups=[group(template=OWN)]), context(), None, {"schedulername-only"}, volcano_group(5))


def test_sub_groups_need_a_new_volcano() -> None:
    found = verdict(
        volcano_group(5, subGroupPolicy=[{"name": "x"}]), ray(head=OWN, groups=[group(template=OWN)]), at=context()
    )
    assert any("1.14" in fact for fact in found.assumes)


def test_a_podgroup_of_ones_own_for_coscheduling() -> None:
    own = template(labels={"scheduling.x-k8s.io/pod-group": "own"})
    body = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "own"}}
    manifest = ray(head=own, groups=[group(template=own)])
    check(manifest, context(), gang(), set(), {**body, "spec": {"minMember": 5}})
    check(manifest, context(), gang(minimum=4), {"podgroup-minimum"}, {**body, "spec": {"minMember": 4}})
    check(manifest, context(), None, {"podgroup-minimum"}, {**body, "spec": {"minMember": 9}})


def native_group(minimum: int, api: str = "v1beta1", name: str = "llama") -> dict[str, Any]:
    spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    return {"apiVersion": f"scheduling.k8s.io/{api}", "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


NATIVE = template(labels={"raygang.dev/gang": "llama"})
FIELD = template(schedulingGroup={"podGroupName": "llama"})


@pytest.mark.parametrize(
    ("pods", "other", "group_", "at", "expected", "causes"),
    [
        pytest.param(NATIVE, NATIVE, native_group(5), context(), gang(), set(), id="by label"),
        pytest.param(FIELD, FIELD, native_group(5), context("native", "1.7.0"), gang(), set(), id="by field"),
        pytest.param(FIELD, FIELD, native_group(5), context("native", "1.6.0"), None, {"podgroup-missing"}, id="pruned"),
        pytest.param(NATIVE, FIELD, native_group(5), context(), gang(), set(), id="either"),
        pytest.param(NATIVE, template(), native_group(5), context(), None, {"podgroup-split"}, id="split"),
        pytest.param(NATIVE, NATIVE, native_group(5, name="x"), context(), None, {"podgroup-missing"}, id="missing"),
        pytest.param(NATIVE, NATIVE, native_group(4), context(), gang(minimum=4), {"podgroup-minimum"}, id="low"),
        pytest.param(NATIVE, NATIVE, native_group(6), context(), None, {"podgroup-minimum"}, id="never"),
        pytest.param(NATIVE, NATIVE, native_group(0), context(), None, {"podgroup-minimum"}, id="zero"),
        pytest.param(NATIVE, NATIVE, native_group(5, "v1alpha2"), context(kubernetes="1.36.3"), gang(), set(), id="1.36"),
        pytest.param(NATIVE, NATIVE, native_group(5, "v1alpha2"), context(kubernetes="1.37.2"), None, {"native-api"}, id="1.37"),
        pytest.param(NATIVE, NATIVE, native_group(5), context(kubernetes="1.36.3"), None, {"native-api"}, id="too new"),
        pytest.param(NATIVE, NATIVE, native_group(5), context(kubernetes="1.34.0"), None, {"native-api"}, id="1.34"),
        pytest.param(NATIVE, NATIVE, native_group(5, "v1alpha1"), context(), None, {"native-api"}, id="none has it"),
    ],
)  # fmt: skip
def test_a_podgroup_of_kubernetes(
    pods: Any, other: Any, group_: dict[str, Any], at: Context, expected: Gang | None, causes: set[str]
) -> None:
    check(ray(head=pods, groups=[group(template=other)]), at, expected, causes, group_)


def test_the_policy_that_is_not_among_the_manifests_is_assumed() -> None:
    found = verdict(native_group(5), ray(head=NATIVE, groups=[group(template=NATIVE)]), at=context("native"))
    assert [fact for fact in found.assumes if "MutatingAdmissionPolicy" in fact]


@pytest.mark.parametrize(
    ("head", "workers", "causes"),
    [
        ({REQUIRED: "rack", TOGETHER: "x"}, {REQUIRED: "rack", TOGETHER: "x"}, set()),
        ({REQUIRED: "rack"}, {REQUIRED: "rack", TOGETHER: "x"}, {"kueue-topology-refused"}),
        ({TOGETHER: "x"}, {TOGETHER: "x"}, {"kueue-topology-refused"}),
        ({REQUIRED: "rack", TOGETHER: "x"}, {REQUIRED: "row", TOGETHER: "x"}, {"kueue-topology-refused"}),
        ({}, {REQUIRED: "rack", "kueue.x-k8s.io/podset-preferred-topology": "rack"}, {"kueue-topology-refused"}),
        ({}, {REQUIRED: "rack"}, set()),
    ],
)
def test_what_kueue_refuses_of_topologies(head: dict[str, str], workers: dict[str, str], causes: set[str]) -> None:
    manifest = ray(
        labels=LOCAL, head=template(annotations=head), groups=[group(template=template(annotations=workers))]
    )
    check(manifest, context(), None if causes else gang(queue="gpus"), causes)


def test_two_groups_of_many_pods_cannot_share_a_domain_in_kueue() -> None:
    pods = template(annotations={REQUIRED: "rack", TOGETHER: "x"})
    manifest = ray(labels=LOCAL, groups=[group("a", template=pods), group("b", template=pods)])
    check(manifest, context(), None, {"kueue-topology-refused"})


@pytest.mark.parametrize(("groups", "fact"), [(7, None), (8, "0.18"), (9, "0.18"), (10, "0.19"), (17, "0.19")])
def test_how_many_groups_depends_on_kueues_version(groups: int, fact: str | None) -> None:
    found = verdict(ray(labels=LOCAL, groups=[group(f"g{i}") for i in range(groups)]), at=context("kueue"))
    assert found.gang is not None
    assert [fact in assumed for assumed in found.assumes] == ([True] if fact else [])


def task_groups(*groups: Any) -> dict[str, Any]:
    annotations = {"yunikorn.apache.org/task-groups": json.dumps(list(groups))}
    return ray(labels=APP, annotations=annotations, head=HARD_PODS["head"], groups=HARD_PODS["groups"])


def of(name: str, minimum: int = 1) -> dict[str, Any]:
    return {"name": name, "minMember": minimum, "minResource": {"cpu": 1}}


@pytest.mark.parametrize(
    ("groups", "expected", "causes"),
    [
        ([of("headgroup"), of("workers", 4)], gang(), set()),
        ([of("headgroup"), of("workers", 2)], gang(minimum=3), {"gang-min-below-replicas"}),
        ([of("headgroup"), of("workers", 0)], None, {"yunikorn-task-groups"}),
        ([of("headgroup")], None, {"yunikorn-task-groups"}),
        ([of("headgroup"), {"name": "workers", "minMember": 4}], None, {"yunikorn-task-groups"}),
        ([of("headgroup"), 7, of("workers", 4)], None, {"yunikorn-task-groups"}),
    ],
)
def test_task_groups_of_ones_own(groups: list[Any], expected: Gang | None, causes: set[str]) -> None:
    check(task_groups(*groups), context("yunikorn", "1.5.0"), expected, causes)


def test_kuberay_1_4_writes_its_own_task_groups_over_them() -> None:
    check(task_groups(of("headgroup")), context("yunikorn", "1.4.2"), gang(), set())


@pytest.mark.parametrize("written", ["{", "7", '"x"', "[" * 20000])
def test_task_groups_that_are_no_list(written: str) -> None:
    manifest = ray(labels=APP, annotations={"yunikorn.apache.org/task-groups": written}, **HARD_PODS)
    check(manifest, context(), None, {"yunikorn-task-groups"})


def test_the_operators_deployment_says_which_scheduler_and_which_version() -> None:
    check(ray(), context(), gang(), set(), operator("--batch-scheduler=volcano"))
    check(ray(), context(), gang(), set(), operator("--batch-scheduler", "volcano"))
    check(ray(), context(), gang(), set(), operator("--enable-batch-scheduler"))
    check(
        ray(labels=TEAM),
        context(),
        None,
        {"kuberay-too-old"},
        operator("--batch-scheduler=kai-scheduler", version="v1.4.2"),
    )
    check(
        ray(labels=OPT_IN),
        context(),
        gang(),
        set(),
        operator("--feature-gates=A=true,KubernetesWAS=true", version="v1.7.0"),
    )
    assert verdict(operator("--batch-scheduler=volcano"), ray()).assumes == ()


def test_what_is_given_counts_more_than_the_deployment() -> None:
    check(ray(labels=APP, **HARD_PODS), context("yunikorn"), gang(), set(), operator("--batch-scheduler=volcano"))


def test_kueue_works_beside_an_operator_that_is_told_nothing_of_it() -> None:
    check(ray(labels=LOCAL), context(), gang(queue="gpus"), set(), operator("--batch-scheduler=volcano"))


def test_the_seed_manifest_gets_no_gang_or_one_in_the_wrong_queue() -> None:
    bundle = Bundle.of([yaml.safe_load(SEED.read_text(encoding="utf-8"))])
    (workload,) = ray_workloads(bundle)
    found = effective(workload, bundle, Context())
    assert found.gang is None
    assert [cause.rule for cause in found.causes] == ["schedulername-only", "queue-as-annotation"]
    assert found.causes[0].why == (
        "Volcano would schedule these 5 pods one by one: nothing tells KubeRay to use Volcano (operator flag "
        "--batch-scheduler=volcano), so Volcano makes a group with minMember 1"
    )
    told = effective(workload, bundle, Context(scheduler="volcano"))
    assert told.gang is not None
    assert (told.gang.size, told.gang.whole, told.gang.queue) == (5, True, None)
    assert [cause.rule for cause in told.causes] == ["queue-as-annotation"]


SCHEDULER_LABELS = (
    {},
    {"volcano.sh/queue-name": "gpus"},
    {"yunikorn.apache.org/app-id": "llama"},
    {"yunikorn.apache.org/app-id": "llama", **OPT_IN},
    {"kai.scheduler/queue": "gpus"},
    {"kai.scheduler/topology": "gpus"},
    {"kueue.x-k8s.io/queue-name": "gpus"},
    {"kueue.x-k8s.io/priority-class": "high"},
    OPT_IN,
)


@pytest.mark.parametrize("scheduler", [None, *SCHEDULERS])
@pytest.mark.parametrize("kuberay", [None, "1.4.0", "1.6.0"])
@pytest.mark.parametrize("labels", SCHEDULER_LABELS, ids=str)
def test_one_pod_is_no_pods(labels: dict[str, str], kuberay: str | None, scheduler: str | None) -> None:
    none: list[Any] = []
    shared = template(annotations={"kueue.x-k8s.io/podset-group-name": "llama"})
    written = {"yunikorn.apache.org/task-groups": '[{"name": "headgroup", "minMember": 1, "minResource": {"cpu": 1}}]'}
    group_of_5 = {**native_group(5), "apiVersion": "scheduling.volcano.sh/v1beta1", "spec": {"minMember": 5}}
    named = template(annotations={"scheduling.k8s.io/group-name": "llama"}, schedulerName="volcano")
    manifests = [
        [ray(labels=labels, groups=none)],
        [ray(labels=labels, groups=none, head=template(schedulerName="kai-scheduler"))],
        [ray(labels=labels, groups=none, head=named), group_of_5],
        [ray(labels=labels, groups=none, head=template(labels={"raygang.dev/gang": "llama"})), native_group(5)],
        [ray(labels=labels, groups=[group(replicas=1, minReplicas=0, template=shared)], annotations=written)],
        [ray(labels=labels, groups=[group(replicas=3, minReplicas=1)], cluster={"enableInTreeAutoscaling": True})],
    ]
    for manifest in manifests:
        for cause in verdict(*manifest, at=context(scheduler, kuberay)).causes:
            found = re.search(r"\b1 (?:pod|group)s\b|only 1 belong\b|one pod (?:one by one|together)", cause.why)
            assert found is None, cause.why
