"""How the examples of rules about networks are written, and the sources that several of them have."""

from __future__ import annotations

import re
from collections.abc import Mapping

NCCL = "NCCL 2.19-2.30"
NCCL_DOCS = "NCCL 2.30 docs/userguide/source/env.rst"
INTERFACE = re.compile(r"(?:ib|eth|bond)\d+\Z|(?:ens|enp|eno)\d", re.ASCII)


def pods(
    env: Mapping[str, str] | None = None,
    limits: str = "",
    *,
    spec: str = "",
    container: str = "",
    annotations: str = "",
    group: str = "",
) -> str:
    """An example: workers with variables, resources, annotations, and fields of the pod, the container or the group."""
    lines = ["kind: RayCluster", "spec:", "  workerGroupSpecs:"]
    lines += [f"  - {group}", "    template:"] if group else ["  - template:"]
    lines += [f"      metadata: {{annotations: {{{annotations}}}}}"] if annotations else []
    lines += ["      spec:"] + ([f"        {spec}"] if spec else []) + ["        containers:"]
    own = [container] if container else []
    own += [f"resources: {{limits: {{{limits}}}}}"] if limits else []
    own += ["env:", *(f"- {{name: {name}, value: '{value}'}}" for name, value in env.items())] if env else []
    own = own or ["name: ray-worker"]
    lines += [f"        - {own[0]}", *(f"          {line}" for line in own[1:])]
    return "\n".join(lines) + "\n"


def ib(**env: str) -> str:
    """An example: workers with an RDMA device, NCCL_NET: IB, and other variables."""
    return pods({"NCCL_NET": "IB", **env}, "rdma/ib: '1'")


def service(cluster: str) -> str:
    """The same workers in a RayService, whose model has ranks in two of them."""
    kind, spec, *lines = cluster.splitlines()
    inner = "\n".join(f"  {line}" for line in lines)
    return f"{kind.replace('RayCluster', 'RayService')}\n{spec}\n  rayClusterConfig:\n{inner}\n"


def sriov(kind: str, name: str, spec: str) -> str:
    """An example: an object of the SR-IOV operator."""
    return (
        f"apiVersion: sriovnetwork.openshift.io/v1\nkind: {kind}\n"
        f"metadata: {{name: {name}, namespace: sriov-network-operator}}\nspec: {{{spec}}}\n"
    )
