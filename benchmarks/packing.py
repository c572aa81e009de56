"""How long a solid takes from arrays to what the kernels read, by its number of faces.

Prints a table; ``--write`` keeps it in docs/results/worlds/packing.md.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from sightline.render.fast.pack import Pool
from sightline.worlds.shapes import solid
from sightline.worlds.solids import Solid

OUT = Path(__file__).resolve().parents[1] / "docs" / "results" / "worlds" / "packing.md"
SIDES = (23, 46, 92, 203, 406, 812)
"""Rows and columns of the ball's grid: twice their square is its number of faces."""


def ball(side: int) -> Solid:
    """A bumpy ball: neither convex nor hollow, so that no shortcut holds for all of it."""
    i, j = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    theta, phi = np.pi * (i + 0.5) / side, 2 * np.pi * j / side
    radius = 1 + 0.05 * np.sin(9 * theta) * np.cos(7 * phi)
    flat = np.stack((np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)), -1)
    vertices = (radius[..., None] * flat).reshape(-1, 3)
    a, b = i[:-1] * side + j[:-1], i[:-1] * side + (j[:-1] + 1) % side
    faces = np.concatenate((np.stack((a, a + side, b), -1), np.stack((b, a + side, b + side), -1))).reshape(-1, 3)
    return replace(
        solid("cube"),
        vertices=vertices.astype(np.float32),
        faces=faces.astype(np.int32),
        normals=np.repeat(vertices[faces[:, :1]], 3, axis=1).astype(np.float32),
        paint=np.zeros(0, np.uint8),
    )


def seconds(shape: Solid) -> float:
    """CPU seconds, the best of three."""
    times = []
    for _ in range(3):
        started = time.process_time()
        Pool(lambda _: shape).know(["ball"])
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"keep the table in {OUT.name}")
    asked = parser.parse_args()
    seconds(ball(SIDES[0]))  # compiles
    rows = ["| faces | CPU seconds | µs a face |", "|---:|---:|---:|"]
    for side in SIDES:
        shape = ball(side)
        taken, faces = seconds(shape), len(shape.faces)
        rows.append(f"| {faces:,} | {taken:.3f} | {1e6 * taken / faces:.1f} |")
    print("\n".join(rows))
    if asked.write:
        OUT.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
