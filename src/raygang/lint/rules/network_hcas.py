"""NET: which HCAs NCCL is to use, and how."""

from __future__ import annotations

import re

from raygang.fabric import nccl_words as nccl
from raygang.lint.model import Case, Edit, Found, Report, Rule, Unchecked
from raygang.lint.rules.network_view import value_path, variables
from raygang.lint.rules.network_words import INTERFACE, NCCL, NCCL_DOCS, ib
from raygang.lint.rules.pods_view import label
from raygang.lint.rules.serve_words import ray_of
from raygang.objects import Version

_HCA, _GID, _LEVEL = "NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_NET_GDR_LEVEL"
_LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")  # NCCL 2.30 src/graph/topo.cc
_ALL_OF_THEM = re.compile(r"^mlx\d\Z|(?:^|\D)0\Z", re.ASCII)  # a driver's whole name, or a number that none begins with
_DYNAMIC_GID = Version(2, 44)  # of Ray: its ray-llm images have vLLM 0.7 or later, torch 2.5 and NCCL 2.21


def _prefix(case: Case) -> Report:
    for one, variable, value in variables(case, _HCA):
        wide = [name for name in nccl.names(value).widening if not _ALL_OF_THEM.search(name)]
        if not wide:
            continue
        what = f"{_HCA} of {label(one.group)} is {value}: {wide[0]} is {wide[0]}0 to {wide[0]}9, too"
        path, exact = value_path(one, variable), nccl.exactly(value)
        fix = () if variable.manifest or path == variable.path else (Edit("set", path, exact),)
        yield Found(path, what, f"write {exact}", fix=fix, manifest=variable.manifest)


def _interface(case: Case) -> Report:
    for one, variable, value in variables(case, _HCA):
        listed = nccl.names(value)
        found = [name for name in listed.names if INTERFACE.match(name)]
        if found and not listed.exclude:
            what = f"{_HCA} of {label(one.group)} is {value}: {found[0]} is an interface, no HCA"
            yield Found(value_path(one, variable), what, manifest=variable.manifest)


def _gid(case: Case) -> Report:
    for one, variable, value in variables(case, _GID):
        if nccl.number(value) < 0:
            continue
        version = ray_of(case)
        if version is not None and version < _DYNAMIC_GID:
            yield Unchecked("NCCL's version in the image: from 2.21 on it finds the GID itself")
            continue
        what = f"{_GID} of {label(one.group)} is {value}, on every node and for every peer"
        yield Found(value_path(one, variable), what, manifest=variable.manifest)


def _level(case: Case) -> Report:
    for one, variable, value in variables(case, _LEVEL):
        path, what = value_path(one, variable), f"{_LEVEL} of {label(one.group)} is {value}"
        if value == "LOC" or (nccl.is_number(value) and nccl.number(value) == 0):
            because = "GPUs and HCAs pass data through the memory of the node: a part of the bandwidth is lost"
            yield Found(path, f"{what}: no GPU Direct RDMA at all", "remove it", because, manifest=variable.manifest)
        elif nccl.is_number(value):
            yield Found(path, f"{what}, a number of old", manifest=variable.manifest)
        elif value not in _LEVELS:
            because = "NCCL does not know the word, and takes its default"
            yield Found(path, f"{what}, which is no level", because=because, manifest=variable.manifest)


RULES = (
    Rule(
        code="NET006", name="hca-prefix", severity="warning",
        title="an HCA's name that matches longer ones",
        because="NCCL also uses HCAs with longer names, such as those for storage or virtual functions of others",
        why="Names match by their beginning: mlx5_1 is mlx5_10 to mlx5_19, too. A = in front of the list makes all its "
        "names whole ones. mlx5 alone, for all of them, is a good use of this.",
        write="write a = in front", since=NCCL, source=f"{NCCL_DOCS} NCCL_IB_HCA",
        bad=ib(NCCL_IB_HCA="mlx5_0,mlx5_1"), good=ib(NCCL_IB_HCA="=mlx5_0,mlx5_1"),
        check=_prefix,
    ),
    Rule(
        code="NET007", name="gid-index", severity="warning",
        title="a fixed GID index",
        because="where a node's table of addresses has another order, NCCL takes a wrong one and cannot connect",
        why="From 2.21 on NCCL finds the address (GID) for RoCE v2 on each node itself. The index in the table differs "
        "from node to node, and from one virtual function to the next.",
        write="remove it; NCCL_IB_ROCE_VERSION_NUM and NCCL_IB_ADDR_FAMILY choose what to look for",
        since="NCCL 2.21-2.30 (torch 2.5, vLLM 0.6.4 and later)",
        source="NCCL 2.30 docs/userguide/source/troubleshooting/networking_troubleshooting.rst; NCCL issue 426",
        bad=ib(NCCL_IB_GID_INDEX="3"), good=ib(NCCL_IB_ROCE_VERSION_NUM="2"),
        check=_gid,
    ),
    Rule(
        code="NET008", name="gdr-level", severity="warning",
        title="a level for GPU Direct RDMA that says something else than it looks",
        because="the numbers' meaning has changed with NCCL's versions, and may change again",
        why="NCCL_NET_GDR_LEVEL is the greatest distance of a GPU and an HCA at which data goes between them directly: "
        "PIX, PXB, PHB or SYS. LOC and 0 switch that off. Words in small letters are none of them.",
        write="write PIX, PXB, PHB or SYS, or remove it: NCCL chooses well on bare machines",
        since="NCCL 2.4-2.30", source=f"{NCCL_DOCS} NCCL_NET_GDR_LEVEL; src/graph/paths.cc ncclGetLevel",
        bad=ib(NCCL_NET_GDR_LEVEL="3"), good=ib(NCCL_NET_GDR_LEVEL="PHB"),
        check=_level,
    ),
    Rule(
        code="NET025", name="hca-is-interface", severity="error",
        title="an interface where NCCL wants an HCA",
        because="no HCA has that name: NCCL's IB finds no device, and NCCL goes over TCP, or ends where NCCL_NET is IB",
        why="NCCL_IB_HCA takes the names in /sys/class/infiniband, such as mlx5_0. ib0 and eth0 are names of "
        "interfaces.",
        write="write names from /sys/class/infiniband (ibdev2netdev shows which belongs to which interface)",
        since=NCCL, source=f"{NCCL_DOCS} NCCL_IB_HCA",
        bad=ib(NCCL_IB_HCA="=ib0"), good=ib(NCCL_IB_HCA="=mlx5_0"),
        check=_interface,
    ),
)  # fmt: skip
