"""What rules about pods look at: containers of a group with their paths, environment, sizes and Ray's parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from raygang.lint.model import Case
from raygang.objects import Group, Path, at, count, mapping, quantity, sequence, text
from raygang.objects.fields import digits

SHM = "/dev/shm"
_KEY = "_containers"  # where a group keeps its own: almost every rule asks for them
_MIG = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb\Z", re.ASCII)


@dataclass(frozen=True)
class Env:
    """An environment variable: a text, or None where it comes from elsewhere."""

    name: str
    value: str | None
    path: Path


@dataclass(frozen=True)
class Container:
    """A container of a pod template.

    Attributes:
        group: the group that it is in.
        data: what stands there.
        path: where.
        index: its number in its list.
        init: whether it runs before the others.
    """

    group: Group
    data: Mapping[str, Any]
    path: Path
    index: int
    init: bool

    @property
    def name(self) -> str:
        """Its name, or its number where it has none."""
        return text(self.data.get("name")) or f"number {self.index + 1}"

    @property
    def is_ray(self) -> bool:
        """Whether KubeRay starts Ray in it: always the first one (1.4-1.7, utils/constant.go RayContainerIndex)."""
        return self.index == 0 and not self.init

    @property
    def image(self) -> str | None:
        """Its image."""
        return text(self.data.get("image"))

    @cached_property
    def env(self) -> tuple[Env, ...]:
        """Its environment, in its order."""
        entries = enumerate(sequence(self.data.get("env")))
        return tuple(
            Env(name, text(entry.get("value")), (*self.path, "env", index))
            for index, entry in entries
            if (name := text(at(entry, "name"))) is not None
        )

    def variable(self, name: str) -> Env | None:
        """An environment variable; the last one of its name, which wins."""
        return next((env for env in reversed(self.env) if env.name == name), None)

    def sizes(self, which: str) -> Mapping[str, Any]:
        """`limits` or `requests`."""
        return mapping(at(self.data, "resources", which))

    def size(self, resource: str) -> Decimal | None:
        """How much of a resource it gets: its limit, or else its request."""
        limit = quantity(self.sizes("limits").get(resource))
        return quantity(self.sizes("requests").get(resource)) if limit is None else limit

    def at(self, *path: str | int) -> Path:
        """The path of one of its fields."""
        return (*self.path, *path)


def containers(group: Group) -> Iterator[Container]:
    """The containers of a group's pods, then those that run before them."""
    known: tuple[Container, ...] | None = vars(group).get(_KEY)
    if known is None:
        known = vars(group)[_KEY] = tuple(_containers(group))
    return iter(known)


def _containers(group: Group) -> Iterator[Container]:
    for field, init in (("containers", False), ("initContainers", True)):
        for index, data in enumerate(sequence(group.pod.get(field))):
            yield Container(group, mapping(data), group.at("template", "spec", field, index), index, init)


def all_containers(case: Case) -> Iterator[Container]:
    """Those of all groups."""
    for group in case.groups:
        yield from containers(group)


def ray_container(group: Group) -> Container | None:
    """The container that Ray runs in, None where the pod has none."""
    return next((container for container in containers(group) if container.is_ray), None)


def ray_containers(case: Case) -> Iterator[Container]:
    """Those of all groups."""
    for group in case.groups:
        container = ray_container(group)
        if container is not None:
            yield container


def params(group: Group) -> Mapping[str, Any]:
    """rayStartParams."""
    return mapping(group.data.get("rayStartParams"))


def param(group: Group, name: str) -> str | None:
    """One of rayStartParams, as the text that it is or was meant to be."""
    value = params(group).get(name)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def number(group: Group, name: str) -> int | None:
    """One of rayStartParams that is a whole number."""
    value = (param(group, name) or "").strip().strip("'\"")
    return digits(value)


def is_gpu(resource: str) -> bool:
    """What KubeRay counts as GPUs (1.4-1.7, utils/resources.go, before 1.6 utils/util.go)."""
    return resource.endswith("gpu") or _MIG.match(resource) is not None


def gpus(container: Container) -> int:
    """GPUs of a container, as KubeRay takes them from its limits: those of the first name that it finds."""
    limits = container.sizes("limits")
    for name in sorted(name for name in limits if isinstance(name, str) and is_gpu(name)):
        found = quantity(limits[name])
        if found:
            return int(found)
    return 0


def can_have_pods(case: Case, group: Group) -> bool:
    """Whether a group has pods, or the autoscaler may give it some."""
    return group.pods > 0 or (case.workload.autoscaling and count(group.data.get("maxReplicas"), 1) > 0)


def label(group: Group) -> str:
    """A group as messages call it."""
    return "the head" if group.head else f"the worker group {group.name or '(without a name)'}"
