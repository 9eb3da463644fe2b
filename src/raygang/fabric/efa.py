"""AWS' Elastic Fabric Adapter, by libfabric and the plugin aws-ofi-nccl; no verbs, no NCCL_IB_*.

aws-efa-k8s-device-plugin 0.5; aws-ofi-nccl calls its network "AWS Libfabric" up to 1.11 and Libfabric later, and takes
the older name in all versions (aws-ofi-nccl pull request 530).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raygang.fabric import _nccl as nccl
from raygang.fabric.model import FabricRequest
from raygang.objects import Entry

if TYPE_CHECKING:
    from raygang.runtime.fabric.expected import Expected
    from raygang.spec import Spec

NAMES = ("efa",)
RESOURCE, HUGEPAGES = "vpc.amazonaws.com/efa", "hugepages-2Mi"
_HUGEPAGES = "5120Mi"  # what the EFA installer reserves on a node, and AWS' samples for p5 ask for


def request(spec: Spec) -> FabricRequest:
    """Adapters and the huge pages that they use."""
    count = Entry(
        spec.fabric.resource or RESOURCE,
        str(spec.fabric.resource_count),
        "adapters of the node (32 on a p5.48xlarge); a gang check counts them as it counts GPUs",
    )
    return FabricRequest(
        resources=(count, Entry(HUGEPAGES, _HUGEPAGES, "EFA's buffers; without them it runs slower")),
        environment=(
            nccl.net("AWS Libfabric"),
            Entry("FI_PROVIDER", "efa", "libfabric has others, among them TCP"),
            Entry("FI_EFA_FORK_SAFE", "1", "Ray and vLLM fork"),
            *nccl.control(spec),
        ),
        needs=(
            "AWS' EFA device plugin, and nodes with huge pages of 2 MiB",
            "an image with libfabric and aws-ofi-nccl, in LD_LIBRARY_PATH",
        ),
    )


def prove(spec: Spec) -> Expected:
    """Libfabric, with the huge pages that the pod asked for."""
    return nccl.expected(spec, "Libfabric", huge_pages=True)
