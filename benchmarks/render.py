"""Speed and likeness of the fast renderer: one set of settings and the same ten scenes for both.

``python benchmarks/render.py`` measures this machine and compares with the stored pictures of Cycles;
``--cycles all`` draws those pictures again at 512 samples without a denoiser (a quarter of an hour on two cores;
needs ``sightline blender install``), timing Cycles and Sightline in turn on every scene; ``--write`` keeps the
results under docs/results/worlds/. All times are CPU seconds of one core, so other programs disturb them little.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from PIL import Image

from sightline.render.fast import FastRenderer, Settings
from sightline.worlds import Layout, arrange, load_world, relations, solid

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "worlds"
WORLD, SEED, VIEW = "kitchen", 0, "original"
TRIANGLES = 10_000
SCENES = 10


def triangles(layout: Layout) -> int:
    return sum(len(solid(o.shape).faces) for o in layout.objects)


def ten_scenes() -> list[Layout]:
    """The first ten scenes of the kitchen world with at least 10,000 triangles.

    Of the stream that the kitchen shared with `geospa/train` once, so that figures stay comparable.
    """
    world = replace(load_world(WORLD), stream=0)
    found: list[Layout] = []
    index = 0
    while len(found) < SCENES:
        layout = arrange(world, SEED, index)
        if triangles(layout) >= TRIANGLES:
            found.append(layout)
        index += 1
    return found


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    mse = ((a.astype(np.float64) - b.astype(np.float64)) ** 2).mean()
    return float(10 * np.log10(255.0**2 / mse)) if mse else float("inf")


@njit(cache=True)
def _calibration(steps: int) -> float:
    x = 0.5
    for _ in range(steps):
        x = 3.9 * x * (1.0 - x)
    return x


def calibrate() -> float:
    """CPU seconds of 20 million dependent float steps: how fast this core is right now."""
    _calibration(10)
    begun = time.process_time()
    _calibration(20_000_000)
    return time.process_time() - begun


def cpu_seconds(action: Callable[[], Any], repeats: int) -> float:
    """Mean CPU seconds of an action in this process."""
    action()
    begun = time.process_time()
    for _ in range(repeats):
        action()
    return (time.process_time() - begun) / repeats


def shaded_seconds(layout: Layout, repeats: int = 3) -> float:
    """A whole picture from the layout on, nothing kept from the last time but the solids."""
    renderer = FastRenderer()
    renderer.frames(layout, [VIEW], shade=False)

    def draw() -> None:
        renderer.forget()
        renderer.frames(layout, [VIEW])

    return cpu_seconds(draw, repeats)


def geometry_seconds(layout: Layout, repeats: int = 20) -> float:
    renderer = FastRenderer()
    return cpu_seconds(lambda: renderer.frames(layout, [VIEW], shade=False), repeats)


def placement_rate(world: str, scenes: int = 600) -> float:
    """Scenes placed and labelled a CPU second, after a warm-up that fills the tables of what fits."""
    spec = load_world(world)
    for i in range(scenes):
        relations(arrange(spec, 1, i))
    begun = time.process_time()
    for i in range(scenes):
        relations(arrange(spec, 2, i))
    return scenes / (time.process_time() - begun)


def pipeline_rate(world: str, scenes: int = 40) -> float:
    """Scenes made, drawn (one view), encoded and stored a CPU second, in one process."""
    from sightline.generation import generate

    with tempfile.TemporaryDirectory() as folder:
        generate(world, Path(folder) / "warm", scenes=2, views=[VIEW])
        begun = time.process_time()
        generate(world, Path(folder) / "timed", scenes=scenes, views=[VIEW], seed=1)
        return scenes / (time.process_time() - begun)


def cycles(layout: Layout) -> tuple[np.ndarray, float]:
    """The picture at 512 samples and the CPU seconds of the Blender process, its start (about 2 s) included."""
    from sightline.render.blender import BlenderRenderer

    before = os.times()
    image = BlenderRenderer.clevr().frames(layout, [VIEW])[0].image
    after = os.times()
    assert image is not None
    return image, after.children_user + after.children_system - before.children_user - before.children_system


def reference(layouts: list[Layout], chosen: list[int]) -> list[dict[str, float]]:
    """Draw and time the chosen scenes with Cycles and then with the fast back end; keep pictures and times."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / "cycles_512.json"
    rows = json.loads(file.read_text()) if file.exists() else [{} for _ in layouts]
    for i in chosen:
        layout = layouts[i]
        image, peer = cycles(layout)
        Image.fromarray(image).save(RESULTS / f"cycles_512_{i}.png", optimize=True)
        ours = shaded_seconds(layout, 5)
        rows[i] = {"cycles_512": round(peer, 1), "ours": round(ours, 4), "calibration": round(calibrate(), 3)}
        print(f"scene {i}: Cycles 512 {peer:.0f} s, ours {ours * 1e3:.0f} ms, {peer / ours:,.0f} times", flush=True)
        file.write_text(json.dumps(rows, indent=1) + "\n")
    return rows


