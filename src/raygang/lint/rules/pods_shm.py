"""SHM: shared memory of the Ray container, which holds Ray's object store and what vLLM's ranks pass to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.pods_view import SHM, Container, gpus, label, number, param, params, ray_containers
from raygang.objects import Path, at, mapping, quantity, sequence

# Ray 2.60, ray/_private/ray_constants.py and utils.py:596-645, services.py:2222-2262
_PROPORTION = Decimal("0.3")
_MOST = Decimal(200 * 10**9)
_LEAST_CAP = Decimal(10**10)  # above it Ray refuses an object store that /dev/shm cannot hold, below it uses a disk
_SLOW = "RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE"
_NCCL_LEAST = Decimal(1024**3)  # vLLM's and NCCL's segments of eight ranks in one pod


@dataclass(frozen=True)
class _Mount:
    volume: Mapping[str, Any]
    path: Path

    @property
    def empty_dir(self) -> Mapping[str, Any] | None:
        found = self.volume.get("emptyDir")
        return found if isinstance(found, Mapping) else None

    @property
    def in_memory(self) -> bool:
        return self.empty_dir is not None and self.empty_dir.get("medium") == "Memory"


def _mount(container: Container) -> _Mount | None:
    """One's own volume on /dev/shm; KubeRay makes one only where there is none."""
    mounts = sequence(container.data.get("volumeMounts"))
    name = next((at(m, "name") for m in mounts if str(at(m, "mountPath")).rstrip("/") == SHM), None)
    for index, volume in enumerate(sequence(container.group.pod.get("volumes"))):
        if name is not None and at(volume, "name") == name:
            return _Mount(mapping(volume), container.group.at("template", "spec", "volumes", index))
    return None


def _size(container: Container, mount: _Mount | None) -> Decimal | None:
    """Bytes of /dev/shm: KubeRay limits its own to the memory of the container."""
    memory = container.size("memory")
    if mount is None:
        return memory
    limit = quantity((mount.empty_dir or {}).get("sizeLimit")) if mount.in_memory else None
    return min((size for size in (limit, memory) if size is not None), default=None)


def _store(container: Container, shm: Decimal) -> tuple[Decimal, bool] | None:
    """Bytes of the object store, and whether somebody wrote them."""
    written = number(container.group, "object-store-memory")
    if written is not None:
        return Decimal(written), True
    memory = container.size("memory")
    if memory is None:
        return None
    return min(memory * _PROPORTION, _MOST, max(_LEAST_CAP, shm * Decimal("0.95"))), False


def _own(case: Case) -> Report:
    for container in ray_containers(case):
        group, mount = container.group, _mount(container)
        if "plasma-directory" in params(group):
            path = group.at("rayStartParams", "plasma-directory")
            where = param(group, "plasma-directory")
            if str(where).strip("'\" ") != SHM or mount is None:
                what = f"plasma-directory of {label(group)} is {where}: KubeRay makes no {SHM} then"
                yield Found(path, what, "remove it", key=True)
        if mount is None:
            continue
        if "hostPath" in mount.volume:
            what = f"{SHM} of {label(group)} is a directory of the node"
            because = "pods of one node share it, and what they leave behind stays in the node's memory"
            yield Found(mount.path, what, because=because)
        elif mount.empty_dir is not None and not mount.in_memory:
            what = f"{SHM} of {label(group)} is an emptyDir on the node's disk: it has no medium: Memory"
            because = "Ray's object store and vLLM's messages between ranks go to a disk"
            yield Found((*mount.path, "emptyDir"), what, "add medium: Memory", because)


