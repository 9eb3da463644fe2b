"""Which device plugins of a bundle offer which devices: pools of SR-IOV functions, and shared RDMA devices.

SR-IOV network operator 1.4-1.6: the resource is RESOURCE_PREFIX of the operator's Deployment (main.go), a slash, and
resourceName of an SriovNetworkNodePolicy (api/v1/sriovnetworknodepolicy_types.go; isRdma is false and deviceType is
netdevice by default). sriov-network-device-plugin 3.7: "resourceList" in a ConfigMap, with --resource-prefix intel.com
where an entry has none. k8s-rdma-shared-dev-plugin 1.5: "configList", with the prefix rdma.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from raygang.objects import Bundle, Manifest, Path, at, mapping, sequence, text

SRIOV, MELLANOX = "sriovnetwork.openshift.io", "mellanox.com"
POLICY = "SriovNetworkNodePolicy"
VFIO = "vfio-pci"
_SHARED_PREFIX = "rdma"
_OPERATOR = "RESOURCE_PREFIX"


@dataclass(frozen=True)
class Pool:
    """Devices of one resource.

    Attributes:
        kind: whether a device is a function that one pod has, or shared by pods.
        name: of the resource, behind the slash.
        prefix: before the slash; None where the bundle does not say it.
        rdma: whether the plugin hands out the RDMA device with it.
        vfio: whether its driver is vfio-pci, which the kernel's network and RDMA do not see.
        manifest: who says so.
        path: where, as far as RDMA goes.
    """

    kind: Literal["function", "shared"]
    name: str
    prefix: str | None
    rdma: bool
    vfio: bool
    manifest: Manifest
    path: Path

    def offers(self, resource: str) -> bool:
        """Whether a pod's resource may be from here: it may, too, where the prefix is not known."""
        prefix, _, name = resource.partition("/")
        return name == self.name and self.prefix in (None, prefix)

    def __str__(self) -> str:
        return f"{self.prefix}/{self.name}" if self.prefix else self.name


def pools(bundle: Bundle) -> tuple[Pool, ...]:
    """All of a bundle."""
    return bundle.once(_pools)


def operator_prefix(bundle: Bundle) -> str | None:
    """What the SR-IOV operator writes before the slash; None where its Deployment is not in the bundle."""
    return bundle.once(_prefix)


def _prefix(bundle: Bundle) -> str | None:
    for manifest in bundle.find("apps", "Deployment"):
        for container in sequence(at(manifest.data, "spec", "template", "spec", "containers")):
            for entry in sequence(at(container, "env")):
                if at(entry, "name") == _OPERATOR and "sriov" in manifest.name:
                    return text(at(entry, "value")) or None
    return None


def _pools(bundle: Bundle) -> tuple[Pool, ...]:
    return (*_policies(bundle), *_of_config_maps(bundle), *_of_network_operator(bundle))


def _policies(bundle: Bundle) -> Iterator[Pool]:
    for manifest in bundle.find(SRIOV, POLICY):
        spec = mapping(manifest.data.get("spec"))
        name, vfio = text(spec.get("resourceName")), spec.get("deviceType") == VFIO
        if name:
            path: Path = ("spec", "deviceType") if vfio else ("spec", "isRdma") if "isRdma" in spec else ("spec",)
            rdma = spec.get("isRdma") is True
            yield Pool("function", name, operator_prefix(bundle), rdma, vfio, manifest, path)


def _of_config_maps(bundle: Bundle) -> Iterator[Pool]:
    for manifest in bundle.find("", "ConfigMap"):
        for key, raw in mapping(manifest.data.get("data")).items():
            if isinstance(raw, str) and ("resourceList" in raw or "configList" in raw):
                yield from _configured(manifest, ("data", key), raw)


def _of_network_operator(bundle: Bundle) -> Iterator[Pool]:
    for manifest in bundle.find(MELLANOX, "NicClusterPolicy"):
        for plugin in ("rdmaSharedDevicePlugin", "sriovDevicePlugin"):
            raw = at(manifest.data, "spec", plugin, "config")
            if isinstance(raw, str):
                yield from _configured(manifest, ("spec", plugin, "config"), raw)


def _configured(manifest: Manifest, path: Path, raw: str) -> Iterator[Pool]:
    try:
        config = json.loads(raw)
    except ValueError:
        return
    for entry in (mapping(item) for item in sequence(at(config, "configList"))):
        name = text(entry.get("resourceName"))
        if name:
            prefix = text(entry.get("resourcePrefix")) or _SHARED_PREFIX
            yield Pool("shared", name, prefix, rdma=True, vfio=False, manifest=manifest, path=path)
    for entry in (mapping(item) for item in sequence(at(config, "resourceList"))):
        name = text(entry.get("resourceName"))
        if name:
            rdma, vfio = _is_rdma(entry), VFIO in _drivers(entry)
            yield Pool("function", name, text(entry.get("resourcePrefix")) or None, rdma, vfio, manifest, path)


def _selectors(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """One or several, as versions of the plugin have it."""
    found = entry.get("selectors")
    yield from (mapping(item) for item in (found if isinstance(found, list) else (found,)))


def _is_rdma(entry: Mapping[str, Any]) -> bool:
    """isRdma stands beside the selectors up to version 3.2 of the plugin, and in them later."""
    return entry.get("isRdma") is True or any(selector.get("isRdma") is True for selector in _selectors(entry))


def _drivers(entry: Mapping[str, Any]) -> set[Any]:
    return {driver for selector in _selectors(entry) for driver in sequence(selector.get("drivers")) if str(driver)}
