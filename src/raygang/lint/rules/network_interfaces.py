"""NET: the interfaces that NCCL and Gloo are told to use."""

from __future__ import annotations

from raygang.fabric import nccl_words as nccl
from raygang.lint.model import Case, Edit, Found, Report, Rule
from raygang.lint.rules.network_view import Ranks, ranks, value_path, variables
from raygang.lint.rules.network_words import NCCL, NCCL_DOCS, pods, service
from raygang.lint.rules.pods_view import gpus, label
from raygang.lint.rules.serve_shape import engines
from raygang.lint.rules.serve_traffic import called

_IFNAME, _GLOO = "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"
_ORDINARY = "write the interface of the ordinary network, with a = in front (=eth0, for example)"
_LOCAL = ("lo", "docker", "docker0", "virbr", "virbr0")


def _rdma(case: Case) -> Report:
    for one, variable, value in variables(case, _IFNAME):
        listed = nccl.names(value)
        found = [name for name in listed.names if nccl.is_ipoib(name)]
        if not found or listed.exclude or one.effective.certain:
            continue  # with RDMA it is for bootstrap only, which may well go over IPoIB
        what = f"{_IFNAME} of {label(one.group)} is {value}: {found[0]} is an IP interface, not RDMA"
        write = f"{_ORDINARY}; RDMA is a device of the pod, NCCL_NET: IB and NCCL_IB_HCA"
        path = value_path(one, variable)
        if one.network.several:
            yield Found(path, what, write, manifest=variable.manifest)
        else:
            because = f"there is no {found[0]} in a pod with the pods' network only: NCCL ends with an error"
            yield Found(path, what, write, because, severity="error", manifest=variable.manifest)


def _prefix(case: Case) -> Report:
    for one, variable, value in variables(case, _IFNAME):
        listed = nccl.names(value)
        if listed.exclude or not listed.widening or not one.network.several:
            continue
        name = listed.widening[0]
        what = f"{_IFNAME} of {label(one.group)} is {value}: it takes every interface whose name begins so"
        what += f", {name}.100 and {name}1 as well as {name}"
        path = value_path(one, variable)
        if any(nccl.is_ipoib(each) for each in listed.names):
            yield Found(path, what, _ORDINARY, manifest=variable.manifest)
            continue
        exact = nccl.exactly(value)
        fix = () if variable.manifest or path == variable.path else (Edit("set", path, exact),)
        yield Found(path, what, f"write {exact}", fix=fix, manifest=variable.manifest)


def _local(case: Case) -> Report:
    for one, variable, value in variables(case, _IFNAME, _GLOO):
        listed = nccl.names(value)
        if listed.names and not listed.exclude and all(name in _LOCAL for name in listed.names):
            if case.workload.pods < 2:
                continue
            what = f"{variable.name} of {label(one.group)} is {value}, which leads nowhere but into the pod or the node"
            yield Found(value_path(one, variable), what, _ORDINARY, manifest=variable.manifest)


def _gloo_form(case: Case) -> Report:
    for one, variable, value in variables(case, _GLOO):
        if not value.startswith(("=", "^")):
            continue
        path, plain = value_path(one, variable), value.lstrip("=")
        what = f"{_GLOO} of {label(one.group)} is {value}: Gloo knows no {value[0]}, and looks for that very name"
        if value.startswith("=") and "," not in plain and path != variable.path:
            yield Found(path, what, f"write {plain}", fix=(Edit("set", path, plain),))
        else:
            yield Found(path, what, "write the name of one interface", manifest=variable.manifest)


def _gloo(case: Case) -> Report:
    if not (any(engines(case)) or called(case)):
        return
    for one in ranks(case):
        if case.workload.pods < 2 or not gpus(one.container):
            continue
        if one.network.host and not one.network.may_have(_GLOO):
            what = f"{label(one.group)} has the node's interfaces, and no {_GLOO}"
            yield Found(one.env_path, what)
        elif one.network.several:
            yield from _differs(one)


def _differs(one: Ranks) -> Report:
    gloo, own = one.network.variables.get(_GLOO), one.network.value(_IFNAME)
    if gloo is None or not gloo.value or own is None:
        return
    listed = nccl.names(own)
    meets = any(gloo.value == name or (not listed.exact and gloo.value.startswith(name)) for name in listed.names)
    if gloo.value[0] not in "=^" and meets is listed.exclude and gloo.manifest is None:
        what = f"{_GLOO} of {label(one.group)} is {gloo.value}, and {_IFNAME} is {own}"
        because = "vLLM's CPU group and NCCL's control traffic take different networks, and need both"
        write = "write the same interface, unless this is meant"
        yield Found(value_path(one, gloo), what, write, because, severity="info")


