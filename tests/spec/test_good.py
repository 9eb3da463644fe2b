"""What is written is what comes out."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from pydantic import BaseModel
from ruamel.yaml import YAML

from raygang.spec import ModelSource, Spec, json_schema, parse_spec, quantity_bytes
from tests.spec.strategies import specs

SCHEMA = jsonschema.Draft202012Validator(json_schema())


def as_yaml(data: object) -> str:
    stream = StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False  # ruamel.yaml 0.19 writes [?0] without quotes, and cannot read it
    yaml.dump(data, stream)
    return stream.getvalue()


@settings(max_examples=150, deadline=None)
@given(specs)
def test_a_specification_that_is_dumped_loads_as_the_same(fields: dict[str, Any]) -> None:
    spec = parse_spec(json.dumps(fields, ensure_ascii=False))  # JSON is YAML
    assert parse_spec(as_yaml(fields)) == spec
    assert parse_spec(as_yaml(spec.model_dump(mode="json"))) == spec
    assert parse_spec(spec.model_dump_json()) == spec


@settings(max_examples=100, deadline=None)
@given(specs)
def test_what_loads_is_right_for_an_editor_too(fields: dict[str, Any]) -> None:
    assert [e.message for e in SCHEMA.iter_errors(fields)] == []


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("demo:smollm2", "demo", "smollm2"),
        ("./model", "directory", "./model"),
        ("/models/x", "directory", "/models/x"),
        ("~/m", "directory", "~/m"),
        ("./a.gguf", "gguf", "./a.gguf"),
        ("models/A.GGUF", "gguf", "models/A.GGUF"),
        ("Qwen/Qwen3-8B", "hub", "Qwen/Qwen3-8B"),
        ("hf:Qwen/Qwen3-8B", "hub", "Qwen/Qwen3-8B"),
        ("hf:org/a.gguf", "hub", "org/a.gguf"),
    ],
)
def test_sources_are_told_apart(text: str, kind: str, value: str) -> None:
    source = ModelSource.parse(text)
    assert (source.kind, source.value) == (kind, value)
    assert ModelSource.parse(str(source)) == source


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("1.5s", 1.5), ("7", 7)])
def test_durations(text: str, seconds: float) -> None:
    spec = parse_spec(f"name: x\nmodel: {{source: a/b}}\nlimits: {{start_timeout: {text}}}\n")
    assert spec.limits.start_timeout == seconds


def test_quantities_are_those_of_kubernetes() -> None:
    assert [quantity_bytes(q) for q in ("1Ki", "1k", "1.5Gi", "7", "1E")] == [1024, 1000, 3 * 2**29, 7, 10**18]
    with pytest.raises(ValueError, match="a quantity such as"):
        quantity_bytes("7 GB")


def test_numbers_in_an_environment_become_text() -> None:
    spec = parse_spec("name: x\nmodel: {source: a/b}\nengine: {env: {A: 1, B: true, C: x}}\n")
    assert spec.engine.env == {"A": "1", "B": "1", "C": "x"}


def test_a_field_can_be_blamed_later_at_its_place() -> None:
    spec = parse_spec("name: x\nmodel:\n  source: a/b\n", file="f.yaml")
    assert spec.position("model.source") == (3, 3)
    assert spec.position("model.revision") == (2, 1), "the nearest one above"
    assert spec.position("replicas") == (1, 1), "none above but the file"
    assert str(spec.problem("model.source", "is too large")).startswith("f.yaml:3:3: model.source: is too large")
    asked = spec.problem("model.source", "is unknown", given="'a/b'", allowed="others", suggestion="a/c").problems[0]
    assert (asked.field, asked.given, asked.allowed, asked.suggestion) == ("model.source", "'a/b'", "others", "a/c")


def test_a_field_whose_name_has_dots_is_found() -> None:
    spec = parse_spec("name: x\nmodel: {source: a/b}\nkubernetes:\n  labels:\n    app.example.com/tier: gold\n")
    assert spec.position("kubernetes.labels.app.example.com/tier") == (5, 5)
    assert spec.position("kubernetes.labels.other.example.com/tier") == (4, 3)


def test_anchors_aliases_and_merges_mean_what_they_do_in_yaml() -> None:
    text = "name: &n x\nmodel: {source: a/b, served_name: *n}\nnodes: {selector: &s {a: b}}\nkubernetes: {labels: {<<: *s, c: d}}\n"
    spec = parse_spec(text)
    assert (spec.model.served_name, spec.kubernetes.labels) == ("x", {"a": "b", "c": "d"})
    assert spec.position("kubernetes.labels.a") == (3, 23), "where it is written"
    assert parse_spec("name: &a x\nmodel: &a {source: a/b}\n").name == "x", "an anchor's name may be used again"


def test_a_byte_order_mark_and_lines_of_any_system_are_no_difference() -> None:
    lines = ["name: x", "model:", "  source: a/b", ""]
    for text in ("\ufeff" + "\n".join(lines), "\r\n".join(lines), "\r".join(lines)):
        assert parse_spec(text).position("model.source") == (3, 3)


def test_a_specification_made_in_python_needs_no_file() -> None:
    spec = Spec.model_validate({"name": "x", "model": {"source": "a/b"}})
    assert spec.source_path is None
    assert spec.base == Path.cwd()
    assert spec.position("name") is None
    assert str(spec.problem("name", "is taken", given="'x'")) == "<specification>: name: is taken, not 'x'"
    assert spec != "x"
    assert spec == Spec(name="x", model={"source": ModelSource("hub", "a/b")})  # type: ignore[arg-type]


def test_nothing_can_be_changed() -> None:
    spec = parse_spec("name: x\nmodel: {source: a/b}\n")
    with pytest.raises(ValueError, match="frozen"):
        spec.name = "y"  # type: ignore[misc]
    assert isinstance(spec, BaseModel)
