"""The tensors of a Llama checkpoint as Hugging Face names and shapes them."""

from __future__ import annotations

from dataclasses import dataclass

EMBEDDING = "model.embed_tokens.weight"
NORM = "model.norm.weight"
HEAD = "lm_head.weight"


@dataclass(frozen=True)
class LlamaShape:
    """The numbers that the shapes follow from."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied: bool

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Shape by name; the layers in order."""
        found: dict[str, tuple[int, ...]] = {EMBEDDING: (self.vocab, self.hidden)}
        for i in range(self.layers):
            found |= {f"model.layers.{i}.{name}.weight": shape for name, shape in self.layer().items()}
        found[NORM] = (self.hidden,)
        return found if self.tied else {**found, HEAD: (self.vocab, self.hidden)}

    def layer(self) -> dict[str, tuple[int, ...]]:
        """Shape by name within one layer."""
        hidden, query, kv = self.hidden, self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "input_layernorm": (hidden,),
            "self_attn.q_proj": (query, hidden),
            "self_attn.k_proj": (kv, hidden),
            "self_attn.v_proj": (kv, hidden),
            "self_attn.o_proj": (hidden, query),
            "post_attention_layernorm": (hidden,),
            "mlp.gate_proj": (self.intermediate, hidden),
            "mlp.up_proj": (self.intermediate, hidden),
            "mlp.down_proj": (hidden, self.intermediate),
        }
