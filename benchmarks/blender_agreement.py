"""Do both back ends see the same? Blender's Object Index, depth and normals against the fast back end's, by pixel.

    python benchmarks/blender_agreement.py [--scenes 20] [--views original,top] [--seed 0] [--json FILE]

Takes as many scenes of each world, at the worlds' own size, out of one Blender process a world (SIGHTLINE_BLENDER,
or where ``sightline blender install`` put it). Exits with 1 where ids agree in fewer than 99.99 % of the pixels.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from sightline.render.blender.jobs import BlenderSettings
from sightline.render.blender.process import render
from sightline.render.blender.renderer import chosen
from sightline.render.fast import FastRenderer
from sightline.worlds import arrange
from sightline.worlds.spec import load_world

WORLDS = ("geospa/train", "kitchen")
TARGET = 0.9999


@dataclass(frozen=True)
class Agreement:
    """One view of one scene.

    Attributes:
        differ: Pixels whose ids differ.
        depth_mm: Difference of depth that 99.9 % of the pixels with the same id stay below, millimetres.
        depth_off: Pixels with the same id whose depths differ by more than 1 mm: an object's own inner edges.
        normal_degrees: Angle between normals that 99.9 % of those pixels stay below.
        amodal_differ: Pixels of all amodal masks that differ; −1 if they were not compared.
    """

    world: str
    index: int
    view: str
    objects: int
    pixels: int
    differ: int
    depth_mm: float
    depth_off: int
    normal_degrees: float
    amodal_differ: int = -1


def measure(world: str, scenes: int, views: list[str], seed: int, *, amodal: bool) -> Iterator[Agreement]:
    made = load_world(world)
    layouts = [arrange(made, seed, index) for index in range(scenes)]
    work = [(layout, chosen(layout, views)) for layout in layouts]
    seen = render(work, BlenderSettings(image=False, passes=True, amodal=amodal))
    fast = FastRenderer()
    for layout, shots in work:
        for shot in shots:
            ours, theirs = fast.frame(layout, shot, shade=False), next(seen)
            same = ours.ids == theirs["ids"]
            depth = 1e3 * np.abs(ours.depth - theirs["depth"])[same]
            depth = depth[np.isfinite(depth)]
            cosine = np.clip((ours.normals * theirs["normals"]).sum(axis=-1)[same], -1.0, 1.0)
            yield Agreement(
                world,
                layout.index,
                shot.name,
                len(layout.objects),
                same.size,
                int((~same).sum()),
                float(np.quantile(depth, 0.999)),
                int((depth > 1.0).sum()),
                float(np.degrees(np.arccos(np.quantile(cosine, 0.001)))),
                int((ours.amodal != theirs["amodal"]).sum()) if amodal else -1,
            )


COLUMNS = (
    *("world", "views", "pixels", "ids differ", "ids agree", "depth mm, 99.9 %", "depth off > 1 mm"),
    *("normals °, 99.9 %", "amodal differ"),
)


def row(name: str, found: list[Agreement]) -> str:
    pixels, differ = sum(a.pixels for a in found), sum(a.differ for a in found)
    cells = (
        name,
        len(found),
        f"{pixels:,}",
        differ,
        f"{100 * (1 - differ / pixels):.5f} %",
        f"{max(a.depth_mm for a in found):.2f}",
        sum(a.depth_off for a in found),
        f"{max(a.normal_degrees for a in found):.2f}",
        sum(a.amodal_differ for a in found) if found[0].amodal_differ >= 0 else "–",
    )
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=20)
    parser.add_argument("--views", default="original")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--amodal", action="store_true", help="compare the masks of each object alone, too (slow)")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = {
        world: list(measure(world, asked.scenes, asked.views.split(","), asked.seed, amodal=asked.amodal))
        for world in WORLDS
    }
    everything = [a for listed in found.values() for a in listed]
    print(f"| {' | '.join(COLUMNS)} |")
    print(f"|---{'|---:' * (len(COLUMNS) - 1)}|")
    for world, listed in found.items():
        print(row(world, listed))
    print(row("all", everything))
    worst = max(everything, key=lambda a: a.differ)
    print(
        f"\nworst: {worst.world} seed {asked.seed} index {worst.index} {worst.view}: {worst.differ} pixels differ"
    )
    if asked.json:
        asked.json.write_text(json.dumps([asdict(a) for a in everything], indent=1) + "\n")
    agree = 1 - sum(a.differ for a in everything) / sum(a.pixels for a in everything)
    sys.exit(0 if agree >= TARGET else 1)


if __name__ == "__main__":
    main()
