"""NET: values of NCCL's variables that NCCL reads otherwise than they look."""

from __future__ import annotations

import re

from raygang.fabric import nccl_words as nccl
from raygang.lint.model import Case, Edit, Found, Report, Rule, Unchecked
from raygang.lint.rules.network_view import ranks, value_path, variables
from raygang.lint.rules.network_words import INTERFACE, NCCL, NCCL_DOCS, ib, pods
from raygang.lint.rules.pods_view import gpus, label
from raygang.lint.rules.ray_images import ray_image
from raygang.lint.rules.serve_words import nearest

_NUMBERS = ("NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_IB_TIMEOUT",
            "NCCL_NET_GDR_READ", "NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE", "NCCL_CROSS_NIC")  # fmt: skip
_MEANT = {
    "tcp": "Socket", "sockets": "Socket", "eth": "Socket", "ethernet": "Socket", "tcp/ip": "Socket",
    "infiniband": "IB", "rdma": "IB", "roce": "IB", "verbs": "IB", "ibverbs": "IB", "net/ib": "IB",
    "efa": "AWS Libfabric", "ofi": "AWS Libfabric", "aws-ofi-nccl": "AWS Libfabric",
}  # fmt: skip
_NETS = ("IB", "Socket", "gIB", "Libfabric", "AWS Libfabric")


def _number(case: Case) -> Report:
    for one, variable, value in variables(case, *_NUMBERS):
        if not nccl.is_number(value):
            what = f"{variable.name} of {label(one.group)} is {value}, which NCCL reads as 0"
            path = value_path(one, variable)
            meant = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}.get(value.lower())
            fix = (Edit("set", path, meant),) if meant and path != variable.path else ()
            yield Found(path, what, f"write {meant}" if meant else "", fix=fix, manifest=variable.manifest)


def _net(case: Case) -> Report:
    for one, variable, value in variables(case, "NCCL_NET"):
        known = nccl.transport(value)
        path, what = value_path(one, variable), f"NCCL_NET of {label(one.group)} is {value}"
        if known in ("gIB", "Libfabric"):
            places = ("LD_LIBRARY_PATH", "NCCL_NET_PLUGIN", "LD_PRELOAD")
            if ray_image(one.network.image) and not any(map(one.network.may_have, places)):
                what += f", and {one.network.image} does not have that plugin"
                yield Found(path, what, manifest=variable.manifest)
        elif known == "unknown":
            meant = _MEANT.get(value.strip().lower()) or nearest(value, _NETS)
            meant = "IB" if meant is None and re.match(r"mlx\d", value) else meant
            meant = "Socket" if meant is None and INTERFACE.match(value) else meant
            if meant:
                what += ", which is no network of NCCL's"
                yield Found(path, what, f"write {meant}", manifest=variable.manifest)
            else:
                yield Unchecked(f"whether the image has a plugin for NCCL with the network {value}")


def _p2p(case: Case) -> Report:
    for one, variable, value in variables(case, "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"):
        if nccl.number(value) and gpus(one.container) > 1:
            way = "NVLink and PCIe" if variable.name == "NCCL_P2P_DISABLE" else "shared memory"
            what = f"{variable.name}: {value} keeps the {gpus(one.container)} GPUs of {label(one.group)} from {way}"
            yield Found(value_path(one, variable), what, manifest=variable.manifest)


_KNOWN = frozenset({
    "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD", "NCCL_CROSS_NIC",
    "NCCL_IB_HCA", "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY",
    "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_SL", "NCCL_IB_TC", "NCCL_IB_DISABLE",
    "NCCL_IB_AR_THRESHOLD",
    "NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_PCI_RELAXED_ORDERING", "NCCL_IB_MERGE_NICS",
    "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_DEBUG",
    "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NCCL_TOPO_FILE", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE",
    "NCCL_BUFFSIZE", "NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE", "NCCL_TUNER_PLUGIN",
    "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_DMABUF_ENABLE", "NCCL_PXN_DISABLE", "NCCL_OOB_NET_IFNAME",
})  # fmt: skip
_SLIPS = {"NCCL_IFNAME": "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_INTERFACE": "NCCL_SOCKET_IFNAME",
          "NCCL_IB_DEVICES": "NCCL_IB_HCA", "NCCL_IB_DEVICE": "NCCL_IB_HCA", "NCCL_IB_ENABLE": "NCCL_NET: IB",
          "NCCL_IB_GDR_LEVEL": "NCCL_NET_GDR_LEVEL", "NCCL_IB_CUDA_SUPPORT": "NCCL_NET_GDR_LEVEL",
          "GLOO_IFNAME": "GLOO_SOCKET_IFNAME", "GLOO_IFACE": "GLOO_SOCKET_IFNAME"}  # fmt: skip


