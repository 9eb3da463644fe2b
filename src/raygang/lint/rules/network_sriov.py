"""NET: the SR-IOV operator's own objects, whether or not a Ray workload is beside them."""

from __future__ import annotations

from raygang.fabric.device_pools import POLICY, SRIOV, VFIO
from raygang.fabric.sriov_chain import OPERATED
from raygang.gang import Context
from raygang.lint.model import Edit, Found, Report, Rule, Unchecked
from raygang.lint.rules.network_words import sriov
from raygang.lint.rules.serve_words import nearest
from raygang.objects import Bundle, Manifest, Path, at, mapping, text

_OPERATOR = "SR-IOV network operator 1.4-1.6"
_TYPES = "sriov-network-operator api/v1/sriovnetworknodepolicy_types.go, sriovnetwork_types.go"


def _is(manifest: Manifest, *kinds: str) -> bool:
    return manifest.group == SRIOV and manifest.kind in kinds


def _fields(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    spec = mapping(manifest.data.get("spec"))
    if _is(manifest, POLICY):
        selector = mapping(spec.get("nicSelector"))
        yield from _pf_name(selector)
        for name in ("vendor", "deviceID"):
            value = selector.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                path = ("spec", "nicSelector", name)
                fix = (Edit("set", path, str(value)),) if isinstance(value, int) else ()
                because = "the API server refuses the object: it is hexadecimal, and has to be a text"
                yield Found(path, f"{name} is the number {value}", "put it in quotes", because, fix)
    elif _is(manifest, *OPERATED) and "metaPluginsConfig" in spec:
        field: Path = ("spec", "metaPluginsConfig")
        because = "the API server drops the field: no RDMA plugin runs, and the RDMA device stays on the node"
        move = () if "metaPlugins" in spec else (Edit("move", field, ("spec", "metaPlugins")),)
        yield Found(field, "there is no field metaPluginsConfig", "write metaPlugins", because, move, key=True)


def _pf_name(selector: object) -> Report:
    if at(selector, "pfName") is None:
        return
    path, value = ("spec", "nicSelector", "pfName"), at(selector, "pfName")
    because = "the API server drops the field: the policy selects every NIC that the others match"
    fix: tuple[Edit, ...] = ()
    if at(selector, "pfNames") is None and isinstance(value, list):
        fix = (Edit("move", path, ("spec", "nicSelector", "pfNames")),)
    yield Found(path, "there is no field pfName", "write pfNames, a list", because, fix, key=True)


def _policy(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    spec = mapping(manifest.data.get("spec"))
    if not _is(manifest, POLICY):
        return
    if spec.get("deviceType") == VFIO and spec.get("isRdma") is True:
        yield Found(("spec", "isRdma"), "isRdma is true, and deviceType is vfio-pci")
    name = text(spec.get("resourceName")) or ""
    if "/" in name:
        write = "write the name alone: the operator writes its prefix before it"
        yield Found(("spec", "resourceName"), f"resourceName is {name}, with a prefix", write)


def _network(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    name = text(at(manifest.data, "spec", "resourceName"))
    if not _is(manifest, *OPERATED) or not name:
        return
    path = ("spec", "resourceName")
    if "/" in name:
        plain = name.rpartition("/")[2]
        what, write = f"resourceName is {name}, with a prefix", f"write {plain}: the operator writes the prefix"
        yield Found(path, what, write, fix=(Edit("set", path, plain),))
        return
    policies = list(bundle.find(SRIOV, POLICY))
    known = [found for policy in policies if (found := text(at(policy.data, "spec", "resourceName")))]
    if not policies:
        yield Unchecked(f"the SriovNetworkNodePolicy with the resourceName {name}")
    elif name not in known:
        near = nearest(name, known)
        what = f"no policy has the resourceName {name}; there {'is' if len(set(known)) == 1 else 'are'} "
        what += ", ".join(sorted(set(known)))
        yield Found(path, what, f"write {near}" if near else "")


_REST = "numVfs: 8, nodeSelector: {}, nicSelector: {pfNames: [ens1f0]}"
_RAIL = sriov(POLICY, "rail0", f"resourceName: rail0, isRdma: true, {_REST}")

RULES = (
    Rule(
        code="NET013", name="sriov-field-unknown", severity="error",
        title="a field that the SR-IOV operator does not have",
        because="the API server drops it, and the object does something else than it says",
        why="The fields are called pfNames and metaPlugins. pfName and metaPluginsConfig stand in pages of the "
        "operator's own documentation. What a definition does not have is dropped when the object is stored, without "
        "an error.",
        write="write pfNames and metaPlugins", since=_OPERATOR, source=_TYPES,
        bad=sriov("SriovNetwork", "rail0", "resourceName: rail0, metaPluginsConfig: '{\"type\": \"rdma\"}'"),
        good=sriov("SriovNetwork", "rail0", "resourceName: rail0, metaPlugins: '{\"type\": \"rdma\"}'"),
        check_manifest=_fields,
    ),
    Rule(
        code="NET020", name="network-without-policy", severity="error",
        title="a network for a resource that no policy makes",
        because="pods of this network find no device: they stay pending, or do not start",
        why="An SriovNetwork names the resource that an SriovNetworkNodePolicy makes, without the operator's prefix.",
        write="write the policy's resourceName", since=_OPERATOR, source=f"{_TYPES}; api/v1/helper.go RenderNetAttDef",
        bad=_RAIL + "---\n" + sriov("SriovNetwork", "rail0", "resourceName: rail_0"),
        good=_RAIL + "---\n" + sriov("SriovNetwork", "rail0", "resourceName: rail0"),
        check_manifest=_network,
    ),
    Rule(
        code="NET034", name="policy-refused", severity="error",
        title="an SR-IOV policy that the operator refuses",
        because="the operator's webhook refuses the policy: no function is made",
        why="vfio-pci takes the function away from the kernel, and RDMA needs the kernel's driver.",
        write="write deviceType: netdevice, or isRdma: false",
        since=_OPERATOR, source="sriov-network-operator pkg/webhook/validate.go",
        bad=sriov(POLICY, "rail0", f"resourceName: rail0, isRdma: true, deviceType: vfio-pci, {_REST}"), good=_RAIL,
        check_manifest=_policy,
    ),
)  # fmt: skip
