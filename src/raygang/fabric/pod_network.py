"""What a pod's template says about its network: variables, devices, networks and rights of the container with Ray."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from raygang.fabric.annotations import Network, read_interfaces, read_networks
from raygang.fabric.gke import INTERFACES
from raygang.fabric.sriov import NETWORKS
from raygang.objects import Bundle, Group, Manifest, Path, at, mapping, quantity, sequence, text

_SETS = re.compile(r"\b((?:NCCL|GLOO|FI)_[A-Z0-9_]+)=", re.ASCII)
_SCRIPT = re.compile(r"(?:^|[;&|\s])(?:source|\.)\s+\S", re.ASCII)


@dataclass(frozen=True)
class Said:
    """A sentence about a field, and where the field stands: in the workload where no manifest is named."""

    text: str
    path: Path
    manifest: Manifest | None = None


@dataclass(frozen=True)
class Variable:
    """An environment variable; its value is None where the manifests do not say it."""

    name: str
    value: str | None
    path: Path
    manifest: Manifest | None = None


@dataclass(frozen=True)
class Resource:
    """An extended resource that the container asks for."""

    name: str
    amount: int
    path: Path


@dataclass(frozen=True)
class PodNetwork:
    """The pods of a group.

    Attributes:
        group: the group.
        bundle: where ConfigMaps and networks are looked up.
        namespace: of the workload.
        more: variables that the ranks get beside those of the container, such as those of a runtime_env; they win.
    """

    group: Group
    bundle: Bundle
    namespace: str | None
    more: tuple[Variable, ...] = ()

    @cached_property
    def container(self) -> Mapping[str, Any]:
        """The container that Ray runs in: the first (KubeRay 1.4-1.7, utils/constant.go RayContainerIndex)."""
        return mapping(at(self.group.pod, "containers", 0))

    def at(self, *path: str | int) -> Path:
        """The path of a field of that container."""
        return self.pod_at("containers", 0, *path)

    def pod_at(self, *path: str | int) -> Path:
        """The path of a field of the pod's spec."""
        return self.group.at("template", "spec", *path)

    @cached_property
    def host(self) -> bool:
        """Whether it is on the node's network."""
        return self.group.pod.get("hostNetwork") is True

    @cached_property
    def privileged(self) -> bool:
        """Whether it sees all devices of its node."""
        return at(self.container, "securityContext", "privileged") is True

    @cached_property
    def claims(self) -> bool:
        """Whether it gets devices by Dynamic Resource Allocation, which may be any."""
        return bool(sequence(self.group.pod.get("resourceClaims")))

    @cached_property
    def image(self) -> str:
        """The container's image."""
        return text(self.container.get("image")) or ""

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        """Further networks of the pod."""
        return read_networks(self.group.template_annotations().get(NETWORKS), self.namespace)

    @property
    def networks_path(self) -> Path:
        """Where they are written."""
        return self.annotation_at(NETWORKS)

    @cached_property
    def gke(self) -> Mapping[str, str]:
        """GKE's interfaces, with their networks."""
        return read_interfaces(self.group.template_annotations().get(INTERFACES))

    def annotation_at(self, name: str) -> Path:
        """The path of an annotation of the pod."""
        return self.group.at("template", "metadata", "annotations", name)

    @property
    def several(self) -> str:
        """Why it has more than one interface; empty where it has but one."""
        if self.host:
            return "hostNetwork"
        return f"the networks {', '.join(map(str, self.networks))}" if self.networks else "GKE's" if self.gke else ""

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """Extended resources, in their order."""
        found: dict[str, Resource] = {}
        for which in ("limits", "requests"):
            for name, value in mapping(at(self.container, "resources", which)).items():
                amount = quantity(value)
                if isinstance(name, str) and "/" in name and amount:
                    found.setdefault(name, Resource(name, int(amount), self.at("resources", which, name)))
        return tuple(found.values())

    @cached_property
    def variables(self) -> Mapping[str, Variable]:
        """Variables of the ranks by name; the last one of a name wins."""
        listed = [*self._from(), *self._listed(), *self._shell(), *self.more]
        return {variable.name: variable for variable in listed}

    @cached_property
    def open(self) -> bool:
        """Whether it may have variables that no manifest of the bundle shows."""
        unseen = any(self._source(entry) is None for entry in sequence(self.container.get("envFrom")))
        return unseen or bool(_SCRIPT.search(self._command))

    def value(self, name: str) -> str | None:
        """A variable's value; None where it is not set, not known, or empty: NCCL takes an empty one as none."""
        variable = self.variables.get(name)
        return (variable.value or None) if variable else None

    def may_have(self, name: str) -> bool:
        """Whether a variable is set, or may be."""
        variable = self.variables.get(name)
        return self.open or (variable is not None and variable.value != "")

    @property
    def _command(self) -> str:
        parts = (*sequence(self.container.get("command")), *sequence(self.container.get("args")))
        return "\n".join(part for part in parts if isinstance(part, str))

    def _shell(self) -> Iterator[Variable]:
        where = self.at("args" if "args" in self.container else "command")
        for name in sorted(set(_SETS.findall(self._command))):
            yield Variable(name, None, where)

    def _listed(self) -> Iterator[Variable]:
        for index, entry in enumerate(sequence(self.container.get("env"))):
            name = text(at(entry, "name"))
            if name is None:
                continue
            path = self.at("env", index)
            ref = mapping(at(entry, "valueFrom", "configMapKeyRef"))
            source = self._config(ref.get("name")) if ref else None
            if source is not None:
                value = text(at(source.data, "data", str(ref.get("key"))))
                yield Variable(name, value, path)
                continue
            value = "" if at(entry, "value") is None and not at(entry, "valueFrom") else text(at(entry, "value"))
            yield Variable(name, None if value and "$(" in value else value, path)

    def _from(self) -> Iterator[Variable]:
        for entry in sequence(self.container.get("envFrom")):
            source = self._source(entry)
            for key, value in mapping(source.data.get("data")).items() if source else ():
                if isinstance(key, str):
                    name = f"{text(at(entry, 'prefix')) or ''}{key}"
                    yield Variable(name, text(value), ("data", key), source)

    def _source(self, entry: Any) -> Manifest | None:
        return self._config(at(entry, "configMapRef", "name"))

    def _config(self, name: Any) -> Manifest | None:
        return self.bundle.get("", "ConfigMap", self.namespace, name) if isinstance(name, str) else None


def pod_network(group: Group, bundle: Bundle, namespace: str | None, more: Sequence[Variable] = ()) -> PodNetwork:
    """What the template of a group says about the network of its pods."""
    return PodNetwork(group, bundle, namespace, tuple(more))
