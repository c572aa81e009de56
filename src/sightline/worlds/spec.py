"""Reading worlds: `load_world` makes a `World` from a preset or a YAML file and refuses what cannot be."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np

from sightline.errors import ConfigError, DataError
from sightline.hints import hint
from sightline.typed import OneOf, Value
from sightline.worlds.cad import CAD
from sightline.worlds.cameras import CameraSpec, DrawnCameraSpec
from sightline.worlds.company import MOST_SETS, too_many
from sightline.worlds.files import Merged, gather, is_drawn, is_other
from sightline.worlds.layout import MOST_OBJECTS
from sightline.worlds.sensor import read_sensor
from sightline.worlds.shapes import SHAPES, register
from sightline.worlds.shapes.library import members, read_library, shape_file, with_members
from sightline.worlds.surroundings_spec import SurroundingsSpec, read_surroundings
from sightline.worlds.world import (
    Cooccurrence,
    GroupSize,
    Length,
    LightSpec,
    MeshSpec,
    Number,
    Odds,
    SceneCategory,
    ShapeGroup,
    ShapeLooks,
    Size,
    World,
    ZoneSpec,
    filled,
    some_of,
)

__all__ = ["ORIGINAL", "CameraSpec", "LightSpec", "Odds", "World", "load_world", "world_from"]

ORIGINAL = "original"
"""The camera that left, right, front and behind belong to; every world has it."""

_ALIAS = re.compile(r"[A-Za-z0-9_-]+")
_NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+){0,2}")

_AROUND: Final = ("ground", "walls", "sky")
_LISTS: Final = ("attributes", "zones", "groups", "categories", "sensor")
_READ_APART: Final = ("shapes", "cameras", "lights", "cooccurrence", "meshes", "stream", *_LISTS, *_AROUND)
"""Fields whose values depend on other fields."""

_NOT_IN_FILES: Final = ("name", "split", "settings", "surroundings")


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
    whole = Value(merged.values, merged.file_of)
    whole.only([f.name for f in fields(World) if f.name not in _NOT_IN_FILES] + ["meshes", *_AROUND])
    for key in ("shapes", "cameras", "lights", "meshes"):
        if key not in merged.values:
            raise DataError("field is missing", file=whole.file, field=key)
    merged = _with_libraries(merged, whole["meshes"])
    whole = Value(merged.values, merged.file_of)
    own = _own_shapes(whole["meshes"])
    shapes = _weights(whole["shapes"], (*SHAPES, *CAD, *_variants(whole["shapes"]), *own))
    stream = merged.name if whole["stream"].value is None else _stream(whole["stream"])
    names = [name for name, _ in shapes]
    groups = _groups(whole["groups"], names)
    kinds = _optional(whole["categories"])
    if groups and kinds:
        whole["groups"].fail("there are kinds of scenes", "groups in each of the categories")
    categories, around = _with_classes([_category(n, v, names, whole) for n, v in kinds], whole)
    rest = Value({key: value for key, value in merged.values.items() if key not in _READ_APART}, merged.file_of)
    world: World = rest.read(
        World,
        name=merged.name,
        split=merged.split,
        shapes=shapes,
        cameras=_cameras(whole["cameras"]),
        lights=tuple(v.read(LightSpec, name=name) for name, v in _said(whole["lights"])),
        cooccurrence=_cooccurrence(whole["cooccurrence"], names),
        surroundings=around,
        stream=stream,
        attributes=tuple((_shape(n, v, names), v.read(ShapeLooks)) for n, v in _optional(whole["attributes"])),
        zones=tuple(_zone(n, v, names) for n, v in _optional(whole["zones"])),
        sensor=read_sensor(whole["sensor"]),
        categories=categories,
        settings={**merged.values, "split": merged.split, "stream": stream},
    )
    world = world.with_groups(groups)
    _check_cameras(world.cameras, whole["cameras"], world.jitter)
    for category in world.categories:
        if category.cameras:
            _check_cameras(category.cameras, _own_cameras(whole["categories"][category.name], whole), world.jitter)
    for light in world.lights:
        _check_above("light", light, whole["lights"][light.name], world.jitter)
    for part in [world.of_category(category) for category in world.categories] or [world]:
        _check_enough_kinds(part, whole["groups" if part.groups else "objects"])
        _check_sets(part, whole["kinds"])
    return world


def _said(mapping: Value) -> list[tuple[str, Value]]:
    """Names and values; a file that extends another says null for what it leaves out."""
    return [(name, value) for name, value in mapping.items() if value.value is not None]


def _check_enough_kinds(world: World, objects: Value) -> None:
    kinds = sum(len(world.forms(shape)) * math.prod(map(len, world.looks(shape))) for shape, _ in world.shapes)
    if world.distinct and kinds < world.objects[1]:
        many = "only one object" if kinds == 1 else f"only {kinds} distinct objects"
        objects.fail(f"{many} can be made", f"at most {kinds}, or distinct: false")


def _stream(stream: Value) -> int | str:
    kind: Any = Annotated[str, filled] if isinstance(stream.value, str) else Number
    return stream.read(kind)  # type: ignore[no-any-return]


def _check_sets(world: World, kinds: Value) -> None:
    """Refuse more different shapes than there are, and more sets of them than can be listed."""
    shapes, (fewest, most) = len(world.shapes), world.kinds or (1, 1)
    if fewest > shapes:
        kinds.fail(f"only {shapes} different shapes can be drawn", f"at most {shapes}")
    if world.cooccurrence or world.kinds:
        most = min(most if world.kinds else world.objects[1], world.objects[1], shapes)
        if any(too_many(shapes, k) for k in range(most + 1)):
            kinds.fail(f"there are more than {MOST_SETS:,} sets of {most} out of {shapes} shapes", "fewer kinds")


def _with_libraries(merged: Merged, meshes: Value) -> Merged:
    """The values with the shapes of libraries one by one, in place of the libraries' and their categories' names.

    Only shapes that are used are among its meshes then.
    """
    folders = {
        name: value
        for name, value in _said(meshes)
        if isinstance(value.value, Mapping) and Path(str(value.value.get("file"))).is_dir()
    }
    if not folders:
        return merged
    groups: dict[str, tuple[str, ...]] = {}
    for name, value in folders.items():
        value.only(("file", "scale", "height"))
        if name == "cad" or not _ALIAS.fullmatch(name):
            value.fail(f"no name for a library: {name!r}", "letters, digits, - and _, not 'cad', which is built in")
        groups |= members(read_library(value["file"].read(str)), name)
    values = dict(merged.values)
    for key in ("shapes", "attributes", "zones", "groups", "categories", "cooccurrence"):
        values[key] = with_members(values.get(key), groups, shared=key == "shapes")
    used = {name for name in _names_of(values["shapes"]) if name.partition("/")[0] in folders}
    for name in sorted(used - groups.keys()):
        meshes[name.partition("/")[0]].fail(f"the library has no shape {name!r}{hint(name, groups)}")
    own = {name: mesh for name, mesh in merged.values["meshes"].items() if name not in folders}
    origins = dict(merged.origins)
    for name in sorted(used):
        alias, _, rest = name.partition("/")
        said = folders[alias]
        own[name] = {**said.value, "file": str(shape_file(said.value["file"], rest))}
        origins[f"meshes.{name}"] = said.file
    return replace(merged, values={**values, "meshes": own}, origins=origins)


def _names_of(shapes: Any) -> list[str]:
    return [name for name in shapes if isinstance(name, str)] if isinstance(shapes, list | tuple | dict) else []


def _own_shapes(meshes: Value) -> tuple[str, ...]:
    """Load the world's own meshes and make them known by name."""
    own = _said(meshes)
    for name, value in own:
        if not _NAME.fullmatch(name):
            value.fail(f"no name for a shape: {name!r}", "letters, digits, - and _")
        mesh: MeshSpec = value.read(MeshSpec)
        if mesh.scale is not None and mesh.height is not None:
            value.fail("scale and height exclude each other", "one of the two")
        try:
            register(mesh.load(name))
        except DataError as error:
            raise DataError(str(error), file=value.file, field=value["file"].path) from error
        except ConfigError as error:
            raise DataError(str(error), file=value.file, field=value.path) from error
    return tuple(name for name, _ in own)


