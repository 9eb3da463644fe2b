"""What the user writes: the typed specification, its defaults, and errors that name file, line and field."""

from raygang.spec._document import Document
from raygang.spec._engine_args import check_engine_args, engine_arg_names
from raygang.spec._errors import Problem, SpecError, UserError
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