def compare(layouts: list[Layout], write: bool) -> list[dict[str, Any]]:
    rows = []
    renderer = FastRenderer()
    for i, layout in enumerate(layouts):
        image = renderer.frames(layout, [VIEW])[0].image
        peer = np.asarray(Image.open(RESULTS / f"cycles_512_{i}.png").convert("RGB"))
        rows.append(
            {
                "scene": layout.index,
                "objects": len(layout.objects),
                "triangles": triangles(layout),
                "PSNR, dB": psnr(image, peer),
                "geometry, ms": geometry_seconds(layout) * 1e3,
                "shaded, ms": shaded_seconds(layout) * 1e3,
            }
        )
        if write:
            side = np.concatenate((image, peer), axis=1)
            Image.fromarray(side).save(RESULTS / f"side_by_side_{i}.jpg", quality=92, subsampling=0)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    def cell(value: Any) -> str:
        return (
            f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
        )

    marks = (" --- |" if isinstance(value, str) else " ---: |" for value in rows[0].values())
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "".join(marks)]
    return "\n".join(lines + ["| " + " | ".join(map(cell, row.values())) + " |" for row in rows]) + "\n"


def summary(rows: list[dict[str, Any]], peer: list[dict[str, float]]) -> list[dict[str, Any]]:
    geometry = 1e3 / float(np.mean([r["geometry, ms"] for r in rows]))
    shaded = 1e3 / float(np.mean([r["shaded, ms"] for r in rows]))
    # Of this run's own times, not of those taken beside Cycles, so that the ratio is that of the code as it is.
    ratio = sum(p["cycles_512"] for p in peer) / sum(r["shaded, ms"] / 1e3 for r in rows)
    mean, worst = float(np.mean([r["PSNR, dB"] for r in rows])), float(min(r["PSNR, dB"] for r in rows))
    placed, stored = placement_rate("geospa/train"), [pipeline_rate(w) for w in ("geospa/train", "kitchen")]
    return [
        {"what": "ids + depth + normals + amodal, views/s a core", "target": "≥ 400", "measured": geometry},
        {"what": "placement + labels (geospa/train), scenes/s a core", "target": "≥ 300", "measured": placed},
        {"what": "shaded with AA, views/s a core", "target": "≥ 8", "measured": shaded},
        {"what": "times faster than Cycles at 512 samples", "target": "≥ 1,500", "measured": ratio},
        {"what": "PSNR to Cycles 512, dB, mean of ten scenes", "target": "≥ 30", "measured": mean},
        {"what": "PSNR, dB, worst scene", "target": "≥ 30", "measured": worst},
        {"what": "scene → stored sample (geospa/train), a second a core", "target": "≥ 4", "measured": stored[0]},
        {"what": "scene → stored sample (kitchen), a second a core", "target": "≥ 4", "measured": stored[1]},
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--cycles", default="", help="all, or numbers (0,4): reference pictures to draw and time again"
    )
    parser.add_argument("--write", action="store_true", help="keep the results under docs/results/worlds/")
    args = parser.parse_args()
    layouts = ten_scenes()
    chosen = range(SCENES) if args.cycles == "all" else map(int, args.cycles.split(",")) if args.cycles else ()
    peer = reference(layouts, list(chosen))
    rows = compare(layouts, args.write)
    text = (
        f"Python {platform.python_version()}, one core; calibration kernel {calibrate():.3f} CPU s; "
        f"settings: `{Settings()}`\n\n{table(summary(rows, peer))}\n{table(rows)}"
    )
    print(text)
    if args.write:
        (RESULTS / "speed.md").write_text(text)


if __name__ == "__main__":
    main()
