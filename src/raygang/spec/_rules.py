"""Fields that contradict each other, and arguments that belong to raygang."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from raygang.spec import _secrets
from raygang.spec._document import Document
from raygang.spec._errors import Problem
from raygang.spec.model import FabricSpec, Spec

OWNED = {  # vLLM arguments that follow from other fields
    "model": "model.source",
    "tokenizer_revision": "model.revision",
    "revision": "model.revision",
    "served_model_name": "model.served_name",
    "tensor_parallel_size": "parallelism.tensor",
    "pipeline_parallel_size": "parallelism.pipeline",
    "data_parallel_size": "parallelism.data",
    "enable_expert_parallel": "parallelism.expert",
    "hf_token": "model.token",
}
_NODES = "nodes are Ray's here; write nodes.count"
_SERVER = "Ray Serve listens for requests, not vLLM's own server"
FIXED = {  # vLLM arguments that have one value here, or none
    "distributed_executor_backend": "raygang always uses vLLM's Ray executor",
    "nnodes": _NODES,
    "node_rank": _NODES,
    "master_addr": _NODES,
    "master_port": _NODES,
} | dict.fromkeys(("host", "port", "uds", "grpc_port", "ssl_keyfile", "ssl_certfile", "ssl_ca_certs"), _SERVER)


_FOUND = "auto takes what it finds; name the fabric in fabric.type"
_DEVICE = {
    "auto": _FOUND,
    "tcp": "tcp needs no device",
    "gke-rdma": "GKE gives the pod its NICs by annotation, not by a resource",
}
_NETWORKS = "{} needs no additional network; sriov-roce, sriov-infiniband and gke-rdma do"
_UNUSED: dict[str, dict[str, str]] = {  # fields of the fabric that a type has no use for, and why
    "resource": _DEVICE,
    "resource_count": _DEVICE,
    "hcas": {
        "auto": _FOUND,
        "tcp": "tcp uses no HCA",
        "efa": "EFA is no InfiniBand: NCCL reads no HCA list there",
        "gke-rdma": "Google's plugin chooses the HCAs itself",
    },
    "networks": {name: _NETWORKS.format(name) for name in ("auto", "tcp", "efa", "infiniband", "aks-infiniband")},
}


def contradictions(spec: Spec, document: Document, broken: set[str]) -> list[Problem]:
    """Everything that is well-formed and cannot be meant, leaving out what depends on broken sections."""
    whole = (rule for rule, sections in _RULES.items() if broken.isdisjoint(sections))
    return [problem for rule in whole for problem in rule(spec, document)]


def secrets(document: Document) -> list[Problem]:
    """Every value that looks like a secret, in any field."""
    message = "looks like a secret; secrets are referenced, never written (model.token)"
    return [document.problem(path, message) for path in _secret_paths(document.data, ())]


def _secret_paths(value: Any, path: tuple[str, ...], named: bool = False) -> Iterator[tuple[str, ...]]:
    """Values that services hand out as secrets, and texts in engine fields that are named like one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if _secrets.is_value(key):
                yield (*path, key)
            yield from _secret_paths(inner, (*path, key), named or _is_named(path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _secret_paths(inner, (*path, str(index)), named)
    elif isinstance(value, str) and value and (named or _secrets.is_value(value)) and path != ("model", "token"):
        yield path


def _is_named(path: tuple[str, ...], key: str) -> bool:
    if path[:2] == ("engine", "env"):
        return _secrets.is_name(key)
    return path[:2] == ("engine", "args") and _secrets.is_name(key) and not _secrets.is_special_token(key)


def _engine_args(spec: Spec, document: Document) -> Iterator[Problem]:
    for name in spec.engine.args:
        path = ("engine", "args", name)
        plain = name.replace("-", "_")
        if plain in OWNED:
            yield document.problem(path, f"follows from another field; write {OWNED[plain]}")
        elif plain in FIXED:
            yield document.problem(path, FIXED[plain])
        elif plain != name:
            yield document.problem(path, "vLLM's arguments are written with _ here", suggestion=plain)


def _token(spec: Spec, document: Document) -> Iterator[Problem]:
    token = spec.model.token
    if token is not None and (token.secret is None) == (token.env is None):
        yield document.problem(("model", "token"), "names either a Kubernetes Secret (secret) or a variable (env)")


def _shape(spec: Spec, document: Document) -> Iterator[Problem]:
    tensor, pipeline, count = spec.parallelism.tensor, spec.parallelism.pipeline, spec.nodes.count
    per_node = spec.nodes.accelerators
    if count == "auto" or tensor == "auto" or pipeline == "auto":
        return
    ranks = tensor * pipeline * spec.parallelism.data
    if ranks > count * per_node:
        yield document.problem(
            _later(document, ("parallelism", "pipeline"), ("nodes", "count"), ("nodes", "accelerators")),
            f"tensor {tensor} x pipeline {pipeline} x data {spec.parallelism.data} = {ranks} ranks, and "
            f"{count} nodes with {per_node} accelerators each hold {count * per_node}",
        )
    elif ranks < count:
        yield document.problem(("nodes", "count"), f"{count} nodes for {ranks} ranks: some would hold none")


def _scheduler(spec: Spec, document: Document) -> Iterator[Problem]:
    scheduler = spec.scheduler
    if scheduler.type != "none":
        return
    for name in ("queue", "topology"):
        if getattr(scheduler, name) is not None:
            path = _later(document, ("scheduler", name), ("scheduler", "type"))
            yield document.problem(path, f"{name} needs a gang scheduler, and scheduler.type is none")


def _fabric(spec: Spec, document: Document) -> Iterator[Problem]:
    fabric = spec.fabric
    for name, unused in _UNUSED.items():
        if fabric.type in unused and getattr(fabric, name) != FabricSpec.model_fields[name].default:
            yield document.problem(("fabric", name), unused[fabric.type])
    for index, hca in enumerate(fabric.hcas):
        earlier = next((other for other in fabric.hcas[:index] if _share_a_port(other, hca)), None)
        if earlier:
            same = f"{hca} and {earlier} name the same port; without :port a name means all of its ports"
            what = f"{hca} stands there twice" if hca == earlier else same
            yield document.problem(("fabric", "hcas", str(index)), what)


def _share_a_port(one: str, other: str) -> bool:
    (device, _, port), (other_device, _, other_port) = one.partition(":"), other.partition(":")
    return device == other_device and (port == other_port or not port or not other_port)


def _host_network(spec: Spec, document: Document) -> Iterator[Problem]:
    fabric = spec.fabric
    if not fabric.host_network:
        return
    if fabric.type.startswith("sriov") or fabric.type == "gke-rdma":
        yield document.problem(
            ("fabric", "host_network"),
            f"{fabric.type} gives the pod an interface of its own; with the node's network it has none",
        )
    if fabric.interface is None:
        yield document.problem(
            ("fabric", "interface"),
            "is needed with host_network: nodes have several, and Gloo takes that of the host's name, NCCL the first",
            suggestion="the one with the node's address, named alike on all nodes (ip -br address)",
        )


def _tolerations(spec: Spec, document: Document) -> Iterator[Problem]:
    for index, toleration in enumerate(spec.nodes.tolerations):
        path = ("nodes", "tolerations", str(index))
        if toleration.operator == "Exists" and toleration.value:
            yield document.problem((*path, "value"), "a value is compared by Equal only, and operator is Exists")
        if toleration.operator == "Equal" and toleration.key is None:
            yield document.problem(path, "Equal needs a key; for every taint write operator: Exists")


def _later(document: Document, *paths: tuple[str, ...]) -> tuple[str, ...]:
    """The one that stands last in the file: there the contradiction becomes one."""
    present = [p for p in paths if p in document.places]
    return max(present, key=lambda p: (document.places[p].line, document.places[p].column)) if present else paths[0]


_RULES: dict[Callable[[Spec, Document], Iterator[Problem]], tuple[str, ...]] = {  # and the sections that each looks at
    _engine_args: ("engine",),
    _token: ("model",),
    _shape: ("parallelism", "nodes"),
    _tolerations: ("nodes",),
    _scheduler: ("scheduler",),
    _fabric: ("fabric",),
    _host_network: ("fabric",),
}
