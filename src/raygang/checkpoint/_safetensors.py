"""The headers of safetensors files: sizes of all tensors without reading one.

The format (safetensors 0.x): 8 bytes little-endian length of the header, the header as JSON, the data. Each entry of
the header has `dtype`, `shape` and `data_offsets` relative to the data.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raygang.spec import UserError

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
MAX_HEADER = 100_000_000  # the format's own limit
AGAIN = "copy or download the file again"
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")


@dataclass(frozen=True)
class Tensor:
    """A tensor of a checkpoint: its stored type, shape, and bytes in the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


def tensors_of(directory: Path) -> list[Tensor]:
    """All tensors of a checkpoint's safetensors files; empty when it has none.

    Raises:
        UserError: a file or a tensor that the index names is missing, or a file is not whole.
    """
    tensors = [tensor for path in files_of(directory) for tensor in header(path)]
    missing = sorted(_index(directory).keys() - {t.name for t in tensors})
    if missing:
        raise UserError(f"{directory}: the index names the tensor {_and_more(missing)}, and no file has it", hint=AGAIN)
    return tensors


def files_of(directory: Path) -> list[Path]:
    """The safetensors files of a checkpoint: those that the index names, else the one, else all.

    Raises:
        UserError: some of them are missing.
    """
    indexed = names = sorted(set(_index(directory).values()))
    if not indexed:
        single = directory / SINGLE
        names = [SINGLE] if single.exists() else sorted(p.name for p in directory.glob("*.safetensors"))
        names = sorted({sibling for name in names for sibling in _siblings(name)})
    missing = [name for name in names if not (directory / name).is_file()]
    if missing:
        who = "the index names" if indexed else "by its other files it has"
        raise UserError(f"{directory}: {who} {_and_more(missing)}, which is not there", hint=AGAIN)
    return [directory / name for name in names]


def header(path: Path) -> list[Tensor]:
    """The tensors of one file. Raises UserError when the file is not whole."""
    size = path.stat().st_size
    raw = _raw_header(path, size)
    try:
        entries = {k: v for k, v in json.loads(raw).items() if k != "__metadata__"}
        tensors = [_tensor(name, entry) for name, entry in entries.items()]
        end = max((int(e["data_offsets"][1]) for e in entries.values()), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise UserError(f"{path}: its header is damaged", hint=AGAIN) from None
    whole = 8 + len(raw) + end
    if whole > size:
        raise UserError(f"{path}: cut off, {whole - size} of {whole} bytes are missing", hint=AGAIN)
    return tensors


def _raw_header(path: Path, size: int) -> bytes:
    with path.open("rb") as f:
        start = f.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else MAX_HEADER + 1
        if length > MAX_HEADER or 8 + length > size:
            raise UserError(f"{path}: not a safetensors file, or cut off in its header ({size} bytes)", hint=AGAIN)
        return f.read(length)


def _tensor(name: str, entry: dict[str, Any]) -> Tensor:
    first, last = entry["data_offsets"]
    if not 0 <= first <= last:
        raise ValueError(name)
    return Tensor(name, str(entry["dtype"]), tuple(int(n) for n in entry["shape"]), last - first)


def _index(directory: Path) -> dict[str, str]:
    """File by tensor, as the index has it; empty without one."""
    path = directory / INDEX
    try:
        found = json.loads(path.read_text())["weight_map"]
        return {str(tensor): str(file) for tensor, file in found.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{path}: not an index of safetensors files", hint=AGAIN) from None


def _siblings(name: str) -> list[str]:
    """A shard says in its name how many there are."""
    match = _SHARD.fullmatch(name)
    if not match:
        return [name]
    return [f"{match[1]}-{i:05}-of-{match[3]}.safetensors" for i in range(1, int(match[3]) + 1)]


def _and_more(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
