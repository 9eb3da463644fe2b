"""One truth about interconnects, a module per fabric: what a pod needs so that NCCL uses it, or fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raygang.fabric import efa, gke, infiniband, sriov, tcp
from raygang.fabric.model import Fabric, FabricRequest

if TYPE_CHECKING:
    from raygang.spec import Spec

FABRICS: dict[str, Fabric] = {name: module for module in (tcp, infiniband, sriov, efa, gke) for name in module.NAMES}

__all__ = ["FABRICS", "Fabric", "FabricRequest", "request"]


def request(spec: Spec) -> FabricRequest:
    """What the worker pods of a specification need for its fabric.

    Raises:
        SpecError: the specification lacks what only the site knows, such as the name of a resource.
    """
    return FABRICS[spec.fabric.type].request(spec)
