"""What is written is what comes out."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from raygang.spec import ModelSource, Spec, parse_spec, quantity_bytes

names = st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
texts = st.text(st.characters(max_codepoint=0xD7FF, exclude_categories=["Cc"]), max_size=6)
json_values = st.recursive(
    st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
specs = st.fixed_dictionaries(
    {"name": names, "model": st.fixed_dictionaries({"source": st.sampled_from(["demo:smollm2", "./m", "a.gguf", "org/name"])})},
    optional={
        "replicas": st.integers(1, 9),
        "engine": st.fixed_dictionaries({"args": st.dictionaries(names.map(lambda n: "x_" + n.replace("-", "_")), json_values, max_size=3)}),
        "parallelism": st.fixed_dictionaries({"tensor": st.just("auto") | st.integers(1, 8)}),
        "limits": st.fixed_dictionaries({"start_timeout": st.sampled_from(["90s", "30m", "1h30m", 5, 2.5])}),
    },
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(specs)
def test_a_specification_that_is_dumped_loads_as_the_same(fields: dict[str, object]) -> None:
    spec = parse_spec(json.dumps(fields, ensure_ascii=False))  # JSON is YAML
    assert parse_spec(spec.model_dump_json()) == spec


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
    assert [quantity_bytes(q) for q in ("1Ki", "1k", "1.5Gi", "7")] == [1024, 1000, 3 * 2**29, 7]


def test_numbers_in_an_environment_become_text() -> None:
    spec = parse_spec("name: x\nmodel: {source: a/b}\nengine: {env: {A: 1, B: true, C: x}}\n")
    assert spec.engine.env == {"A": "1", "B": "1", "C": "x"}


def test_a_field_can_be_blamed_later_at_its_place() -> None:
    spec = parse_spec("name: x\nmodel:\n  source: a/b\n", file="f.yaml")
    assert spec.position("model.source") == (3, 3)
    assert spec.position("model.revision") == (2, 1), "the nearest one above"
    assert str(spec.problem("model.source", "is too large")).startswith("f.yaml:3:3: model.source: is too large")


def test_a_specification_made_in_python_needs_no_file() -> None:
    spec = Spec.model_validate({"name": "x", "model": {"source": "a/b"}})
    assert spec.source_path is None
    assert spec.base == Path.cwd()
    assert str(spec.problem("name", "is taken")) == "<specification>: name: is taken"


def test_nothing_can_be_changed() -> None:
    spec = parse_spec("name: x\nmodel: {source: a/b}\n")
    with pytest.raises(ValueError, match="frozen"):
        spec.name = "y"  # type: ignore[misc]
    assert isinstance(spec, BaseModel)
