"""Fields that contradict each other, and arguments that belong to raygang."""

from __future__ import annotations

from collections.abc import Iterator

from raygang.spec._document import SECRET_NAME, SECRET_VALUE, Document
from raygang.spec._errors import Problem
from raygang.spec.model import Spec

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
FIXED = {  # vLLM arguments that have one value here
    "distributed_executor_backend": "raygang always uses vLLM's Ray executor",
    "nnodes": "nodes are Ray's here; write nodes.count",
    "node_rank": "nodes are Ray's here; write nodes.count",
    "master_addr": "nodes are Ray's here",
    "master_port": "nodes are Ray's here",
}


def contradictions(spec: Spec, document: Document) -> list[Problem]:
    """Everything that is well-formed and cannot be meant."""
    checks = (_engine_args, _secrets, _shape, _scheduler, _fabric, _token)
    return [problem for check in checks for problem in check(spec, document)]


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


def _secrets(spec: Spec, document: Document) -> Iterator[Problem]:
    for name, value in spec.engine.env.items():
        if value and (SECRET_NAME.search(name) or SECRET_VALUE.search(value)):
            path = ("engine", "env", name)
            yield document.problem(path, "looks like a secret; secrets are referenced, never written (model.token)")


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
    host = ("fabric", "host_network")
    if fabric.type.startswith("sriov") and fabric.host_network:
        yield document.problem(
            host, f"{fabric.type} gives the pod an interface of its own; with the node's network it has none"
        )
    if fabric.type in ("efa", "tcp") and fabric.hcas:
        why = "EFA is no InfiniBand: NCCL reads no HCA list there" if fabric.type == "efa" else "tcp uses no HCA"
        yield document.problem(("fabric", "hcas"), why)
    if fabric.type == "tcp" and fabric.resource:
        yield document.problem(("fabric", "resource"), "tcp needs no device")
    if fabric.host_network and fabric.networks:
        yield document.problem(("fabric", "networks"), "a pod on the node's network gets no additional networks")


def _later(document: Document, *paths: tuple[str, ...]) -> tuple[str, ...]:
    """The one that stands last in the file: there the contradiction becomes one."""
    present = [p for p in paths if p in document.places]
    return max(present, key=lambda p: (document.places[p].line, document.places[p].column)) if present else paths[0]
