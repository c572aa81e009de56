"""Reading worlds: `load_world` makes a `World` from a preset or a YAML file and refuses what cannot be."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from sightline.errors import ConfigError, DataError
from sightline.worlds.cooccurrence import read_cooccurrence
from sightline.worlds.fields import Field
from sightline.worlds.files import Merged, gather
from sightline.worlds.layout import MOST_OBJECTS
from sightline.worlds.looks import COLORS, MATERIALS
from sightline.worlds.shapes import SHAPES, SIZES, register
from sightline.worlds.shapes.meshes import load_mesh
from sightline.worlds.world import CameraSpec, InView, LightSpec, Odds, Point, World

__all__ = ["ORIGINAL", "CameraSpec", "LightSpec", "Odds", "World", "load_world", "world_from"]

ORIGINAL = "original"
"""The camera that left, right, front and behind belong to; every world has it."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")

_OPTIONAL = ("about", "scenes", "cooccurrence", "containment")
_FIELDS = (
    *_OPTIONAL,
    "shapes",
    "sizes",
    "colors",
    "materials",
    "objects",
    "distinct",
    "placement",
    "children",
    "depth",
    "area",
    "in_view",
    "gap",
    "clearance",
    "stability",
    "tries",
    "attempts",
    "stream",
    "table",
    "ambient",
    "resolution",
    "jitter",
    "cameras",
    "lights",
    "depth_tolerance",
    "meshes",
)


def load_world(name: str | Path) -> World:
    """The world of that name: a preset (``geospa/train``), or a YAML file, with ``/split`` where it has splits.

    Raises:
        ConfigError: No such preset, file or split.
        DataError: The file says something that cannot be.

    >>> load_world("geospa/val_size").sizes
    ('medium', 'large')
    """
    return _world(gather(str(name)))


def world_from(name: str, settings: Mapping[str, Any]) -> World:
    """The world with those `settings`, as another one of that name had them; `name` is that world's name.

    >>> train = load_world("geospa/train")
    >>> world_from(train.name, train.settings) == train
    True
    """
    values = {key: value for key, value in settings.items() if key != "split"}
    return _world(Merged(name, settings.get("split", ""), values, {"": name}))


def _world(merged: Merged) -> World:
    whole = Field(merged.values, "", merged.origins).only(_FIELDS)
    for key in _FIELDS:
        if key not in merged.values and key not in _OPTIONAL:
            raise DataError("field is missing", file=whole.file, field=key)
    own = _own_shapes(whole["meshes"])
    shapes = _weights(whole["shapes"], (*SHAPES, *own))
    prior, shake = whole["cooccurrence"], whole["jitter"].number(least=0.0)
    containment = whole["containment"]
    world = World(
        name=merged.name,
        split=merged.split,
        about="" if whole["about"].value is None else whole["about"].text(),
        scenes=None if whole["scenes"].value is None else whole["scenes"].whole(1),
        shapes=shapes,
        sizes=whole["sizes"].some_of(SIZES, "size"),
        colors=whole["colors"].some_of(COLORS, "colour"),
        materials=whole["materials"].some_of(MATERIALS, "material"),
        objects=_counts(whole["objects"]),
        distinct=whole["distinct"].yes(),
        odds=_odds(whole["placement"]),
        children=whole["children"].whole(),
        depth=whole["depth"].whole(),
        area=_area(whole["area"]),
        in_view=_in_view(whole["in_view"]),
        gap=whole["gap"].number(least=0.0),
        clearance=whole["clearance"].number(least=0.0),
        stability=whole["stability"].number(least=0.0),
        tries=whole["tries"].whole(1),
        attempts=whole["attempts"].whole(1),
        stream=whole["stream"].whole(),
        table=whole["table"].light(),
        ambient=whole["ambient"].light(),
        resolution=_resolution(whole["resolution"]),
        jitter=shake,
        cameras=_cameras(whole["cameras"], shake),
        lights=tuple(_light(name, it, shake) for name, it in whole["lights"].items() if it.value is not None),
        cooccurrence=None if prior.value is None else read_cooccurrence(prior, [name for name, _ in shapes]),
        depth_tolerance=whole["depth_tolerance"].number(least=0.0),
        containment=True if containment.value is None else containment.yes(),
        settings={**merged.values, "split": merged.split},
    )
    _check_enough_kinds(world, whole["objects"])
    return world


def _check_enough_kinds(world: World, objects: Field) -> None:
    kinds = math.prod(map(len, (world.solids(), world.colors, world.materials)))
    if world.distinct and kinds < world.objects[1]:
        many = "only one object" if kinds == 1 else f"only {kinds} distinct objects"
        objects.fail(f"{many} can be made", f"at most {kinds}, or distinct: false")


