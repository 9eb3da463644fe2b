"""The annotation for further networks of a pod: Multus and what speaks its language.

Network Plumbing Working Group, Multi-Net Spec 1.3, section 4: a list of [namespace/]name[@interface] with commas, or a
list of objects in JSON. Without a namespace it is the pod's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from raygang.objects import at, mapping, sequence, text

RESOURCE = "k8s.v1.cni.cncf.io/resourceName"


@dataclass(frozen=True)
class Network:
    """A network that a pod is attached to."""

    name: str
    namespace: str | None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def read_networks(value: Any, namespace: str | None) -> tuple[Network, ...]:
    """The networks of an annotation's value; none where it cannot be read."""
    raw = (text(value) or "").strip()
    if raw.startswith(("[", "{")):
        entries = sequence(_json(raw))
        found = ((text(at(entry, "name")), text(at(entry, "namespace"))) for entry in entries)
        return tuple(Network(name, space or namespace) for name, space in found if name)
    return tuple(_short(entry, namespace) for part in raw.split(",") if (entry := part.strip()))


def read_interfaces(value: Any) -> dict[str, str]:
    """GKE's interfaces: name of the interface -> network."""
    found = (mapping(entry) for entry in sequence(_json((text(value) or "").strip())))
    return {
        name: network
        for entry in found
        if (name := text(entry.get("interfaceName"))) and (network := text(entry.get("network")))
    }


def _short(entry: str, namespace: str | None) -> Network:
    space, slash, name = entry.partition("@")[0].rpartition("/")
    return Network(name, space if slash else namespace)


def _json(raw: str) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None
