"""Greedy tokens over several nodes are those of a single vLLM process of the same type.

In float32 exactly. In bfloat16 two tokens may be equally likely, and then the sums' order decides, which depends on
what the scheduler happened to batch: there the first token that differs must be as likely as the reference's, but for
rounding.
"""

from pathlib import Path

import openai
import pytest

from raygang.checkpoint import obtain
from raygang.spec import ModelSource, ModelSpec
from tests.engine.conftest import Endpoint, write_spec
from tests.support.cli import Run
from tests.support.single import single_process
from tests.support.tiny import make_tiny_llama

PROMPTS = [
    "Hello world", "The capital of France is", "1, 2, 3, 4,", "Once upon a time", "def main():",
    "Water boils at", "Dear Sir or Madam,", "The largest planet is",
]  # fmt: skip
TOKENS = 64
# Nats. bfloat16 has 8 bits: a logit of 8 to 16 is rounded to multiples of 1/16, one of 16 to 32 to multiples of 1/8.
ROUNDING = {"float32": 0.0, "bfloat16": 0.25}


def tokens_of(endpoint_url: str, model: str) -> list[list[int]]:
    with openai.OpenAI(base_url=endpoint_url, api_key="none", timeout=300, max_retries=0) as client:
        answer = client.completions.create(
            model=model,
            prompt=PROMPTS,
            max_tokens=TOKENS,
            temperature=0,
            extra_body={"ignore_eos": True, "return_token_ids": True},
        )
    return [choice.token_ids for choice in answer.choices]  # type: ignore[attr-defined]


def assert_right(found: list[list[int]], model: Path, dtype: str) -> None:
    expected = single_process(model, dtype, PROMPTS, TOKENS)
    if not ROUNDING[dtype]:
        assert found == [e.tokens for e in expected]
    differences = [e.disagreement(f) for e, f in zip(expected, found, strict=True)]
    assert max(differences) <= ROUNDING[dtype], differences


def test_pipeline_parallel_float32(endpoint: Endpoint) -> None:
    assert_right(tokens_of(endpoint.url, "tiny"), endpoint.path, "float32")


@pytest.mark.parametrize(
    ("dtype", "tensor", "pipeline", "per_node"),
    [("float32", 2, 1, 1), ("bfloat16", 1, 2, 1), ("float32", 2, 1, 2)],
    ids=["tensor parallel", "pipeline parallel, bfloat16", "tensor parallel within a node"],
)
def test_tiny(tmp_path: Path, cache: Path, dtype: str, tensor: int, pipeline: int, per_node: int) -> None:
    model = make_tiny_llama(tmp_path / "tiny", dtype=dtype)
    spec = write_spec(tmp_path / "answers.yaml", model, dtype=dtype, tensor=tensor, pipeline=pipeline)
    nodes = f"nodes: {{count: {tensor * pipeline // per_node}, accelerators: {per_node},"
    spec.write_text(spec.read_text().replace(f"nodes: {{count: {tensor * pipeline},", nodes))
    with Run(spec, "--port", "18441", cache=cache) as run:
        found = tokens_of(run.until_ready(), "answers")
    assert_right(found, model, dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_smollm2_pipeline_parallel(tmp_path: Path, cache: Path, dtype: str) -> None:
    model = obtain(ModelSpec(source=ModelSource.parse("demo:smollm2")), base=tmp_path, cache=cache, dtype=dtype)
    spec = write_spec(tmp_path / "smollm2.yaml", model, dtype=dtype)
    with Run(spec, "--port", "18442", cache=cache) as run:
        found = tokens_of(run.until_ready(), "smollm2")
    assert_right(found, model, dtype)
