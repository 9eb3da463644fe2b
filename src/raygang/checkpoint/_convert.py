"""A GGUF file as a Hugging Face checkpoint that vLLM loads; a few tens of MB of it in memory at a time."""

from __future__ import annotations

import json
from pathlib import Path

from raygang.checkpoint._gguf import Gguf
from raygang.checkpoint._progress import Progress
from raygang.checkpoint._tokenizer import write_tokenizer
from raygang.checkpoint._write import total_bytes, write_safetensors


def convert(gguf: Gguf, target: Path, dtype: str, progress: Progress) -> None:
    """Write weights, config and tokenizer into the directory `target`.

    Raises:
        OSError: it cannot be written.
    """
    what, total = f"converting {gguf.path.name}", total_bytes(gguf.shapes, dtype)
    for done in write_safetensors(target / "model.safetensors", gguf.shapes, dtype, gguf.pieces()):
        progress(what, done, total)
    (target / "config.json").write_text(json.dumps(gguf.config | {"dtype": dtype}, indent=1))
    ends = {key: gguf.config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    (target / "generation_config.json").write_text(json.dumps(ends))
    write_tokenizer(gguf.path, target, gguf.split)
