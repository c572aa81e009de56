"""Scenes as CLEVR's scenes.json."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import Any, Final

import numpy as np

from sightline.errors import DataError
from sightline.geometry import cameras
from sightline.scenes import Camera, Object, Relation, Scene, Sighting, View
from sightline.scenes.labels import GEOMETRIC, PREDICATES, SPATIAL
from sightline.store.blobs import blob_path
from sightline.store.convert import scenes_from_tables
from sightline.store.formats.jsonio import write_json
from sightline.store.tables import Tables

ASPECTS: Final = dict.fromkeys(SPATIAL, "spatial") | dict.fromkeys(GEOMETRIC, "geometry")
"""Name of a list in ``relationships`` → the aspect our relations of that predicate have."""

LOOKS: Final = ("size", "color", "material")
EXTENSION: Final = "sightline"
"""Key of a scene under which stands what CLEVR has no place for."""

FIRST_VIEW: Final = "original"
"""The view whose camera tells left from right, whatever other views there are."""

Entry = dict[str, Any]


def write(tables: Tables | Iterable[Tables], path: Path) -> None:
    """Write all scenes, by scene id; see `sightline.store.formats.clevr` for what goes where.

    Args:
        tables: Scenes whose objects have a pose, the attributes size, color and material, and a first view with a
            camera (or pixel coordinates kept from an import).
        path: The file; replaced as a whole or not touched.

    Raises:
        DataError: Naming the scene and what it lacks.
    """
    whole = tables if isinstance(tables, Tables) else Tables.concat(tables)
    scenes = list(scenes_from_tables(whole))
    splits = sorted({scene.split for scene in scenes})
    judged = any(r.aspect == "geometry" for scene in scenes for r in scene.relations)
    content = {
        "info": {"split": splits[0] if len(splits) == 1 else "", "version": "1.0", "generator": "sightline"},
        "scenes": [
            _scene(scene, number, geometry=judged or scene.source != "clevr")
            for scene, number in zip(scenes, _numbers(scenes), strict=True)
        ],
    }
    write_json(Path(path), content)


def middle(pose: Sequence[float], height: float) -> tuple[float, float, float]:
    """Centre of an object in the world: half its height above its origin, along its own z axis; metres.

    >>> middle([1, 0, 0, 2, 0, 1, 0, 3, 0, 0, 1, 0.5, 0, 0, 0, 1], 0.8)
    (2.0, 3.0, 0.9)
    """
    x, y, z = (pose[4 * i + 3] + pose[4 * i + 2] * height / 2 for i in range(3))
    return float(x), float(y), float(z)


def height_of(thing: Object) -> float:
    """The attribute ``height`` in metres; 0, that is the origin is the centre, where there is none."""
    return _number(thing, "height") or 0.0


def _number(thing: Object, name: str) -> float | None:
    """An attribute as a finite number; None where it is missing or none."""
    try:
        value = float(thing.attributes[name])
    except (KeyError, ValueError):
        return None
    return value if math.isfinite(value) else None


def turn(thing: Object) -> float:
    """Degrees about z, counter-clockwise seen from above, in [0, 360): as told, else from the pose."""
    rotation = _number(thing, "rotation")
    if rotation is not None:
        return rotation
    assert thing.pose is not None
    return math.degrees(math.atan2(thing.pose[4], thing.pose[0])) % 360.0


def _numbers(scenes: Sequence[Scene]) -> list[int]:
    """``image_index``: the number a scene's id ends in where all have one of their own, else counted from 0."""
    tails = [re.search(r"[0-9]{1,18}\Z", scene.id) for scene in scenes]
    numbers = [int(tail[0]) for tail in tails if tail]
    return numbers if len(set(numbers)) == len(scenes) else list(range(len(scenes)))


def _scene(scene: Scene, number: int, *, geometry: bool) -> Entry:
    index = {thing.id: i for i, thing in enumerate(scene.objects)}
    listed = [r for r in scene.relations if _is_listed(r)]
    names = PREDICATES if geometry else SPATIAL
    original = next((v for v in scene.views if v.id == FIRST_VIEW and v.camera), None)
    return {
        "image_index": number,
        "image_filename": picture_name(scene, scene.views[0]),
        "split": scene.split,
        "objects": [_object(scene, thing) for thing in scene.objects],
        "relationships": {name: _list(name, listed, index) for name in names},
        **({"directions": directions(original.camera)} if original and original.camera else {}),
        EXTENSION: _extension(scene, index),
    }


def _is_listed(relation: Relation) -> bool:
    """Whether CLEVR's lists hold all of it."""
    return (
        relation.predicate in ASPECTS
        and relation.aspect == ASPECTS[relation.predicate]
        and not relation.votes
        and relation.object_scene is None
        and relation.view is None
    )


def _list(name: str, relations: Sequence[Relation], index: dict[str, int]) -> list[list[int]]:
    """One list of indices an object. CLEVR's ``left[i]`` are those left of i; ``contains[i]`` those i contains."""
    lists: list[list[int]] = [[] for _ in index]
    for r in relations:
        if r.predicate == name:
            home, other = (r.object, r.subject) if name in SPATIAL else (r.subject, r.object)
            lists[index[home]].append(index[other])
    return [sorted(members) for members in lists]


