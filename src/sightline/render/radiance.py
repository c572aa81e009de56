"""Radiance files (``.hdr``): pixels are three mantissas and a common exponent, in run lengths."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.files import read_bytes

MOST_PIXELS: Final = 1 << 25
"""Of a file: 8192×4096, 400 MB as floats."""

_SIZE: Final = re.compile(rb"-Y (\d{1,5}) \+X (\d{1,5})\n")
_HEADER: Final = 1 << 16


def read_radiance(path: str | Path) -> NDArray[np.float32]:
    """Read a Radiance file: linear RGB, (H, W, 3) float32, first row on top.

    Raises:
        DataError: No such file, no Radiance file, one that is cut short or too large, or rows not from top left.
    """
    file = Path(path)
    data = read_bytes(file)
    end = data.find(b"\n\n", 0, _HEADER)
    size = _SIZE.match(data, end + 2) if end >= 0 else None
    if not data.startswith(b"#?") or size is None or b"FORMAT=32-bit_rle_rgbe" not in data[:end]:
        expected = "#?RADIANCE, FORMAT=32-bit_rle_rgbe, an empty line, -Y height +X width"
        raise DataError("not a Radiance picture", file=file, expected=expected)
    height, width = int(size[1]), int(size[2])
    if not 0 < height * width <= MOST_PIXELS:
        found = f"{width}×{height}"
        raise DataError(
            "Radiance picture of no fitting size", file=file, expected=f"1 to {MOST_PIXELS:,} pixels", found=found
        )
    try:
        rgbe = _pixels(np.frombuffer(data, np.uint8, offset=size.end()), height, width)
    except (IndexError, ValueError):
        raise DataError("Radiance picture is cut short or damaged", file=file) from None
    scale = np.ldexp(np.float32(1.0), rgbe[..., 3].astype(np.int32) - 136)
    factor = np.where(rgbe[..., 3] > 0, scale, np.float32(0.0))[..., None]
    return np.asarray(rgbe[..., :3] * factor, np.float32)


def _pixels(data: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """Mantissas and exponents, (H, W, 4); ValueError or IndexError where the bytes end too early."""
    rows = np.empty((height, 4, width), np.uint8)
    at = 0
    for y in range(height):
        if not (8 <= width <= 0x7FFF and tuple(data[at : at + 2]) == (2, 2) and data[at + 2] < 128):
            if y:
                raise ValueError
            return data[: height * width * 4].reshape(height, width, 4)  # written without run lengths
        if (int(data[at + 2]) << 8 | int(data[at + 3])) != width:
            raise ValueError
        at = _row(data, at + 4, rows[y])
    return rows.transpose(0, 2, 1)


def _row(data: NDArray[np.uint8], at: int, row: NDArray[np.uint8]) -> int:
    """Decode one row, component by component; returns where the next one begins."""
    for component in row:
        x = 0
        while x < len(component):
            count = int(data[at])
            if count > 128:  # one byte, so many times
                count -= 128
                component[x : x + count] = data[at + 1]
                at += 2
            else:
                component[x : x + count] = data[at + 1 : at + 1 + count]
                at += 1 + count
            x += count
            if count == 0 or x > len(component):
                raise ValueError
    return at
