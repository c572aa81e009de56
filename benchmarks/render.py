"""Speed of the fast back end on one core: the same ten kitchen scenes, with the default settings.

``python benchmarks/render.py`` measures this machine; ``--write`` keeps the results under docs/results/worlds/. All
times are CPU seconds of one core, so other programs disturb them little; the time of a calibration kernel stands
beside them. ``--painted`` compares painted, textured and glass objects with plain ones instead; ``--memory`` tells
how memory grows with the scenes drawn. How like Cycles the pictures are, and how much faster they come at equal
likeness, is measured by benchmarks/likeness.py, which divides by no time but those it took on the same machine.
"""

from __future__ import annotations

import argparse
import math
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from sightline.render.fast import FastRenderer, Settings
from sightline.worlds import Layout, arrange, load_world, relations, solid
from sightline.worlds.looks import MATERIALS
from sightline.worlds.solids import Slot, Solid

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


DARK, LIGHT, BLUE = (0.02, 0.02, 0.02), (0.8, 0.7, 0.1), (0.1, 0.2, 0.6)
LAST = {  # quarter of every object, about z, in what is told; the other three are matte
    "four colours": Slot("last", BLUE, MATERIALS["rubber"]),
    "a quarter of metal": Slot("last", LIGHT, MATERIALS["metal"]),
    "a quarter of glass": Slot("last", (0.7, 0.8, 0.9), MATERIALS["glass"]),
}
TEXTURED = "textures all over"


def painted(name: str, how: str) -> Solid:
    """A built-in solid in four painted parts, or with a texture, as a mesh of the user's may be."""
    made = solid(name)
    corners = made.vertices[made.faces]
    if how == TEXTURED:
        texels = np.random.default_rng(0).integers(0, 256, (256, 256, 3), dtype=np.uint8)
        return replace(made, slots=(Slot("body", (0.5, 0.5, 0.5), None, texels),), uv=corners[..., :2] * 2.0)
    middle = corners.mean(axis=1)
    quarter = ((np.arctan2(middle[:, 1], middle[:, 0]) / math.pi + 1.0) * 1.999).astype(np.uint8)
    slots = (Slot("body"), Slot("trim", LIGHT), Slot("tyre", DARK), LAST[how])
    return replace(made, slots=slots, paint=quarter)


def paint_rows(layouts: list[Layout], rounds: int = 7) -> list[dict[str, Any]]:
    """CPU seconds of painted scenes over those of the same scenes plain, measured in turn; medians over rounds."""
    renderers = {"plain": FastRenderer()}
    for how in (*LAST, TEXTURED):
        renderers[how] = FastRenderer(solid=cache(partial(painted, how=how)))
    times: dict[tuple[str, bool], list[float]] = {(how, shade): [] for how in renderers for shade in (False, True)}
    for turn in range(rounds + 1):
        for (how, shade), taken in times.items():
            renderers[how].forget()
            begun = time.process_time()
            for layout in layouts:
                renderers[how].frames(layout, [VIEW], shade=shade)
            if turn:  # before, solids were packed
                taken.append(time.process_time() - begun)
    medians = {key: float(np.median(taken)) for key, taken in times.items()}
    return [
        {
            "objects": how,
            "geometry, times plain": f"{medians[how, False] / medians['plain', False]:.2f}",
            "shaded, times plain": f"{medians[how, True] / medians['plain', True]:.2f}",
        }
        for how in renderers
    ]


def memory_rows(counts: tuple[int, ...] = (10, 40, 160, 320)) -> list[dict[str, Any]]:
    """The most memory this process has had after so many scenes, all of them different, drawn by one renderer."""
    renderer, rows, done = FastRenderer(), [], 0
    for count in counts:
        for index in range(done, count):
            renderer.frames(arrange(load_world(WORLD), SEED, index), [VIEW])
        done = count
        rows.append({"scenes": count, "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--painted", action="store_true", help="what painted, textured and glass objects cost")
    parser.add_argument("--memory", action="store_true", help="how memory grows with the scenes drawn")
    parser.add_argument("--write", action="store_true", help="keep the results under docs/results/worlds/")
    args = parser.parse_args()
    machine = (
        f"Python {platform.python_version()}, one core of {processor()}; calibration kernel {calibrate():.3f} CPU s"
    )
    if args.memory:
        name, text = "memory.md", table(memory_rows())
    elif args.painted:
        name, text = "painted.md", f"{machine}\n\n{table(paint_rows(ten_scenes()))}"
    else:
        rows = measure(ten_scenes())
        name, text = "speed.md", f"{machine}; settings: `{Settings()}`\n\n{table(summary(rows))}\n{table(rows)}"
    print(text)
    if args.write:
        (RESULTS / name).write_text(text)


if __name__ == "__main__":
    main()
