"""vLLM itself divides models as this package says."""

import json
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

from raygang.checkpoint import checkpoint_from_config, padded_vocabulary, pipeline_layers, rank_shares, read_checkpoint
from tests.checkpoint.vllm_parameters import parameters_of
from tests.support.tiny import make_tiny_llama

pytestmark = pytest.mark.engine


@pytest.mark.filterwarnings("default")
def test_layers_and_padding_are_vllms() -> None:
    from vllm.distributed.utils import get_pp_indices
    from vllm.model_executor.layers.vocab_parallel_embedding import pad_vocab_size

    for layers in range(1, 130):
        for pipeline in range(1, min(layers, 32) + 1):
            theirs = [range(*get_pp_indices(layers, stage, pipeline)) for stage in range(pipeline)]
            assert pipeline_layers(layers, pipeline) == theirs
    for vocab in (1, 63, 64, 65, 320, 32000, 49152, 128256, 151936, 201088):
        config = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": vocab}
        assert padded_vocabulary(checkpoint_from_config(config)) == pad_vocab_size(vocab)


@pytest.mark.parametrize(
    ("kv_heads", "head", "tensor", "pipeline"),
    [
        (2, "its own", 2, 1),
        (1, "its own", 2, 1),
        (2, "tied", 2, 1),
        (2, "tied but stored", 2, 1),
        (2, "its own", 1, 2),
        (1, "tied", 2, 2),
    ],
)
def test_each_rank_has_the_bytes_that_vllm_allocates(
    tmp_path: Path, kv_heads: int, head: str, tensor: int, pipeline: int
) -> None:
    model = make_tiny_llama(tmp_path / "m", layers=3, kv_heads=kv_heads, vocab=330)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"tie_word_embeddings": head != "its own"}))
    if head == "tied":
        tensors = load_file(model / "model.safetensors")
        del tensors["lm_head.weight"]
        save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})
    shares = rank_shares(read_checkpoint(model), tensor, pipeline)
    assert [s.weight_bytes for s in shares] == parameters_of(model, tensor, pipeline)
