"""InfiniBand whose HCA is shared by a device plugin, and AKS' InfiniBand, which is one.

k8s-rdma-shared-dev-plugin 1.5: the resource mounts /dev/infiniband/uverbs* and rdma_cm into the container. Registering
memory needs RLIMIT_MEMLOCK or CAP_IPC_LOCK, and an added capability is effective for root only (Kubernetes 1.34-1.37:
there is no ambient set, KEP-2763).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raygang.fabric import _nccl as nccl
from raygang.fabric.model import FabricRequest
from raygang.objects import Entry

if TYPE_CHECKING:
    from raygang.runtime.fabric.expected import Expected
    from raygang.spec import Spec

NAMES = ("infiniband", "aks-infiniband")
LOCK = "IPC_LOCK"
VERBS = "an image with rdma-core (libibverbs): without it NCCL finds no HCA"
PRIVILEGED = "a namespace whose Pod Security level is privileged: IPC_LOCK is refused below it"
_AKS_DEVICE = "rdma/shared_ib"  # Azure/aks-rdma-infiniband, its NicClusterPolicy for a shared device


def request(spec: Spec) -> FabricRequest:
    """The shared device, and the right to lock memory."""
    aks = spec.fabric.type == "aks-infiniband"
    found = FabricRequest(
        resources=nccl.device(spec, _AKS_DEVICE if aks else "rdma/rdma_shared_device_ib"),
        environment=(nccl.net("IB"), *nccl.hcas(spec), *nccl.control(spec)),
        capabilities=(LOCK,),
        root=True,
        needs=(PRIVILEGED, VERBS),
    )
    return _on_aks(found) if aks else found


def _on_aks(found: FabricRequest) -> FabricRequest:
    why = "a virtual machine hides how GPUs and HCAs are connected"
    return replace(
        found,
        environment=(*found.environment, Entry("NCCL_NET_GDR_LEVEL", "SYS", why)),
        needs=("AKS nodes with the NVIDIA network operator (Azure/aks-rdma-infiniband)", *found.needs),
    )


def prove(spec: Spec) -> Expected:
    """Verbs on ports whose link is InfiniBand."""
    return nccl.expected(spec, "IB", verbs=True, link_layer="InfiniBand")
