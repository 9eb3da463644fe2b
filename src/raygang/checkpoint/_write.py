"""Writes a safetensors file piece by piece: no more than a piece is ever in memory."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

ELEMENT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
_CODES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}

Shapes = Mapping[str, tuple[int, ...]]


def write_safetensors(path: Path, shapes: Shapes, dtype: str, pieces: Iterable[np.ndarray[Any, Any]]) -> Iterator[int]:
    """Write float32 `pieces`, in the order of `shapes`, as `dtype`; yields the bytes written so far.

    Raises:
        OSError: the disk is full, for example.
    """
    with path.open("wb") as f:
        f.write(header_bytes(shapes, dtype))
        done = 0
        for piece in pieces:
            done += f.write(encode(piece, dtype))
            yield done


def total_bytes(shapes: Shapes, dtype: str) -> int:
    """Bytes of the data, without the header."""
    return sum(_elements(shape) for shape in shapes.values()) * ELEMENT_BYTES[dtype]


def header_bytes(shapes: Shapes, dtype: str) -> bytes:
    """Length and header of the file."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, shape in shapes.items():
        end = offset + _elements(shape) * ELEMENT_BYTES[dtype]
        entries[name] = {"dtype": _CODES[dtype], "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)  # the data starts at a multiple of 8
    return struct.pack("<Q", len(text)) + text


def encode(values: np.ndarray[Any, Any], dtype: str) -> bytes:
    """Float32 values as little-endian bytes of `dtype`, rounded to nearest, ties to even."""
    import numpy as np

    if dtype != "bfloat16":
        return np.ascontiguousarray(values, dtype={"float32": "<f4", "float16": "<f2"}[dtype]).tobytes()
    bits = np.ascontiguousarray(values, dtype="<f4").view("<u4")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # The rounding carries some NaNs over into an infinity.
    return np.where(np.isnan(values), 0x7FC0, rounded).astype("<u2").tobytes()


def _elements(shape: tuple[int, ...]) -> int:
    product = 1
    for n in shape:
        product *= n
    return product
