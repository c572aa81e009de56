"""Hold the truth of generated scenes against casting rays and judging pairs anew; ``make truth`` does so at length.

python tests/reference/check_truth.py --scenes 12 --size 96x64 --labels 12 --seed 0
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "render")]

from fast_layouts import PAINTED  # noqa: E402

from reference import scene_truth  # noqa: E402
from sightline.generation import scene_from  # noqa: E402
from sightline.render.fast import FastRenderer  # noqa: E402
from sightline.worlds import World, arrange, load_world, presets, world_from  # noqa: E402

LABELS = ("spatial", "geometry")
HEAD = """| world | pixels | differ | away from any edge | judgements | too near a tie to say | wrong |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


@dataclass
class Tally:
    """What was compared: pixels, those that differ, those that differ for no reason; judgements likewise."""

    pixels: int = 0
    differing: int = 0
    wrong_pixels: int = 0
    judgements: int = 0
    undecided: int = 0
    wrong_judgements: int = 0

    def row(self) -> str:
        """A row of the table."""
        return " | ".join(f"{number:,}" for number in vars(self).values())

    def __str__(self) -> str:
        return (
            f"{self.pixels:,} pixels, {self.differing} differ, {self.wrong_pixels} of them away from any edge; "
            f"{self.judgements:,} judgements, {self.undecided:,} too near a tie, {self.wrong_judgements} wrong"
        )


def compare_pixels(
    world: World, seed: int, index: int, size: tuple[int, int], tally: Tally, *, painted: bool = False
) -> None:
    """Compare all views of one scene; `painted` gives each object a painted or open shape, anywhere."""
    layout = arrange(replace(world, resolution=size), seed, index)
    if painted:
        shapes = np.random.default_rng((seed, index)).choice(PAINTED, len(layout.objects))
        objects = (replace(o, shape=s) for o, s in zip(layout.objects, shapes, strict=True))
        layout = replace(layout, objects=tuple(objects))
    scene = scene_from(layout, FastRenderer().frames(layout, shade=False))
    for view in scene.views:
        differing, wrong = scene_truth.wrong_pixels(scene, view, layout.surroundings)
        tally.pixels += size[0] * size[1]
        tally.differing += differing
        tally.wrong_pixels += wrong


def compare_labels(world: World, seed: int, index: int, tally: Tally) -> None:
    """Compare what holds in one scene."""
    layout = arrange(replace(world, resolution=(8, 8)), seed, index)
    scene = scene_from(layout, FastRenderer().frames(layout, ["original"], shade=False))
    facts = {(r.subject, r.predicate, r.object) for r in scene.relations if r.aspect in LABELS}
    for *statement, holds in scene_truth.judgements(scene, containment=layout.containment):
        tally.judgements += 1
        tally.undecided += holds is None
        tally.wrong_judgements += holds is not None and holds != (tuple(statement) in facts)


def from_anywhere(world: World) -> World:
    """The world with one camera, drawn scene by scene."""
    camera = {
        "azimuth": [0, 360],
        "elevation": [5, 70],
        "distance": [12, 18],
        "roll": [-25, 25],
        "field_of_view": 40,
    }
    cameras = dict.fromkeys(world.settings["cameras"]) | {"original": camera}
    return world_from(world.name, {**world.settings, "cameras": cameras})


def named(name: str) -> tuple[World, bool]:
    """The world of a preset, with ``, drawn camera`` or ``, painted`` after its name, and whether it is painted."""
    preset, _, how = name.partition(", ")
    world = load_world(preset)
    return (from_anywhere(world) if how == "drawn camera" else world), how == "painted"


def names() -> tuple[str, ...]:
    """Every preset; the kitchen also from anywhere; street and room also with painted and open things."""
    return (*presets(), "kitchen, drawn camera", "street, painted", "room, painted")


def main() -> None:
    """Compare scenes of all worlds, tell what was found, and fail where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=12, help="of each world to cast rays at")
    parser.add_argument("--labels", type=int, default=12, help="scenes of each world to judge")
    parser.add_argument("--size", default="96x64", help="pixels of a view")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="keep the figures as a table in this file")
    asked = parser.parse_args()
    width, height = map(int, asked.size.split("x"))
    whole, rows = Tally(), [HEAD]
    for name in names():
        (world, painted), begun, tally = named(name), time.perf_counter(), Tally()
        for index in range(asked.scenes):
            compare_pixels(world, asked.seed, index, (width, height), tally, painted=painted)
        for index in range(0 if painted else asked.labels):
            compare_labels(world, asked.seed, index, tally)
        print(f"{name}: {tally}; {time.perf_counter() - begun:.0f} s", flush=True)
        rows.append(f"| {name} | {tally.row()} |")
        for field in vars(whole):
            setattr(whole, field, getattr(whole, field) + getattr(tally, field))
    print(f"all: {whole}")
    rows.append(f"| **all** | {whole.row()} |")
    if asked.write:
        asked.write.write_text("\n".join(rows) + "\n")
    sys.exit(1 if whole.wrong_pixels or whole.wrong_judgements else 0)


if __name__ == "__main__":
    main()
