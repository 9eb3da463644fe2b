"""Whether a directory holds a whole model that can be served."""

from __future__ import annotations

from pathlib import Path

from raygang.checkpoint._config import read_config
from raygang.checkpoint._safetensors import tensors_of
from raygang.spec import UserError

PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


def check_directory(path: Path, *, of_hub: bool = False) -> Path:
    """The directory itself. Reads the config and the headers of the weights.

    Raises:
        UserError: no config, no safetensors, or not all of their bytes.
    """
    read_config(path)
    if not tensors_of(path):
        what = _instead(path)
        if of_hub:  # only safetensors are fetched
            what = "the hub has no safetensors of it"
        hint = "raygang serves safetensors only; convert it with transformers (from_pretrained, save_pretrained)"
        raise UserError(f"{path}: {what}", hint=hint)
    return path


def only_config(path: Path) -> bool:
    """Whether a directory has a config and no weights of any kind."""
    return (path / "config.json").is_file() and not any(
        True for pattern in ("*.safetensors*", "*.gguf", *PICKLES) for _ in path.glob(pattern)
    )


def _instead(path: Path) -> str:
    pickle = next((file.name for pattern in PICKLES for file in sorted(path.glob(pattern))), None)
    if pickle:
        return f"its weights are a pickle ({pickle})"
    gguf = next((file.name for file in sorted(path.glob("*.gguf"))), None)
    return f"no safetensors in it; to serve {gguf}, name that file" if gguf else "no weights in it"