def _variants(shapes: Value) -> tuple[str, ...]:
    """Variants of CAD sub-types that a file names, as ``cad/car/sedan#17``."""
    listed = [str(name).partition("#") for name in shapes.value] if isinstance(shapes.value, list | dict) else []
    return tuple(f"{name}#{variant}" for name, _, variant in listed if name in CAD and variant.isdecimal())


def _weights(shapes: Value, known: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """Names, or names with weights."""
    if not isinstance(shapes.value, dict):
        return tuple((name, 1.0) for name in shapes.read(some_of("shape", known)))
    weights = tuple((_shape(name, weight, known), weight.read(Length)) for name, weight in shapes.items())
    if not weights:
        shapes.fail("no shapes", "at least one")
    return weights


def _shape(name: str, value: Value, known: Sequence[str]) -> str:
    """A name that is the key of a value."""
    return str(Value(name, value.where, value.path).read(Annotated[str, OneOf(known, "shape")]))


def _optional(mapping: Value) -> list[tuple[str, Value]]:
    return [] if mapping.value is None else _said(mapping)


def _zone(name: str, value: Value, shapes: Sequence[str]) -> ZoneSpec:
    zone: ZoneSpec = value.read(ZoneSpec, name=name)
    value["shapes"].read(some_of("shape", shapes))
    return zone


def _groups(groups: Value, shapes: Sequence[str]) -> tuple[ShapeGroup, ...]:
    made = []
    for name, value in _optional(groups):
        value.only(("shapes", "objects"))
        made.append(ShapeGroup(name, _weights(value["shapes"], tuple(shapes)), value["objects"].read(GroupSize)))
    if sum(group.objects[1] for group in made) > MOST_OBJECTS:
        groups.fail("too many objects for one picture", f"at most {MOST_OBJECTS} in all groups")
    return tuple(made)


def _category(name: str, value: Value, shapes: Sequence[str], whole: Value) -> SceneCategory:
    """One kind of scene; its shapes are those of its groups where it says no others."""
    value.only(("shapes", "weight", "groups", "ground", "cameras", "raised"))
    weight = 1.0 if value["weight"].value is None else value["weight"].read(Length)
    groups = _groups(value["groups"], shapes)
    listed = dict(pair for group in groups for pair in group.shapes)
    own = tuple(listed.items()) if groups else _weights(value["shapes"], tuple(shapes))
    around = read_surroundings(value["ground"], whole["walls"], whole["sky"]) if value["ground"].value else None
    cameras = _cameras(_own_cameras(value, whole)) if value["cameras"].value is not None else ()
    raised = None if value["raised"].value is None else value["raised"].read(Size)
    return SceneCategory(name, own, weight, groups, around, cameras, raised)


def _own_cameras(category: Value, whole: Value) -> Value:
    """The cameras of a kind of scene: all of the world's, with the fields that the kind says itself."""
    own = category["cameras"]
    cameras = {name: camera.value for name, camera in _said(whole["cameras"]) if isinstance(camera.value, Mapping)}
    for name, camera in own.only(cameras).items():
        if not isinstance(camera.value, Mapping):
            camera.fail("not a camera: all kinds of scenes have the same", "fields that differ")
        below: Mapping[str, Any] = {} if is_other(cameras[name], camera.value) else cameras[name]
        cameras[name] = {**below, **camera.value}
    return Value(cameras, own.where, own.path)


def _with_classes(
    categories: Sequence[SceneCategory], whole: Value
) -> tuple[tuple[SceneCategory, ...], SurroundingsSpec]:
    """Kinds of scenes, and what is around scenes in general, with one list of classes for all."""
    around = read_surroundings(*(whole[key] for key in _AROUND))
    own = [category.surroundings for category in categories if category.surroundings is not None]
    classes = tuple(dict.fromkeys(name for spec in (around, *own) for name in spec.classes))
    made = (
        c if (a := c.surroundings) is None else replace(c, surroundings=replace(a, classes=classes))
        for c in categories
    )
    return tuple(made), replace(around, classes=classes)


def _cooccurrence(prior: Value, shapes: Sequence[str]) -> Cooccurrence | None:
    """Groups of shapes that belong together, and single pairs."""
    if prior.value is None:
        return None
    prior.only(("together", "factor", "pairs", "power"))
    factors: dict[tuple[str, str], float] = {}
    if prior["together"].value is not None:
        factor = prior["factor"].read(Length)
        for group in prior["together"].parts():
            factors |= dict.fromkeys(combinations(sorted(group.read(some_of("shape", shapes))), 2), factor)
    if prior["pairs"].value is not None:
        for a, row in prior["pairs"].items():
            _shape(a, row, shapes)
            for b, pair in row.items():
                if a == _shape(b, pair, shapes):
                    pair.fail("a shape is no companion of itself; `kinds` says how often shapes repeat")
                factors[min(a, b), max(a, b)] = pair.read(Length)
    power = 1.0 if prior["power"].value is None else prior["power"].read(float)
    return Cooccurrence(tuple(factors.items()), power)


def _cameras(cameras: Value) -> tuple[CameraSpec | DrawnCameraSpec, ...]:
    """The original one first."""
    made = [
        value.read(DrawnCameraSpec if _is_drawn(value) else CameraSpec, name=name) for name, value in _said(cameras)
    ]
    if ORIGINAL not in [camera.name for camera in made]:
        cameras.fail("no camera 'original'", "it says what left, right, front and behind mean")
    return tuple(sorted(made, key=lambda camera: camera.name != ORIGINAL))


def _check_cameras(cameras: Sequence[CameraSpec | DrawnCameraSpec], said: Value, jitter: float) -> None:
    for camera in cameras:
        if isinstance(camera, DrawnCameraSpec):
            _check_lowest(camera, said[camera.name])
        else:
            _check_above("camera", camera, said[camera.name], jitter)
            _check_up(camera, said[camera.name])


def _is_drawn(camera: Value) -> bool:
    return isinstance(camera.value, Mapping) and is_drawn(camera.value)


def _check_lowest(camera: DrawnCameraSpec, value: Value) -> None:
    if camera.lowest() <= 0.0:
        reason = f"camera may get under the ground, {-camera.lowest():.3g} m deep"
        value.fail(reason, "a higher target, with `raised` objects, or a higher elevation")


def _check_above(what: str, spec: CameraSpec | LightSpec, value: Value, factor: float) -> None:
    jitter = spec.jitter * factor
    if spec.position[2] <= jitter:
        value["position"].fail(f"{what} may get under the table", f"z > jitter {jitter:g}")


def _check_up(camera: CameraSpec, value: Value) -> None:
    forward = np.subtract(camera.target, camera.position)
    if np.linalg.norm(np.cross(forward, camera.up)) <= 1e-6 * np.linalg.norm(forward) * np.linalg.norm(camera.up):
        value.fail("the camera looks along its up vector, or its target is where it stands", "another up or target")
