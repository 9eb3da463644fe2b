"""Fixed texts into their files: wholly or not at all, with the encoding and the mode that they had."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from raygang.spec import UserError


def write(name: str, old: str, new: str) -> None:
    """Replace a file's text.

    Args:
        name: the file; a link stays a link, and what it leads to is replaced.
        old: the text that it has to have still.
        new: the text that it gets.

    Raises:
        UserError: the file has changed since it was read, or cannot be written.
    """
    path = Path(os.path.realpath(name))
    try:
        raw = path.read_bytes()
        encoding = _encoding(raw)
        if raw.decode(encoding).removeprefix("\ufeff") != old:
            raise UserError(f"{name}: has changed since it was read, and was not written", hint="run it again")
        mark = b"" if not raw.decode(encoding).startswith("\ufeff") else "\ufeff".encode(encoding)
        _replace(path, mark + new.encode(encoding))
    except OSError as e:
        raise UserError(f"{name}: cannot be written: {(e.strerror or str(e)).lower()}") from e
    except UnicodeDecodeError as e:
        raise UserError(f"{name}: has changed since it was read, and was not written", hint="run it again") from e


def _encoding(raw: bytes) -> str:
    return {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(raw[:2], "utf-8")


def _replace(path: Path, raw: bytes) -> None:
    before = path.stat()
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(raw)
            f.flush()
            os.fsync(f.fileno())
        _keep_owner(temporary, before)
        Path(temporary).chmod(stat.S_IMODE(before.st_mode))
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _keep_owner(temporary: str, before: os.stat_result) -> None:
    now = Path(temporary).stat()
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        os.chown(temporary, before.st_uid, before.st_gid)
