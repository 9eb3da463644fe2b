"""What a RayService deploys: serveConfigV2, read once for each workload, with the path of every field in it.

A path goes on inside the text: (spec, serveConfigV2, applications, 0, args). Documents know where that stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from raygang.lint._yaml import Tree, Trouble, read
from raygang.lint.model import Case
from raygang.objects import Path, at, mapping, sequence, text

CONFIG: Path = ("spec", "serveConfigV2")
_KEY = "_serve"  # where a case keeps what was read
# Ray 2.60 ray/llm/_internal/serve: builders of OpenAI apps, and where in their args the models are.
OPENAI, DATA_PARALLEL, DISAGGREGATED = "build_openai_app", "build_dp_openai_app", "build_pd_openai_app"
_MODELS: dict[str, tuple[str, ...]] = {
    OPENAI: ("llm_configs",),
    DATA_PARALLEL: ("llm_config",),
    DISAGGREGATED: ("prefill_config", "decode_config"),
}


@dataclass(frozen=True)
class Llm:
    """A model of an application: what ray.serve.llm calls LLMConfig.

    Attributes:
        data: what stands there.
        path: where.
        builder: build_openai_app, for example; empty where the application is the user's own.
    """

    data: Mapping[str, Any]
    path: Path
    builder: str

    @property
    def engine(self) -> Mapping[str, Any]:
        """engine_kwargs."""
        return mapping(self.data.get("engine_kwargs"))

    @property
    def deployment(self) -> Mapping[str, Any]:
        """deployment_config."""
        return mapping(self.data.get("deployment_config"))

    @property
    def loading(self) -> Mapping[str, Any]:
        """model_loading_config."""
        return mapping(self.data.get("model_loading_config"))

    @property
    def name(self) -> str:
        """What users call the model."""
        return text(self.loading.get("model_id")) or "(without model_id)"

    @property
    def hub_id(self) -> str | None:
        """Its id on the Hugging Face hub; None where it comes from elsewhere."""
        source = self.loading.get("model_source", self.loading.get("model_id"))
        if not isinstance(source, str) or source.count("/") != 1 or source.startswith(("/", ".", "~")):
            return None
        return source

    def variables(self) -> Mapping[str, Any]:
        """Environment variables of its runtime_env."""
        return mapping(at(self.data, "runtime_env", "env_vars"))

    def at(self, *path: str | int) -> Path:
        """The path of one of its fields."""
        return (*self.path, *path)


@dataclass(frozen=True)
class Application:
    """One of serveConfigV2's applications."""

    data: Mapping[str, Any]
    path: Path

    @property
    def name(self) -> str:
        """Its name; Ray's own where it has none (Ray 2.60 ray/serve/_private/constants.py)."""
        return text(self.data.get("name")) or "default"

    @property
    def import_path(self) -> str | None:
        """module:attribute, where it is a text."""
        return text(self.data.get("import_path"))

    @property
    def builder(self) -> str:
        """ray.serve.llm's function that builds it; empty where it is the user's own."""
        module, _, name = (self.import_path or "").replace(":", ".").rpartition(".")
        return name if name in _MODELS and module.startswith("ray.serve.llm") else ""

    @cached_property
    def llms(self) -> tuple[Llm, ...]:
        """Its models, as far as args say them; of a user's own application those that look the same."""
        args = mapping(self.data.get("args"))
        fields = _MODELS.get(self.builder) or tuple(name for names in _MODELS.values() for name in names)
        return tuple(llm for name in fields for llm in self._models(args, name))

    def _models(self, args: Mapping[str, Any], name: str) -> Iterator[Llm]:
        found, path = args.get(name), self.at("args", name)
        if isinstance(found, Mapping):
            yield Llm(found, path, self.builder)
        for index, item in enumerate(sequence(found)):
            if isinstance(item, Mapping):
                yield Llm(item, (*path, index), self.builder)

    def at(self, *path: str | int) -> Path:
        """The path of one of its fields."""
        return (*self.path, *path)


@dataclass(frozen=True)
class Serve:
    """serveConfigV2.

    Attributes:
        text: as it stands there; None where there is none, or no text.
        value: what it says; None where it is no YAML.
        trouble: why it is no YAML.
        documents: how many YAML documents are in it.
        duplicates: keys that are there twice.
    """

    text: str | None
    value: Any = None
    trouble: Trouble | None = None
    documents: int = 0
    duplicates: tuple[Trouble, ...] = field(default=())

    @property
    def config(self) -> Mapping[str, Any]:
        """What it says, where that is a mapping."""
        return mapping(self.value)

    @cached_property
    def applications(self) -> tuple[Application, ...]:
        """Its applications, as far as they are mappings."""
        items = enumerate(sequence(self.config.get("applications")))
        return tuple(Application(item, (*CONFIG, "applications", i)) for i, item in items if isinstance(item, Mapping))

    @cached_property
    def llms(self) -> tuple[Llm, ...]:
        """The models of all applications."""
        return tuple(llm for application in self.applications for llm in application.llms)


def serve(case: Case) -> Serve:
    """What a RayService deploys; nothing for other kinds. Read once for each case."""
    known = vars(case).get(_KEY)
    if known is None:
        raw = text(at(case.workload.manifest.data, *CONFIG)) if case.workload.kind == "RayService" else None
        known = vars(case)[_KEY] = _read(raw)
    return known if isinstance(known, Serve) else Serve(None)


def _read(raw: str | None) -> Serve:
    if raw is None:
        return Serve(None)
    first: Tree | None = None
    count = 0
    for tree in read(raw):
        if isinstance(tree, Trouble):
            if first is None:
                return Serve(raw, trouble=tree)
            break
        first = first or tree
        count += tree.data is not None
    return Serve(raw, first.data, None, count, tuple(first.duplicates)) if first else Serve(raw)
