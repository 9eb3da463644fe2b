"""What sysfs says of HCAs. The trees are written by hand (`trees.py`)."""

from __future__ import annotations

from pathlib import Path

from raygang.runtime.fabric import verbs
from tests.runtime.fabric.trees import GUID, devices, hca, write


def test_nothing_is_there_where_the_kernel_has_no_infiniband(tmp_path: Path) -> None:
    assert (verbs.hcas(tmp_path), verbs.devices(tmp_path), verbs.sent(tmp_path)) == ((), {}, {})


def test_a_port_tells_its_state_rate_link_layer_and_addresses(tmp_path: Path) -> None:
    hca(tmp_path, "mlx5_1", link_layer="Ethernet", interface="net1")
    hca(tmp_path, "mlx5_0", state="1: DOWN")
    down, up = verbs.hcas(tmp_path)
    assert (down.name, down.ports[0].state, down.ports[0].physical) == ("mlx5_0", "DOWN", "Disabled")
    (port,) = up.ports
    assert (port.number, port.state, port.rate, port.link_layer) == (1, "ACTIVE", 400.0, "Ethernet")
    assert [(gid.index, gid.value, gid.type, gid.interface) for gid in port.gids] == [
        (0, GUID + "0a1b", "RoCE v2", "net1")
    ], "entries of zeros are empty places of the table"


def test_a_rate_that_is_no_number_is_none(tmp_path: Path) -> None:
    write(hca(tmp_path) / "rate", "unknown\n")
    assert verbs.hcas(tmp_path)[0].ports[0].rate is None


def test_counters_are_bytes_and_efa_has_its_own(tmp_path: Path) -> None:
    hca(tmp_path, "mlx5_0", words=250)
    hidden = hca(tmp_path, "mlx5_1", words=None)
    efa = hca(tmp_path, "rdmap0", words=None)
    write(efa / "hw_counters/tx_bytes", "77\n")
    assert verbs.sent(tmp_path) == {"mlx5_0:1": 1000, "rdmap0:1": 77}
    assert hidden.is_dir()


def test_a_device_says_why_it_does_not_open(tmp_path: Path) -> None:
    devices(tmp_path, "uverbs0", "rdma_cm")
    (tmp_path / "dev/infiniband/uverbs1").symlink_to("nowhere")
    assert verbs.devices(tmp_path) == {"rdma_cm": "", "uverbs0": "", "uverbs1": "No such file or directory"}
