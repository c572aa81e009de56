"""Shaded views a second on a CUDA card, and how far its pictures are from the CPU's.

``python benchmarks/render_cuda.py --kernels --write FILE`` needs a card, numpy, numba with numba-cuda, and yaml;
with ``PYTHONPATH=src`` where Sightline is not installed. Layouts are brought to the card first: what is timed is
drawing. ``--kernels`` tells how long each kernel takes with a batch, too, one after the other. The file is written
anew after every world: a run that is cut short leaves what it has measured. ``--settings`` times several settings
in turn instead; ``benchmarks/likeness.py --settings`` tells how like Cycles their pictures are.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
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


COMPARED = 8
"""Scenes of a world that the CPU draws too."""


class Scenes(NamedTuple):
    """Scenes of a world, and the CPU's pictures (n, H, W, 3) and ids (n, H, W) of the first `COMPARED`."""

    world: str
    made: list[Layout]
    images: np.ndarray
    ids: np.ndarray


def scenes(world: str, distinct: int) -> Scenes:
    """Place and draw scenes on the CPU, in a process beside the one that compiles for the card."""
    spec, cpu = load_world(world), FastRenderer(Settings())
    made = [arrange(spec, 0, i) for i in range(distinct)]
    frames = [cpu.frames(layout, ["original"])[0] for layout in made[:COMPARED]]
    return Scenes(world, made, np.stack([f.image for f in frames]), np.stack([f.ids for f in frames]))


TRIED: tuple[dict[str, int], ...] = (
    {},
    {"shadow_most": 12, "objects_most": 12},
    {"shadow_most": 32, "objects_most": 32},
    {"shadow_most": 48, "objects_most": 48},
    {"edge_samples": 10},
    {"edge_samples": 8},
    {"edge_samples": 8, "shadow_most": 12, "objects_most": 12},
    {"mirror_depth": 3},
    {"mirror_rays": 1},
)
"""Settings that ``--settings`` compares, as they differ from the default."""
ROUNDS = 4


def settings_rows(worlds: Sequence[str], batch: int, distinct: int) -> list[dict[str, object]]:
    """Views a second of every world: a row for each of the settings tried, all timed in turn, medians."""
    from numba import cuda

    rows: list[dict[str, object]] = [
        {"settings": ", ".join(f"{name}={value}" for name, value in changed.items()) or "default"}
        for changed in TRIED
    ]
    for world in worlds:
        spec = load_world(world)
        made = [arrange(spec, 0, i) for i in range(distinct)]
        cards = [CudaRenderer(replace(Settings(), **changed)) for changed in TRIED]
        views = [card.batch([made[i % distinct] for i in range(batch)]) for card in cards]
        times: list[list[float]] = [[] for _ in cards]
        for turn in range(ROUNDS + 1):
            for card, view, taken in zip(cards, views, times, strict=True):
                begun = time.perf_counter()
                card.pictures(view)
                cuda.synchronize()
                if turn:  # the first compiles
                    taken.append(time.perf_counter() - begun)
        for row, taken in zip(rows, times, strict=True):
            row[f"{world}, views/s"] = round(batch / float(np.median(taken)))
    return rows


def measure(card: CudaRenderer, shown: Scenes, views: Packed, repeats: int) -> dict[str, object]:
    """The row of a table: views a second, and how far the pictures are from the CPU's."""
    from numba import cuda

    batch, begun = views.bodies.shape[0], time.perf_counter()
    pictures = card.pictures(views)
    cuda.synchronize()
    first = time.perf_counter() - begun
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        card.pictures(views)
        cuda.synchronize()
        times.append(time.perf_counter() - begun)
    count = len(shown.images)
    image, ids = pictures.image[:count].copy_to_host(), pictures.ids[:count].copy_to_host()
    return {
        "world": shown.world,
        "batch": batch,
        "first call, s": round(first, 1),
        "views/s (median)": round(batch / float(np.median(times))),
        "views/s (worst)": round(batch / max(times)),
        "triangles a scene": round(float(np.mean([_triangles(layout) for layout in shown.made]))),
        f"PSNR to the CPU, dB (worst of {count})": round(min(map(psnr, image, shown.images)), 1),
        "ids that differ, ppm": round(1e6 * float((ids != shown.ids).mean()), 1),
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


def kernels(card: CudaRenderer, views: Packed, repeats: int) -> dict[str, float]:
    """Milliseconds of each kernel with a batch, the longest first."""
    spent: dict[str, float] = {}
    kind = type(cuda_kernels._edges)
    found = {name: kernel for name, kernel in vars(cuda_kernels).items() if isinstance(kernel, kind)}
    whole = {n: kernel for n, kernel in found.items() if not getattr(kernel, "targetoptions", {}).get("device")}
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
    parser.add_argument("--settings", action="store_true", help="compare several settings, and nothing else")
    args = parser.parse_args()
    if args.settings:
        text = table(settings_rows(args.worlds.split(","), args.batch, args.distinct))
        print(text)
        if args.write:
            args.write.write_text(text, encoding="utf-8")
        return
    rows: list[dict[str, object]] = []
    each: dict[str, dict[str, float]] = {}
    worlds, distinct = args.worlds.split(","), args.distinct
    with ProcessPoolExecutor(len(worlds), get_context("spawn")) as pool:
        waiting = [pool.submit(scenes, world, distinct) for world in worlds]
        card, spec = CudaRenderer(Settings()), load_world(worlds[0])
        card.pictures(card.batch([arrange(spec, 0, 0)]))  # compiles
        for world, placed in zip(worlds, waiting, strict=True):
            shown = placed.result()
            views = card.batch([shown.made[i % distinct] for i in range(args.batch)])
            rows.append(measure(card, shown, views, args.repeats))
            if args.kernels:
                each[world] = kernels(card, views, 2)
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
