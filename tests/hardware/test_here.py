"""This machine, asked for real."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from raygang.hardware import disk_free, this_machine
from raygang.hardware.machine import cpu_bfloat16


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
def test_cpus_are_those_that_this_process_may_use() -> None:
    one = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, {{{one}}}); from raygang.hardware import this_machine as m; print(m().cpus)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "1"


def test_a_machine_without_a_driver_has_no_gpus() -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has GPUs")
    assert this_machine().gpus == ()


@pytest.mark.parametrize(
    ("flags", "found"),
    [("fpu avx2 avx512f", False), ("fpu avx512_bf16 sse", True), ("asimd bf16 i8mm", True), ("", False)],
)
def test_bfloat16_is_a_flag_of_the_cpu(tmp_path: Path, flags: str, found: bool) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
    assert cpu_bfloat16(tmp_path / "cpuinfo") is found
    assert cpu_bfloat16(tmp_path / "none") is False


def test_free_space_is_that_of_the_file_system() -> None:
    stat = os.statvfs("/")
    assert disk_free(Path("/not/there/yet")) == pytest.approx(stat.f_bavail * stat.f_frsize, rel=0.05)
    assert disk_free(Path("relative")) > 0
