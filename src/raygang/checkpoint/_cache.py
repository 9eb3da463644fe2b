"""Converted models in the cache: each made once, whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from raygang.checkpoint._convert import convert
from raygang.checkpoint._gguf import Gguf, open_gguf
from raygang.checkpoint._progress import Progress
from raygang.checkpoint._whole import check_directory
from raygang.checkpoint._write import total_bytes
from raygang.spec import UserError

LOCK_DEADLINE_S = 1800
LOCK_POLL_S = 0.1
BESIDE_WEIGHTS = 32 * 2**20  # tokenizer and configuration, generously
FORMAT = "2"  # of converted models; a change converts again
UNFINISHED = ".making-"


def converted(path: Path, models: Path, dtype: str, tell: Progress) -> Path:
    """The converted form of a GGUF file, below `models`.

    Raises:
        UserError: it cannot be converted, or the cache cannot be written.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    target = models / f"{path.stem.lower()}-{dtype}-{_digest(path)}"
    if _is_whole(target):
        return target
    gguf = open_gguf(path)
    with _writing(models):
        models.mkdir(parents=True, exist_ok=True)
        with _lock(models / "lock", tell):
            if not _is_whole(target):  # else another process made it while this one waited
                _make(gguf, target, dtype, tell)
    return target


def _make(gguf: Gguf, target: Path, dtype: str, tell: Progress) -> None:
    models = target.parent
    for left in [*models.glob(f"{UNFINISHED}*"), target]:  # of a process that was killed; nobody else has the lock
        if left.exists():
            shutil.rmtree(left)
    _check_space(models, total_bytes(gguf.shapes, dtype) + BESIDE_WEIGHTS)
    making = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=models))
    try:
        convert(gguf, making, dtype, tell)
        making.chmod(0o755)
        making.rename(target)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _is_whole(target: Path) -> bool:
    if not target.is_dir():
        return False
    try:
        check_directory(target)
    except UserError:
        return False
    return True


def _digest(path: Path) -> str:
    """Names a file by its size and both ends: whole files are too large to read at each start."""
    size = path.stat().st_size
    digest = hashlib.sha256(f"{FORMAT} {size}".encode())
    try:
        with path.open("rb") as f:
            digest.update(f.read(2**20))
            f.seek(max(0, size - 2**20))
            digest.update(f.read())
    except OSError as e:
        raise UserError(f"{path}: cannot be read: {e.strerror}") from None
    return digest.hexdigest()[:12]


def _check_space(directory: Path, needed: int) -> None:
    free = shutil.disk_usage(directory).free
    if needed > free:
        what = f"the converted model needs {needed / 2**20:.0f} MiB in {directory}, and {free / 2**20:.0f} MiB are free"
        hint = "make room, or set RAYGANG_CACHE to a directory on a larger disk"
        raise UserError(what, hint=hint, exit_code=1)


@contextlib.contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """What the system refuses becomes a message; other OSErrors (transformers has some without a number) do not."""
    try:
        yield
    except OSError as e:
        if e.errno is None:
            raise
        hint = "make room there, or set RAYGANG_CACHE to a directory that can be written"
        raise UserError(f"{directory} cannot be written: {e.strerror}", hint=hint, exit_code=1) from e


@contextlib.contextmanager
def _lock(path: Path, tell: Progress) -> Iterator[None]:
    until = time.monotonic() + LOCK_DEADLINE_S
    with path.open("w") as f:
        while True:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _wait(path, until, tell)
        yield


def _wait(lock: Path, until: float, tell: Progress) -> None:
    if time.monotonic() > until:
        what = f"another process has been converting a model for {LOCK_DEADLINE_S / 60:.0f} minutes"
        raise UserError(what, hint=f"wait for it, or end it (it holds {lock})", exit_code=1)
    tell("waiting for another process to convert a model", 0, 0)
    time.sleep(LOCK_POLL_S)
