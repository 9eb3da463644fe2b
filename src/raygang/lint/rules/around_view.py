"""What other objects of a bundle see of a workload's pods: labels and totals.

Labels: KubeRay 1.4-1.7 ray-operator/controllers/ray/common/pod.go labelPod, BuildPod. The cluster of a RayService or a
RayJob is called after it, with five random characters behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from raygang.lint.rules.around_labels import UNKNOWN, Labelled, Labels, selects
from raygang.objects import Bundle, Group, Manifest, RayWorkload, mapping, ray_workloads, sequence, text

NODE_TYPE, CLUSTER, GROUP, SERVE = "ray.io/node-type", "ray.io/cluster", "ray.io/group", "ray.io/serve"
FIXED = (CLUSTER, GROUP, NODE_TYPE)  # labels that a template cannot change


@dataclass(frozen=True)
class Pods:
    """The pods of a group."""

    workload: RayWorkload
    group: Group

    @cached_property
    def labels(self) -> Labels:
        """Their labels, as far as KubeRay and the template give them."""
        name = self.workload.name if self.workload.kind == "RayCluster" else None
        kind = "head" if self.group.head else "worker"
        own: dict[str, Any] = {
            "ray.io/is-ray-node": "yes",
            "ray.io/identifier": f"{name}-{kind}" if name else UNKNOWN,
            "app.kubernetes.io/name": "kuberay",
            "app.kubernetes.io/created-by": "kuberay-operator",
        }
        own |= self.group.template_labels()
        own |= {CLUSTER: name or UNKNOWN, NODE_TYPE: kind, GROUP: self.group.name}
        if self.workload.kind == "RayService":
            own[SERVE] = UNKNOWN if self.group.head else "true"
        return own

    @property
    def namespace(self) -> str | None:
        """Their namespace."""
        return self.workload.manifest.namespace


@dataclass(frozen=True)
class There:
    """The workloads of a namespace, and their pods: all, and by the name of their workload."""

    every: list[RayWorkload] = field(default_factory=list)
    pods: list[Pods] = field(default_factory=list)
    workloads: dict[str, list[Pods]] = field(default_factory=dict)
    _counted: dict[str, tuple[int, int]] = field(default_factory=dict)

    @cached_property
    def labelled(self) -> Labelled[Pods]:
        """The pods by their labels."""
        return Labelled((pods, pods.labels) for pods in self.pods)

    def count(self, selector: Any) -> tuple[int, int]:
        """How many pods a label selector takes for certain, and how many of them are workers with GPUs."""
        known = repr(selector)
        if known not in self._counted:
            found = [pods for pods in self.labelled.having(selector) if selects(selector, pods.labels)]
            ranks = (pods.group.pods for pods in found if not pods.group.head and _has_gpus(pods))
            self._counted[known] = sum(pods.group.pods for pods in found), sum(ranks)
        return self._counted[known]

    @cached_property
    def totals(self) -> dict[str, dict[str, Decimal]]:
        """The `requests` and the `limits` of all workloads together, by resource."""
        found: dict[str, dict[str, Decimal]] = {"requests": {}, "limits": {}}
        for which, sums in found.items():
            for workload in self.every:
                for name, amount in total(workload, which).items():
                    sums[name] = sums.get(name, Decimal(0)) + amount
        return found

    @cached_property
    def largest(self) -> dict[str, list[tuple[Decimal, Pods]]]:
        """The limits of a pod with the pods that have them, by resource, the largest first."""
        found: dict[str, list[tuple[Decimal, Pods]]] = {}
        for pods in self.pods:
            for name, amount in amounts(pods.group, "limits").items():
                found.setdefault(name, []).append((amount, pods))
        for those in found.values():
            those.sort(key=lambda one: one[0], reverse=True)
        return found


def _has_gpus(pods: Pods) -> bool:
    return any("gpu" in name and amount for name, amount in pods.group.requests().items())


def all_pods(bundle: Bundle, beside: Manifest) -> There:
    """The pods of the workloads in the namespace of an object."""
    return bundle.once(_pods).get(beside.namespace) or There()


def _pods(bundle: Bundle) -> dict[str | None, There]:
    found: dict[str | None, There] = {}
    for workload in ray_workloads(bundle):
        there = found.setdefault(workload.manifest.namespace, There())
        there.every.append(workload)
        for pods in (Pods(workload, group) for group in workload.groups if group.pods):
            there.pods.append(pods)
            there.workloads.setdefault(workload.name, []).append(pods)
    return found


def total(workload: RayWorkload, which: str) -> dict[str, Decimal]:
    """What all pods of a workload ask for (`requests`) or are limited to (`limits`), by resource."""
    found: dict[str, Decimal] = {"pods": Decimal(workload.pods)}
    for group in workload.groups:
        for name, amount in amounts(group, which).items():
            found[name] = found.get(name, Decimal(0)) + amount * group.pods
    return found


def amounts(group: Group, which: str) -> dict[str, Decimal]:
    """The same of one pod."""
    if which == "requests":
        return group.requests()
    containers = sequence(group.pod.get("containers"))
    limits = {"containers": [{"resources": {"limits": _limits(container)}} for container in containers]}
    return Group(group.name, group.path, {"template": {"spec": limits}}, group.head).requests()


def _limits(container: Any) -> Mapping[str, Any]:
    return mapping(mapping(mapping(container).get("resources")).get("limits"))


def called(manifest: Manifest) -> str:
    """An object as messages call it."""
    return f"{manifest.kind} {text(manifest.name) or '(without a name)'}"