def _own_shapes(meshes: Field) -> tuple[str, ...]:
    """Load the world's own meshes and make them known by name."""
    own = [(name, mesh) for name, mesh in meshes.items() if mesh.value is not None]
    for name, mesh in own:
        if not _NAME.fullmatch(name):
            mesh.fail(f"no name for a shape: {name!r}", "letters, digits, - and _")
        mesh.only(("file", "scale", "height", "up"))
        scale, height, up = mesh["scale"], mesh["height"], mesh["up"]
        if scale.value is not None and height.value is not None:
            mesh.fail("scale and height exclude each other", "one of the two")
        metres = None if height.value is None else height.number(above=0.0)
        factor = 1.0 if scale.value is None else scale.number(above=0.0)
        file, axis = mesh["file"].text(), None if up.value is None else _axis(up)
        try:
            register(load_mesh(file, height=metres, scale=factor, name=name, up=axis))
        except (ConfigError, DataError) as error:
            raise DataError(str(error), file=mesh.file, field=mesh["file"].path) from error
    return tuple(name for name, _ in own)


def _weights(shapes: Field, known: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """Names, or names with weights."""
    if isinstance(shapes.value, dict):
        found = []
        for name, weight in shapes.items():
            if name not in known:
                Field(name, weight.path, weight.origins).one_of(known, "shape")
            found.append((name, weight.number(above=0.0)))
        if not found:
            shapes.fail("no shapes", "at least one")
        return tuple(found)
    return tuple((name, 1.0) for name in shapes.some_of(known, "shape"))


def _counts(objects: Field) -> tuple[int, int]:
    low, high = (part.whole(1) for part in objects.sized(2))
    if low > high:
        objects.fail("fewest is more than most", "[fewest, most]")
    if high > MOST_OBJECTS:
        objects.fail("too many objects for one picture", f"at most {MOST_OBJECTS}")
    return low, high


def _odds(placement: Field) -> Odds:
    placement.only(("independent", "contained", "supported"))
    weights = {way: weight.number(least=0.0) for way, weight in placement.items()}
    odds = Odds(*(weights.get(way, 0.0) for way in ("independent", "contained", "supported")))
    if odds.independent <= 0.0:
        placement.fail("the first object of a scene can only stand on the table", "independent > 0")
    return odds


def _area(area: Field) -> tuple[tuple[float, float], tuple[float, float]]:
    area.only(("x", "y"))
    return area["x"].range(), area["y"].range()


def _axis(up: Field) -> Literal["y", "z"]:
    return "y" if up.one_of(("y", "z"), "axis") == "y" else "z"


def _in_view(chosen: Field) -> InView:
    known: tuple[InView, ...] = get_args(InView)
    name = chosen.one_of(known, "choice")
    return next(one for one in known if one == name)


def _resolution(resolution: Field) -> tuple[int, int]:
    width, height = (part.whole(1) for part in resolution.sized(2))
    return width, height


def _cameras(cameras: Field, shake: float) -> tuple[CameraSpec, ...]:
    found = [_camera(name, camera, shake) for name, camera in cameras.items() if camera.value is not None]
    if ORIGINAL not in [camera.name for camera in found]:
        cameras.fail("no camera 'original'", "it says what left, right, front and behind mean")
    return tuple(sorted(found, key=lambda camera: camera.name != ORIGINAL))


def _camera(name: str, camera: Field, shake: float) -> CameraSpec:
    camera.only(("position", "focal_mm", "target", "up", "jitter"))
    made = CameraSpec(
        name=name,
        position=camera["position"].point(),
        focal_mm=camera["focal_mm"].number(above=0.0),
        target=_or_zero(camera["target"]),
        up=(0.0, 0.0, 1.0) if camera["up"].value is None else camera["up"].point(),
        jitter=_jitter(camera["jitter"]),
    )
    _check_above("camera", camera["position"], made.position[2], made.jitter * shake)
    forward = np.subtract(made.target, made.position)
    if np.linalg.norm(np.cross(forward, made.up)) <= 1e-6 * np.linalg.norm(forward) * np.linalg.norm(made.up):
        camera.fail(
            "the camera looks along its up vector, or its target is where it stands", "another up or target"
        )
    return made


def _light(name: str, light: Field, shake: float) -> LightSpec:
    light.only(("position", "size", "power", "target", "color", "jitter"))
    color = light["color"]
    made = LightSpec(
        name=name,
        position=light["position"].point(),
        size=light["size"].number(above=0.0),
        power=light["power"].number(least=0.0),
        target=_or_zero(light["target"]),
        color=(1.0, 1.0, 1.0) if color.value is None else color.light(),
        jitter=_jitter(light["jitter"]),
    )
    _check_above("light", light["position"], made.position[2], made.jitter * shake)
    return made


def _check_above(what: str, position: Field, z: float, jitter: float) -> None:
    if z <= jitter:
        position.fail(f"{what} may get under the table", f"z > jitter {jitter:g}")


def _or_zero(point: Field) -> Point:
    return (0.0, 0.0, 0.0) if point.value is None else point.point()


def _jitter(jitter: Field) -> float:
    return 0.0 if jitter.value is None else jitter.number(least=0.0)
