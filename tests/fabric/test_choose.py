"""The fabric that nodes have, and what they do not show."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raygang.fabric import Choice, choose, prove, request
from raygang.hardware import Inventory
from raygang.spec import Spec, SpecError, parse_spec

AKS = {"kubernetes.azure.com/agentpool": "gpu"}
GKE = {f"networking.gke.io.networks/rdma-{number}{suffix}": 1 for number in range(8) for suffix in ("", ".IP")}


def nodes(*found: dict[str, Any], labels: dict[str, str] | None = None, gpus: int = 8) -> Inventory:
    items = [
        {
            "metadata": {"name": f"gpu-{index}", "labels": labels or {}},
            "status": {"allocatable": {"cpu": "96", **({"nvidia.com/gpu": gpus} if gpus else {}), **devices}},
        }
        for index, devices in enumerate(found)
    ]
    return Inventory.parse(json.dumps({"kind": "NodeList", "items": items}))


def fields(choice: Choice) -> dict[str, Any]:
    return {entry.key: entry.value for entry in choice.fields}


def spec(choice: Choice) -> Spec:
    text = {"name": "x", "model": {"source": "a/b"}, "fabric": fields(choice)}
    return parse_spec(json.dumps(text), file="x.yaml")


def test_efa_is_asked_for_with_all_adapters_of_a_node() -> None:
    choice = choose(nodes({"vpc.amazonaws.com/efa": 32}, {"vpc.amazonaws.com/efa": 32}))
    assert fields(choice) == {"type": "efa", "resource_count": 32}
    assert choice.fields[0].why == "2 of 2 nodes with GPUs have vpc.amazonaws.com/efa"
    assert (choice.missing, choice.check, choice.others, choice.lacking) == ((), (), (), ())


def test_nodes_with_different_numbers_of_adapters_all_have_the_fewest() -> None:
    choice = choose(nodes({"vpc.amazonaws.com/efa": 32}, {"vpc.amazonaws.com/efa": 4}))
    assert fields(choice)["resource_count"] == 4
    assert "others have more" in choice.fields[-1].why


def test_gke_has_its_networks() -> None:
    assert fields(choose(nodes(GKE, GKE))) == {"type": "gke-rdma"}
    few = {name: 1 for name in GKE if "rdma-0" in name or "rdma-3" in name}
    assert fields(choose(nodes(few, few))) == {"type": "gke-rdma", "networks": ["rdma-0", "rdma-3"]}


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ({"rdma/shared_ib": "1k"}, {"type": "aks-infiniband", "resource": "rdma/shared_ib"}),
        ({"rdma/ib": 8}, {"type": "aks-infiniband", "resource": "rdma/ib", "resource_count": 8}),
        ({"rdma/ib": 1000}, {"type": "aks-infiniband", "resource": "rdma/ib"}),
    ],
)
def test_aks_is_known_by_its_labels(devices: dict[str, Any], expected: dict[str, Any]) -> None:
    choice = choose(nodes(devices, devices, labels=AKS))
    assert fields(choice) == expected
    assert choice.check == ()


def test_a_shared_device_is_infiniband_if_its_link_is() -> None:
    choice = choose(nodes({"rdma/hca_shared": "1k"}, {"rdma/hca_shared": "1k"}))
    assert fields(choice) == {"type": "infiniband", "resource": "rdma/hca_shared"}
    assert "link_layer" in choice.check[0]


@pytest.mark.parametrize(
    ("resource", "kind"),
    [
        ("openshift.io/roce_rail0", "sriov-roce"),
        ("openshift.io/ib_rail0", "sriov-infiniband"),
        ("nvidia.com/mlnxnics", "sriov-roce"),
        ("intel.com/rdma", "sriov-roce"),
        ("mellanox.com/infiniband", "sriov-infiniband"),
        ("nvidia.com/ibrail1", "sriov-infiniband"),
    ],
)
def test_sriov_needs_its_networks_and_a_name_settles_no_link(resource: str, kind: str) -> None:
    choice = choose(nodes({resource: 8}, {resource: 8}))
    assert fields(choice) == {"type": kind, "resource": resource}
    (missing,) = choice.missing
    assert missing.key == "networks" and "kubectl get net-attach-def" in missing.why
    assert "linkType: eth for sriov-roce, ib for sriov-infiniband" in choice.check[0]
    with pytest.raises(SpecError, match=r"fabric\.networks: is needed"):
        request(spec(choice))


@pytest.mark.parametrize(
    "resource",
    ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "devices.kubevirt.io/kvm", "example.com/fiber", "example.com/library"],
)
def test_what_is_no_network_is_none(resource: str) -> None:
    choice = choose(nodes({resource: 8}, {resource: 8}))
    assert fields(choice) == {"type": "tcp"}
    assert choice.fields[0].why == "no RDMA device is allocatable on any of the 2 nodes with GPUs"
    assert choice.others == ()


def test_an_adapter_that_no_plugin_offers_is_told() -> None:
    choice = choose(nodes({}, {}, labels={"feature.node.kubernetes.io/pci-15b3.present": "true"}))
    assert choice.fabric == "tcp"
    assert "labels of gpu-0, gpu-1 say that an RDMA adapter is there, and no device plugin" in choice.fields[0].why


def test_functions_whose_name_does_not_say_rdma_are_told_and_not_taken() -> None:
    choice = choose(nodes({"openshift.io/dpdk": 8}, {"openshift.io/dpdk": 8}))
    assert choice.fabric == "tcp"
    assert choice.others == (
        "openshift.io/dpdk (gpu-0, gpu-1): its name does not say RDMA; if its policy does, write fabric.type and "
        "fabric.resource",
    )


def test_networks_that_raygang_has_no_fabric_for_are_told() -> None:
    tcpx = {"networking.gke.io.networks/vpc1": 1, "networking.gke.io.networks/vpc2": 1}
    choice = choose(nodes(tcpx, tcpx))
    assert choice.fabric == "tcp" and "GPUDirect-TCPX" in choice.others[0]
    for name in ("rdma/roce_shared", "rdma/rdma_shared_device_eth"):
        choice = choose(nodes({name: 63}, {name: 63}))
        assert choice.fabric == "tcp" and "RoCE by a shared device" in choice.others[0]


def test_nodes_without_the_device_are_named() -> None:
    choice = choose(nodes({"rdma/ib": 8}, {}, {"rdma/ib": 8}, {"rdma/ib": 0}))
    assert choice.fabric == "infiniband"
    assert choice.fields[0].why == "2 of 4 nodes with GPUs have rdma/ib"
    assert choice.lacking == ("gpu-1", "gpu-3"), "none allocatable is as good as none"


def test_one_node_of_several_makes_no_gang() -> None:
    choice = choose(nodes({"rdma/ib": 8}, {}, {}))
    assert choice.fabric == "tcp"
    assert choice.others == ("rdma/ib (gpu-0): one node only, and a gang over several needs it on each",)
    assert choose(nodes({"rdma/ib": 8})).fabric == "infiniband"


def test_what_most_nodes_have_is_chosen_and_the_rest_is_told() -> None:
    both = {"rdma/ib": 8, "openshift.io/ib_rail0": 8, "openshift.io/ib_rail1": 8}
    choice = choose(nodes(both, both, {"openshift.io/ib_rail0": 8, "openshift.io/ib_rail1": 8}))
    assert (choice.fabric, fields(choice)["resource"]) == ("sriov-infiniband", "openshift.io/ib_rail0")
    assert choice.others == (
        "openshift.io/ib_rail1 (gpu-0, gpu-1, gpu-2): a second device of that kind; fabric.resource names one",
        "rdma/ib (gpu-0, gpu-1): would be fabric.type infiniband",
    )


def test_nodes_without_gpus_do_not_count() -> None:
    choice = choose(nodes({"rdma/ib": 8}, {"rdma/ib": 8}, gpus=0))
    assert choice.fabric == "tcp"
    assert "none of 2 nodes has nvidia.com/gpu" in choice.fields[0].why


SOME = st.sampled_from(
    ["vpc.amazonaws.com/efa", "rdma/ib", "rdma/shared_ib", "rdma/roce", "openshift.io/ib0", "openshift.io/x", "nvidia.com/rdma", *GKE]
)  # fmt: skip


@given(
    st.lists(st.dictionaries(SOME, st.integers(0, 40), max_size=5), min_size=1, max_size=5),
    st.sampled_from([None, AKS]),
    st.integers(0, 8),
)
def test_what_is_chosen_can_be_written_as_it_is(found: list[dict[str, Any]], labels: Any, gpus: int) -> None:
    choice = choose(nodes(*found, labels=labels, gpus=gpus))
    written = spec(choice)
    assert prove(written).fabric == choice.fabric
    if choice.missing:
        written = parse_spec(
            json.dumps({"name": "x", "model": {"source": "a/b"}, "fabric": {**fields(choice), "networks": ["a/b"]}}),
            file="x.yaml",
        )
    asked = request(written)
    for name, value in ((entry.key, int(entry.value)) for entry in asked.resources if entry.key != "hugepages-2Mi"):
        having = [devices.get(name, 0) >= value for devices in found]
        assert having == [index_has not in choice.lacking for index_has in (f"gpu-{i}" for i in range(len(found)))]
