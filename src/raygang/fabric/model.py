"""The words of the fabric room: what a worker pod needs for its network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from raygang.objects import Entry

if TYPE_CHECKING:
    from raygang.runtime.fabric.expected import Expected
    from raygang.spec import Spec


@dataclass(frozen=True)
class FabricRequest:
    """What gives the ranks of a pod their network, and makes NCCL use it or fail.

    Attributes:
        resources: of the container, requests and limits alike.
        pod_annotations: of the pod's template; KubeRay does not copy those of the Ray object to pods.
        environment: of the container.
        capabilities: Linux capabilities that the container adds.
        root: whether the container runs as root, without which an added capability is not effective.
        volumes: of the pod, each with where the container mounts it.
        before_ray: a shell command in front of `ray start`: KubeRay 1.4-1.7 runs the container's own args there.
        needs: what the cluster and the image must have, in sentences.
    """

    resources: tuple[Entry, ...] = ()
    pod_annotations: tuple[Entry, ...] = ()
    environment: tuple[Entry, ...] = ()
    capabilities: tuple[str, ...] = ()
    root: bool = False
    volumes: tuple[tuple[dict[str, Any], str], ...] = ()
    before_ray: str | None = None
    needs: tuple[str, ...] = ()


class Fabric(Protocol):
    """A module that knows one fabric."""

    NAMES: tuple[str, ...]

    def request(self, spec: Spec) -> FabricRequest:
        """What its pods need. Raises SpecError when the specification lacks what the site alone knows."""
        ...

    def prove(self, spec: Spec) -> Expected:
        """What must be seen in its pods."""
        ...
