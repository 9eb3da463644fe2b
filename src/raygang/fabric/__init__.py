"""One truth about interconnects, a module per fabric: what a pod needs so that NCCL uses it, or fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raygang._lazy import lazily
from raygang.fabric import efa, gke, infiniband, sriov, tcp
from raygang.fabric._effective import Effective, effective
from raygang.fabric.model import Fabric, FabricRequest

if TYPE_CHECKING:
    from raygang.fabric._choice import Choice, choose
    from raygang.runtime.fabric.expected import Expected
    from raygang.spec import Spec

FABRICS: dict[str, Fabric] = {name: module for module in (tcp, infiniband, sriov, efa, gke) for name in module.NAMES}

__all__ = ["FABRICS", "Choice", "Effective", "Fabric", "FabricRequest", "choose", "effective", "prove", "request"]

__getattr__ = lazily(__name__, {"_choice": ("Choice", "choose")})  # reads inventories; pods and the linter have none


def request(spec: Spec) -> FabricRequest:
    """What the worker pods of a specification need for its fabric.

    Raises:
        SpecError: the specification lacks what only the site knows, such as the name of a resource.
    """
    return FABRICS[spec.fabric.type].request(spec)


def prove(spec: Spec) -> Expected:
    """What has to be seen in the gang's pods before the engine starts, for the fabric of a specification."""
    return FABRICS[spec.fabric.type].prove(spec)