def picture_name(scene: Scene, view: View) -> str:
    """File name of a view's picture: a blob's path below ``images/``, a file's own name, or one made of the ids.

    >>> picture_name(Scene("val/000007", views=(View("0"),)), View("0"))
    'val_000007.png'
    """
    if view.image_ref is not None:
        return blob_path(view.image_ref) or PurePath(view.image_ref).name
    parts = [scene.id] if len(scene.views) == 1 else [scene.id, view.id]
    return re.sub(r"[^\w.-]+", "_", "_".join(parts)) + ".png"


def _object(scene: Scene, thing: Object) -> Entry:
    if thing.pose is None:
        raise DataError("CLEVR needs every object's place", row=scene.id, field="pose", found=f"none of {thing.id}")
    for name in LOOKS:
        if name not in thing.attributes:
            raise DataError(
                f"CLEVR needs every object's {name}", row=scene.id, field=name, found=f"none of {thing.id}"
            )
    centre = middle(thing.pose, height_of(thing))
    return {
        "shape": thing.shape.partition(":")[0] if thing.shape else thing.category,
        **{name: thing.attributes[name] for name in LOOKS},
        "3d_coords": list(centre),
        "rotation": turn(thing),
        "pixel_coords": _pixels(scene, thing, centre),
    }


def _pixels(scene: Scene, thing: Object, centre: tuple[float, float, float]) -> list[float]:
    camera = scene.views[0].camera
    if camera is None:
        if "pixel_coords" in thing.attributes:
            kept: list[float] = json.loads(thing.attributes["pixel_coords"])
            return kept
        raise DataError("CLEVR needs the first view's camera", row=scene.id, field="camera", found="none")
    x, y, depth = cameras.project(camera.k, camera.world_to_camera, [centre])[0].tolist()
    if not math.isfinite(x):
        raise DataError("object is behind the camera", row=scene.id, field="pixel_coords", found=thing.id)
    return [x, y, depth]


def directions(camera: Camera) -> dict[str, list[float]]:
    """CLEVR's unit vectors: left and right, front and behind on the table as the camera sees them, above and below.

    >>> vectors = directions(Camera((), tuple(cameras.look_at((0, -5, 3), (0, 0, 0)).ravel())))
    >>> vectors["left"], vectors["behind"]
    ([-1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    """
    pose = np.asarray(camera.world_to_camera, dtype=np.float64).reshape(3, 4)
    across, away = (np.array([row[0], row[1], 0.0]) for row in (pose[0], pose[2]))
    if math.hypot(*away[:2]) < 1e-9:  # straight down: what is up in the picture is behind
        away = np.array([-pose[1, 0], -pose[1, 1], 0.0])
    right, behind = across / np.linalg.norm(across), away / np.linalg.norm(away)
    vectors = {"left": -right, "right": right, "front": -behind, "behind": behind}
    plain = {name: (vector + 0.0).round(12).tolist() for name, vector in vectors.items()}
    return plain | {"above": [0.0, 0.0, 1.0], "below": [0.0, 0.0, -1.0]}


def own_attributes(entry: Entry) -> dict[str, str]:
    """The attributes that CLEVR's keys of an object stand for."""
    return {name: entry[name] for name in LOOKS} | {"rotation": repr(float(entry["rotation"]))}


def _extension(scene: Scene, index: dict[str, int]) -> Entry:
    """What CLEVR has no place for; keys that would say nothing are left out."""
    return {
        "id": scene.id,
        "source": scene.source,
        "views": [_view(scene, view) for view in scene.views],
        "objects": [_rest_of_object(scene, thing) for thing in scene.objects],
        "sightings": [_sighting(seen, index) for seen in scene.sightings],
        "relations": [_relation(r) for r in scene.relations if not _is_listed(r)],
    }


def _view(scene: Scene, view: View) -> Entry:
    camera = view.camera and {"k": list(view.camera.k), "world_to_camera": list(view.camera.world_to_camera)}
    entry: Entry = {"id": view.id, "units": view.units, "camera": camera}
    entry |= {"size": list(view.size)} if view.size else {}
    return entry | ({"image": picture_name(scene, view)} if view.image_ref else {})


def _rest_of_object(scene: Scene, thing: Object) -> Entry:
    own = own_attributes(_object(scene, thing))
    rest = {name: value for name, value in thing.attributes.items() if own.get(name) != value}
    assert thing.pose is not None
    return {
        "id": thing.id,
        "category": thing.category,
        "pose": list(thing.pose),
        **({"attributes": rest} if rest else {}),
        **({"ref": thing.shape} if thing.shape else {}),
    }


def _sighting(seen: Sighting, index: dict[str, int]) -> Entry:
    masks = {"visible": seen.visible_mask, "amodal": seen.amodal_mask}
    entry: Entry = {"view": seen.view_id, "object": index[seen.object_id], "box": list(seen.box)}
    entry |= {name: rle.decode("ascii", "replace") for name, rle in masks.items() if rle is not None}
    entry |= {} if seen.occluded_fraction is None else {"occluded_fraction": seen.occluded_fraction}
    entry |= {"viewpoint": asdict(seen.viewpoint)} if seen.viewpoint else {}
    entry |= {"landmarks": [asdict(mark) for mark in seen.landmarks]} if seen.landmarks else {}
    return entry | ({"flags": sorted(seen.flags)} if seen.flags else {})


def _relation(r: Relation) -> Entry:
    entry: Entry = {"subject": r.subject, "object": r.object, "aspect": r.aspect, "predicate": r.predicate}
    entry |= {"votes": list(r.votes)} if r.votes else {}
    entry |= {"object_scene": r.object_scene} if r.object_scene else {}
    return entry | ({"view": r.view} if r.view else {})
