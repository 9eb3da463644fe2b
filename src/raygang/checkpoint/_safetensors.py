"""The headers of safetensors files: sizes of all tensors without reading one.

The format (safetensors 0.x): 8 bytes little-endian length of the header, the header as JSON, the data. Each entry of
the header has `dtype`, `shape` and `data_offsets` relative to the data.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path

from raygang.spec import UserError

INDEX = "model.safetensors.index.json"
MAX_HEADER = 100_000_000  # the format's own limit
AGAIN = "copy or download the file again"


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
        UserError: a file that the index names is missing, or a file is not whole.
    """
    return [tensor for path in files_of(directory) for tensor in header(path)]


def files_of(directory: Path) -> list[Path]:
    """The safetensors files of a checkpoint: those that the index names, else all."""
    index = directory / INDEX
    if not index.exists():
        return sorted(directory.glob("*.safetensors"))
    try:
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    except (ValueError, KeyError, AttributeError):
        raise UserError(f"{index}: not an index of safetensors files", hint=AGAIN) from None
    missing = [n for n in names if not (directory / n).exists()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UserError(f"{directory}: the index names {missing[0]}{more}, which is not there", hint=AGAIN)
    return [directory / n for n in names]


def header(path: Path) -> list[Tensor]:
    """The tensors of one file. Raises UserError when the file is not whole."""
    size = path.stat().st_size
    with path.open("rb") as f:
        start = f.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else MAX_HEADER + 1
        if length > MAX_HEADER or 8 + length > size:
            raise UserError(f"{path}: not a safetensors file, or cut off in its header ({size} bytes)", hint=AGAIN)
        raw = f.read(length)
    try:
        entries = {k: v for k, v in json.loads(raw).items() if k != "__metadata__"}
        tensors = [_tensor(name, entry) for name, entry in entries.items()]
        end = max((e["data_offsets"][1] for e in entries.values()), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise UserError(f"{path}: its header is damaged", hint=AGAIN) from None
    if 8 + length + end > size:
        cut = 8 + length + end - size
        raise UserError(f"{path}: cut off, {cut} of {8 + length + end} bytes are missing", hint=AGAIN)
    return tensors


def _tensor(name: str, entry: dict[str, object]) -> Tensor:
    first, last = entry["data_offsets"]  # type: ignore[misc]
    return Tensor(name, str(entry["dtype"]), tuple(entry["shape"]), last - first)  # type: ignore[arg-type, has-type]
