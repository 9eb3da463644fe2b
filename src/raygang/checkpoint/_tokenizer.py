"""The tokenizer of a GGUF file as Hugging Face's files, chat template included."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from raygang.spec import UserError

if TYPE_CHECKING:
    from gguf import GGUFReader

ELSE = "use the model's Hugging Face checkpoint (a directory or org/name)"
# How text is split before merging (tokenizer.ggml.pre) where transformers 5.19 does it right; for names that it does
# not know it silently takes GPT-2's rule.
SPLITS = {
    "default", "gpt-2", "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
    "dbrx", "smaug-bpe", "tekken", "qwen2", "deepseek-r1-qwen", "megrez", "gpt-4o", "llama4",
}  # fmt: skip
DIGITS_APART = {"smollm"}  # each digit alone, then GPT-2's rule (llama.cpp: LLAMA_VOCAB_PRE_TYPE_SMOLLM)


def check_tokenizer(reader: GGUFReader, path: Path) -> str:
    """The rule by which it splits text.

    Raises:
        UserError: the file has no tokenizer, or one that would come out wrong.
    """
    kind = _text(reader, "tokenizer.ggml.model")
    if kind not in ("llama", "gpt2"):
        what = f"a tokenizer of kind {kind!r}" if kind else "no tokenizer in it"
        raise UserError(f"{path}: no conversion is known for this GGUF: {what}", hint=ELSE)
    split = _text(reader, "tokenizer.ggml.pre") or "default"
    if kind == "gpt2" and split not in SPLITS | DIGITS_APART:
        raise UserError(f"{path}: no conversion is known for this GGUF: it splits text by {split!r}", hint=ELSE)
    return split


def write_tokenizer(path: Path, target: Path, split: str) -> None:
    """Write tokenizer files into the directory `target`."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    except Exception as e:  # tokenizers, in Rust, raises nothing narrower for a vocabulary that it refuses
        raise UserError(f"{path}: its tokenizer cannot be converted: {e}", hint=ELSE) from e
    if split in DIGITS_APART:
        from tokenizers import pre_tokenizers

        rules = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(rules)
    tokenizer.save_pretrained(target)


def _text(reader: GGUFReader, key: str) -> str | None:
    field = reader.fields.get(key)
    return None if field is None else str(field.contents())
