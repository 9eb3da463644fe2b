"""What each fabric asks of a pod, and what it wants to know first."""

from __future__ import annotations

from typing import Any

import pytest

from raygang.fabric import FABRICS, FabricRequest, request
from raygang.spec import Spec, SpecError, parse_spec

DEVICE = {"resource": "rdma/ib", "networks": ["ray/rail0"]}
NEEDED: dict[str, dict[str, Any]] = {
    "infiniband": {"resource": "rdma/ib"},
    "aks-infiniband": {"resource": "rdma/ib"},
    "sriov-roce": DEVICE,
    "sriov-infiniband": DEVICE,
}
NETS = {
    "auto": None, "tcp": "Socket", "infiniband": "IB", "aks-infiniband": "IB", "sriov-roce": "IB",
    "sriov-infiniband": "IB", "efa": "AWS Libfabric", "gke-rdma": "gIB",
}  # fmt: skip
VERBS = [name for name, net in NETS.items() if net == "IB"]


def spec(kind: str, **fields: Any) -> Spec:
    lines = "".join(f"  {key}: {value}\n" for key, value in {**NEEDED.get(kind, {}), **fields}.items())
    return parse_spec(f"name: x\nmodel: {{source: a/b}}\nfabric:\n  type: {kind}\n{lines}", file="x.yaml")


def asked(kind: str, **fields: Any) -> FabricRequest:
    return request(spec(kind, **fields))


def environment(found: FabricRequest) -> dict[str, Any]:
    return {entry.key: entry.value for entry in found.environment}


def test_every_fabric_of_a_specification_is_known() -> None:
    assert set(FABRICS) == set(NETS)


@pytest.mark.parametrize(("kind", "net"), NETS.items())
def test_nccl_uses_what_was_asked_for_or_fails(kind: str, net: str | None) -> None:
    assert environment(asked(kind)).get("NCCL_NET") == net


@pytest.mark.parametrize("kind", NETS)
def test_control_traffic_takes_one_interface_by_its_whole_name(kind: str) -> None:
    assert not {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"} & set(environment(asked(kind)))
    found = environment(asked(kind, interface="eth1"))
    assert (found["NCCL_SOCKET_IFNAME"], found["GLOO_SOCKET_IFNAME"]) == ("=eth1", "eth1")


@pytest.mark.parametrize("kind", VERBS)
def test_hcas_are_whole_names(kind: str) -> None:
    found = environment(asked(kind, hcas="[mlx5_1, 'mlx5_2:1']"))
    assert (found["NCCL_IB_HCA"], found["UCX_NET_DEVICES"]) == ("=mlx5_1,mlx5_2:1", "mlx5_1:1,mlx5_2:1")
    assert not {"NCCL_IB_HCA", "UCX_NET_DEVICES"} & set(environment(asked(kind)))


@pytest.mark.parametrize("kind", VERBS)
def test_verbs_need_a_device_and_memory_that_may_be_locked(kind: str) -> None:
    found = asked(kind, resource_count=2)
    assert [(entry.key, entry.value) for entry in found.resources] == [("rdma/ib", "2")]
    assert found.capabilities == ("IPC_LOCK",)
    assert found.root, "an added capability does nothing for another user"
    with pytest.raises(SpecError, match=r"fabric\.resource: is needed.*allocatable"):
        request(spec(kind, resource="null"))


@pytest.mark.parametrize("kind", ["tcp", "auto", "efa", "gke-rdma"])
def test_others_need_no_right_and_no_word_about_infiniband(kind: str) -> None:
    found = asked(kind)
    assert (found.capabilities, found.root) == ((), False)
    assert set(environment(found)) & {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TC"} == set()


@pytest.mark.parametrize("kind", ["sriov-roce", "sriov-infiniband"])
def test_a_function_gets_into_the_pod_by_its_network(kind: str) -> None:
    (networks,) = asked(kind, networks="[ray/rail0, rail1]").pod_annotations
    assert (networks.key, networks.value) == ("k8s.v1.cni.cncf.io/networks", "ray/rail0,rail1")
    with pytest.raises(SpecError, match=r"fabric\.networks: is needed.*net-attach-def"):
        request(spec(kind, networks="[]"))


def test_efa_asks_for_adapters_and_huge_pages() -> None:
    found = {entry.key: entry.value for entry in asked("efa", resource_count=32).resources}
    assert found == {"vpc.amazonaws.com/efa": "32", "hugepages-2Mi": "5120Mi"}


def test_gke_has_an_interface_for_each_nic_and_reads_googles_variables_first() -> None:
    found = asked("gke-rdma")
    interfaces = next(entry.value for entry in found.pod_annotations if entry.key.endswith("/interfaces"))
    assert interfaces.count('"network"') == 9
    assert '{"interfaceName": "eth9", "network": "rdma-7"}' in interfaces
    assert found.before_ray == "source /usr/local/gib/scripts/set_nccl_env.sh || exit 1"
    assert {path for _, path in found.volumes} == {"/usr/local/nvidia", "/usr/local/gib"}