def _unknown(case: Case) -> Report:
    for one in ranks(case):
        for variable in one.network.variables.values():
            name = variable.name
            if name in _KNOWN or not name.startswith(("NCCL_", "GLOO_")) or variable.value is None:
                continue
            close = [known for known in _KNOWN if _differ_by_little(name, known)]
            meant = _SLIPS.get(name) or (close[0] if len(close) == 1 else None)
            if meant:
                what = f"nothing reads {name} of {label(one.group)}"
                yield Found(variable.path, what, f"write {meant}", manifest=variable.manifest)


def _differ_by_little(name: str, known: str) -> bool:
    """One letter too many or too few, or other dashes: more would find variables of plugins."""
    one, other = name.replace("_", ""), known.replace("_", "")
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return len(long) - len(short) == 1 and any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


_DEVICE = "rdma/ib: '1'"


RULES = (
    Rule(
        code="NET022", name="net-unknown", severity="error",
        title="a network that NCCL does not have",
        because="NCCL ends with an error: it finds no network of that name",
        why="NCCL_NET is the name that a network gives itself, in any case of letters. NCCL's own are IB (InfiniBand "
        "and RoCE) and Socket (TCP). Others come with a plugin in the image: AWS Libfabric for EFA, gIB on GKE.",
        write="write IB or Socket, or use an image that has the plugin, with LD_LIBRARY_PATH to it",
        since="NCCL 2.10-2.30", source=f"{NCCL_DOCS} NCCL_NET; src/plugin/net.cc",
        bad=pods({"NCCL_NET": "RoCE"}, _DEVICE), good=ib(),
        check=_net,
    ),
    Rule(
        code="NET026", name="nccl-number", severity="error",
        title="a word where NCCL reads a number",
        because="NCCL reads 0 and goes on: a switch that was to be on is off",
        why="NCCL hands the text to strtoll, which makes 0 of any word, true among them.",
        write="write a number: 1 for on, 0 for off", since=NCCL, source="NCCL 2.30 src/misc/param.cc ncclLoadParam",
        bad=pods({"NCCL_IB_DISABLE": "true"}), good=pods({"NCCL_IB_DISABLE": "1"}),
        check=_number,
    ),
    Rule(
        code="NET031", name="p2p-disabled", severity="warning",
        title="GPUs of a pod are kept from each other",
        because="the ranks of a pod talk by way of the node's memory or network, several times slower",
        why="Such variables are for finding faults, and stay behind. Tensor parallelism lives on NVLink.",
        write="remove it", since=NCCL, source=f"{NCCL_DOCS} NCCL_P2P_DISABLE, NCCL_SHM_DISABLE",
        bad=pods({"NCCL_P2P_DISABLE": "1"}), good=pods({"NCCL_P2P_DISABLE": "0"}),
        check=_p2p,
    ),
    Rule(
        code="NET033", name="unknown-nccl-variable", severity="warning",
        title="a variable that neither NCCL nor Gloo reads",
        because="nothing reads it: what it was to set keeps its default, without a word",
        why="NCCL looks its variables up by name and does not see others. Only names that are nearly one of NCCL's, or "
        "were one, are found here: plugins have variables of their own.",
        write="write the name that was meant", since="NCCL 2.30; PyTorch 2.x", source=NCCL_DOCS,
        bad=pods({"NCCL_SOCKET_IFNAMES": "=eth0"}), good=pods({"NCCL_SOCKET_IFNAME": "=eth0"}),
        check=_unknown,
    ),
)  # fmt: skip
