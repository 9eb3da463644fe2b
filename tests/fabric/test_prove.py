"""What each fabric lets the probe look for in the gang's pods."""

from __future__ import annotations

import pytest

from raygang.fabric import prove
from raygang.runtime.fabric.expected import Expected
from tests.fabric.test_request import NETS, spec

SEEN = {
    "auto": Expected(fabric="auto"),
    "tcp": Expected(fabric="tcp", transport="Socket"),
    "infiniband": Expected(fabric="infiniband", transport="IB", verbs=True, link_layer="InfiniBand"),
    "aks-infiniband": Expected(fabric="aks-infiniband", transport="IB", verbs=True, link_layer="InfiniBand"),
    "sriov-roce": Expected(fabric="sriov-roce", transport="IB", verbs=True, link_layer="Ethernet"),
    "sriov-infiniband": Expected(fabric="sriov-infiniband", transport="IB", verbs=True, link_layer="InfiniBand"),
    "efa": Expected(fabric="efa", transport="Libfabric", huge_pages=True),
    "gke-rdma": Expected(fabric="gke-rdma", transport="gIB"),
}


@pytest.mark.parametrize("kind", NETS)
def test_the_transport_that_was_asked_for_has_to_be_seen(kind: str) -> None:
    assert prove(spec(kind)) == SEEN[kind]


@pytest.mark.parametrize("kind", NETS)
def test_interface_and_bandwidth_are_those_of_the_specification(kind: str) -> None:
    found = prove(spec(kind, interface="eth1", min_bandwidth=180))
    assert found == SEEN[kind].model_copy(update={"interface": "eth1", "min_bandwidth": 180})


@pytest.mark.parametrize("kind", [name for name, seen in SEEN.items() if seen.verbs])
def test_the_hcas_are_those_of_the_specification(kind: str) -> None:
    assert prove(spec(kind, hcas="[mlx5_1, 'mlx5_2:1']")).hcas == ("mlx5_1", "mlx5_2:1")


@pytest.mark.parametrize("kind", NETS)
def test_sockets_are_a_failure_where_rdma_was_asked_for(kind: str) -> None:
    assert prove(spec(kind)).rdma == (kind not in ("auto", "tcp"))
