"""A tiny Llama with random weights and a byte-level tokenizer: loads in a second, needs no network.

python -m tests.support.tiny DIRECTORY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]
VOCABULARY = 320


def make_tiny_llama(
    path: Path,
    *,
    seed: int = 0,
    dtype: str = "float32",
    layers: int = 4,
    heads: int = 4,
    hidden: int = 128,
    kv_heads: int = 2,
    vocab: int = VOCABULARY,
) -> Path:
    """Write the checkpoint; the same seed gives the same weights. `vocab` takes 262 or more."""
    import torch
    from safetensors.torch import save_file

    intermediate, head_dim = 2 * hidden, hidden // heads
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int, scale: float = 1.0) -> torch.Tensor:
        values = torch.randn(shape, generator=generator) * scale / shape[-1] ** 0.5
        return values.to(getattr(torch, dtype))

    tensors = {
        "model.embed_tokens.weight": random(vocab, hidden, scale=hidden**0.5),
        "model.norm.weight": torch.ones(hidden, dtype=getattr(torch, dtype)),
        "lm_head.weight": random(vocab, hidden, scale=3.0),
    }
    for i in range(layers):
        shapes = {
            "self_attn.q_proj": (heads * head_dim, hidden),
            "self_attn.k_proj": (kv_heads * head_dim, hidden),
            "self_attn.v_proj": (kv_heads * head_dim, hidden),
            "self_attn.o_proj": (hidden, heads * head_dim),
            "mlp.gate_proj": (intermediate, hidden),
            "mlp.up_proj": (intermediate, hidden),
            "mlp.down_proj": (hidden, intermediate),
        }
        tensors |= {f"model.layers.{i}.{name}.weight": random(*shape, scale=2.0) for name, shape in shapes.items()}
        for norm in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{i}.{norm}.weight"] = torch.ones(hidden, dtype=getattr(torch, dtype))
    path.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden,
        "intermediate_size": intermediate, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "vocab_size": vocab, "hidden_act": "silu", "tie_word_embeddings": False, "attention_bias": False,
        "bos_token_id": 256, "eos_token_id": 257, "pad_token_id": 257, "dtype": dtype,
    }  # fmt: skip
    (path / "config.json").write_text(json.dumps(config, indent=1))
    _write_tokenizer(path, vocab)
    return path


def _write_tokenizer(path: Path, vocab: int) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    vocabulary |= {token: len(letters) + i for i, token in enumerate(SPECIAL)}
    vocabulary |= {f"<|pad{i}|>": i for i in range(len(vocabulary), vocab)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|begin|>",
        eos_token="<|end|>",
        pad_token="<|end|>",
        additional_special_tokens=SPECIAL[2:],
        chat_template=CHAT_TEMPLATE,
        model_max_length=2048,
    )
    fast.save_pretrained(path)


if __name__ == "__main__":
    sys.stdout.write(f"{make_tiny_llama(Path(sys.argv[1]))}\n")
