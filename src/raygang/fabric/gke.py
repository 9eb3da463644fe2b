"""GKE's RDMA (A3 Ultra, A4): eight interfaces by annotation, and Google's NCCL plugin gIB from the node.

GKE with multi-networking and the networks rdma-0 to rdma-7 (cluster toolkit, gpudirect-rdma); the plugin's own script
sets its many variables, and is read by the shell that starts Ray.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from raygang.fabric import _nccl as nccl
from raygang.fabric.model import FabricRequest
from raygang.objects import Entry

if TYPE_CHECKING:
    from raygang.runtime.fabric.expected import Expected
    from raygang.spec import Spec

NAMES = ("gke-rdma",)
DEFAULT, INTERFACES = "networking.gke.io/default-interface", "networking.gke.io/interfaces"
_FIRST = 2  # eth0 is the pod's, eth1 the node's second gVNIC
_LIBRARIES, _GIB = "/home/kubernetes/bin/nvidia", "/home/kubernetes/bin/gib"


def request(spec: Spec) -> FabricRequest:
    """Interfaces and libraries; GPUs are the only resource."""
    networks = spec.fabric.networks or tuple(f"rdma-{number}" for number in range(8))
    control = spec.fabric.interface or "eth0"
    interfaces = [{"interfaceName": control, "network": "default"}]
    interfaces += [{"interfaceName": f"eth{_FIRST + n}", "network": name} for n, name in enumerate(networks)]
    return FabricRequest(
        pod_annotations=(
            Entry(DEFAULT, control, "control traffic"),
            Entry(INTERFACES, json.dumps(interfaces), "one for each NIC of the node"),
        ),
        environment=(
            nccl.net("gIB"),
            Entry("LD_LIBRARY_PATH", "/usr/local/gib/lib64:/usr/local/nvidia/lib64", "Google's NCCL plugin and driver"),
            *nccl.control(spec),
        ),
        volumes=(
            ({"name": "gke-nvidia", "hostPath": {"path": _LIBRARIES}}, "/usr/local/nvidia"),
            ({"name": "gke-gib", "hostPath": {"path": _GIB}}, "/usr/local/gib"),
        ),
        before_ray="source /usr/local/gib/scripts/set_nccl_env.sh || exit 1",
        needs=(
            "GKE nodes with gIB installed, and the GKE networks " + ", ".join(networks),
            "a namespace whose Pod Security level is privileged: gIB comes by hostPath",
        ),
    )


def prove(spec: Spec) -> Expected:
    """Google's plugin. It opens verbs by itself, without the right to lock memory."""
    return nccl.expected(spec, "gIB")
