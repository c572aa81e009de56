"""Shaded views a second on a CUDA card, and how far its pictures are from the CPU's.

``python benchmarks/render_cuda.py --kernels --write FILE`` needs a card, numpy, numba with numba-cuda, and yaml;
with ``PYTHONPATH=src`` where Sightline is not installed. Layouts are brought to the card first: what is timed is
drawing. ``--kernels`` tells how long each kernel takes with a batch, too, one after the other. The file is written
anew after every world: a run that is cut short leaves what it has measured.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sightline.render.fast.cuda as cuda_kernels
from sightline.render.fast import FastRenderer, Settings
from sightline.render.fast.cuda import CudaRenderer
from sightline.render.fast.pack import Packed
from sightline.worlds import arrange, load_world
from sightline.worlds.layout import Layout


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    mse = ((a.astype(np.float64) - b.astype(np.float64)) ** 2).mean()
    return float(10 * np.log10(255.0**2 / mse)) if mse else float("inf")


class Case(NamedTuple):
    """Scenes of a world, brought to a card: `count` of them `made`, shown again and again up to a batch."""

    world: str
    made: list[Layout]
    card: CudaRenderer
    views: Packed
    first: float


def case(world: str, batch: int, distinct: int) -> Case:
    """Place scenes and draw them once, so that everything is compiled and there."""
    from numba import cuda

    spec = load_world(world)
    made = [arrange(spec, 0, i) for i in range(distinct)]
    card = CudaRenderer(Settings())
    begun = time.perf_counter()
    views = card.batch([made[i % distinct] for i in range(batch)])
    card.pictures(views)
    cuda.synchronize()
    return Case(world, made, card, views, time.perf_counter() - begun)


def measure(shown: Case, repeats: int) -> dict[str, object]:
    """The row of a table: views a second, and how far the pictures are from the CPU's."""
    from numba import cuda

    card, views, made, batch = shown.card, shown.views, shown.made, shown.views.bodies.shape[0]
    pictures = card.pictures(views)
    cuda.synchronize()
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
        "world": shown.world,
        "batch": batch,
        "first call, s": round(shown.first, 1),
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


def kernels(shown: Case, repeats: int) -> dict[str, float]:
    """Milliseconds of each kernel with a batch of a world's scenes, the longest first."""
    card, views = shown.card, shown.views
    spent: dict[str, float] = {}
    kind = type(cuda_kernels._edges)
    found = {name: kernel for name, kernel in vars(cuda_kernels).items() if isinstance(kernel, kind)}
    whole = {name: kernel for name, kernel in found.items() if not kernel.targetoptions.get("device")}
    for name, kernel in whole.items():
        setattr(cuda_kernels, name, _Timed(name[1:], kernel, spent))
    try:
        for _ in range(repeats):
            card.pictures(views)
    finally:
        for name, kernel in whole.items():
            setattr(cuda_kernels, name, kernel)
    return {n: 1e3 * s / repeats for n, s in sorted(spent.items(), key=lambda item: -item[1])}


def _triangles(layout: object) -> int:
    from sightline.worlds.shapes import solid

    return sum(len(solid(o.shape).faces) for o in layout.objects)  # type: ignore[attr-defined]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--distinct", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--worlds", default="geospa/train,geospa/val_op,geospa/val_size,kitchen,street")
    parser.add_argument("--kernels", action="store_true", help="milliseconds of each kernel with a batch, too")
    parser.add_argument("--write", type=Path, help="docs/results/worlds/cuda.md")
    args = parser.parse_args()
    rows: list[dict[str, object]] = []
    each: dict[str, dict[str, float]] = {}
    for world in args.worlds.split(","):
        shown = case(world, args.batch, args.distinct)
        rows.append(measure(shown, args.repeats))
        if args.kernels:
            each[world] = kernels(shown, 2)
        if args.write:
            args.write.write_text(page(rows, each), encoding="utf-8")
        print(rows[-1], {name: round(ms, 1) for name, ms in each.get(world, {}).items()}, flush=True)


def page(rows: list[dict[str, object]], each: dict[str, dict[str, float]]) -> str:
    """The tables of worlds measured, as Markdown."""
    from numba import cuda

    card = cuda.get_current_device().name
    name = card.decode() if isinstance(card, bytes) else card
    head = f"{name}, Python {platform.python_version()}, 480×320, default settings"
    text = f"{head}\n\n{table(rows)}"
    if each:
        names = list(dict.fromkeys(name for spent in each.values() for name, ms in spent.items() if ms >= 1.0))
        times = [
            {"world": world, "all": round(sum(spent.values())), **{n: f"{spent.get(n, 0.0):.1f}" for n in names}}
            for world, spent in each.items()
        ]
        text += f"\nMilliseconds of each kernel with a batch, one after the other:\n\n{table(times)}"
    return text


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as a Markdown table."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + " --- |" * len(rows[0])]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row.values())) + " |" for row in rows)]) + "\n"


if __name__ == "__main__":
    main()
