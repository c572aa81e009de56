"""Run by test_cuda in a process of its own, under numba's CUDA simulator: prints what it finds as JSON.

Every thread is simulated in Python, so pictures are tiny and rays few.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from fast_layouts import LIGHTS, layout_of, shot, thing
from numba import cuda
from radiance_files import write_radiance

import sightline.render.fast.cuda as card
from sightline.errors import SightlineError
from sightline.render.fast import FastRenderer, Settings
from sightline.render.fast.pack import Pool, packed
from sightline.render.sky import environment_map
from sightline.worlds.layout import Layout
from sightline.worlds.shapes import solid
from sightline.worlds.surroundings import PATTERNS, GroundRegion, Pattern, Sky, Surroundings, Wall

SETTINGS = Settings(
    map_cells=5,
    dome=3,
    table_dome=3,
    mirror_rays=2,
    mirror_depth=2,
    shadow_first=2,
    shadow_most=4,
    table_first=2,
    table_most=2,
    glint_rays=1,
    glint_side=3,
    edge_samples=3,
)


def scenes() -> list[Layout]:
    """Different numbers of objects and lamps: three of both materials, none, one on patterns before the horizon."""
    wide, level = shot(size=(24, 16), focal=70.0), shot((5.0, -1.0, 0.6), (0.0, 0.0, 1.2), size=(24, 16))
    several = [
        thing("cube", 0.0, 0.0, yaw=0.4),
        thing("cube_container:small", 1.0, -0.5, color="cyan", metal=True),
        thing("thin_rectangle", -0.4, 1.2, yaw=1.0, color="yellow", metal=True),
    ]
    return [
        layout_of(several, wide),
        layout_of([], wide, lights=()),
        layout_of(
            [
                thing("painted_cube", 0.5, 0.0, yaw=2.0),
                thing("sign", 0.8, 1.3, yaw=0.7),
                thing("open_box:small", -0.8, -0.9, yaw=0.6),
            ],
            wide,
        ),
        replace(
            layout_of([thing("rectangle_cont", 0.0, 0.0, yaw=0.2, color="green")], level, lights=LIGHTS[:1]),
            surroundings=patterned(),
        ),
    ]


def patterned() -> Surroundings:
    """A region of every pattern beside the table, a wall, and an environment above."""
    kinds = enumerate(PATTERNS[1:])
    ground = [
        GroundRegion("a", "disc", (2.0 - i, 0.5 * i), 0.3, (0.9, 0.9), Pattern(kind, seed=i)) for i, kind in kinds
    ]
    wall = Wall("b", 2.8, 3.0, 1.5, Pattern("tiles", seed=3))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "sky.hdr"
        write_radiance(file, np.random.default_rng(0).uniform(0.1, 1.0, (16, 32, 3)))
        environment_map(str(file))  # kept
    return Surroundings(tuple(ground), (wall,), Sky("environment", file=str(file)), ("sky", "table", "a", "b"))


def problem(action: Callable[[], Any]) -> str:
    """The error an action ends in, as "type: message"."""
    try:
        action()
    except SightlineError as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def packed_elsewhere(layout: Layout, image: Any, rows: Any) -> dict[str, bool]:
    """A layout packed by another pool, sent as workers send it, and drawn by a renderer that knows the same shapes.

    The pool's order is none in which the layout alone would have brought them: its rows say other places.
    """
    shapes = ["cube_cylinder", *(o.shape for o in reversed(layout.objects))]
    pool, renderer = Pool(solid), card.CudaRenderer(SETTINGS)
    pool.know(shapes)
    renderer.know(shapes)
    [views] = pickle.loads(pickle.dumps(packed(pool, [layout], ["original"], SETTINGS.map_half)))
    brought: list[Any] = []
    drawn = renderer.pictures(renderer.upload(views)).image.copy_to_host()
    again = renderer.upload(views, lambda array: brought.append(array.shape) or cuda.to_device(array))
    own = renderer.batch([layout]).bodies.copy_to_host()
    return {
        "image": bool((drawn == image).all()),
        "brought otherwise": brought == [part.shape for part in (views.bodies, views.env, views.cams, views.skies)],
        "the same image": bool((renderer.pictures(again).image.copy_to_host() == image).all()),
        "own rows": bool((own == views.bodies).all()),
        "other rows": bool((rows[0, :, 8:10] != views.bodies[0, :, 8:10]).all()),
    }


def main() -> None:
    card.BLOCKS = 2
    renderer, layouts = card.CudaRenderer(SETTINGS), scenes()
    batch = renderer.batch(layouts)
    pictures = renderer.pictures(batch)
    found = {name: getattr(pictures, name).copy_to_host() for name in ("image", "ids", "depth", "normals", "stuff")}
    rows = []
    for i, layout in enumerate(layouts):
        frame = FastRenderer(SETTINGS).frame(layout, layout.shots[0])
        assert frame.image is not None
        rows.append(
            {
                "rows": [list(batch.bodies.shape[:2]), list(batch.env.shape[:2])],
                "stuff": int((found["stuff"][i] != frame.stuff).sum()),
                "ids": int((found["ids"][i] != frame.ids).sum()),
                "image": int(np.abs(found["image"][i].astype(int) - frame.image).max()),
                "depth": float(np.nanmax(np.abs(found["depth"][i] / frame.depth - 1))),
                "sky": int((np.isnan(found["depth"][i]) != np.isnan(frame.depth)).sum()),
                "normals": float(np.abs(found["normals"][i] - frame.normals).max()),
                "shown": len(np.unique(frame.ids)),
            }
        )
    other = replace(layouts[0], shots=(shot(size=(12, 8)),))
    strange = Pool(solid)
    strange.know(["plate"])
    [odd] = packed(strange, [other], ["original"], SETTINGS.map_half)
    buried = replace(layouts[0], shots=(shot((0.1, 0.0, 0.3), (1.0, 1.0, 0.0), size=(12, 8)),))
    errors = {
        "camera inside": problem(lambda: renderer.batch([buried])),
        "other solids": problem(lambda: renderer.upload(odd)),
        "unknown view": problem(lambda: renderer.batch(layouts, "side")),
        "mixed sizes": problem(lambda: renderer.batch([layouts[0], other])),
        "empty": problem(lambda: renderer.batch([])),
    }
    small = renderer.images([other, replace(other, objects=other.objects[:1])])
    alone = renderer.images([other])
    again = bool((small[0] == alone[0]).all() and (small[1] != alone[0]).any())
    elsewhere = packed_elsewhere(other, alone, renderer.batch([other]).bodies.copy_to_host())
    print(json.dumps({"rows": rows, "errors": errors, "another batch": again, "elsewhere": elsewhere}))


if __name__ == "__main__":
    main()
