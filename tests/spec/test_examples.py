import json
from pathlib import Path

import pytest

from raygang.spec import check_engine_args, json_schema, load_spec

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda p: p.stem)
def test_an_example_loads_and_the_installed_vllm_has_its_arguments(path: Path) -> None:
    spec = load_spec(path)
    assert check_engine_args(spec) == ()
    assert path.read_text().startswith("# yaml-language-server: $schema=raygang.schema.json\n")


def test_the_schema_for_editors_is_up_to_date() -> None:
    assert json.loads((EXAMPLES / "raygang.schema.json").read_text()) == json_schema()


def test_every_field_of_the_schema_is_described() -> None:
    schema = json_schema()
    sections = [schema, *schema["$defs"].values()]
    undescribed = [
        f"{section.get('title')}.{name}"
        for section in sections
        for name, field in section.get("properties", {}).items()
        if "description" not in field and "$ref" not in field  # a section describes itself
    ]
    assert set(undescribed) <= {"Toleration.key", "Toleration.operator", "Toleration.value", "Toleration.effect"}
