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

from raygang.objects import Bundle, Group, Manifest, RayWorkload, mapping, ray_workloads, sequence, text

UNKNOWN = object()  # a label that is there, with a value that only the cluster knows
NODE_TYPE, CLUSTER, GROUP, SERVE = "ray.io/node-type", "ray.io/cluster", "ray.io/group", "ray.io/serve"
FIXED = (CLUSTER, GROUP, NODE_TYPE)  # labels that a template cannot change
Labels = Mapping[str, Any]


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
    """The pods of a namespace: all, by the name of their cluster, and by that of their workload."""

    pods: list[Pods] = field(default_factory=list)
    clusters: dict[Any, list[Pods]] = field(default_factory=dict)
    workloads: dict[str, list[Pods]] = field(default_factory=dict)

    def may_have(self, cluster: Any) -> list[Pods]:
        """The pods whose label ray.io/cluster may have a value."""
        known = self.clusters.get(cluster, []) if isinstance(cluster, str) else []
        return [*known, *self.clusters.get(UNKNOWN, ())]


def all_pods(bundle: Bundle, beside: Manifest) -> There:
    """The pods of the workloads in the namespace of an object."""
    return bundle.once(_pods).get(beside.namespace) or There()


def _pods(bundle: Bundle) -> dict[str | None, There]:
    found: dict[str | None, There] = {}
    for workload in ray_workloads(bundle):
        there = found.setdefault(workload.manifest.namespace, There())
        for pods in (Pods(workload, group) for group in workload.groups if group.pods):
            there.pods.append(pods)
            there.clusters.setdefault(pods.labels[CLUSTER], []).append(pods)
            there.workloads.setdefault(workload.name, []).append(pods)
    return found


def selects(selector: Any, labels: Labels) -> bool | None:
    """Whether a label selector takes pods with these labels; None where that cannot be told."""
    answers = [_same(labels, str(key), value) for key, value in mapping(mapping(selector).get("matchLabels")).items()]
    for expression in sequence(mapping(selector).get("matchExpressions")):
        key, values = str(mapping(expression).get("key")), sequence(mapping(expression).get("values"))
        answers.append(_expression(labels, key, str(mapping(expression).get("operator")), values))
    if False in answers:
        return False
    return None if None in answers else True


def _same(labels: Labels, key: str, value: Any) -> bool | None:
    have = labels.get(key)
    if have is UNKNOWN:
        return None
    return bool(have == value)


def _expression(labels: Labels, key: str, operator: str, values: Any) -> bool | None:
    have = labels.get(key)
    if operator in ("Exists", "DoesNotExist"):
        return (have is not None) == (operator == "Exists")
    if have is UNKNOWN or operator not in ("In", "NotIn"):
        return None
    return (have in values) == (operator == "In")


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
