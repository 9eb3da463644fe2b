"""Kueue's queues and configuration among the manifests (0.17-0.20).

A resource that a pod asks for and no resource group covers makes the workload inadmissible (flavorassigner.go:783),
unless the configuration leaves it out (resources.excludeResourcePrefixes, configuration_types.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import yaml

from raygang.gang import _kuberay as kuberay
from raygang.gang._kueue_topology import asks_for_topology
from raygang.gang.model import Cause, Unseen
from raygang.objects import Bundle, Manifest, RayWorkload, at, mapping, quantity, sequence, text

GROUP = "kueue.x-k8s.io"
CONFIG_GROUP = "config.kueue.x-k8s.io"
_PLAIN = ("cpu", "memory")
_ACCELERATOR = "gpu"


def cluster_queue(
    workload: RayWorkload, bundle: Bundle, local: Manifest, need: dict[str, Decimal]
) -> Iterator[Cause | Unseen]:
    """Whether the ClusterQueue behind a LocalQueue covers the gang and has room for it."""
    name = text(at(local.data, "spec", "clusterQueue")) or ""
    found = next(iter(bundle.named(GROUP, "ClusterQueue", name)), None)
    if found is None:
        yield Unseen("kueue-uncovered-resource", f"the ClusterQueue {name}, which is not among these manifests")
        return
    quotas = _quotas(found)
    yield from _uncovered(workload, bundle, found, set(quotas))
    if at(found.data, "spec", "cohortName") or at(found.data, "spec", "cohort"):
        return  # it may borrow
    for resource, most in quotas.items():
        if need.get(resource, Decimal(0)) > most:
            asked, has = (f"{value.normalize():f}" for value in (need[resource], most))
            why = (
                f"the {workload.kind} {workload.name} needs {asked} {resource} at once, and the ClusterQueue {name} "
                f"has {has} in all: the gang is never admitted"
            )
            path = ("spec", "resourceGroups")
            yield Cause("queue-too-small", path, why, f"raise nominalQuota to {asked} or more", manifest=found)


def _quotas(queue: Manifest) -> dict[str, Decimal]:
    """What a ClusterQueue has of each covered resource, over all flavours."""
    total: dict[str, Decimal] = {}
    for group in sequence(at(queue.data, "spec", "resourceGroups")):
        for resource in sequence(at(group, "coveredResources")):
            if isinstance(resource, str):
                total.setdefault(resource, Decimal(0))
        for flavour in sequence(at(group, "flavors")):
            for entry in sequence(at(flavour, "resources")):
                name, value = text(at(entry, "name")), quantity(at(entry, "nominalQuota"))
                if name is not None and value is not None:
                    total[name] = total.get(name, Decimal(0)) + value
    return total


def _uncovered(workload: RayWorkload, bundle: Bundle, queue: Manifest, covered: set[str]) -> Iterator[Cause]:
    excluded = tuple(str(p) for p in sequence(at(configuration(bundle), "resources", "excludeResourcePrefixes")))
    seen: set[str] = set()
    for group in workload.groups:
        for resource, value in group.requests().items():
            if not value or resource in covered | seen or resource.startswith(excluded or "\0"):
                continue
            seen.add(resource)
            why = (
                f"pods of {group.name} ask for {resource}, which the ClusterQueue {queue.name} does not cover: Kueue "
                "never admits the workload"
            )
            advice = f"add {resource} to coveredResources with a quota, or to excludeResourcePrefixes of Kueue"
            certain = resource in _PLAIN or _ACCELERATOR in resource
            path = group.at("template", "spec", "containers", 0, "resources")
            yield Cause("kueue-uncovered-resource", path, why, advice, "error" if certain else "warning")


def placement(workload: RayWorkload, bundle: Bundle) -> Iterator[Cause | Unseen]:
    """Quota is a sum: without topology and without waitForPodsReady nothing takes half a gang back."""
    lacking = [g for g in workload.groups[1:] if g.pods and not asks_for_topology(g)]
    if not lacking:
        return
    found = configuration(bundle)
    if found is None:
        yield Unseen("kueue-not-gang", "Kueue's Configuration (waitForPodsReady)")
    elif not mapping(at(found, "waitForPodsReady")):
        why = (
            f"Kueue counts sums, not places: {lacking[0].name} may be admitted where not all of its pods fit, and "
            "without waitForPodsReady nothing takes them back"
        )
        advice = "set waitForPodsReady in Kueue's Configuration, or a topology on the pod templates"
        yield Cause("kueue-not-gang", (*kuberay.LABELS, f"{GROUP}/queue-name"), why, advice, "warning")


def configuration(bundle: Bundle) -> Any:
    """Kueue's Configuration, from its ConfigMap; None where the manifests have none."""
    return bundle.once(_configuration)


def _configuration(bundle: Bundle) -> Any:
    for config_map in bundle.find("", "ConfigMap"):
        for value in mapping(config_map.data.get("data")).values():
            if isinstance(value, str) and CONFIG_GROUP in value:
                try:
                    return yaml.safe_load(value)
                except (yaml.YAMLError, ValueError, RecursionError):
                    continue
    return None
