"""Writes Radiance files for tests: flat, and in run lengths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def rgbe(light: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Mantissas and exponent of linear RGB, (H, W, 4)."""
    exponent = np.frexp(light.max(axis=-1))[1]
    mantissas = np.floor(light * np.ldexp(1.0, 8 - exponent)[..., None])
    exponent = np.where(light.max(axis=-1) > 0, exponent + 128, 0)
    return np.dstack((mantissas, exponent)).clip(0, 255).astype(np.uint8)


def write_radiance(file: Path, light: NDArray[np.floating], *, runs: bool = True) -> NDArray[np.uint8]:
    """Write linear RGB, (H, W, 3); returns the mantissas and exponents written."""
    height, width = light.shape[:2]
    pixels = rgbe(light)
    head = f"#?RADIANCE\n# made for a test\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n".encode()
    if not runs:
        file.write_bytes(head + pixels.tobytes())
        return pixels
    rows = (b"\x02\x02" + width.to_bytes(2, "big") + b"".join(map(_runs, row.T)) for row in pixels)
    file.write_bytes(head + b"".join(rows))
    return pixels


def _runs(values: NDArray[np.uint8]) -> bytes:
    """One component of a row: equal bytes as a run, others one by one."""
    out, x = b"", 0
    while x < len(values):
        count = 1
        while x + count < len(values) and count < 127 and values[x + count] == values[x]:
            count += 1
        out += bytes((128 + count, values[x])) if count > 1 else bytes((1, values[x]))
        x += count
    return out
