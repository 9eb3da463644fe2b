"""Which interfaces a list of NCCL's or Gloo's takes, and what this machine has."""

from __future__ import annotations

import psutil
import pytest

from raygang.runtime.fabric.interfaces import interfaces, sent, taken_by_gloo, taken_by_nccl

NAMES = ["docker0", "eth0", "eth1", "eth10", "ib0", "lo"]


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        ("eth", ["eth0", "eth1", "eth10"]),
        ("eth1", ["eth1", "eth10"]),
        ("=eth1", ["eth1"]),
        ("=eth1,ib0", ["eth1", "ib0"]),
        ("=eth", []),
        ("^eth", ["ib0"]),
        ("^=eth1", ["eth0", "eth10", "ib0"]),
        ("eth0:1", ["eth0"]),
    ],
)
def test_nccl_goes_by_prefix_unless_told_otherwise(value: str, taken: list[str]) -> None:
    assert taken_by_nccl(value, NAMES) == taken


@pytest.mark.parametrize(("value", "taken"), [("eth", []), ("eth1", ["eth1"]), ("eth9,eth0", ["eth0"]), ("=eth0", [])])
def test_gloo_goes_by_whole_names(value: str, taken: list[str]) -> None:
    assert taken_by_gloo(value, NAMES) == taken


def test_this_machine_has_loopback_with_its_address() -> None:
    loopback = next(interface for interface in interfaces() if interface.name == "lo")
    assert loopback.up
    assert "127.0.0.1" in loopback.addresses
    assert set(sent()) == set(psutil.net_io_counters(pernic=True))
