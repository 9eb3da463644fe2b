"""Ray clusters as KubeRay reads them: head and worker groups with the number of pods that it makes of each.

KubeRay 1.4-1.7, ray-operator/controllers/ray/utils/util.go: a worker group has clamp(replicas, minReplicas,
maxReplicas) x numOfHosts pods, none when it is suspended; the CRD's defaults are replicas 0, minReplicas 0,
maxReplicas 2147483647 and numOfHosts 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from raygang.objects.bundle import Bundle, Manifest
from raygang.objects.fields import Path, at, count, mapping, quantity, sequence, text

HEAD = "headgroup"  # KubeRay's own name of the head's group
MAX_REPLICAS = 2**31 - 1
_CLUSTER: dict[str, Path] = {
    "RayCluster": ("spec",),
    "RayService": ("spec", "rayClusterConfig"),
    "RayJob": ("spec", "rayClusterSpec"),
}


@dataclass(frozen=True)
class Group:
    """The head or a group of workers.

    Attributes:
        name: its groupName; `headgroup` for the head.
        path: where it stands in its manifest.
        data: what stands there.
        head: whether it is the head.
    """

    name: str
    path: Path
    data: Mapping[str, Any]
    head: bool

    @property
    def hosts(self) -> int:
        """Pods of each replica."""
        return 1 if self.head else max(1, count(self.data.get("numOfHosts"), 1))

    @property
    def pods(self) -> int:
        """Pods that KubeRay makes."""
        if self.head:
            return 1
        if self.data.get("suspend") is True:
            return 0
        replicas = count(self.data.get("replicas"), 0)
        return max(0, min(max(replicas, self._min), count(self.data.get("maxReplicas"), MAX_REPLICAS))) * self.hosts

    @property
    def min_pods(self) -> int:
        """Pods that KubeRay keeps when the autoscaler takes all that it may."""
        return 1 if self.head else max(0, self._min) * self.hosts

    @property
    def _min(self) -> int:
        return count(self.data.get("minReplicas"), 0)

    @cached_property
    def template(self) -> Mapping[str, Any]:
        """The pod template."""
        return mapping(self.data.get("template"))

    @cached_property
    def pod(self) -> Mapping[str, Any]:
        """The pod template's spec."""
        return mapping(self.template.get("spec"))

    def at(self, *path: str | int) -> Path:
        """The path of a field of this group."""
        return (*self.path, *path)

    def template_labels(self) -> Mapping[str, Any]:
        """Labels of its pods."""
        return mapping(at(self.template, "metadata", "labels"))

    def template_annotations(self) -> Mapping[str, Any]:
        """Annotations of its pods."""
        return mapping(at(self.template, "metadata", "annotations"))

    def requests(self) -> dict[str, Decimal]:
        """What a pod asks for, by resource: the sum over its containers, a limit where no request is."""
        total: dict[str, Decimal] = {}
        for container in sequence(self.pod.get("containers")):
            limits, requests = (mapping(at(container, "resources", which)) for which in ("limits", "requests"))
            for name, value in {**limits, **requests}.items():
                total[name] = total.get(name, Decimal(0)) + (quantity(value) or 0)
        return total


@dataclass(frozen=True)
class RayWorkload:
    """A RayCluster, RayService or RayJob, and the cluster in it."""

    manifest: Manifest
    path: Path

    @property
    def kind(self) -> str:
        """RayCluster, RayService or RayJob."""
        return self.manifest.kind

    @property
    def name(self) -> str:
        """metadata.name."""
        return self.manifest.name

    @cached_property
    def cluster(self) -> Mapping[str, Any]:
        """The cluster's spec."""
        return mapping(at(self.manifest.data, *self.path))

    @property
    def autoscaling(self) -> bool:
        """Whether Ray's autoscaler changes the number of pods."""
        return self.cluster.get("enableInTreeAutoscaling") is True

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The head, then the groups of workers."""
        head = Group(HEAD, (*self.path, "headGroupSpec"), mapping(self.cluster.get("headGroupSpec")), head=True)
        specs = enumerate(sequence(self.cluster.get("workerGroupSpecs")))
        workers = (
            Group(text(at(spec, "groupName")) or "", (*self.path, "workerGroupSpecs", i), mapping(spec), head=False)
            for i, spec in specs
        )
        return (head, *workers)

    @property
    def pods(self) -> int:
        """Pods that KubeRay makes, the head included."""
        return sum(group.pods for group in self.groups)


def ray_workloads(bundle: Bundle) -> Iterator[RayWorkload]:
    """Every Ray cluster of a bundle that KubeRay would make pods of; a RayJob that uses another cluster has none."""
    return iter(bundle.once(_workloads))


def _workloads(bundle: Bundle) -> list[RayWorkload]:
    found = []
    for manifest in bundle.manifests:
        path = _CLUSTER.get(manifest.kind) if manifest.group == "ray.io" else None
        if path and isinstance(at(manifest.data, *path), Mapping):
            found.append(RayWorkload(manifest, path))
    return found
