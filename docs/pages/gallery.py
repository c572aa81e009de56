"""The pictures of worlds in the documentation, drawn by the fast back end.

    python docs/pages/gallery.py                          # draw all, tell how large they are
    python docs/pages/gallery.py --write                  # and keep them in docs/_static/worlds/
    python docs/pages/gallery.py --write --only kitchen   # one of them

Scenes of a sheet are the first ones of seed 0, none picked out. Sheets, views and overlays have the default
settings; the README's picture, the shapes and the counterfactual have more rays (`FINE`), being looked at closely.
Pictures beside those of Cycles are benchmarks/likeness.py's.
"""

from __future__ import annotations

import argparse
import io
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from sightline.generation import scene_from
from sightline.geometry.cameras import look_at, project
from sightline.render.canonical import canonical_views
from sightline.render.fast import FastRenderer, Settings
from sightline.render.pose_masks import PosedObject, posed_objects
from sightline.scenes import Camera, Scene
from sightline.show.frame import frame_of
from sightline.show.model_overlay import DrawnModel, model_overlay
from sightline.show.model_picture import model_picture
from sightline.show.raster import measure, raster
from sightline.show.sheet import panel
from sightline.show.svg import text_line
from sightline.show.viewpoint_drawing import SAID, TRUE
from sightline.worlds import Layout, Placed, Shot, arrange, load_world, solid, world_from
from sightline.worlds.cad import CAD, SUBTYPES
from sightline.worlds.looks import category_of
from sightline.worlds.shapes import GEOSPA, INVENTED, KITCHEN, register, split_name
from sightline.worlds.shapes.meshes import load_mesh
from sightline.worlds.solids import Slot
from toy_car import toy_car

DOCS = Path(__file__).resolve().parents[1]
OUT = DOCS / "_static" / "worlds"
BREAKFAST = DOCS / "howto" / "breakfast.yaml"

GAP, ROUND = 8, 7
"""Pixels between tiles, and radius of their corners; both are transparent, for light and dark pages."""

FINE = Settings(
    shadow_first=16,
    shadow_most=64,
    table_first=16,
    table_most=64,
    dome=64,
    table_dome=96,
    mirror_rays=16,
    glint_rays=16,
    glint_side=6,
    lattice=1,
    edge_samples=16,
    map_cells=216,
)
COLORS = ("red", "blue", "green", "brown", "purple", "cyan", "yellow", "gray")
PAINTS = ("sky", "tan", "mint", "white", "orange", "gray", "lavender", "yellow", "teal")
TURN = math.radians(20)
COMMONEST = {
    "aeroplane": 1, "bicycle": 2, "boat": 0, "bottle": 0, "bus": 0, "car": 7, "chair": 0, "diningtable": 0,
    "motorbike": 1, "sofa": 0, "train": 0, "tvmonitor": 0,
}  # fmt: skip
"""The commonest eighth of a turn of each class in PASCAL3D+'s poses, from the front (worlds/presets/cad.yaml)."""


@cache
def renderer(fine: bool = False) -> FastRenderer:
    return FastRenderer(FINE if fine else Settings())


def scene_of(world: str | Path, index: int, size: tuple[int, int] = (480, 320)) -> Layout:
    known = load_world(world)
    return arrange(world_from(known.name, {**known.settings, "resolution": list(size)}), 0, index)


def picture(layout: Layout, view: str = "original", *, fine: bool = False) -> Image.Image:
    return Image.fromarray(renderer(fine).frames(layout, [view])[0].image)


def tile(
    image: Image.Image,
    label: str = "",
    size: tuple[int, int] | None = None,
    text: int = 24,
    shown: NDArray[np.bool_] | None = None,
) -> Image.Image:
    """A picture with round corners and, on a pale chip in its own corner, what it is.

    With `shown` (H, W), the pixels that matter, the chip is in the corner where it hides the fewest of them.
    """
    made = (image if size is None else image.resize(size, Image.Resampling.LANCZOS)).convert("RGBA")
    if label:
        wide, high = round(measure(label, text) + 1.1 * text), round(1.6 * text)
        words = text_line(wide / 2, high / 2 + 0.36 * text, label, size=text, anchor="middle")
        chip = raster(words, (wide, high)).convert("RGBA")
        chip.putalpha(rounded(chip.size, 220))
        made.alpha_composite(chip, (8, 8) if shown is None else free_corner(shown, made.size, chip.size))
    made.putalpha(rounded(made.size, 255))
    return made


