"""Why a gang waits, from what the API server shows: one sentence, its source, the next step."""

from __future__ import annotations

import re
from typing import Any

import pytest

from raygang.gang import SCHEDULERS, State, explain
from raygang.objects import Bundle, Manifest

CLUSTER: dict[str, Any] = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "llama"}, "spec": {}}
NO_GPU = "0/8 nodes are available: 8 Insufficient nvidia.com/gpu."
Object = dict[str, Any]


def pod(name: str, node: str | None = None, says: str | None = None, **more: Any) -> Object:
    spec: Object = {"schedulerName": more.pop("scheduler", "default-scheduler"), **more.pop("spec", {})}
    if node:
        spec["nodeName"] = node
    conditions = (
        [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": says}] if says else []
    )
    status = {"phase": "Running" if node else "Pending", "conditions": conditions, **more.pop("status", {})}
    metadata = {"name": name, **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def event(
    kind: str,
    name: str,
    reason: str,
    message: str,
    *,
    warning: bool = True,
    new: bool = False,
    at: str = "2026-01-01T00:00:00Z",
) -> Object:
    about = {"kind": kind, "name": name}
    kind_of = "Warning" if warning else "Normal"
    if new:
        return {"regarding": about, "reason": reason, "note": message, "type": kind_of, "eventTime": at}
    return {"involvedObject": about, "reason": reason, "message": message, "type": kind_of, "lastTimestamp": at}


def thing(api: str, kind: str, name: str, spec: Object | None = None, status: Object | None = None) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec or {}, "status": status or {}}


def state(
    pods: list[Object],
    objects: list[Object] | None = None,
    events: list[Object] | None = None,
    cluster: Object | None = None,
) -> State:
    found = (Bundle.of(list(part or [])) for part in (pods, objects, events))
    return State(Manifest(cluster or CLUSTER), *found)


def condition(kind: str, status: str, reason: str = "R", message: str = "") -> Object:
    return {"conditions": [{"type": kind, "status": status, "reason": reason, "message": message}]}


RUNNING = [pod("head", "n0"), pod("w0", "n1")]
WAITING = [pod("head"), pod("w0"), pod("w1")]
STUCK = [pod("head", "n0"), pod("w0", says=NO_GPU), pod("w1", says=NO_GPU)]
VOLCANO = "scheduling.volcano.sh/v1beta1"


def volcano(phase: str, status: Object | None = None, **spec: Any) -> Object:
    return thing(
        VOLCANO,
        "PodGroup",
        "ray-llama-pg",
        {"minMember": 3, "queue": "gpus", **spec},
        {"phase": phase, **(status or {})},
    )


def queue(phase: str = "Open", name: str = "gpus") -> Object:
    return thing(VOLCANO, "Queue", name, status={"state": phase})


def kueue(status: Object, **spec: Any) -> Object:
    return thing("kueue.x-k8s.io/v1beta2", "Workload", "raycluster-llama-1", {"queueName": "gpus", **spec}, status)


def conditions(*each: tuple[str, str, str, str]) -> Object:
    return {"conditions": [condition(*c)["conditions"][0] for c in each]}


NO_QUOTA = "couldn't assign flavors to pod set workers: insufficient unused quota for nvidia.com/gpu in flavor gpu, 2 more needed"
NEVER = (
    "couldn't assign flavors to pod set workers: insufficient quota for nvidia.com/gpu in flavor gpu, previously "
    "considered podsets requests (0) + current podset request (16) > maximum capacity (8)"
)
ADMITTED = [("QuotaReserved", "True", "QuotaReserved", ""), ("Admitted", "True", "Admitted", "")]
NATIVE = "scheduling.k8s.io/v1beta1"
MINIMUM = "0/2 placements are available, minCount (4) cannot be satisfied: 3 scheduled, 0 remaining"
GROUPED = {"schedulingGroup": {"podGroupName": "llama"}}
MEMBERS = [pod(name, spec=GROUPED) for name in ("head", "w0", "w1")]


def native(minimum: int = 3, status: Object | None = None) -> Object:
    return thing(NATIVE, "PodGroup", "llama", {"schedulingPolicy": {"gang": {"minCount": minimum}}}, status)


def kai(status: Object | None = None) -> Object:
    return thing("scheduling.run.ai/v2alpha2", "PodGroup", "pg-llama-1", {"minMember": 3, "queue": "team"}, status)


def unschedulable(reason: str, message: str) -> Object:
    reasons = [{"reason": reason, "message": message}]
    found = {"type": "UnschedulableOnNodePool", "status": "True", "reason": "Unschedulable", "reasons": reasons}
    return {"schedulingConditions": [found]}


def coscheduling(minimum: int = 3) -> Object:
    return thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "llama", {"minMember": minimum}, {"phase": "Pending"})


