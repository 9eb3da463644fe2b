"""Engine arguments against the vLLM that is installed here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from raygang.spec import Spec, check_engine_args, engine_arg_names, parse_spec

ENGINE = "name: x\nmodel: {source: a/b}\nengine:\n  args:\n"


def findings(args: str) -> list[str]:
    return [str(p).splitlines()[0] for p in check_engine_args(parse_spec(ENGINE + args, file="f.yaml"))]


def test_its_own_names_are_known() -> None:
    assert (
        findings(
            "    max_model_len: 1024\n    dtype: float32\n    enforce_eager: true\n    enable_log_requests: true\n"
        )
        == []
    )


def test_those_of_the_requests_that_it_answers_are_known_too() -> None:
    assert (
        findings("    enable_auto_tool_choice: true\n    tool_call_parser: hermes\n    chat_template: ./t.jinja\n")
        == []
    )


def test_unknown_names_are_all_found_with_the_nearest() -> None:
    assert findings("    max_model_length: 1024\n    dtyp: auto\n    zebra: 1\n") == [
        "f.yaml:5:5: engine.args.max_model_length: the installed vLLM has no such argument; did you mean max_model_len?",
        "f.yaml:6:5: engine.args.dtyp: the installed vLLM has no such argument; did you mean dtype?",
        "f.yaml:7:5: engine.args.zebra: the installed vLLM has no such argument",
    ]


def test_a_specification_made_in_python_is_checked_as_well() -> None:
    spec = Spec.model_validate({"name": "x", "model": {"source": "a/b"}, "engine": {"args": {"dtyp": "auto"}}})
    assert [p.field for p in check_engine_args(spec)] == ["engine.args.dtyp"]


def test_asking_imports_neither_vllm_nor_torch() -> None:
    code = (
        "import sys; from raygang.spec import engine_arg_names\n"
        "assert 'max_model_len' in engine_arg_names()\n"
        "assert not {'vllm', 'torch', 'transformers'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_vllm_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert engine_arg_names() is None
    assert findings("    zebra: 1\n") == []


def test_a_vllm_that_keeps_them_elsewhere_is_not_guessed_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert engine_arg_names() is None


@pytest.mark.engine  # importing vLLM takes 10-20 s
def test_the_names_are_exactly_those_of_vllms_dataclasses() -> None:
    code = (
        "import dataclasses, json\n"
        "from vllm.engine.arg_utils import AsyncEngineArgs\n"
        "from vllm.entrypoints.launchers.cli_args import FrontendArgs\n"
        "print(json.dumps([f.name for c in (AsyncEngineArgs, FrontendArgs) for f in dataclasses.fields(c)]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=110, text=True, stdout=subprocess.PIPE)
    assert set(json.loads(done.stdout.splitlines()[-1])) == engine_arg_names()
