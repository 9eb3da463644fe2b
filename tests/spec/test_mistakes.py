"""Each mistake says where it is, what is wrong, and what to write."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raygang.spec import Spec, SpecError, UserError, load_spec, parse_spec
from raygang.spec._explain import fields_of

GOOD = "name: x\nmodel: {source: 'demo:smollm2'}\n"


def problems(text: str) -> list[str]:
    with pytest.raises(SpecError) as e:
        parse_spec(text, file="f.yaml")
    return [str(p).splitlines()[0] for p in e.value.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD + "engien: {}\n", "f.yaml:3:1: engien: unknown field; did you mean engine?"),
        (GOOD + "engine:\n  arg: {}\n", "f.yaml:4:3: engine.arg: unknown field; did you mean args?"),
        (GOOD + "pipeline: 2\n", "f.yaml:3:1: pipeline: unknown field; did you mean parallelism.pipeline?"),
        (GOOD + "replicas: '2'\n", "f.yaml:3:1: replicas: must be a whole number, not '2'"),
        (GOOD + "replicas: true\n", "f.yaml:3:1: replicas: must be a whole number, not true"),
        (GOOD + "replicas: 0\n", "f.yaml:3:1: replicas: must be at least 1, not 0"),
        (GOOD + "nodes: 3\n", "f.yaml:3:1: nodes: must be a mapping of fields, not 3"),
        (GOOD + "nodes: {count: many}\n", "f.yaml:3:9: nodes.count: must be a whole number from 1 to 100000, or auto, not 'many'"),
        (GOOD + "nodes: {memory: 16Q}\n", "f.yaml:3:9: nodes.memory: must be a quantity such as \"16Gi\" or \"500M\", not '16Q'"),
        (GOOD + "limits: {start_timeout: soon}\n", "f.yaml:3:10: limits.start_timeout: must be a duration such as \"90s\", \"30m\" or \"1h30m\", not 'soon'"),
        (GOOD + "limits: {start_timeout: 0}\n", "f.yaml:3:10: limits.start_timeout: must be a duration above zero and below three years, not 0"),
        (GOOD + "scheduler: {type: vulcano}\n", "f.yaml:3:13: scheduler.type: is none of the allowed values, not 'vulcano'; did you mean volcano?"),
        (GOOD + "engine: {args: {a: .nan}}\n", "f.yaml:3:17: engine.args.a: must be a finite number"),
        (GOOD + "engine: {args: {a: 2020-01-01}}\n", "f.yaml:3:17: engine.args.a: a date; write it in quotes if text is meant"),
        (GOOD + "engine: {args: {1: 2}}\n", "f.yaml:3:17: engine.args.1: a field's name must be text"),
        ("name: My_Model\nmodel: {source: 'demo:smollm2'}\n", "f.yaml:1:1: name: must be lower-case letters, digits and -, and no - at either end, not 'My_Model'"),
        (f"name: {'a' * 41}\nmodel: {{source: 'demo:smollm2'}}\n", "f.yaml:1:1: name: must be at most 40 characters (this has 41), not 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"),
        ("name: x\nmodel: {source: llama}\n", "f.yaml:2:9: model.source: must be demo:smollm2, a directory (./model or /models/x), a .gguf file, or a Hugging Face id (org/name), not 'llama'"),
        ("name: x\n", "f.yaml:1:1: model: this field is required"),
        ("name: x\nname: y\n", "f.yaml:2:1: this key stands here twice"),
        ("name:\n\t- x\n", "f.yaml:2:1: a tab in the indentation; YAML takes spaces only"),
        ("name: x\n---\nname: y\n", "f.yaml:2:1: more than one document; a specification is one"),
        ("", "f.yaml:1: a specification is a mapping of fields; this is empty"),
        ("- 1\n", "f.yaml:1: a specification is a mapping of fields; this is a list"),
        ("a: &a [*a]\n", "f.yaml:1: nested too deeply, or an alias that contains itself"),
    ],
)  # fmt: skip
def test_a_mistake(text: str, expected: str) -> None:
    assert expected in problems(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("engine: {args: {tensor_parallel_size: 2}}", "engine.args.tensor_parallel_size: follows from another field; write parallelism.tensor"),
        ("engine: {args: {distributed_executor_backend: mp}}", "raygang always uses vLLM's Ray executor"),
        ("engine: {args: {max-model-len: 2}}", "written with _ here; did you mean max_model_len?"),
        ("scheduler: {queue: q}", "queue needs a gang scheduler, and scheduler.type is none"),
        ("fabric: {type: efa, hcas: [mlx5_0]}", "EFA is no InfiniBand"),
        ("fabric: {type: sriov-roce, host_network: true}", "sriov-roce gives the pod an interface of its own"),
        ("fabric: {host_network: true, networks: [a/b]}", "a pod on the node's network gets no additional networks"),
        ("parallelism: {tensor: 2, pipeline: 2}\nnodes: {count: 3}", "tensor 2 x pipeline 2 x data 1 = 4 ranks, and 3 nodes with 1 accelerators each hold 3"),
        ("parallelism: {tensor: 1, pipeline: 2}\nnodes: {count: 3}", "3 nodes for 2 ranks: some would hold none"),
    ],
)  # fmt: skip
def test_a_contradiction(text: str, expected: str) -> None:
    assert any(expected in p for p in problems(GOOD + text + "\n"))


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    lines = [int(p.split(":")[1]) for p in problems("name: A\nmodel: {sourc: a/b}\nreplicas: x\nnodes: {cuont: 1}\n")]
    assert lines == sorted(lines)
    assert len(lines) == 5


@pytest.mark.parametrize(
    "text",
    [
        "model: {source: a/b, token: SECRET}",
        "model: {source: a/b, hf_token: SECRET}",
        "model: {source: a/b, token: {value: SECRET}}",
        "model: {source: a/b}\nengine: {env: {HF_TOKEN: SECRET}}",
        "model: {source: a/b}\nengine: {env: {X: hf_SECRETSECRET}}",
        "model: {source: a/b}\nengine: {args: {hf_token: SECRET}}",
        "model: {source: a/b}\napi_key: SECRET",
        "model: {source: a/b, token: [SECRET}",
    ],
)
def test_a_secret_is_refused_and_never_shown(text: str) -> None:
    with pytest.raises(SpecError) as e:
        parse_spec(f"name: x\n{text}\n")
    assert "SECRET" not in str(e.value)


def test_a_line_is_shown_with_a_caret_below_the_field() -> None:
    with pytest.raises(SpecError) as e:
        parse_spec(GOOD + "nodes: {cuont: 1}\n", file="f.yaml")
    assert str(e.value).splitlines()[1:3] == ["    nodes: {cuont: 1}", "            ^"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        load_spec(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="is a directory"):
        load_spec(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"name: x\nmodel: \xe9\n")
    with pytest.raises(UserError, match=r"latin\.yaml:2: not UTF-8 text"):
        load_spec(tmp_path / "latin.yaml")
    (tmp_path / "huge.yaml").write_text("# " + "x" * 2**20)
    with pytest.raises(UserError, match="larger than"):
        load_spec(tmp_path / "huge.yaml")


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text(alphabet="abe:{}[]&*-,'\"#\n\t ?|>!%@", max_size=60))
def test_any_text_loads_or_is_answered(text: str) -> None:
    try:
        parse_spec(text)
    except UserError as e:
        assert e.exit_code == 2


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200), st.integers(0, 60))
def test_positions_lie_inside_the_file(noise: str, at: int) -> None:
    text = GOOD[:at] + noise + GOOD[at:]
    try:
        parse_spec(text)
    except SpecError as e:
        lines = text.splitlines()
        for p in e.problems:
            assert p.line is None or 1 <= p.line <= max(len(lines), 1)
            assert p.column is None or 1 <= p.column <= len(lines[p.line - 1]) + 1  # type: ignore[operator]


FIELDS = [(section, name) for section in ("", *Spec.model_fields) for name in fields_of((section,) if section else ())]


@pytest.mark.parametrize(("section", "name"), [f for f in FIELDS if len(f[1]) > 3], ids=".".join)
def test_a_typo_of_one_letter_suggests_the_field(section: str, name: str) -> None:
    typo = name[:2] + name[3:]
    text = f"{typo}: 1\n" if not section else f"{section}:\n  {typo}: 1\n"
    assert any(f"did you mean {name}?" in p for p in problems(text))
