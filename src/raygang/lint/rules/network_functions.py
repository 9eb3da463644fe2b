"""NET: SR-IOV functions of pods: the resource, the network that moves it into the pod, and the policy behind both."""

from __future__ import annotations

from raygang.fabric.gke import INTERFACES
from raygang.fabric.pod_devices import Device
from raygang.fabric.sriov import NETWORKS
from raygang.lint.model import Case, Found, Report, Rule, Unchecked
from raygang.lint.rules.network_transport import off
from raygang.lint.rules.network_view import Ranks, ranks
from raygang.lint.rules.network_words import pods, sriov
from raygang.lint.rules.pods_view import label

_DEFAULT_PREFIX = "intel.com"  # of sriov-network-device-plugin, cmd/sriovdp/main.go


def functions(one: Ranks) -> list[Device]:
    """SR-IOV functions that its pods ask for."""
    return [device for device in one.effective.devices if device.kind == "function"]


def _on_host(case: Case) -> Report:
    for one in ranks(case):
        if not one.network.host:
            continue
        for device in functions(one):
            what = f"{label(one.group)} asks for the function {device.resource.name}, and has hostNetwork"
            yield Found(device.resource.path, what)
        if one.network.networks:
            what = f"{label(one.group)} names the network {one.network.networks[0]}, and has hostNetwork"
            yield Found(one.network.networks_path, what)


def _no_network(case: Case) -> Report:
    for one in ranks(case):
        if one.network.networks:
            continue
        for device in functions(one):
            what = f"{label(one.group)} asks for the function {device.resource.name}, and names no network"
            yield Found(device.resource.path, what)


def _on_object(case: Case) -> Report:
    """KubeRay makes pods of templates: what is annotated on the Ray object stays there."""
    for name in (NETWORKS, INTERFACES):
        if name not in case.workload.manifest.annotations:
            continue
        if not any(name in group.template_annotations() for group in case.workers):
            path = ("metadata", "annotations", name)
            yield Found(path, f"the {case.workload.kind} has the annotation {name}, and its pods have not", key=True)


def _no_rdma(case: Case) -> Report:
    for one in ranks(case):
        if off(one):
            continue
        resources = {device.resource.path for device in one.effective.devices if not device.named_for_rdma}
        meant = any(said.path not in resources for said in one.effective.meant)
        for device in functions(one):
            pool = device.pool
            if pool is not None and pool.vfio:
                what = f"{device.resource.name} of {label(one.group)} has functions with the driver vfio-pci"
                because = "they are for DPDK: no kernel network driver and no RDMA device, nothing that NCCL could use"
                write = "write deviceType: netdevice and isRdma: true"
                yield Found(pool.path, what, write, because, manifest=pool.manifest)
            elif pool is not None and not pool.rdma and meant:
                what = f"{label(one.group)} is to use RDMA by {device.resource.name}, and isRdma is not true"
                yield Found(pool.path, what, manifest=pool.manifest)


def _not_told(case: Case) -> Report:
    for one in ranks(case):
        if off(one) or not one.effective.meant:
            continue
        told = False
        for device in functions(one):
            name = device.resource.name
            if device.rdma is None and name.startswith(f"{_DEFAULT_PREFIX}/") and not device.named_for_rdma:
                yield Found(device.resource.path, f"nothing says that {name} of {label(one.group)} comes with RDMA")
                told = True
        yield from (Unchecked(needs) for needs in one.effective.unchecked if not told)


_RAIL = "openshift.io/rail0: '1'"
_NET = f"{NETWORKS}: models/rail0"
_IB = {"NCCL_NET": "IB"}
_HOST = "hostNetwork: true"
POD = pods(_IB, _RAIL, annotations=_NET)


def rail_network(resource: str) -> str:
    """An example: the network rail0 for a resource."""
    return sriov("SriovNetwork", "rail0", f"resourceName: {resource}, networkNamespace: models") + "---\n"


