"""What the control groups of this process allow it: v1, v2, and both mixed, with all groups above its own.

Formats: Linux' Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
NO_LIMIT = 2**60  # v1 writes "no limit" as a huge number


def cgroup_cpus(root: Path = ROOT, membership: Path = MEMBERSHIP) -> float | None:
    """The CPUs' worth of time that this process may use; None without a quota."""
    quotas = (_quota(group) for group in _groups(root, membership, "cpu"))
    return min((quota for quota in quotas if quota is not None), default=None)


def cgroup_memory(root: Path = ROOT, membership: Path = MEMBERSHIP) -> tuple[int | None, int]:
    """Limit of the group that leaves the least, None without one, and what is used there, in bytes.

    File cache that the kernel can take back at once does not count as used.
    """
    found = [memory for group in _groups(root, membership, "memory") if (memory := _memory(group)) is not None]
    limited = [(limit, used) for limit, used in found if limit is not None]
    if limited:
        return min(limited, key=lambda memory: memory[0] - memory[1])
    return None, found[0][1] if found else 0


def _groups(root: Path, membership: Path, controller: str) -> Iterator[Path]:
    """The directories of a controller in either version, from this process's group up to the top that can be seen."""
    lines = (line.split(":", 2) for line in (_text(membership) or "").splitlines())
    paths = {name: group for _, names, group in lines for name in names.split(",")}
    for mount, group in ((root / controller, paths.get(controller, "/")), (root, paths.get("", "/"))):
        # In a container the group can be a path of the host, which is not there: then the top is the container's own.
        own = mount / group.lstrip("/")
        yield from (path for path in (own, *own.parents) if path.is_relative_to(mount))


def _quota(group: Path) -> float | None:
    both = (_text(group / "cpu.max") or "").split()
    if not both:
        both = [_text(group / "cpu.cfs_quota_us") or "-1", _text(group / "cpu.cfs_period_us") or "100000"]
    quota, period = both
    return None if quota in ("max", "-1") else int(quota) / int(period)


def _memory(group: Path) -> tuple[int | None, int] | None:
    for limit_file, used_file, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit = _text(group / limit_file)
        if limit is not None:
            used = max(0, int(_text(group / used_file) or 0) - _stat(group / "memory.stat", cache))
            return None if limit == "max" or int(limit) >= NO_LIMIT else int(limit), used
    return None


def _stat(path: Path, name: str) -> int:
    pairs = (line.split() for line in (_text(path) or "").splitlines())
    return next((int(value) for key, value in pairs if key == name), 0)


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:  # not there, or not ours to read: no limit that we know of
        return None
