"""Shaded views a second on a CUDA card, and how far its pictures are from the CPU's.

``python benchmarks/render_cuda.py [--write FILE]`` needs a card, numpy, numba with numba-cuda, and yaml; run it
with ``PYTHONPATH=src`` where Sightline is not installed. Layouts are brought to the card first: what is timed is
drawing. ``--kernels`` tells instead how long each kernel takes with a batch, one after the other.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

import sightline.render.fast.cuda as cuda_kernels
from sightline.render.fast import FastRenderer, Settings
from sightline.render.fast.cuda import CudaRenderer
from sightline.worlds import arrange, load_world


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    mse = ((a.astype(np.float64) - b.astype(np.float64)) ** 2).mean()
    return float(10 * np.log10(255.0**2 / mse)) if mse else float("inf")


def measure(world: str, batch: int, distinct: int, repeats: int) -> dict[str, object]:
    from numba import cuda

    spec = load_world(world)
    made = [arrange(spec, 0, i) for i in range(distinct)]
    layouts = [made[i % distinct] for i in range(batch)]
    card = CudaRenderer(Settings())
    begun = time.perf_counter()
    views = card.batch(layouts)
    pictures = card.pictures(views)
    cuda.synchronize()
    first = time.perf_counter() - begun
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        card.pictures(views)
        cuda.synchronize()
        times.append(time.perf_counter() - begun)
    image = pictures.image.copy_to_host()
    ids = pictures.ids.copy_to_host()
    cpu = FastRenderer(Settings())
    frames = [cpu.frames(layout, ["original"])[0] for layout in made[:8]]
    differ = [(ids[i] != f.ids).mean() for i, f in enumerate(frames)]
    return {
        "world": world,
        "batch": batch,
        "first call, s": round(first, 1),
        "views/s (median)": round(batch / float(np.median(times))),
        "views/s (worst)": round(batch / max(times)),
        "triangles a scene": round(float(np.mean([_triangles(layout) for layout in made]))),
        "PSNR to the CPU, dB (worst of 8)": round(min(psnr(image[i], f.image) for i, f in enumerate(frames)), 1),
        "ids that differ, ppm": round(1e6 * float(np.mean(differ)), 1),
    }


class _Timed:
    """A kernel that adds the seconds of its launches to `spent` under its name."""

    def __init__(self, name: str, kernel: Any, spent: dict[str, float]) -> None:
        self._name, self._kernel, self._spent = name, kernel, spent

    def __getitem__(self, shape: Any) -> Any:
        from numba import cuda

        def launch(*args: Any) -> None:
            cuda.synchronize()
            begun = time.perf_counter()
            self._kernel[shape](*args)
            cuda.synchronize()
            self._spent[self._name] = self._spent.get(self._name, 0.0) + time.perf_counter() - begun

        return launch


def kernels(world: str, batch: int, distinct: int, repeats: int) -> dict[str, object]:
    """Milliseconds of each kernel with a batch of a world's scenes; those below half a millisecond left out."""
    spec, spent = load_world(world), {}
    made = [arrange(spec, 0, i) for i in range(distinct)]
    card = CudaRenderer(Settings())
    views = card.batch([made[i % distinct] for i in range(batch)])
    card.pictures(views)
    kind = type(cuda_kernels._edges)
    whole = {n: kernel for n, kernel in vars(cuda_kernels).items() if isinstance(kernel, kind) and n != "_write"}
    for name, kernel in whole.items():
        setattr(cuda_kernels, name, _Timed(name[1:], kernel, spent))
    try:
        for _ in range(repeats):
            card.pictures(views)
    finally:
        for name, kernel in whole.items():
            setattr(cuda_kernels, name, kernel)
    each = {name: 1e3 * seconds / repeats for name, seconds in spent.items()}
    return {"world": world, "all, ms": round(sum(each.values()))} | {
        n: round(v) for n, v in each.items() if v >= 0.5
    }


def _triangles(layout: object) -> int:
    from sightline.worlds.shapes import solid

    return sum(len(solid(o.shape).faces) for o in layout.objects)  # type: ignore[attr-defined]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--distinct", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--worlds", default="geospa/train,geospa/val_op,kitchen")
    parser.add_argument("--kernels", action="store_true", help="milliseconds of each kernel with a batch")
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    from numba import cuda

    card = cuda.get_current_device().name
    name = card.decode() if isinstance(card, bytes) else card
    if args.kernels:
        for world in args.worlds.split(","):
            print(kernels(world, args.batch, args.distinct, args.repeats))
        return
    rows = [measure(w, args.batch, args.distinct, args.repeats) for w in args.worlds.split(",")]
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + " --- |" * len(rows[0])]
    lines += ["| " + " | ".join(str(v) for v in row.values()) + " |" for row in rows]
    table = f"{name}, Python {platform.python_version()}, 480×320, default settings\n\n" + "\n".join(lines) + "\n"
    print(table)
    if args.write:
        args.write.write_text(table)


if __name__ == "__main__":
    main()
