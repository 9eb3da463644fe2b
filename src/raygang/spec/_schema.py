"""The JSON schema that editors complete and check a specification with."""

from __future__ import annotations

from typing import Any

from raygang.spec.model import Spec


def json_schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a specification."""
    schema = Spec.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "raygang specification"}
