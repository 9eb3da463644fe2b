"""From the networks that a pod names to the devices that are moved into it.

SR-IOV network operator 1.4-1.6, api/v1/helper.go RenderNetAttDef: an SriovNetwork, SriovIBNetwork or OVSNetwork
becomes a NetworkAttachmentDefinition of its name in networkNamespace (its own namespace where it has none), annotated
with the resource. Multus asks for a device of that resource from what the kubelet has given the pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from raygang.fabric.annotations import RESOURCE, Network
from raygang.fabric.device_pools import MELLANOX, SRIOV, Pool, operator_prefix, pools
from raygang.objects import Bundle, Manifest, Path, at, text

OPERATED = ("SriovNetwork", "SriovIBNetwork", "OVSNetwork")
_NAD = ("k8s.cni.cncf.io", "NetworkAttachmentDefinition")


@dataclass(frozen=True)
class Definition:
    """What a bundle says about a network.

    Attributes:
        manifest: who says so.
        path: where it names its resource.
        name: the resource behind the slash; None where the network needs no device.
        prefix: the resource before the slash; None where the bundle does not say it.
    """

    manifest: Manifest
    path: Path
    name: str | None
    prefix: str | None

    def takes(self, resource: str) -> bool:
        """Whether a resource of a pod may be what it needs."""
        prefix, _, name = resource.partition("/")
        return self.name == name and self.prefix in (None, prefix)

    @property
    def resource(self) -> str:
        """The resource as far as it is known."""
        return f"{self.prefix}/{self.name}" if self.prefix else self.name or ""


def definition(bundle: Bundle, network: Network) -> Definition | None:
    """What a bundle says about a network; None where it is not in it."""
    found = bundle.once(_definitions).get(network.name, ())
    return next((one for space, one in found if None in (space, network.namespace) or space == network.namespace), None)


def elsewhere(bundle: Bundle, network: Network) -> str | None:
    """The namespace of a network that has this name, where it is in others only."""
    found = bundle.once(_definitions).get(network.name, ())
    return next((space for space, _ in found if space), None) if definition(bundle, network) is None else None


def pool_of(bundle: Bundle, resource: str) -> Pool | None:
    """The pool that a resource of a pod is from, as far as the bundle has it; the worst of several."""
    found = [pool for pool in pools(bundle) if pool.offers(resource)]
    return min(found, key=lambda pool: (not pool.vfio, pool.rdma), default=None)


def _definitions(bundle: Bundle) -> dict[str, list[tuple[str | None, Definition]]]:
    found: dict[str, list[tuple[str | None, Definition]]] = {}
    for space, one in (*_attachments(bundle), *_operated(bundle)):
        found.setdefault(one.manifest.name, []).append((space, one))
    return found


def _attachments(bundle: Bundle) -> Iterator[tuple[str | None, Definition]]:
    for manifest in bundle.find(*_NAD):
        resource = text(manifest.annotations.get(RESOURCE)) or ""
        prefix, _, name = resource.rpartition("/")
        path: Path = ("metadata", "annotations", RESOURCE) if resource else ("metadata",)
        yield manifest.namespace, Definition(manifest, path, name or None, prefix or None)


def _operated(bundle: Bundle) -> Iterator[tuple[str | None, Definition]]:
    for kind in OPERATED:
        for manifest in bundle.find(SRIOV, kind):
            yield _space(manifest), _named(manifest, operator_prefix(bundle))
    for manifest in bundle.find(MELLANOX, "HostDeviceNetwork"):
        yield _space(manifest), _named(manifest, None)


def _named(manifest: Manifest, prefix: str | None) -> Definition:
    return Definition(manifest, ("spec", "resourceName"), text(at(manifest.data, "spec", "resourceName")), prefix)


def _space(manifest: Manifest) -> str | None:
    return text(at(manifest.data, "spec", "networkNamespace")) or manifest.namespace
