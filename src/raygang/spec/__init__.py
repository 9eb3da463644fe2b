"""What the user writes: the typed specification, its defaults, and errors that name file, line and field."""

from typing import TYPE_CHECKING

from raygang._lazy import lazily
from raygang.spec._errors import Problem, SpecError, UserError

if TYPE_CHECKING:
    from raygang.spec._document import Document
    from raygang.spec._engine_args import check_engine_args, engine_arg_names
    from raygang.spec._load import load_spec, parse_spec
    from raygang.spec._quantities import quantity_bytes
    from raygang.spec._schema import json_schema
    from raygang.spec._source import ModelSource
    from raygang.spec.model import (
        EngineSpec,
        FabricSpec,
        KubernetesSpec,
        LimitsSpec,
        ModelSpec,
        NodesSpec,
        ParallelismSpec,
        SchedulerSpec,
        SecretRef,
        Spec,
        Toleration,
        Topology,
    )

__all__ = [
    "Document",
    "EngineSpec",
    "FabricSpec",
    "KubernetesSpec",
    "LimitsSpec",
    "ModelSource",
    "ModelSpec",
    "NodesSpec",
    "ParallelismSpec",
    "Problem",
    "SchedulerSpec",
    "SecretRef",
    "Spec",
    "SpecError",
    "Toleration",
    "Topology",
    "UserError",
    "check_engine_args",
    "engine_arg_names",
    "json_schema",
    "load_spec",
    "parse_spec",
    "quantity_bytes",
]

_MODELS = (
    "EngineSpec", "FabricSpec", "KubernetesSpec", "LimitsSpec", "ModelSpec", "NodesSpec", "ParallelismSpec",
    "SchedulerSpec", "SecretRef", "Spec", "Toleration", "Topology",
)  # fmt: skip
__getattr__ = lazily(
    __name__,
    {
        "_document": ("Document",),
        "_engine_args": ("check_engine_args", "engine_arg_names"),
        "_load": ("load_spec", "parse_spec"),
        "_quantities": ("quantity_bytes",),
        "_schema": ("json_schema",),
        "_source": ("ModelSource",),
        "model": _MODELS,
    },
)
