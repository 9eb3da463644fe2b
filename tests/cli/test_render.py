"""`raygang render`, run as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.support.cli import raygang

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
    "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256,
    "torch_dtype": "bfloat16", "max_position_embeddings": 8192,
}  # fmt: skip
SPEC = """name: llama
model: {source: ./model}
nodes: {count: 2, accelerators: 8}
scheduler: {type: volcano}
kubernetes: {image: registry.example.com/llm:1.2, model_claim: models, kuberay_version: 1.6.0}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Of the model only its config is here; the weights are on the volume."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "llama.yaml").write_text(SPEC)
    return tmp_path / "llama.yaml"


def test_the_manifests_lint_clean_through_a_pipe(tmp_path: Path, spec: Path) -> None:
    rendered = raygang("render", str(spec), cache=tmp_path)
    assert rendered.returncode == 0, rendered.stderr
    assert [obj["kind"] for obj in yaml.safe_load_all(rendered.stdout)].count("RayService") == 1
    (tmp_path / "out.yaml").write_text(rendered.stdout)
    at = ("--scheduler", "volcano", "--kuberay", "1.6.0", "--fail-on", "warning")
    assert raygang("lint", str(tmp_path / "out.yaml"), *at, cache=tmp_path).returncode == 0


def test_json_is_a_list_of_the_same_objects(tmp_path: Path, spec: Path) -> None:
    as_json = json.loads(raygang("render", str(spec), "--format", "json", cache=tmp_path).stdout)
    as_yaml = list(yaml.safe_load_all(raygang("render", str(spec), cache=tmp_path).stdout))
    assert as_json["items"] == as_yaml


def test_a_directory_gets_a_file_for_each_object(tmp_path: Path, spec: Path) -> None:
    done = raygang("render", str(spec), "-o", str(tmp_path / "out"), cache=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "out" / "kustomization.yaml").is_file()
    assert "the cluster needs:" in done.stderr
    assert raygang("render", str(spec), "-o", str(tmp_path / "out"), cache=tmp_path).stderr.count("written") == 0


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("image: registry.example.com/llm:1.2, ", "", "kubernetes.image: is needed"),
        ("model_claim: models, ", "", "kubernetes.model_claim: is needed"),
        ("type: volcano", "type: native", "kubernetes.version"),
    ],
)
def test_what_is_missing_for_kubernetes_is_said_with_its_field(
    tmp_path: Path, spec: Path, written: str, instead: str, message: str
) -> None:
    assert written in SPEC
    spec.write_text(SPEC.replace(written, instead))
    done = raygang("render", str(spec), cache=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_contradictory_options_are_refused(tmp_path: Path, spec: Path) -> None:
    done = raygang("render", str(spec), "-o", str(tmp_path / "out"), "--format", "json", cache=tmp_path)
    assert done.returncode == 2
    assert not (tmp_path / "out").exists()
