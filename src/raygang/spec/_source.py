"""Where a model comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

Kind = Literal["demo", "directory", "gguf", "hub"]
DEMOS = ("smollm2",)
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
EXPECTED = "demo:smollm2, a directory (./model or /models/x), a .gguf file, or a Hugging Face id (org/name)"


@dataclass(frozen=True)
class ModelSource:
    """A parsed `model.source`.

    Attributes:
        kind: "demo", "directory", "gguf" or "hub".
        value: the demo's name, the path as written, or the hub id.
    """

    kind: Kind
    value: str

    @staticmethod
    def parse(text: Any) -> ModelSource:
        """The source that a user wrote. Raises ValueError when it is none."""
        if not isinstance(text, str) or not text.isprintable():
            raise ValueError(EXPECTED)
        text = text.strip()
        if text.startswith("demo:"):
            return ModelSource("demo", _demo(text.removeprefix("demo:")))
        if text.startswith("hf:"):
            return ModelSource("hub", _hub_id(text.removeprefix("hf:")))
        if text.lower().endswith(".gguf"):
            return ModelSource("gguf", text)
        if text.startswith(("/", "./", "../", "~")) or text in (".", ".."):
            return ModelSource("directory", text)
        return ModelSource("hub", _hub_id(text))

    def __str__(self) -> str:
        prefix = {"demo": "demo:", "hub": "hf:" if self.value.lower().endswith(".gguf") else ""}
        return prefix.get(self.kind, "") + self.value

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda v: v if isinstance(v, ModelSource) else ModelSource.parse(v),
            serialization=core_schema.to_string_ser_schema(),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "examples": ["demo:smollm2", "./model", "./model.gguf", "Qwen/Qwen3-8B"]}


def _hub_id(text: str) -> str:
    if not _HUB_ID.fullmatch(text):
        raise ValueError(EXPECTED)
    return text


def _demo(name: str) -> str:
    if name not in DEMOS:
        raise ValueError(f"a demo model: {', '.join('demo:' + d for d in DEMOS)}")
    return name
