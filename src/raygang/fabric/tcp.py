"""Plain TCP: no device, no right, and no hidden RDMA either. `auto` asks for nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raygang.fabric import _nccl as nccl
from raygang.fabric.model import FabricRequest
from raygang.objects import Entry

if TYPE_CHECKING:
    from raygang.runtime.fabric.expected import Expected
    from raygang.spec import Spec

NAMES = ("tcp", "auto")


def request(spec: Spec) -> FabricRequest:
    """Sockets only; with `auto` NCCL takes what it finds."""
    if spec.fabric.type == "auto":
        return FabricRequest(environment=nccl.control(spec))
    why = "an HCA that happens to be visible is not used by some ranks and missed by others"
    return FabricRequest(
        environment=(nccl.net("Socket"), Entry("NCCL_IB_DISABLE", "1", why), *nccl.control(spec)),
    )


def prove(spec: Spec) -> Expected:
    """Sockets and nothing else; with `auto` whatever carries."""
    return nccl.expected(spec, "any" if spec.fabric.type == "auto" else "Socket")
