"""NET: what RDMA needs beside its device: memory that may be locked, and libraries in the image; huge pages for EFA."""

from __future__ import annotations

from raygang.fabric.efa import HUGEPAGES
from raygang.fabric.infiniband import LOCK
from raygang.lint.model import Case, Found, Report, Rule, Unchecked
from raygang.lint.rules.network_transport import off
from raygang.lint.rules.network_view import Ranks, ranks
from raygang.lint.rules.network_words import NCCL, pods
from raygang.lint.rules.pods_view import Container, label
from raygang.lint.rules.ray_images import ray_image
from raygang.objects import at, count, mapping, sequence

_ALL = "ALL"
_AS_ROOT = "write securityContext.runAsUser: 0 beside it; or set LimitMEMLOCK=infinity for the nodes' container runtime"


def uses_verbs(one: Ranks) -> bool:
    """Whether its ranks are to use verbs themselves, so that what verbs need counts."""
    found = one.effective
    if not found.verbs or off(one) or found.transport in ("Socket", "gIB", "Libfabric") or one.network.gke:
        return False
    devices = {device.resource.path for device in found.devices if not device.named_for_rdma}
    return found.certain or any(said.path not in devices for said in found.meant)


def _capabilities(container: Container) -> list[object]:
    return list(sequence(at(container.data, "securityContext", "capabilities", "add")))


def _missing(case: Case) -> Report:
    for one in ranks(case):
        added = _capabilities(one.container)
        if uses_verbs(one) and not one.network.privileged and LOCK not in added and _ALL not in added:
            container = one.container
            path = container.at("securityContext") if "securityContext" in container.data else container.path
            yield Found(path, f"{label(one.group)} is to use RDMA, and does not add {LOCK}")


def _inert(case: Case) -> Report:
    for one in ranks(case):
        added = _capabilities(one.container)
        if not uses_verbs(one) or LOCK not in added or one.network.privileged:
            continue
        user, why = _user(one)
        path = one.container.at("securityContext", "capabilities", "add", added.index(LOCK))
        if user is None:
            yield Unchecked(f"the user of the image {one.network.image} (securityContext.runAsUser says it)")
        elif user:
            yield Found(path, f"{label(one.group)} adds {LOCK} and runs as user {user} ({why})")


def _user(one: Ranks) -> tuple[int | None, str]:
    """The user that the container runs as, and who says so."""
    own, pod = mapping(one.container.data.get("securityContext")), mapping(one.group.pod.get("securityContext"))
    for security in (own, pod):
        if "runAsUser" in security:
            return count(security["runAsUser"], 0), "runAsUser"
    return (1000, "the image's own") if ray_image(one.network.image) else (None, "")


def _verbs(case: Case) -> Report:
    for one in ranks(case):
        image = ray_image(one.network.image)
        if image is not None and image.name in ("rayproject/ray", "rayproject/ray-ml") and uses_verbs(one):
            what = f"{one.network.image} of {label(one.group)} has no libibverbs"
            yield Found(one.container.at("image"), what)


def _huge_pages(case: Case) -> Report:
    for one in ranks(case):
        for device in one.effective.devices:
            if device.kind == "efa" and not one.container.size(HUGEPAGES):
                what = f"{label(one.group)} has {device.resource.amount} adapters of EFA, and no {HUGEPAGES}"
                yield Found(device.resource.path, what)


def _efa(case: Case) -> Report:
    for one in ranks(case):
        kinds = {device.kind for device in one.effective.devices}
        if "efa" not in kinds or kinds & {"function", "shared"}:
            continue
        for variable in one.network.variables.values():
            if variable.name.startswith("NCCL_IB_") and variable.value:
                what = f"{variable.name} of {label(one.group)} does nothing: EFA is not InfiniBand"
                yield Found(variable.path, what, manifest=variable.manifest)


_IB, _DEVICE = {"NCCL_NET": "IB"}, "rdma/ib: '1'"
_EFA = "vpc.amazonaws.com/efa: 32"
_ADD = "securityContext: {capabilities: {add: [IPC_LOCK]}}"
_ROOT = "securityContext: {runAsUser: 0, capabilities: {add: [IPC_LOCK]}}"
_OFI = {"NCCL_NET": "AWS Libfabric", "FI_PROVIDER": "efa"}