def _policy(fields: str) -> str:
    return sriov("SriovNetworkNodePolicy", "rail0", f"resourceName: rail0, numVfs: 8, {fields}") + "---\n"


OPERATOR = "SR-IOV network operator 1.4-1.6"

RULES = (
    Rule(
        code="NET009", name="function-on-host-network", severity="error",
        title="an SR-IOV function and the node's network",
        because="no network plugin runs for the pod: the function is reserved, and nothing moves it into the pod",
        why="Network plugins (CNI) set a pod's own network up and move functions into it. With hostNetwork the pod has "
        "none of its own, and the container runtime calls no plugin.",
        write="choose one: remove hostNetwork, or the resource and the networks",
        since="Kubernetes, all versions", source="containerd 2.x internal/cri/server/sandbox_run.go",
        bad=pods(_IB, _RAIL, spec=_HOST, annotations=_NET), good=POD,
        check=_on_host,
    ),
    Rule(
        code="NET010", name="function-without-network", severity="error",
        title="an SR-IOV function that no network moves into the pod",
        because="the function is reserved, and stays on the node: the pod has neither its interface nor its RDMA "
        "device",
        why=f"The resource reserves a function. The annotation `{NETWORKS}` names the network whose plugin moves it "
        "into "
        "the pod. The injector of the SR-IOV operator goes from the annotation to the resource, and not back.",
        write=f"add the annotation {NETWORKS} to template.metadata, with a network for each function",
        since=OPERATOR, source="network-resources-injector README; sriov-network-device-plugin README",
        bad=pods(_IB, _RAIL), good=POD,
        check=_no_network,
    ),
    Rule(
        code="NET011", name="network-annotation-on-object", severity="error",
        title="networks on the Ray object, not on its pods",
        because="the pods are attached to no network: NCCL goes over TCP, or ends",
        why="KubeRay makes pods of the templates, with the annotations of template.metadata. Those of the RayCluster, "
        "RayService or RayJob stay where they are.",
        write="move it to workerGroupSpecs[].template.metadata.annotations",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go DefaultWorkerPodTemplate",
        bad=f"kind: RayCluster\nmetadata:\n  annotations:\n    {NETWORKS}: models/rail0\n", good=POD,
        check=_on_object,
    ),
    Rule(
        code="NET014", name="policy-not-rdma", severity="error",
        title="functions without RDMA, for a pod that is to use it",
        because="the pod gets no RDMA device: NCCL goes over TCP, or ends where NCCL_NET is IB",
        why="The device plugin hands /dev/infiniband out where isRdma is true, and isRdma is false by default. "
        "vfio-pci hands the whole function to a program such as DPDK: the kernel has no interface and no RDMA device "
        "of it.",
        write="write isRdma: true and deviceType: netdevice",
        since=OPERATOR,
        source="sriov-network-operator api/v1/sriovnetworknodepolicy_types.go, pkg/webhook/validate.go",
        bad=_policy("deviceType: netdevice") + POD, good=_policy("isRdma: true") + POD,
        check=_no_rdma,
    ),
    Rule(
        code="NET032", name="function-kind-unknown", severity="info",
        title="a function that nothing says RDMA of",
        because="it may be for plain networking or for DPDK: then NCCL goes over TCP, and says so in its log only",
        why="intel.com is what the SR-IOV device plugin writes before a resource's name where nobody says otherwise, "
        "and says nothing of RDMA or of the maker. RDMA comes with isRdma: true in the plugin's configuration, which "
        "is not among these manifests.",
        write="look at the plugin's ConfigMap (sriovdp-config): isRdma has to be true, and drivers must not be "
        "vfio-pci",
        since="sriov-network-device-plugin 3.0-3.9", source="sriov-network-device-plugin cmd/sriovdp/main.go, README",
        bad=pods(_IB, "intel.com/sriov_net: '1'", annotations=_NET), good=_policy("isRdma: true") + POD,
        check=_not_told,
    ),
)  # fmt: skip
