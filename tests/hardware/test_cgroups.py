"""Groups within groups, in the layouts that Linux has. The trees are files as the kernel writes them."""

from pathlib import Path

import pytest

from raygang.hardware._cgroup import cgroup_cpus, cgroup_memory

V1_NONE = str(2**63 - 4096)


def tree(root: Path, membership: str, files: dict[str, str]) -> tuple[Path, Path]:
    (root / "membership").write_text(membership)
    for name, text in files.items():
        path = root / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root / "sys", root / "membership"


@pytest.mark.parametrize(
    ("membership", "files", "cpus"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 0.5),
        ("0::/a/b\n", {"a/b/cpu.max": "100000 100000", "a/cpu.max": "400000 100000"}, 1.0),
        ("0::/a\n", {"cpu.max": "max 100000", "a/cpu.max": "max 100000"}, None),
        ("4:cpu,cpuacct:/a\n0::/\n", {"cpu/a/cpu.cfs_quota_us": "150000", "cpu/a/cpu.cfs_period_us": "100000"}, 1.5),
        ("4:cpu:/a\n", {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_quota_us": "300000"}, 3.0),
        ("0::/host/path/that/is/not/here\n", {"cpu.max": "200000 100000"}, 2.0),
        ("0::/../..\n", {"cpu.max": "200000 100000"}, 2.0),
        ("", {}, None),
    ],
)
def test_the_tightest_quota_above_this_process_counts(
    tmp_path: Path, membership: str, files: dict[str, str], cpus: float | None
) -> None:
    assert cgroup_cpus(*tree(tmp_path, membership, files)) == cpus


@pytest.mark.parametrize(
    ("membership", "files", "memory"),
    [
        (
            "0::/pod/container\n",
            {
                "pod/container/memory.max": "max", "pod/container/memory.current": "10",
                "pod/memory.max": "1000", "pod/memory.current": "300",
            },
            (1000, 300),
        ),
        (
            "0::/pod/container\n",
            {
                "pod/container/memory.max": "500", "pod/container/memory.current": "10",
                "pod/memory.max": "1000", "pod/memory.current": "900",
            },
            (1000, 900),
        ),
        (
            "0::/a\n",
            {"a/memory.max": "1000", "a/memory.current": "800", "a/memory.stat": "anon 100\ninactive_file 600"},
            (1000, 200),
        ),
        (
            "4:memory:/jobs/1\n0::/\n",
            {
                "memory/memory.limit_in_bytes": V1_NONE, "memory/memory.usage_in_bytes": "9",
                "memory/jobs/1/memory.limit_in_bytes": "1000", "memory/jobs/1/memory.usage_in_bytes": "700",
                "memory/jobs/1/memory.stat": "cache 1\ntotal_inactive_file 100",
            },
            (1000, 600),
        ),
        ("4:memory:/a\n", {"memory/a/memory.limit_in_bytes": V1_NONE, "memory/a/memory.usage_in_bytes": "7"}, (None, 7)),
        ("", {}, (None, 0)),
    ],
)  # fmt: skip
def test_the_group_that_leaves_the_least_counts(
    tmp_path: Path, membership: str, files: dict[str, str], memory: tuple[int | None, int]
) -> None:
    assert cgroup_memory(*tree(tmp_path, membership, files)) == memory