def free_corner(shown: NDArray[np.bool_], size: tuple[int, int], chip: tuple[int, int]) -> tuple[int, int]:
    """Where a chip hides the fewest pixels that matter; above on the left where it hides none."""
    whole = np.asarray(Image.fromarray(shown).resize(size, Image.Resampling.NEAREST))
    corners = [(x, y) for x in (8, size[0] - chip[0] - 8) for y in (8, size[1] - chip[1] - 8)]
    return min(corners, key=lambda at: int(whole[at[1] : at[1] + chip[1], at[0] : at[0] + chip[0]].sum()))


def rounded(size: tuple[int, int], opacity: int) -> Image.Image:
    large = Image.new("L", (size[0] * 4, size[1] * 4))
    ImageDraw.Draw(large).rounded_rectangle((0, 0, large.width - 1, large.height - 1), ROUND * 4, fill=opacity)
    return large.reduce(4)


def grid(tiles: Sequence[Image.Image], columns: int) -> Image.Image:
    wide, high = tiles[0].size
    rows = -(-len(tiles) // columns)
    made = Image.new("RGBA", (columns * (wide + GAP) - GAP, rows * (high + GAP) - GAP))
    for i, one in enumerate(tiles):
        made.paste(one, (i % columns * (wide + GAP), i // columns * (high + GAP)))
    return made


def overlays(layout: Layout, panels: Sequence[str], width: int, *, fine: bool = False) -> list[Image.Image]:
    """The original view with layers laid over it, as `sightline look` does."""
    scene = scene_from(layout, renderer(fine).frames(layout, ["original"]))
    shown = frame_of(scene, depth=True, stuff=True)
    return [panel(shown, layers.split("+"), width) for layers in panels]


def hero() -> Image.Image:
    """One scene of docs/howto/breakfast.yaml: the picture, and four things that are known of it."""
    layout = scene_of(BREAKFAST, 0, (960, 640))
    mug = next(i for i, o in enumerate(layout.objects) if o.shape.startswith("mug"))
    small = ((960 - GAP) // 2, (640 - GAP) // 2)
    seen = overlays(layout, ("masks", "masks+amodal", "depth"), small[0], fine=True)
    gone = Image.fromarray(renderer(True).counterfactual(layout, layout.shots[0], mug).image)
    labels = ("ids", "hidden parts", "depth", "without mug")
    right = grid([tile(i, t, small, 24) for i, t in zip((*seen, gone), labels, strict=True)], 2)
    left = tile(picture(layout, fine=True))
    made = Image.new("RGBA", (left.width + GAP + right.width, left.height))
    made.paste(left, (0, 0))
    made.paste(right, (left.width + GAP, 0))
    return made


def sheet(world: str) -> Image.Image:
    """The first sixteen scenes."""
    return grid([tile(picture(scene_of(world, i)), size=(360, 240)) for i in range(16)], 4)


def cameras() -> Image.Image:
    """One scene from all six."""
    layout = scene_of("geospa/train", 70)
    return grid([tile(picture(layout, shot.name), shot.name) for shot in layout.shots], 3)


def layers() -> Image.Image:
    """One scene under every overlay."""
    layout = scene_of("geospa/train", 113)
    panels = {
        "picture": "none",
        "boxes": "boxes",
        "ids": "masks+ids",
        "hidden parts": "masks+amodal",
        "depth": "depth",
        "relations": "relations",
    }
    drawn = overlays(layout, tuple(panels.values()), 480)
    return grid([tile(image, name) for name, image in zip(panels, drawn, strict=True)], 2)


def stuff() -> Image.Image:
    """A street and a room, and the classes of their ground, walls and sky."""
    drawn = [overlays(scene_of(world, 2), ("none", "stuff"), 480) for world in ("street", "room")]
    return grid([tile(image) for images in drawn for image in images], 2)


def counterfactual() -> Image.Image:
    """A scene, the same without its teapot, and where the two differ."""
    layout = scene_of(BREAKFAST, 1)
    gone = next(i for i, o in enumerate(layout.objects) if o.shape.startswith("teapot"))
    before = renderer(True).frames(layout, ["original"])[0].image
    after = renderer(True).counterfactual(layout, layout.shots[0], gone).image
    assert before is not None
    assert after is not None
    labels = ("the scene", "without the teapot", "difference × 3")
    images = (before, after, differing(before, after, 3))
    return grid([tile(Image.fromarray(i), t) for i, t in zip(images, labels, strict=True)], 3)


def differing(a: NDArray[np.uint8], b: NDArray[np.uint8], times: int) -> NDArray[np.uint8]:
    """Pale where two pictures agree, dark where they differ."""
    gap = np.abs(a.astype(np.int16) - b.astype(np.int16)).max(axis=2)
    grey = (238 - np.minimum(gap * times, 238)).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def portraits(shapes: Sequence[str], side: int) -> list[Image.Image]:
    """Every shape alone, as large as the tile allows."""
    looks = [(COLORS[i % len(COLORS)], "metal" if i % 3 == 1 else "rubber") for i in range(len(shapes))]
    made = [
        portrait([Placed(s, *look, (0.0, 0.0, 0.0), TURN)], side) for s, look in zip(shapes, looks, strict=True)
    ]
    return [tile(image, shape, text=19) for shape, image in zip(shapes, made, strict=True)]


def invented_shapes() -> Image.Image:
    """All of them, in the looks of their world."""
    world = load_world("geospa/alike")
    looks = [(world.colors[4 + i % 14], world.materials[i % 4]) for i in range(len(INVENTED))]
    things = [Placed(s, *look, (0.0, 0.0, 0.0), TURN) for s, look in zip(INVENTED, looks, strict=True)]
    names = (shape.replace("_", " ") for shape in INVENTED)
    return grid([tile(portrait([one], 150), name, text=13) for one, name in zip(things, names, strict=True)], 10)


def painted() -> Image.Image:
    """A toy car of our own, in paint that is drawn scene by scene, glass, rubber, metal and a texture."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"paint": Slot("paint")}
        register(load_mesh(toy_car(Path(folder) / "car.glb"), height=1.0, up="z", name="toy_car", slots=own))
    cars = (
        ("red", "plastic", 0.4, -0.6, 0.9),
        ("blue", "metal", -2.0, 1.0, -0.5),
        ("yellow", "rubber", 1.3, 2.4, 2.4),
    )
    objects = [Placed("toy_car", color, made, (x, y, 0.0), yaw) for color, made, x, y, yaw in cars]
    objects += [
        Placed("bottle:small", "green", "glass", (-1.5, -1.2, 0.0), 0.0),
        Placed("glass", "white", "glass", (2.2, 0.2, 0.0), 0.0),
        Placed("can:small", "orange", "metal", (-0.9, -1.9, 0.0), 0.0),
    ]
    size = (960, 640)
    pose = look_at((6.4, -7.4, 3.6), (0.1, 0.1, 0.4), (0.0, 0.0, 1.0))
    camera = Camera((1450.0, 0.0, 480.0, 0.0, 1450.0, 320.0, 0.0, 0.0, 1.0), tuple(pose.ravel().tolist()))
    base = scene_of("kitchen", 0)
    layout = replace(base, objects=tuple(objects), shots=(Shot("original", camera, size),))
    return tile(picture(layout, fine=True))


def look_alikes() -> Image.Image:
    """The first scenes of look-alikes, as they are trained on."""
    from sightline.training.sornet.layouts import PlacedScenes

    scenes = PlacedScenes(load_world("geospa/alike"), ["original"], seed=0, size=1, batches=1, alike=1.0)
    return grid([tile(picture(scenes.layout(i)), size=(360, 240)) for i in range(8)], 4)


def portrait(things: Sequence[Placed], side: int) -> Image.Image:
    """Things on the empty table, seen from where handles and cavities show, as large as fits."""
    known = load_world("kitchen")
    empty = arrange(world_from(known.name, {**known.settings, "jitter": 0}), 0, 0)
    corners = [solid(t.shape).vertices @ t.pose()[:3, :3].T + t.position for t in things]
    pose = look_at((7.0, -7.0, 6.4), (0.0, 0.0, 0.3))
    seen = project(np.eye(3), pose, np.concatenate(corners))[:, :2]
    low, high = seen.min(axis=0), seen.max(axis=0)
    focal = 0.74 * side / float((high - low).max())
    x, y = (side / 2, side / 2 + 10) - focal * (low + high) / 2
    camera = Camera((focal, 0.0, float(x), 0.0, focal, float(y), 0.0, 0.0, 1.0), tuple(pose.ravel().tolist()))
    return picture(
        replace(empty, objects=tuple(things), shots=(Shot("original", camera, (side, side)),)), fine=True
    )


def cad_models() -> Image.Image:
    """Every sub-type of the CAD library, in the colours of the sheet, with its landmarks."""
    tiles = []
    for i, name in enumerate(CAD):
        image = model_picture(
            name, 35 if i % 2 else -35, 18, size=(260, 200), color=PAINTS[i % len(PAINTS)], renderer=renderer()
        )
        pixels = np.asarray(image.convert("RGB")).astype(int)
        drawn = np.abs(pixels - pixels[0, 0]).max(axis=2) > 12  # not the grey ground
        tiles.append(tile(image, name.removeprefix("cad/"), text=13, shown=drawn))
    return grid(tiles, 8)


def views_by_class() -> dict[str, tuple[Scene, PosedObject]]:
    """For each class, the first scene of cad/pascal in which it is hardly hidden, and that object."""
    found: dict[str, tuple[Scene, PosedObject]] = {}
    for i in range(400):
        layout = scene_of("cad/pascal", i)
        if {category_of(split_name(one.shape)[0]) for one in layout.objects} <= found.keys():
            continue
        scene = scene_from(layout, renderer().frames(layout, ["original"]))
        for one in posed_objects(scene, scene.views[0]):
            sighting = next(s for s in scene.sightings if s.object_id == one.id)
            large = one.mask.mean() > 0.02 and (sighting.occluded_fraction or 0.0) < 0.1
            if large and "truncated" not in sighting.flags:
                found.setdefault(one.category, (scene, one))
        if len(found) == len(SUBTYPES):
            break
    return {name: found[name] for name in sorted(found)}


def pose_masks() -> Image.Image:
    """A CAD model of each class over its picture: in its true pose, and with the class's commonest azimuth."""
    tiles = []
    for name, (scene, one) in views_by_class().items():
        image = scene.views[0].image()
        guess = replace(one.viewpoint, azimuth=45.0 * COMMONEST[name])
        for view, colour, label in ((one.viewpoint, TRUE, name), (guess, SAID, "commonest azimuth")):
            drawn = model_overlay(image, [DrawnModel(one.shape, view, colour, wash=0.4, wire=False)])
            tiles.append(tile(drawn, label, (300, 200), text=15, shown=changed(image, drawn) | one.mask))
    return grid(tiles, 6)


def pose_meshes() -> Image.Image:
    """Wireframes and landmarks over pictures, and how far away each camera stands."""
    tiles = []
    for name, (scene, one) in list(views_by_class().items())[:6]:
        seen = next(s for s in scene.sightings if s.object_id == one.id)
        drawn = model_overlay(
            scene.views[0].image(), [DrawnModel(one.shape, one.viewpoint, wash=0.0, landmarks=seen.landmarks)], 1.5
        )
        at = one.viewpoint
        height = f"{at.elevation:.0f}".replace("-", "−")
        label = f"{name}: azimuth {at.azimuth:.0f}°, elevation {height}°, distance {at.distance:.1f}"
        image = scene.views[0].image()
        tiles.append(tile(drawn, label, (600, 400), text=17, shown=changed(image, drawn) | one.mask))
    return grid(tiles, 3)


def changed(image: NDArray[np.uint8], drawn: Image.Image) -> NDArray[np.bool_]:
    """(H, W) where something was drawn over a picture."""
    before = Image.fromarray(image).resize(drawn.size)
    there = np.abs(np.asarray(before).astype(int) - np.asarray(drawn.convert("RGB"))).max(axis=2) > 40
    return np.asarray(Image.fromarray(there).resize(image.shape[1::-1], Image.Resampling.NEAREST))


def context_streets() -> Image.Image:
    """A street, its classes, and without its cars; then the first scenes of the splits."""
    first = scene_of("context/street/with_car", 0)
    cars = [i for i, o in enumerate(first.objects) if o.shape.startswith("cad/car/")]
    tiles = [
        (picture(first), "with car"),
        (overlays(first, ("stuff",), 480)[0], ""),
        (picture(first.without(*cars)), "its cars taken away"),
    ]
    for split, scenes in (("without_car", 2), ("reversed", 2), ("single", 5)):
        drawn = (picture(scene_of(f"context/street/{split}", index)) for index in range(scenes))
        tiles += [(image, split.replace("_", " ")) for image in drawn]
    return grid([tile(image, label, (360, 240), text=17) for image, label in tiles], 3)


def geospa_shapes() -> Image.Image:
    """The fourteen, and the three sizes."""
    row = zip(("small", "medium", "large"), (-1.4, -0.35, 1.2), strict=True)
    sizes = [Placed(f"cube:{size}", "gray", "rubber", (0.7 * at, 0.7 * at, 0.0), TURN) for size, at in row]
    return grid([*portraits(GEOSPA, 240), tile(portrait(sizes, 240), "three sizes", text=19)], 5)


def canonical() -> Image.Image:
    """Canonical views of five objects, ten of each."""
    looks = [
        ("mug", "cyan", "rubber"),
        ("teapot", "purple", "metal"),
        ("cube_container", "yellow", "metal"),
        ("cube_container:small", "yellow", "metal"),
        ("long_cylinder", "brown", "metal"),
    ]
    views = canonical_views(looks, count=10, size=128)
    return grid([tile(Image.fromarray(view)) for of in views for view in of], 10)


PICTURES: dict[str, Callable[[], Image.Image]] = {
    "hero": hero,
    "geospa_train": lambda: sheet("geospa/train"),
    "geospa_val_op": lambda: sheet("geospa/val_op"),
    "geospa_invented": lambda: sheet("geospa/invented"),
    "look_alikes": look_alikes,
    "kitchen": lambda: sheet("kitchen"),
    "context": lambda: sheet("context/train"),
    "context_streets": context_streets,
    "street": lambda: sheet("street"),
    "room": lambda: sheet("room"),
    "painted": painted,
    "cameras": cameras,
    "overlays": layers,
    "stuff": stuff,
    "counterfactual": counterfactual,
    "geospa_shapes": geospa_shapes,
    "kitchen_shapes": lambda: grid(portraits(KITCHEN, 300), 3),
    "invented_shapes": invented_shapes,
    "cad_models": cad_models,
    "canonical": canonical,
    "pose_masks": pose_masks,
    "pose_meshes": pose_meshes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the pictures in docs/_static/worlds/")
    parser.add_argument("--only", default="", help="names, with commas between")
    asked = parser.parse_args()
    chosen = asked.only.split(",") if asked.only else list(PICTURES)
    strange = [name for name in chosen if name not in PICTURES]
    if strange:
        raise SystemExit(f"no picture {strange[0]!r}: there are {', '.join(PICTURES)}")
    for name in chosen:
        made = PICTURES[name]()
        buffer = io.BytesIO()
        made.save(buffer, "WEBP", quality=90, method=6)
        print(f"{name}.webp: {made.width}×{made.height}, {len(buffer.getvalue()) / 1000:.0f} kB", flush=True)
        if asked.write:
            OUT.mkdir(parents=True, exist_ok=True)
            (OUT / f"{name}.webp").write_bytes(buffer.getvalue())


if __name__ == "__main__":
    main()