SIBLINGS = "pre-filter pod w0 cannot find enough sibling pods, current pods number: 2, minMember of group: 5"
PLACEHOLDERS = [pod("tg-llama-headgroup-a", "n0"), pod("tg-llama-workers-b"), *WAITING]


def yunikorn(reason: str, message: str) -> list[Object]:
    return [event("Pod", "head", reason, message, new=True)]


CASES: list[tuple[str, str, State, str, str, str]] = [
    ("a queue without room", "volcano", state(WAITING, [volcano("Pending"), queue()], [event("PodGroup", "ray-llama-pg", "Unschedulable", "queue resource quota insufficient: insufficient nvidia.com/gpu", warning=False)]), "the queue gpus has no room for the gang: queue resource quota insufficient: insufficient nvidia.com/gpu", "event Unschedulable of PodGroup ray-llama-pg", "capability"),
    ("a cluster without room", "volcano", state(WAITING, [volcano("Pending")], [event("PodGroup", "ray-llama-pg", "Unschedulable", "resource in cluster is overused: overused cpu")]), "the cluster has no room for the gang", "event Unschedulable", "autoscaler adds none"),
    ("not looked at", "volcano", state(WAITING, [volcano("Pending")]), "has not admitted the gang to the queue gpus", "phase Pending", "Volcano's scheduler"),
    ("admitted and no place", "volcano", state(WAITING, [volcano("Inqueue", condition("Unschedulable", "True", "NotEnoughResources", "2/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable"))]), "2/3 tasks in gang unschedulable", "condition Unschedulable", "nodes"),
    ("too few pods", "volcano", state(WAITING[:2], [volcano("Inqueue")]), "the gang needs 3 pods, and 2 have been made", "spec.minMember", "KubeRay"),
    ("a closed queue", "volcano", state(WAITING, [volcano("Pending"), queue("Closed")]), "the queue gpus is Closed", "Queue gpus, status.state", "open the queue"),
    ("no queue", "volcano", state(WAITING, [volcano("Pending"), queue(name="default")]), "the gang's queue gpus is not there", "spec.queue", "create the queue gpus"),
    ("a PodGroup that was refused", "volcano", state([], [], [event("RayCluster", "llama", "FailedToCreate", 'admission webhook "validatepodgroup.volcano.sh" denied: unable to find queue for PodGroup')]), "the PodGroup could not be made", "event FailedToCreate", "message names"),
    ("nothing at all", "volcano", state([]), "has no pods yet", "RayCluster llama", "webhook refuses a PodGroup"),
    ("the latest event counts", "volcano", state(WAITING, [volcano("Pending")], [event("PodGroup", "ray-llama-pg", "Unschedulable", "old", at="2026-01-01T00:00:00Z"), event("PodGroup", "ray-llama-pg", "Unschedulable", "new", at="2026-01-02T00:00:00Z")]), "new", "event", "message"),
    ("no quota now", "kueue", state([], [kueue(condition("QuotaReserved", "False", "Pending", NO_QUOTA))]), NO_QUOTA, "condition QuotaReserved", "wait until others finish"),
    ("no quota ever", "kueue", state([], [kueue(condition("QuotaReserved", "False", "Pending", NEVER))]), "maximum capacity (8)", "condition QuotaReserved", "no wait helps"),
    ("an uncovered resource", "kueue", state([], [kueue(condition("QuotaReserved", "False", "Pending", "couldn't assign flavors to pod set head: resource rdma/ib unavailable in ClusterQueue"))]), "rdma/ib unavailable", "condition QuotaReserved", "coveredResources"),
    ("no LocalQueue", "kueue", state([], [kueue(condition("QuotaReserved", "False", "Inadmissible", "LocalQueue gpus doesn't exist"))]), "LocalQueue gpus doesn't exist", "QuotaReserved", "create the LocalQueue"),
    ("no domain", "kueue", state([], [kueue(condition("QuotaReserved", "False", "Pending", 'couldn\'t assign flavors to pod set workers: topology "dc" allows to fit only 3 out of 4 pod(s)'))]), "3 out of 4", "QuotaReserved", "wider level"),
    ("not looked at", "kueue", state([], [kueue({})]), "has not looked at", "QuotaReserved", "controller runs"),
    ("deactivated", "kueue", state([], [kueue(condition("QuotaReserved", "False"), active=False)]), "deactivated", "spec.active", "true"),
    ("an inactive ClusterQueue", "kueue", state([], [kueue(condition("QuotaReserved", "False", "Inadmissible", "ClusterQueue all is inactive")), thing("kueue.x-k8s.io/v1beta2", "ClusterQueue", "all", status=condition("Active", "False", "FlavorNotFound", "Can't admit new workloads: references missing ResourceFlavor(s): h100."))]), "missing ResourceFlavor(s): h100", "ClusterQueue all, condition Active", "create what"),
    ("another namespace's queue", "kueue", state([], [kueue({}), thing("kueue.x-k8s.io/v1beta2", "LocalQueue", "cpus")]), "LocalQueue gpus is not in this namespace", "spec.queueName", "cpus"),
    ("too slow", "kueue", state([], [kueue(conditions(("Evicted", "True", "PodsReadyTimeout", "Exceeded the PodsReady timeout models/llama"), ("QuotaReserved", "False", "Pending", "x")))]), "PodsReadyTimeout", "condition Evicted", "waitForPodsReady.timeout"),
    ("preempted", "kueue", state([], [kueue(conditions(("Evicted", "True", "Preempted", "Preempted to accommodate a workload"), ("QuotaReserved", "False", "Pending", "x")))]), "Preempted to accommodate", "condition Evicted", "priority"),
    ("an admission check", "kueue", state([], [kueue({**conditions(("QuotaReserved", "True", "QuotaReserved", "")), "admissionChecks": [{"name": "prov", "state": "Pending", "message": "no capacity yet"}]})]), "prov is Pending: no capacity yet", "status.admissionChecks", "prov"),
    ("admitted and no place", "kueue", state(STUCK, [kueue(conditions(*ADMITTED))]), "the nodes have no place for some", "Pod w0", "topology-aware"),
    ("admitted and no pods", "kueue", state([], [kueue(conditions(*ADMITTED))]), "has admitted it, and the RayCluster has no pods", "RayCluster llama", "KubeRay"),
    ("no Workload", "kueue", state([], cluster={**CLUSTER, "metadata": {"name": "llama", "labels": {"kueue.x-k8s.io/queue-name": "gpus"}}}), "has made no Workload", "RayCluster llama", "integration"),
    ("task groups that are refused", "yunikorn", state(WAITING, events=yunikorn("GangScheduling", "unable to get taskGroups for pod, reason: can't get taskGroup MinMember from pod annotation, []")), "cannot read the task groups", "event GangScheduling of Pod head", "minReplicas"),
    ("soft", "yunikorn", state(WAITING, events=yunikorn("GangScheduling", "Application llama resuming as non-gang application (SOFT)")), "style Soft", "event GangScheduling", "gangSchedulingStyle=Hard"),
    ("hard", "yunikorn", state([pod("head", status={"phase": "Failed", "reason": "ResourceReservationTimeout", "message": "Scheduling has timed out due to insufficient resources"})]), "its id is dead", "ResourceReservationTimeout", "app-id"),
    ("a full queue", "yunikorn", state(WAITING, events=yunikorn("Informational", "Request 'u1' does not fit in queue 'root.a' (requested map[vcore:1], available map[])")), "the queue has no room", "event Informational of Pod head", "max"),
    ("reserving", "yunikorn", state(PLACEHOLDERS), "reserving the gang (1 of 2 placeholders has a place)", "placeholder pods", "nodes"),
    ("no node fits", "yunikorn", state(PLACEHOLDERS, events=[event("Pod", "tg-llama-workers-b", "Informational", "Unschedulable request 'u2': node(s) had taints (5x); ", new=True)]), "no node fits (1 of 2 placeholders has a place)", "tg-llama-workers-b", "nodes"),
    ("a queue over its limit", "kai", state(WAITING, [kai(unschedulable("OverLimit", "team quota has reached the allowable limit of GPUs. Limit is 8 GPUs, currently 8 GPUs allocated and workload requested 16 GPUs"))]), "(OverLimit): team quota has reached the allowable limit of GPUs", "schedulingConditions", "limit of the queue"),
    ("over quota", "kai", state(WAITING, [kai(unschedulable("NonPreemptibleOverQuota", "Non-preemptible workload is over quota"))]), "NonPreemptibleOverQuota", "schedulingConditions", "preemptible"),
    ("no queue", "kai", state(WAITING, [kai(unschedulable("QueueDoesNotExist", "Queue 'team' does not exist"))]), "Queue 'team' does not exist", "schedulingConditions", "create the queue"),
    ("no such queue", "kai", state(WAITING, [kai(), thing("scheduling.run.ai/v2", "Queue", "other")]), "queue team is not there", "spec.queue", "create the queue"),
    ("no place", "kai", state(WAITING, [kai(unschedulable("PodSchedulingErrors", "Resources were found for 2 pods while 3 are required for gang scheduling. Additional pods cannot be scheduled due to: no nodes with enough resources were found"))]), "Resources were found for 2 pods while 3 are required", "schedulingConditions", "nodes"),
    ("not grouped", "kai", state(WAITING, [], [event("Pod", "head", "PodGrouperWarning", "ray-cluster replicas for a workerGroupsSpec can't be less than minReplicas")]), "makes no group of these pods", "PodGrouperWarning", "Ray object"),
    ("not ready", "kai", state(WAITING, [kai()], [event("PodGroup", "pg-llama-1", "NotReady", "Job is not ready for scheduling. Waiting for 3 pods, currently 2 exist, 0 are gated", warning=False)]), "Waiting for 3 pods, currently 2 exist", "event NotReady", "KubeRay"),
    ("too few pods", "coscheduling", state(WAITING, [coscheduling(5)]), "the PodGroup wants 5 pods, and there are 3", "spec.minMember", "never updates it"),
    ("siblings", "coscheduling", state([pod("w0", says=SIBLINGS)], [coscheduling(1)]), SIBLINGS, "Pod w0, condition PodScheduled", "delete the PodGroup"),
    ("a gap", "coscheduling", state([pod("w0", says="resource gap: map[nvidia.com/gpu:8]")], [coscheduling(1)]), "resource gap", "Pod w0", "too small"),
    ("no scheduler", "coscheduling", state([pod("w0", scheduler="scheduler-plugins-scheduler")], [coscheduling(1)]), "1 of 1 pod waits, and no scheduler has looked at it", "pods of RayCluster llama", "scheduler-plugins-scheduler"),
    ("no PodGroup", "coscheduling", state([pod("w0", labels={"scheduling.x-k8s.io/pod-group": "llama"})]), "the PodGroup llama, and it is not there", "pods of llama", "KubeRay's log"),
    ("not all fit", "native", state(MEMBERS, [native(status=condition("PodGroupInitiallyScheduled", "False", "Unschedulable", MINIMUM))]), MINIMUM, "condition PodGroupInitiallyScheduled", "nodes"),
    ("not all fit in 1.36", "native", state(MEMBERS, [native(status=condition("PodGroupScheduled", "False", "Unschedulable", MINIMUM))]), MINIMUM, "condition PodGroupScheduled", "nodes"),
    ("too few pods", "native", state(MEMBERS, [native(5)]), "wants 5 pods, and 3 have been made", "minCount", "KubeRay"),
    ("outside", "native", state([*MEMBERS[:2], pod("w1")], [native()]), "1 of 3 pods is in no PodGroup", "Pod w1, spec.schedulingGroup", "delete these pods"),
    ("no PodGroup", "native", state(MEMBERS), "name the PodGroup llama, and it is not there", "spec.schedulingGroup", "create the PodGroup llama"),
    ("once placed, a lost pod waits alone", "native", state([*MEMBERS[:2], pod("w1", says=NO_GPU, spec=GROUPED)], [native(status=condition("PodGroupInitiallyScheduled", "True", "Scheduled"))]), "8 Insufficient nvidia.com/gpu", "Pod w1", "nodes"),
    ("half a gang", "none", state(STUCK), "2 of 3 pods wait; of 2 of them the scheduler says: 0/8 nodes are available: 8 Insufficient nvidia.com/gpu", "Pod w0, condition PodScheduled", "nodes"),
    ("no scheduler", "none", state([pod("w0", scheduler="volcano")]), "1 of 1 pod waits, and no scheduler has looked at it yet", "pods of RayCluster llama", "named volcano"),
    ("suspended", "none", state([], cluster={**CLUSTER, "spec": {"suspend": True}}), "is suspended", "field suspend", "who suspends"),
    ("refused pods", "none", state([], events=[event("RayCluster", "llama", "FailedToCreateHeadPod", "pods is forbidden: violates PodSecurity")]), "KubeRay could not make the pods: pods is forbidden", "event FailedToCreateHeadPod", "mend"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("scheduler", "found", "what", "where", "step"),
    [pytest.param(*case[1:], id=f"{case[1]}: {case[0]}") for case in CASES],
)
def test_what_blocks_where_it_stands_and_what_to_do(
    scheduler: str, found: State, what: str, where: str, step: str
) -> None:
    explanation = explain(scheduler, found)
    assert explanation.blocked
    assert what in explanation.what
    assert where in explanation.where
    assert step in explanation.next_step
    for words in (explanation.what, explanation.where, explanation.next_step):
        assert "\n" not in words
        assert not words.endswith(".")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_gang_that_runs_is_not_blocked(scheduler: str) -> None:
    objects = [volcano("Running"), kueue(conditions(*ADMITTED)), kai(), coscheduling(2), native(2)]
    found = explain(scheduler, state(RUNNING, objects))
    assert not found.blocked
    assert found.what == "all 2 pods have a node"


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_nothing_is_known_and_something_is_said(scheduler: str) -> None:
    assert explain(scheduler, state([])).what
    assert explain(scheduler, state(WAITING)).what


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_broken_objects_are_no_reason_to_fail(scheduler: str) -> None:
    broken = [
        {
            "apiVersion": api,
            "kind": kind,
            "metadata": None,
            "spec": 7,
            "status": {"conditions": "x", "schedulingConditions": [3]},
        }
        for api in (VOLCANO, NATIVE, "kueue.x-k8s.io/v1beta2", "scheduling.run.ai/v2", "scheduling.x-k8s.io/v1alpha1")
        for kind in ("PodGroup", "Workload", "Queue", "LocalQueue", "ClusterQueue")
    ]
    pods = [{"kind": "Pod", "metadata": {"name": 3, "labels": []}, "spec": None, "status": {"conditions": [None]}}]
    found = explain(scheduler, state(pods, broken, [{"regarding": 3, "series": []}, {}]))
    assert found.what


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_one_pod_is_no_pods(scheduler: str) -> None:
    one = [pod("w0")]
    tries = [
        state([pod("w0", "n0")], [kueue(conditions(*ADMITTED))]),
        state(one, [volcano("Inqueue", minMember=1), coscheduling(2), native(1)]),
        state([pod("tg-1", "n0"), *one]),
        state([], [coscheduling(1), native(1)]),
    ]
    for tried in tries:
        what = explain(scheduler, tried).what
        assert not re.search(r"\b1 [a-z]+s\b|\b1 of \d+ [a-z]+ (?:are|have|wait)\b|\b1 (?:are|have)\b", what), what
