"""NET: what the SR-IOV operator's objects say of the kind of link and of RDMA, one against the other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raygang.fabric.device_pools import POLICY, SRIOV
from raygang.gang import Context
from raygang.lint.model import Found, Report, Rule
from raygang.lint.rules.network_words import sriov
from raygang.objects import Bundle, Manifest, at, text

_ETHERNET, _INFINIBAND = "SriovNetwork", "SriovIBNetwork"
_RDMA_PLUGIN = re.compile(r'"type"\s*:\s*"rdma"')


def _policies(manifest: Manifest, bundle: Bundle) -> Iterator[Manifest]:
    """Those that make the functions of a network."""
    name = text(at(manifest.data, "spec", "resourceName"))
    by_name = bundle.once(_by_resource)
    if manifest.group == SRIOV and manifest.kind in (_ETHERNET, _INFINIBAND) and name:
        yield from by_name.get(name, ())


def _by_resource(bundle: Bundle) -> dict[str, list[Manifest]]:
    found: dict[str, list[Manifest]] = {}
    for manifest in bundle.find(SRIOV, POLICY):
        name = text(at(manifest.data, "spec", "resourceName"))
        if name:
            found.setdefault(name, []).append(manifest)
    return found


def _link(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    for policy in _policies(manifest, bundle):
        link = (text(at(policy.data, "spec", "linkType")) or "").lower()
        wanted = {"ib": _INFINIBAND, "eth": _ETHERNET}.get(link, manifest.kind)
        if wanted != manifest.kind:
            what = f"this is an {manifest.kind}, and the policy {policy.name} has linkType {link}"
            yield Found(("kind",), what, f"write kind: {wanted}")
            return


def _rdma(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    modes = bundle.once(_modes)
    if len(modes) != 1 or not any(at(policy.data, "spec", "isRdma") is True for policy in _policies(manifest, bundle)):
        return
    (mode,) = modes
    plugin = _RDMA_PLUGIN.search(text(at(manifest.data, "spec", "metaPlugins")) or "")
    if mode == "exclusive" and not plugin:
        what = "rdmaMode is exclusive, and no plugin of type rdma moves the RDMA device into the pod"
        yield Found(("spec",), what, 'write metaPlugins: \'{"type": "rdma"}\'')
    elif mode == "shared" and plugin:
        what = "rdmaMode is shared, and the plugin of type rdma needs exclusive"
        because = "the plugin refuses to work: pods of this network do not start"
        yield Found(("spec", "metaPlugins"), what, "remove it, or write rdmaMode: exclusive", because)


def _modes(bundle: Bundle) -> frozenset[str]:
    """How the nodes share RDMA devices among network namespaces, as far as it is said."""
    found = (text(at(pool.data, "spec", "rdmaMode")) for pool in bundle.find(SRIOV, "SriovNetworkPoolConfig"))
    return frozenset(mode for mode in found if mode)


_OPERATOR = "SR-IOV network operator 1.4-1.6"


def _rail(fields: str) -> str:
    return sriov(POLICY, "rail0", f"resourceName: rail0, isRdma: true, {fields}") + "---\n"


_POOL = sriov("SriovNetworkPoolConfig", "workers", "rdmaMode: exclusive") + "---\n"
_PLUGIN = 'resourceName: rail0, metaPlugins: \'{"type": "rdma"}\''

RULES = (
    Rule(
        code="NET035", name="network-link-differs", severity="error",
        title="a network for the other kind of link",
        because="the plugin does not know such functions: pods of this network do not start",
        why="An SriovNetwork becomes a network of the plugin sriov, for Ethernet; an SriovIBNetwork one of ib-sriov, "
        "for InfiniBand. linkType of the policy says which the functions are.",
        write="write SriovIBNetwork for linkType ib, SriovNetwork for eth",
        since=_OPERATOR, source="sriov-network-operator api/v1/helper.go RenderNetAttDef",
        bad=_rail("linkType: ib") + sriov(_ETHERNET, "rail0", "resourceName: rail0"),
        good=_rail("linkType: ib") + sriov(_INFINIBAND, "rail0", "resourceName: rail0"),
        check_manifest=_link,
    ),
    Rule(
        code="NET036", name="rdma-plugin-mode", severity="error",
        title="the RDMA plugin and the nodes' mode do not go together",
        because="the RDMA device stays on the node: the pod has the interface, and NCCL finds no HCA",
        why="With rdmaMode exclusive an RDMA device belongs to one network namespace, and the plugin rdma moves it to "
        "the pod's. With shared all pods see all devices, and the plugin refuses to work.",
        write="write metaPlugins with the plugin rdma where rdmaMode is exclusive, and not where it is shared",
        since=_OPERATOR, source="rdma-cni README; sriov-network-operator api/v1/sriovnetworkpoolconfig_types.go",
        bad=_POOL + _rail("numVfs: 8") + sriov(_ETHERNET, "rail0", "resourceName: rail0"),
        good=_POOL + _rail("numVfs: 8") + sriov(_ETHERNET, "rail0", _PLUGIN),
        check_manifest=_rdma,
    ),
)  # fmt: skip
