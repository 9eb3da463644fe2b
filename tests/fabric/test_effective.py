"""Which transport NCCL would pick in a pod, and why it is not RDMA: the chain from the pod's resource to the policy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from raygang.fabric import Effective, effective
from raygang.fabric.pod_network import Variable
from raygang.objects import Bundle, ray_workloads

Object = dict[str, Any]
NETWORKS = "k8s.v1.cni.cncf.io/networks"
RAIL = {"openshift.io/rail0": "1"}
ATTACHED = {NETWORKS: "ray/rail0"}


def workload(
    limits: Object | None = None,
    env: dict[str, str] | None = None,
    *,
    annotations: Object | None = None,
    container: Object | None = None,
    **pod: Any,
) -> Object:
    variables = [{"name": name, "value": value} for name, value in (env or {}).items()]
    first = {
        "name": "ray-worker",
        "image": "our/vllm:1",
        "resources": {"limits": {"nvidia.com/gpu": "8", **(limits or {})}},
    }
    template = {
        "metadata": {"annotations": annotations or {}},
        "spec": {"containers": [first | {"env": variables} | (container or {})], **pod},
    }
    group = {"groupName": "gpus", "replicas": 2, "maxReplicas": 2, "template": template}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "llama", "namespace": "ray"},
        "spec": {"headGroupSpec": {}, "workerGroupSpecs": [group]},
    }


def of(ray: Object, *others: Object, more: tuple[Variable, ...] = ()) -> Effective:
    bundle = Bundle.of([ray, *others])
    (found,) = ray_workloads(bundle)
    return effective(found.groups[1], found, bundle, more)


def sriov(kind: str, name: str = "rail0", **spec: Any) -> Object:
    metadata = {"name": name, "namespace": "sriov-network-operator"}
    return {"apiVersion": "sriovnetwork.openshift.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def policy(**spec: Any) -> Object:
    return sriov("SriovNetworkNodePolicy", resourceName="rail0", **spec)


def operator(prefix: str) -> Object:
    containers = [{"name": "operator", "env": [{"name": "RESOURCE_PREFIX", "value": prefix}]}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "sriov-network-operator"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


def config_map(config: Object, name: str = "config") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "kube-system"},
        "data": {"config.json": json.dumps(config)},
    }


NIC_POLICY: Object = {
    "apiVersion": "mellanox.com/v1alpha1",
    "kind": "NicClusterPolicy",
    "metadata": {"name": "nic-cluster-policy"},
    "spec": {
        "rdmaSharedDevicePlugin": {
            "config": json.dumps(
                {"configList": [{"resourcePrefix": "site", "resourceName": "hca_a", "rdmaHcaMax": 63}]}
            )
        }
    },
}


@pytest.mark.parametrize(
    ("ray", "transport"),
    [
        (workload(), "Socket"),
        (workload(hostNetwork=True), "Socket"),
        (workload({"rdma/ib": "1"}), "IB"),
        (workload({"rdma/ib": "1"}, {"NCCL_IB_DISABLE": "1"}), "Socket"),
        (workload({"rdma/ib": "1"}, {"NCCL_IB_DISABLE": "true"}), "IB"),  # NCCL reads 0
        (workload({"rdma/ib": "1"}, {"NCCL_NET": "socket"}), "Socket"),
        (workload(env={"NCCL_NET": "IB"}), "IB"),
        (workload(env={"NCCL_NET": ""}), "Socket"),
        (workload(env={"NCCL_NET": "UCX"}), "unknown"),
        (workload({"vpc.amazonaws.com/efa": "32"}), "unknown"),
        (workload({"vpc.amazonaws.com/efa": "32"}, {"LD_LIBRARY_PATH": "/opt/aws-ofi-nccl/lib"}), "Libfabric"),
        (workload({"vpc.amazonaws.com/efa": "32"}, {"NCCL_NET": "AWS Libfabric"}), "Libfabric"),
        (workload({"openshift.io/rail0": "1"}), "unknown"),
        (workload({"example.com/thing": "1"}), "unknown"),
        (workload({"amd.com/gpu": "1", "aws.amazon.com/neuron": "1"}), "Socket"),
        (workload(container={"securityContext": {"privileged": True}}), "unknown"),
        (workload(resourceClaims=[{"name": "nic"}]), "unknown"),
    ],
)
def test_the_transport_follows_from_devices_and_variables(ray: Object, transport: str) -> None:
    assert of(ray).transport == transport


def test_on_gke_the_plugin_is_googles() -> None:
    interfaces = json.dumps([{"interfaceName": "eth2", "network": "rdma-0"}])
    annotations = {"networking.gke.io/interfaces": interfaces}
    found = of(workload(annotations=annotations, env={"LD_LIBRARY_PATH": "/usr/local/gib/lib64"}))
    assert found.transport == "gIB"
    assert of(workload(annotations=annotations)).transport == "unknown"


@pytest.mark.parametrize(
    ("env", "fails"),
    [({"NCCL_NET": "IB"}, True), ({"NCCL_NET": "ib"}, True), ({}, False), ({"NCCL_NET": "Socket"}, False)],
)
def test_nccl_fails_when_it_must_use_what_is_not_there(env: dict[str, str], fails: bool) -> None:
    assert of(workload(env=env)).fails is fails


@pytest.mark.parametrize(
    ("ray", "said"),
    [
        (workload(), []),
        (workload(env={"NCCL_IB_HCA": "mlx5"}), ["NCCL_IB_HCA"]),
        (workload(env={"NCCL_IB_DISABLE": "0"}), []),
        (workload(env={"NCCL_SOCKET_IFNAME": "=ib0"}), ["NCCL_SOCKET_IFNAME: =ib0"]),
        (workload(env={"NCCL_SOCKET_IFNAME": "^ib"}), []),
        (workload(env={"NCCL_NET": "IB"}), ["NCCL_NET: IB"]),
        (workload({"rdma/ib": "1"}), ["the resource rdma/ib"]),
        (workload({"example.com/thing": "1"}), []),
        (workload(volumes=[{"name": "r", "hostPath": {"path": "/dev/infiniband/"}}]), ["the volume /dev/infiniband"]),
    ],
)
def test_what_asks_for_rdma_is_named(ray: Object, said: list[str]) -> None:
    assert [sign.text for sign in of(ray).meant] == said


def test_a_pod_without_a_device_says_so_at_its_resources() -> None:
    (cause,) = of(workload(env={"NCCL_IB_HCA": "mlx5"})).causes
    assert cause.text.startswith("NCCL's IB needs a device: no resource gives this pod /dev/infiniband/uverbs*")
    assert cause.path[-3:] == ("containers", 0, "resources")


@pytest.mark.parametrize(
    ("others", "rdma"),
    [
        ([policy(isRdma=True)], True),
        ([policy(isRdma=False)], False),
        ([policy()], False),  # isRdma is false by default
        ([policy(isRdma=True, deviceType="vfio-pci")], False),
        ([policy(isRdma=True), policy(deviceType="vfio-pci")], False),
        ([sriov("SriovNetworkNodePolicy", resourceName="rail1", isRdma=True)], None),
        ([operator("openshift.io"), policy(isRdma=True)], True),
        ([operator("nvidia.com"), policy(isRdma=True)], None),
        (
            [
                config_map(
                    {"resourceList": [{"resourceName": "rail0", "resourcePrefix": "openshift.io", "isRdma": True}]}
                )
            ],
            True,
        ),
        ([config_map({"resourceList": [{"resourceName": "rail0", "selectors": {"isRdma": True}}]})], True),
        ([config_map({"resourceList": [{"resourceName": "rail0", "selectors": [{"drivers": ["vfio-pci"]}]}]})], False),
        ([], None),
    ],
)
def test_whether_a_function_has_rdma_is_what_its_policy_says(others: list[Object], rdma: bool | None) -> None:
    (device,) = of(workload(RAIL, annotations=ATTACHED), *others).devices
    assert (device.kind, device.rdma) == ("function", rdma)


def test_functions_for_dpdk_are_refused_with_the_reason() -> None:
    found = of(workload(RAIL, annotations=ATTACHED), policy(deviceType="vfio-pci"))
    assert found.transport == "Socket"
    first = found.causes[0]
    assert "vfio-pci (DPDK): no kernel network driver and no RDMA device" in first.text
    assert first.manifest is not None and first.manifest.kind == "SriovNetworkNodePolicy"
    assert first.path == ("spec", "deviceType")


@pytest.mark.parametrize(
    "other", [NIC_POLICY, config_map({"configList": [{"resourceName": "hca_a", "resourcePrefix": "site"}]})]
)
def test_shared_devices_are_those_of_their_plugins_configuration(other: Object) -> None:
    ray = workload({"site/hca_a": "1"})
    assert of(ray).transport == "unknown"
    assert of(ray, other).transport == "IB"


def test_the_first_cause_comes_first() -> None:
    env = {"NCCL_IB_DISABLE": "1"}
    found = of(workload(RAIL, env, annotations=ATTACHED, hostNetwork=True), policy())
    assert [cause.text.partition(":")[0] for cause in found.causes] == [
        "openshift.io/rail0 comes without RDMA",
        "hostNetwork",
        "NCCL's IB needs a device",
        "NCCL_IB_DISABLE",
    ]


def test_what_is_not_in_the_bundle_is_asked_for() -> None:
    (needs,) = of(workload(RAIL, annotations=ATTACHED)).unchecked
    assert needs == "the SriovNetworkNodePolicy, or the ConfigMap of the device plugin, that offers openshift.io/rail0"
    assert of(workload({"rdma/ib": "1"}, container={"envFrom": [{"secretRef": {"name": "x"}}]})).transport == "unknown"


def test_variables_of_a_config_map_and_of_a_runtime_env_count() -> None:
    ray = workload({"rdma/ib": "1"}, container={"envFrom": [{"configMapRef": {"name": "nccl"}, "prefix": "NCCL_"}]})
    values = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nccl", "namespace": "ray"}}
    assert of(ray, values | {"data": {"NET": "Socket"}}).transport == "Socket"
    more = (Variable("NCCL_NET", "Socket", ("spec", "serveConfigV2")),)
    assert of(workload({"rdma/ib": "1"}, {"NCCL_NET": "IB"}), more=more).transport == "Socket"


@pytest.mark.parametrize("args", ["export NCCL_NET=IB", "source /usr/local/gib/scripts/set_nccl_env.sh || exit 1"])
def test_what_a_shell_sets_is_not_guessed(args: str) -> None:
    found = of(workload({"rdma/ib": "1"}, container={"args": [args]}))
    assert (found.transport, found.network.may_have("NCCL_NET")) == ("unknown", True)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("rail0", ["ray/rail0"]),
        ("other/rail0@net1, rail1", ["other/rail0", "ray/rail1"]),
        ('[{"name": "rail0", "namespace": "other"}, {"name": "rail1"}]', ["other/rail0", "ray/rail1"]),
        ("[{", []),
        (1, []),
    ],
)
def test_networks_are_read_in_both_forms(value: Any, names: list[str]) -> None:
    assert [str(network) for network in of(workload(annotations={NETWORKS: value})).network.networks] == names


@pytest.mark.parametrize("broken", [None, 1, "x", [], [None], [{"name": 1, "value": {}}], {"a": 1}])
def test_what_has_a_wrong_type_counts_as_not_there(broken: Any) -> None:
    ray = workload(container={"env": broken, "envFrom": broken, "args": broken}, volumes=broken, resourceClaims=broken)
    assert of(ray, config_map({"resourceList": broken, "configList": broken})).transport in ("Socket", "unknown")
