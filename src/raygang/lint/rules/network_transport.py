"""NET: the transport that NCCL would pick, against the one that was meant."""

from __future__ import annotations

from raygang.fabric import nccl_words as nccl
from raygang.fabric.pod_devices import mounts
from raygang.fabric.pod_network import Variable
from raygang.fabric.sriov_chain import definition
from raygang.lint.model import Case, Found, Report, Rule, Severity, Unchecked
from raygang.lint.rules.network_view import Ranks, ranks, value_path
from raygang.lint.rules.network_words import NCCL, NCCL_DOCS, pods
from raygang.lint.rules.pods_view import label

_DISABLE, _NET = "NCCL_IB_DISABLE", "NCCL_NET"
_GIVE = (
    "ask for a device in resources.limits; kubectl get nodes -o json | jq '.items[].status.allocatable' shows what the "
    "nodes have"
)


def off(one: Ranks) -> Variable | None:
    """The variable that keeps NCCL from RDMA."""
    disable, net = one.network.variables.get(_DISABLE), one.network.variables.get(_NET)
    if disable and disable.value and nccl.number(disable.value):
        return disable
    return net if net and net.value and nccl.transport(net.value) == "Socket" else None


def _no_device(case: Case) -> Report:
    for one in ranks(case):
        found = one.effective
        if not found.without_device or not found.meant or off(one) or any(mounts(one.network)):
            continue
        if any(_may_need_device(one)):
            yield Unchecked("whether the network-resources-injector runs, which gives pods their networks' resources")
            continue
        said = found.meant[0]
        what = f"{said.text} asks for RDMA, and {label(one.group)} has no device for it: "
        what += next((c.text for c in found.causes if "rdma" in c.text.lower()), f"{found.causes[0].text}")
        because = "NCCL finds no network and ends with an error" if found.fails else ""
        yield Found(said.path, what, because=because, manifest=said.manifest)


def _may_need_device(one: Ranks) -> list[str]:
    """Networks of a pod that may bring their resource: those that need one, and those that the bundle does not have."""
    found = ((each, definition(one.network.bundle, each)) for each in one.network.networks)
    return [str(each) for each, known in found if known is None or known.name]


def _open(case: Case) -> Report:
    for one in ranks(case):
        found = one.effective
        kinds = {device.kind for device in found.devices if device.rdma is not False}
        if not kinds - {"unknown"} or one.network.may_have(_NET) or off(one):
            continue
        net, names = "AWS Libfabric" if "efa" in kinds else "IB", [device.resource.name for device in found.devices]
        what = f"{label(one.group)} has {' and '.join(names)}, and no {_NET} that says to use it for RDMA"
        yield Found(one.env_path, what, f"add {_NET}: {net}")


def _disabled(case: Case) -> Report:
    for one in ranks(case):
        found, switch = one.effective, off(one)
        if switch is None or not found.verbs or _fails(one, switch):
            continue
        device = next(d for d in found.devices if d.kind in ("function", "shared") and d.rdma is not False)
        what = f"{switch.name}: {switch.value} keeps {label(one.group)} from the device that it has, "
        what += device.resource.name
        severity: Severity | None = None if found.certain else "warning"
        yield Found(value_path(one, switch), what, severity=severity, manifest=switch.manifest)


def _fails(one: Ranks, switch: Variable) -> bool:
    return switch.name == _DISABLE and nccl.transport(one.network.value(_NET) or "") == "IB"


def _contradiction(case: Case) -> Report:
    for one in ranks(case):
        switch = off(one)
        if switch is not None and _fails(one, switch):
            what = f"{_NET} is {one.network.value(_NET)}, and {_DISABLE} {switch.value} switches that off"
            yield Found(value_path(one, switch), what, "remove one of the two", manifest=switch.manifest)
        elif switch is not None and not one.effective.verbs:
            yield from _inert(one, switch)
        plugin = one.network.variables.get("NCCL_NET_PLUGIN")
        net = one.network.value(_NET) or ""
        if plugin and (plugin.value or "").lower() == "none" and nccl.transport(net) in ("Libfabric", "gIB"):
            what = f"{_NET} is {net}, a plugin's network, and NCCL_NET_PLUGIN is none"
            yield Found(value_path(one, plugin), what, "remove NCCL_NET_PLUGIN", manifest=plugin.manifest)


def _inert(one: Ranks, switch: Variable) -> Report:
    for variable in one.network.variables.values():
        if variable.name.startswith("NCCL_IB_") and variable.name != _DISABLE and variable.value:
            what = f"{variable.name} of {label(one.group)} does nothing beside {switch.name}: {switch.value}"
            because = "it reads as if there were RDMA, and there is none"
            yield Found(
                value_path(one, variable), what, "remove one of the two", because, severity="warning",
                manifest=variable.manifest,
            )  # fmt: skip


_DEVICE = "rdma/ib: '1'"
_IB = {"NCCL_NET": "IB"}

RULES = (
    Rule(
        code="NET003", name="rdma-without-device", severity="error",
        title="RDMA is asked for, and no device for it is there",
        because="NCCL finds no RDMA device, goes over TCP, several times slower, and says so in its log only",
        why="NCCL's variables choose among devices and do not bring one. /dev/infiniband/uverbs* gets into a container "
        "by the resource of a device plugin, by a claim, or because the container is privileged. hostNetwork shows the "
        "node's interfaces, and none of its devices.",
        write=_GIVE, since=NCCL, source="NCCL 2.30 src/transport/net_ib/init.cc; k8s-rdma-shared-dev-plugin 1.5",
        bad=pods(_IB), good=pods(_IB, _DEVICE),
        check=_no_device,
    ),
    Rule(
        code="NET004", name="transport-open", severity="info",
        title="nothing holds NCCL to RDMA",
        because="where the device does not work NCCL goes over TCP, several times slower, and says so in its log only",
        why="With NCCL_NET NCCL takes that network or ends with an error, which is seen at once.",
        write="add NCCL_NET", since="NCCL 2.10-2.30", source=f"{NCCL_DOCS} NCCL_NET",
        bad=pods({"NCCL_NET": ""}, _DEVICE), good=pods(_IB, _DEVICE),
        check=_open,
    ),
    Rule(
        code="NET005", name="ib-disabled", severity="error",
        title="a device for RDMA, and a variable that switches RDMA off",
        because="NCCL goes over TCP, and the device is reserved for nothing",
        why="NCCL_IB_DISABLE with a number other than 0 takes NCCL's transport IB away, for InfiniBand and RoCE alike, "
        "and NCCL_NET: Socket allows TCP only.",
        write="remove it, and write NCCL_NET: IB; or do without the device",
        since=NCCL, source=f"{NCCL_DOCS} NCCL_IB_DISABLE, NCCL_NET",
        bad=pods({"NCCL_IB_DISABLE": "1"}, _DEVICE), good=pods({"NCCL_NET": "IB", "NCCL_IB_DISABLE": "0"}, _DEVICE),
        check=_disabled,
    ),
    Rule(
        code="NET021", name="transport-contradiction", severity="error",
        title="variables of NCCL that contradict each other",
        because="NCCL finds no network that it may use, and ends with an error",
        why="NCCL_NET is what NCCL must use. What takes that very network away leaves none.",
        write="remove one of them", since=NCCL, source=f"{NCCL_DOCS} NCCL_NET, NCCL_IB_DISABLE; src/plugin/net.cc",
        bad=pods({"NCCL_NET": "IB", "NCCL_IB_DISABLE": "1"}, _DEVICE), good=pods(_IB, _DEVICE),
        check=_contradiction,
    ),
)  # fmt: skip
