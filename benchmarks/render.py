"""Speed of the fast back end on one core: the same ten kitchen scenes, with the default settings.

``python benchmarks/render.py`` measures this machine; ``--write`` keeps the results under docs/results/worlds/. All
times are CPU seconds of one core, so other programs disturb them little; the time of a calibration kernel stands
beside them. How like Cycles the pictures are, and how much faster they come at equal likeness, is measured by
benchmarks/likeness.py, which divides by no time but those it took on the same machine.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

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


def processor() -> str:
    """The model of the processor that times were taken on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return model or platform.processor()


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


def shaded_seconds(layout: Layout, repeats: int = 3, settings: Settings | None = None) -> float:
    """A whole picture from the layout on, nothing kept from the last time but the solids."""
    renderer = FastRenderer(settings)
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


def measure(layouts: list[Layout]) -> list[dict[str, Any]]:
    """One row a scene."""
    return [
        {
            "scene": layout.index,
            "objects": len(layout.objects),
            "triangles": triangles(layout),
            "geometry, ms": geometry_seconds(layout) * 1e3,
            "shaded, ms": shaded_seconds(layout) * 1e3,
        }
        for layout in layouts
    ]


def table(rows: list[dict[str, Any]]) -> str:
    def cell(value: Any) -> str:
        return (
            f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
        )

    marks = (" --- |" if isinstance(value, str) else " ---: |" for value in rows[0].values())
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "".join(marks)]
    return "\n".join(lines + ["| " + " | ".join(map(cell, row.values())) + " |" for row in rows]) + "\n"


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was asked beside what was measured."""
    geometry, shaded = (1e3 / float(np.mean([r[key] for r in rows])) for key in ("geometry, ms", "shaded, ms"))
    told = [
        ("ids + depth + normals + amodal, views/s a core", "≥ 500", geometry),
        ("shaded with AA, views/s a core", "≥ 12", shaded),
    ]
    told += [
        (f"placement + labels ({world}), scenes/s a core", "≥ 300", placement_rate(world))
        for world in ("geospa/train", "geospa/invented")
    ]
    told += [
        (f"scene → stored sample ({world}), a second a core", "≥ 4", pipeline_rate(world))
        for world in ("geospa/train", "kitchen")
    ]
    return [{"what": what, "target": target, "measured": measured} for what, target, measured in told]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the results under docs/results/worlds/")
    args = parser.parse_args()
    rows = measure(ten_scenes())
    text = (
        f"Python {platform.python_version()}, one core of {processor()}; calibration kernel {calibrate():.3f} CPU s"
        f"; settings: `{Settings()}`\n\n{table(summary(rows))}\n{table(rows)}"
    )
    print(text)
    if args.write:
        (RESULTS / "speed.md").write_text(text)


if __name__ == "__main__":
    main()
