"""A virtual function for each pod by the SR-IOV operator: RoCE or InfiniBand.

SR-IOV network operator 1.4-1.6: the resource is <resourcePrefix>/<resourceName>, and the pod's annotation names the
NetworkAttachmentDefinition that moves the function into it; both are needed, also for RDMA. Names of virtual functions
differ from node to node, so a list of HCAs is only given when the site has one. NCCL_IB_GID_INDEX stays unset: NCCL
2.21 and later choose it for each peer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raygang.fabric import _nccl as nccl
from raygang.fabric.infiniband import LOCK, PRIVILEGED, VERBS
from raygang.fabric.model import FabricRequest
from raygang.objects import Entry

if TYPE_CHECKING:
    from raygang.runtime.fabric.expected import Expected
    from raygang.spec import Spec

NAMES = ("sriov-roce", "sriov-infiniband")
NETWORKS = "k8s.v1.cni.cncf.io/networks"
_EXAMPLES = {"sriov-roce": "openshift.io/roce_rail0", "sriov-infiniband": "openshift.io/ib_rail0"}
_LAYERS = {"sriov-roce": "Ethernet", "sriov-infiniband": "InfiniBand"}
_LINKS = {"sriov-roce": "linkType: eth", "sriov-infiniband": "linkType: ib"}


def request(spec: Spec) -> FabricRequest:
    """The function, the network that moves it into the pod, and the right to lock memory."""
    fabric = spec.fabric
    device = nccl.device(spec, _EXAMPLES[fabric.type])
    if not fabric.networks:
        raise spec.problem(
            "fabric.networks",
            f"is needed: without its network the function of {fabric.type} is reserved, and does not get into the pod",
            suggestion="the NetworkAttachmentDefinitions that go with the resource, namespace/name for each "
            "(kubectl get net-attach-def -A)",
        )
    why = "moves the virtual functions into the pod, in this order"
    return FabricRequest(
        resources=device,
        pod_annotations=(Entry(NETWORKS, ",".join(fabric.networks), why),),
        environment=(nccl.net("IB"), *nccl.hcas(spec), *nccl.control(spec)),
        capabilities=(LOCK,),
        root=True,
        needs=(
            f"an SriovNetworkNodePolicy with isRdma: true, deviceType: netdevice and {_LINKS[fabric.type]} for it",
            PRIVILEGED,
            VERBS,
        ),
    )


def prove(spec: Spec) -> Expected:
    """Verbs on the function, whose link says whether it is RoCE."""
    return nccl.expected(spec, "IB", verbs=True, link_layer=_LAYERS[spec.fabric.type])
