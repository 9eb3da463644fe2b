"""NET: what a pod's data would go over, seen from its volumes, its interfaces and the other groups."""

from __future__ import annotations

from raygang.fabric.pod_devices import mounts
from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.network_transport import off
from raygang.lint.rules.network_view import Ranks, ranks, value_path
from raygang.lint.rules.network_words import NCCL, NCCL_DOCS, ib, pods, service
from raygang.lint.rules.pods_view import gpus, label
from raygang.lint.rules.serve_shape import engines
from raygang.lint.rules.serve_traffic import called

_NET = "NCCL_NET"


def _by_mount(case: Case) -> Report:
    for one in ranks(case):
        for path in mounts(one.network):
            if not one.network.privileged and not one.effective.certain:
                yield Found(path, f"{label(one.group)} mounts the node's /dev/infiniband, and is not privileged")


def _overlay(case: Case) -> Report:
    """Told once: the groups of a workload are as a rule alike."""
    for one in ranks(case):
        found, network = one.effective, one.network
        plain = not (found.devices or found.meant or network.several or network.claims or network.privileged)
        if not plain or network.may_have(_NET) or off(one) or not _spans(case, one):
            continue
        what = f"the ranks of {label(one.group)} talk by TCP over the pods' network: nothing gives them another one"
        yield Found(one.env_path, what)
        return


def _spans(case: Case, one: Ranks) -> bool:
    """Whether a model's ranks may be in several of these pods."""
    held = gpus(one.container)
    if one.group.head or one.group.pods < 2 or not held:
        return False
    whole = list(engines(case))
    return any(engine.ranks > held for engine in whole) if whole else bool(called(case))


def _differ(case: Case) -> Report:
    known = [one for one in ranks(case) if gpus(one.container) and one.effective.transport != "unknown"]
    first = known[0] if known else None
    for one in known[1:]:
        if first is not None and one.effective.transport != first.effective.transport:
            what = f"{label(one.group)} would use {one.effective.transport}, and {label(first.group)} "
            what += first.effective.transport
            net = one.network.variables.get(_NET)
            path = value_path(one, net) if net and net.manifest is None else one.env_path
            yield Found(path, what)


_DEVICE = "rdma/ib: '1'"
_MORE = """  - groupName: more
    replicas: 1
    template:
      spec:
        containers:
        - name: ray-worker
          resources: {limits: {nvidia.com/gpu: 8}}
"""

RULES = (
    Rule(
        code="NET027", name="device-by-mount", severity="error",
        title="the node's RDMA devices as a volume",
        because="the files are there and may not be opened: NCCL finds no device",
        why="A container may open the devices that its device plugin or a claim has given it, and no others. A "
        "hostPath volume brings the names and not the right.",
        write="ask for a device in resources.limits, and remove the volume",
        since="Kubernetes, all versions", source="Linux device cgroup; Kubernetes docs, device plugins",
        bad=pods(spec="volumes: [{}, {name: rdma, hostPath: {path: /dev/infiniband}}]"), good=pods(limits=_DEVICE),
        check=_by_mount,
    ),
    Rule(
        code="NET028", name="overlay-data-path", severity="info",
        title="ranks in several pods talk by TCP over the pods' network",
        because="it works, and is as fast as the cluster's overlay: tensor parallelism across pods hardly pays off",
        why="Without a device, a second network or the node's network, NCCL has TCP over the interface of the pod. "
        "That is enough for stages of a pipeline, and slow for anything else.",
        write="give the workers a device for RDMA; or write NCCL_NET: Socket to say that TCP is meant",
        since=NCCL, source="vLLM 0.32 docs/serving/parallelism_scaling.md",
        bad=service(pods({"NCCL_NET": ""})), good=service(pods({"NCCL_NET": "Socket"})),
        check=_overlay,
    ),
    Rule(
        code="NET029", name="transports-differ", severity="warning",
        title="groups of workers with different transports",
        because="a model with ranks in both groups does not start: NCCL cannot connect two kinds of network",
        why="All ranks of a communicator need the same network. NCCL compares them and ends with a mismatch.",
        write="give all groups of a model the same device and the same NCCL_NET",
        since=NCCL, source=f"{NCCL_DOCS} NCCL_IGNORE_NET_MISMATCH",
        bad=ib() + _MORE,
        good=ib(),
        check=_differ,
    ),
)  # fmt: skip
