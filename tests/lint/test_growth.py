"""The work of linting grows as the bundle does: nothing looks through all objects for each of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from copy import deepcopy
from types import FrameType
from typing import Any

import pytest

from raygang.lint import Source, lint
from tests.lint.base import BASES

Object = dict[str, Any]
LABELS = ("volcano.sh/queue-name", "kueue.x-k8s.io/queue-name", "kai.scheduler/queue")
GANGS: tuple[Object, ...] = (
    {"labels": {"raygang.dev/gang": "NAME"}},
    {"labels": {"scheduling.x-k8s.io/pod-group": "NAME"}},
    {"annotations": {"scheduling.k8s.io/group-name": "NAME"}},
)


def workload(name: str, number: int) -> Object:
    """One with a gang of some kind, and references to objects of its own."""
    found: Object = deepcopy(BASES["RayCluster" if number % 2 else "RayService"])
    gangs = number // 2 % (len(LABELS) + len(GANGS))
    found["metadata"] |= {"name": name, "labels": {LABELS[gangs]: name} if gangs < len(LABELS) else {}}
    cluster = found["spec"].get("rayClusterConfig", found["spec"])
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pods = group["template"]
        if gangs >= len(LABELS):
            pods["metadata"] = json.loads(json.dumps(GANGS[gangs - len(LABELS)]).replace("NAME", name))
            pods["spec"]["schedulerName"] = "volcano"
        reference = {"secretKeyRef": {"name": name, "key": "a"}}, {"configMapKeyRef": {"name": name, "key": "b"}}
        pods["spec"]["containers"][0]["env"] += [{"name": f"X{i}", "valueFrom": r} for i, r in enumerate(reference)]
        pods["spec"].setdefault("volumes", []).append({"name": "m", "persistentVolumeClaim": {"claimName": name}})
        pods["spec"]["hostNetwork"] = True
    return found


def thing(api: str, kind: str, name: str, spec: Object | None = None, **rest: Any) -> Object:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": "models"},
        "spec": spec or {},
        **rest,
    }


def beside(name: str) -> Iterator[Object]:
    """Objects that rules look for, or that look for pods."""
    mine = {"matchLabels": {"ray.io/cluster": name}}
    port = [{"port": 8000}]
    yield thing("v1", "ConfigMap", name, data={"a": "1"})
    yield thing("v1", "Secret", name, stringData={"a": "1"})
    yield thing("v1", "PersistentVolumeClaim", name, {"accessModes": ["ReadWriteMany"]})
    yield thing("v1", "Namespace", name)
    yield thing("v1", "Service", name, {"selector": mine["matchLabels"], "ports": port})
    yield thing("v1", "Service", f"{name}-none", {"selector": {"ray.io/node-type": "nothing"}, "ports": port})
    policy = {"podSelector": mine, "policyTypes": ["Ingress"]}
    yield thing("networking.k8s.io/v1", "NetworkPolicy", name, {**policy, "ingress": [{"ports": port}]})
    yield thing(
        "networking.k8s.io/v1", "NetworkPolicy", f"{name}-2", {**policy, "ingress": [{"from": [{"podSelector": mine}]}]}
    )
    for number, selector in enumerate(({}, mine)):
        yield thing("policy/v1", "PodDisruptionBudget", f"{name}-{number}", {"maxUnavailable": 0, "selector": selector})
    yield thing("v1", "ResourceQuota", name, {"hard": {"requests.nvidia.com/gpu": "1000000"}})
    yield thing("v1", "LimitRange", name, {"limits": [{"type": "Pod", "max": {"memory": "4Ti"}}]})
    yield thing("scheduling.volcano.sh/v1beta1", "Queue", name)
    yield thing("scheduling.run.ai/v2", "Queue", name)
    yield thing("kueue.x-k8s.io/v1beta2", "LocalQueue", name, {"clusterQueue": name})
    yield thing("kueue.x-k8s.io/v1beta2", "ClusterQueue", name)
    for group in ("scheduling.volcano.sh", "scheduling.x-k8s.io", "scheduling.k8s.io"):
        policies = {"gang": {"minCount": 3}}
        yield thing(f"{group}/v1beta1", "PodGroup", name, {"minMember": 3, "schedulingPolicy": policies})
    yield thing("apps/v1", "Deployment", name)


def calls(texts: list[Source]) -> int:
    """Calls of functions until all is linted: what it costs, whatever else the machine does."""
    count = 0

    def one(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(one)
    try:
        lint(texts)
    finally:
        sys.setprofile(before)
    return count


def bundle(count: int, *, files: int) -> list[Source]:
    objects: list[list[Object]] = [[] for _ in range(files)]
    for number in range(count):
        name = f"llama-{number}"
        objects[number % files] += [workload(name, number), *beside(name)]
    return [
        Source(f"{number}.yaml", "\n---\n".join(json.dumps(one) for one in those))
        for number, those in enumerate(objects)
    ]


@pytest.mark.parametrize("files", [1, 12])
def test_twice_as_many_objects_are_twice_the_work(files: int) -> None:
    lint(bundle(12, files=files))  # tables are read once
    small, large = (calls(bundle(count, files=files)) for count in (24, 48))
    assert large < 2.02 * small