RULES = (
    Rule(
        code="NET015", name="lock-memory-missing", severity="warning",
        title="RDMA without the right to lock memory",
        because="HCAs take memory that is locked: NCCL cannot register its buffers (ibv_reg_mr fails), and ends with "
        "an error, unless the nodes allow it to all containers",
        why="Container runtimes limit locked memory to a few MiB as a rule, and Kubernetes has no field for that "
        "limit. The capability IPC_LOCK lifts it, for root.",
        write="add the capability IPC_LOCK with runAsUser: 0; or set LimitMEMLOCK=infinity for the nodes' container "
        "runtime, and ignore this",
        since=NCCL, source="NCCL 2.30 docs/userguide/source/troubleshooting/networking_troubleshooting.rst; "
        "nccl-tests issue 206",
        bad=pods(_IB, _DEVICE), good=pods(_IB, _DEVICE, container=_ROOT),
        check=_missing,
    ),
    Rule(
        code="NET016", name="lock-memory-inert", severity="warning",
        title="the right to lock memory, for a user who does not get it",
        because="the capability has no effect: NCCL cannot register its buffers, and ends with an error",
        why="For another user than root Kubernetes puts an added capability into the bounding set only. It would be "
        "effective with ambient capabilities, which Kubernetes does not have (KEP-2763). Ray's images run as user "
        "1000.",
        write=_AS_ROOT, since="Kubernetes 1.20-1.37", source="KEP-2763; nvidia-container-toolkit issue 2037",
        bad=pods(_IB, _DEVICE, container=_ADD), good=pods(_IB, _DEVICE, container=_ROOT),
        check=_inert,
    ),
    Rule(
        code="NET017", name="image-without-verbs", severity="warning",
        title="RDMA in an image without libibverbs",
        because="NCCL cannot load libibverbs.so, and goes over TCP, or ends where NCCL_NET is IB",
        why="NCCL loads libibverbs when it starts. The Dockerfiles of rayproject/ray install no rdma-core; those of "
        "rayproject/ray-llm do.",
        write="use rayproject/ray-llm, or an image with rdma-core (libibverbs1, ibverbs-providers)",
        since="Ray 2.9-2.60", source="Ray docker/base-deps/Dockerfile; NCCL 2.30 src/misc/ibvsymbols.cc",
        bad=pods(_IB, _DEVICE, container="image: rayproject/ray:2.60.0-py311-cu128"), good=pods(_IB, _DEVICE),
        check=_verbs,
    ),
    Rule(
        code="NET018", name="efa-without-huge-pages", severity="warning",
        title="EFA without huge pages",
        because="libfabric takes small pages for its buffers, runs slower, and may run out of them",
        why="EFA's provider keeps its buffers in huge pages of 2 MiB, which a pod has to ask for like memory.",
        write="add hugepages-2Mi: 5120Mi to limits and requests, as AWS' samples do",
        since="EFA installer 1.2x-1.4x", source="awsome-distributed-training, nccl-tests on EKS; EKS docs, EFA",
        bad=pods(_OFI, _EFA), good=pods(_OFI, f"{_EFA}, hugepages-2Mi: 5120Mi"),
        check=_huge_pages,
    ),
    Rule(
        code="NET023", name="efa-and-infiniband", severity="warning",
        title="variables for InfiniBand on EFA",
        because="nothing reads them: the plugin for EFA has variables of its own (FI_...)",
        why="EFA offers neither InfiniBand nor RoCE. NCCL's plugin aws-ofi-nccl drives it by libfabric, and NCCL's IB "
        "finds no device.",
        write="remove them", since="aws-ofi-nccl 1.7-1.16", source="AWS docs, EFA; aws-ofi-nccl README",
        bad=pods({**_OFI, "NCCL_IB_HCA": "rdmap"}, _EFA), good=pods(_OFI, _EFA),
        check=_efa,
    ),
)  # fmt: skip