_HOST = "hostNetwork: true"

RULES = (
    Rule(
        code="NET001", name="interface-is-rdma", severity="warning",
        title="an InfiniBand interface where NCCL wants an IP interface",
        because="NCCL's data goes over TCP (IP over InfiniBand), several times slower than RDMA, without an error",
        why="NCCL_SOCKET_IFNAME names IP interfaces: for bootstrap, and for TCP where there is no RDMA. It does not "
        "switch RDMA on: a device in the pod does, and NCCL_IB_HCA chooses among several. A pod that is not on the "
        "node's network has no ib0 at all, and NCCL takes the named interface or ends.",
        write=_ORDINARY, since=NCCL, source=f"{NCCL_DOCS} NCCL_SOCKET_IFNAME, NCCL_IB_HCA; src/misc/socket.cc",
        bad=pods({"NCCL_SOCKET_IFNAME": "ib0"}, spec=_HOST), good=pods({"NCCL_SOCKET_IFNAME": "=eth0"}, spec=_HOST),
        check=_rdma,
    ),
    Rule(
        code="NET002", name="interface-prefix", severity="warning",
        title="an interface's name that matches longer ones",
        because="NCCL also uses interfaces with longer names, such as VLANs, which need not reach the other nodes",
        why="Names match by their beginning: bond0 is bond0.100, too, and eth1 is eth10. A = in front of the list "
        "makes all its names whole ones.",
        write="write a = in front", since=NCCL, source=f"{NCCL_DOCS} NCCL_SOCKET_IFNAME; src/misc/utils.cc matchIf",
        bad=pods({"NCCL_SOCKET_IFNAME": "bond0"}, spec=_HOST), good=pods({"NCCL_SOCKET_IFNAME": "=bond0"}, spec=_HOST),
        check=_prefix,
    ),
    Rule(
        code="NET019", name="gloo-interface", severity="warning",
        title="nothing tells Gloo which of the node's interfaces to use",
        because="Gloo may take an address that other nodes do not reach, 127.0.1.1 for example: the engine ends when "
        "its ranks connect",
        why="vLLM has a second group of all ranks, on Gloo. Gloo takes the address that the host's name resolves to. "
        "In a pod of its own that is the pod's address; on the node's network it is what the node's /etc/hosts says.",
        write="add GLOO_SOCKET_IFNAME with the interface that NCCL_SOCKET_IFNAME names, without the =",
        since="PyTorch 1.x-2.x; vLLM 0.6-0.32",
        source="vLLM docs/usage/troubleshooting.md; vLLM issues 7074, 5094; aws-do-eks pull request 50",
        bad=service(pods(spec=_HOST)), good=service(pods({"GLOO_SOCKET_IFNAME": "eth0"}, spec=_HOST)),
        check=_gloo,
    ),
    Rule(
        code="NET024", name="gloo-interface-form", severity="error",
        title="a sign of NCCL's in Gloo's variable",
        because="Gloo finds no interface of that name, and the engine ends when its ranks connect",
        why="= and ^ are NCCL's. Gloo takes names of interfaces, whole ones, with commas between them.",
        write="write the name alone", since="PyTorch 1.x-2.x",
        source="PyTorch 2.x torch/csrc/distributed/c10d/ProcessGroupGloo.cpp createDeviceForInterface",
        bad=pods({"GLOO_SOCKET_IFNAME": "=eth0"}), good=pods({"GLOO_SOCKET_IFNAME": "eth0"}),
        check=_gloo_form,
    ),
    Rule(
        code="NET030", name="loopback-interface", severity="error",
        title="an interface that reaches no other pod",
        because="ranks in different pods do not reach each other: the engine waits, and ends with an error",
        why="lo and the bridges docker0 and virbr0 are there on every node, and none of them leads to another one. "
        "NCCL takes the interface that it is told, without a check.",
        write=_ORDINARY, since=NCCL, source=f"{NCCL_DOCS} NCCL_SOCKET_IFNAME",
        bad=pods({"NCCL_SOCKET_IFNAME": "lo"}), good=pods({"NCCL_SOCKET_IFNAME": "^lo,docker"}),
        check=_local,
    ),
)  # fmt: skip