def _too_small(case: Case) -> Report:
    for container in ray_containers(case):
        group, mount = container.group, _mount(container)
        shm = _size(container, mount)
        if "plasma-directory" in params(group) or shm is None:
            continue
        store = _store(container, shm)
        where = mount.path if mount else container.at("resources")
        if store is not None and store[0] > shm:
            path = group.at("rayStartParams", "object-store-memory") if store[1] else where
            yield _does_not_fit(container, path, store, shm)
        elif gpus(container) > 1 and shm < _NCCL_LEAST:
            what = f"{SHM} of {label(group)} has {_gib(shm)} for {gpus(container)} GPUs"
            because = "NCCL and vLLM pass messages between the ranks of a pod through it: they fail with a bus error"
            yield Found(where, what, "write a sizeLimit of several Gi", because)


def _does_not_fit(container: Container, path: Path, store: tuple[Decimal, bool], shm: Decimal) -> Found:
    size, written = store
    kind = "object-store-memory" if written else "Ray's object store, 30% of the memory,"
    what = f"{kind} of {label(container.group)} is {_gib(size)}, and its {SHM} has {_gib(shm)}"
    write = f"write object-store-memory below {int(shm)}, or a larger sizeLimit of {SHM}"
    if size > _LEAST_CAP and container.variable(_SLOW) is None:
        because = "`ray start` refuses it: the pod starts again and again"
        return Found(path, what, write, because, severity="error")
    return Found(path, what, write)


def _above_memory(case: Case) -> Report:
    for container in ray_containers(case):
        mount = _mount(container)
        limit = quantity(container.sizes("limits").get("memory"))
        size = quantity((mount.empty_dir or {}).get("sizeLimit")) if mount and mount.in_memory else None
        if mount and size is not None and limit is not None and size >= limit:
            what = f"{SHM} of {label(container.group)} may take {_gib(size)}, and the memory limit is {_gib(limit)}"
            yield Found((*mount.path, "emptyDir", "sizeLimit"), what, "write less than the memory limit")


def _gib(size: Decimal) -> str:
    return f"{float(size) / 1024**3:.3g} GiB"


_SPEC = "kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        volumes:\n        - "
_RAY = "Ray 2.60 ray/_private/services.py:2222-2262, utils.py:596-645"

RULES = (
    Rule(
        code="SHM001",
        name="shm-override",
        severity="warning",
        title="shared memory that is none",
        because="Ray's object store is on a disk, or shared with other pods",
        why="KubeRay mounts /dev/shm in memory, as large as the container's memory limit, unless there is a mount "
        "already or plasma-directory is set.",
        write="remove it: KubeRay makes a good one",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:855-861,1137-1186",
        bad=_SPEC + "emptyDir: {medium: null}\n",
        good=_SPEC + "emptyDir: {medium: Memory}\n",
        check=_own,
    ),
    Rule(
        code="SHM002",
        name="object-store-above-shm",
        severity="warning",
        title="/dev/shm is too small",
        because="Ray puts its object store on a disk, in /tmp",
        why="Ray takes 30% of the memory for its object store, at most 200 GB, and puts it in /dev/shm. A store of "
        "up to 10 GB that does not fit goes to /tmp, with a warning in a log; a larger one is an error.",
        write="write a larger sizeLimit, or object-store-memory",
        since="Ray 2.x",
        source=_RAY,
        bad=_SPEC + "emptyDir: {sizeLimit: 8Gi}\n",
        good=_SPEC + "emptyDir: {sizeLimit: 64Gi}\n",
        check=_too_small,
    ),
    Rule(
        code="SHM003",
        name="shm-above-memory",
        severity="warning",
        title="/dev/shm may take all memory of its container",
        because="what is in /dev/shm counts as memory of the container: it is killed before /dev/shm is full",
        why="An emptyDir in memory belongs to the memory of the containers that write to it.",
        write="write a sizeLimit below the memory limit",
        since="Kubernetes, all versions",
        source="kubernetes.io/docs/concepts/storage/volumes/#emptydir",
        bad=_SPEC + "emptyDir: {sizeLimit: 900Gi}\n",
        good=_SPEC + "emptyDir: {sizeLimit: 64Gi}\n",
        check=_above_memory,
    ),
)
