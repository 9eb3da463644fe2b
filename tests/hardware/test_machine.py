import os
from pathlib import Path

import pytest

from raygang.hardware import disk_free, this_machine
from raygang.hardware.machine import cgroup_cpus, cgroup_memory


def test_this_machine_has_what_this_process_may_use() -> None:
    machine = this_machine()
    assert 1 <= machine.cpus <= (os.cpu_count() or 1)
    assert 0 < machine.memory_available_bytes <= machine.memory_bytes
    assert machine.system == os.uname().sysname


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"cpu.max": "150000 100000"}, 1.5),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_a_cpu_quota_of_either_cgroup_version_counts(tmp_path: Path, files: dict[str, str], cpus: float | None) -> None:
    write(tmp_path, files)
    assert cgroup_cpus(tmp_path) == cpus


@pytest.mark.parametrize(
    ("files", "memory"),
    [
        ({"memory.max": "1000\n", "memory.current": "400\n"}, (1000, 400)),
        ({"memory.max": "max\n", "memory.current": "400\n"}, (None, 400)),
        ({"memory/memory.limit_in_bytes": "1000", "memory/memory.usage_in_bytes": "1"}, (1000, 1)),
        ({"memory/memory.limit_in_bytes": str(2**63 - 4096), "memory/memory.usage_in_bytes": "1"}, (None, 1)),
        ({}, (None, 0)),
    ],
)
def test_a_memory_limit_of_either_cgroup_version_counts(
    tmp_path: Path, files: dict[str, str], memory: tuple[int | None, int]
) -> None:
    write(tmp_path, files)
    assert cgroup_memory(tmp_path) == memory


def test_free_space_of_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    assert disk_free(tmp_path / "a" / "b") == pytest.approx(disk_free(tmp_path), rel=0.01)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
