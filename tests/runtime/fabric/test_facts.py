"""Facts of this very process, and of trees that stand for what this machine has not."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from raygang.runtime.fabric.facts import gather
from raygang.runtime.fabric.report import Facts
from tests.runtime.fabric.trees import devices, hca, write

TELL = "from pathlib import Path; from raygang.runtime.fabric.facts import gather; print(gather(Path('/')).model_dump_json())"


def told_by(*command: str) -> Facts:
    """The facts of a process that was started in another way."""
    done = subprocess.run(
        [*command, sys.executable, "-c", TELL], capture_output=True, text=True, timeout=60, check=True
    )
    return Facts.model_validate(json.loads(done.stdout))


def test_facts_survive_json() -> None:
    found = gather(Path("/"), "10.0.0.1")
    assert Facts.model_validate_json(found.model_dump_json()) == found
    assert (found.node, found.shm_size > 0, "ray" in found.versions) == ("10.0.0.1", True, True)


def test_hcas_devices_driver_and_peer_memory_come_from_below_the_root(tmp_path: Path) -> None:
    hca(tmp_path)
    devices(tmp_path, "uverbs0")
    write(tmp_path / "sys/module/nvidia/version", "580.159.04\n")
    write(tmp_path / "sys/module/nvidia_peermem/refcnt", "0\n")
    write(tmp_path / "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "2560\n")
    found = gather(tmp_path)
    assert ([one.name for one in found.hcas], found.devices) == (["mlx5_0"], {"uverbs0": ""})
    assert (found.versions["driver"], found.peer_memory, found.huge_pages_free) == ("580.159.04", True, 2560)


def test_variables_of_the_network_are_told_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NCCL_NET", "GLOO_SOCKET_IFNAME", "UCX_TLS", "HF_TOKEN", "MY_NCCL_KEY"):
        monkeypatch.setenv(name, "x")
    assert set(gather(Path("/")).variables) & {"NCCL_NET", "GLOO_SOCKET_IFNAME", "UCX_TLS", "HF_TOKEN", "MY_NCCL_KEY"} == {
        "NCCL_NET", "GLOO_SOCKET_IFNAME", "UCX_TLS",
    }  # fmt: skip


@pytest.mark.root
def test_a_limit_on_locked_memory_counts_only_without_the_capability() -> None:
    limited = ("prlimit", "--memlock=65536:65536")
    assert told_by(*limited).memlock is None, "root has CAP_IPC_LOCK: the kernel does not ask for the limit"
    without = told_by(*limited, "setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock")
    assert (without.memlock, "IPC_LOCK" in without.capabilities) == (65536, False)
    user = told_by(*limited, "setpriv", "--reuid=65534", "--clear-groups")
    assert (user.memlock, user.user, user.capabilities) == (65536, 65534, ())


def test_no_limit_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert gather(Path("/")).memlock is None
