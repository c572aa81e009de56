"""One scene of a world: cameras and lights jittered, objects placed; a function of (world, seed, index) alone."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np

from sightline.errors import ConfigError
from sightline.geometry.footprints import holds
from sightline.scenes.types import Camera
from sightline.worlds.bodies import body
from sightline.worlds.cameras import CameraStand, DrawnCameraSpec, moved
from sightline.worlds.layout import Layout, Light, Placed, Point, Sensor, Shot
from sightline.worlds.occlusion import hidden_share
from sightline.worlds.placement import Accept, place
from sightline.worlds.poses import PlacementRules
from sightline.worlds.sensor import SensorSpec
from sightline.worlds.solids import Floats
from sightline.worlds.spec import LightSpec, World
from sightline.worlds.surroundings import PLAIN, Surroundings
from sightline.worlds.surroundings_spec import NOTHING_AROUND, SurroundingsSpec

_AROUND, _CAMERAS, _SENSORS, _HIDING = (1 << 16,), (1 << 17,), (1 << 18,), (1 << 19,)
"""Keys of the streams of surroundings, drawn cameras, sensors and hidden shares, far from objects and jitter."""

_SHARE_TOLERANCE = 0.01
"""A hidden share without a range is met this closely."""

_WHOLE = {"whole": 2, "centre": 1, "any": 0}


def arrange(world: World, seed: int, index: int) -> Layout:
    """Scene number `index` of a world.

    Objects come from one stream of random numbers and jitter from another, so that cameras and lights do not depend
    on how many poses were tried.

    Raises:
        ConfigError: The scene cannot be filled, or a camera stands inside an object.

    >>> from sightline.worlds.spec import load_world
    >>> layout = arrange(load_world("geospa/train"), seed=0, index=7)
    >>> layout == arrange(load_world("geospa/train"), seed=0, index=7)
    True
    >>> [shot.name for shot in layout.shots]
    ['original', 'side_1', 'side_2', 'side_3', 'side_4', 'top']
    """
    if seed < 0 or index < 0:
        raise ConfigError(f"seed and index of a scene are 0 or more, found seed {seed}, index {index}")
    sequence = np.random.SeedSequence([seed, index, *_words(world.stream)])
    (shaking,) = sequence.spawn(1)
    shake = np.random.default_rng(shaking)
    size = world.resolution
    rng = np.random.default_rng(sequence)
    category, part = _part(world, rng)
    drawn = _drawn(part)
    apart = _stream(sequence, _CAMERAS) if drawn else shake
    stands = [c.stand(world.jitter, size, apart if i in drawn else shake) for i, c in enumerate(part.cameras)]
    shots = tuple(
        Shot(c.name, stand.held, size, _sensor(world.sensor, sequence, i))
        for i, (c, stand) in enumerate(zip(part.cameras, stands, strict=True))
    )
    lights = tuple(_light(light, world.jitter, shake) for light in world.lights)
    rules = _rules(part, stands)
    hiding = _hiding(world, stands[0].held, sequence)
    try:
        objects = place(part, rng, rules, hiding)
    except ConfigError as error:
        raise ConfigError(f"scene {index} of seed {seed}: {error}") from None
    for camera, stand in zip(part.cameras, stands, strict=True):
        _check_outside(camera.name, stand.eye, objects, f"scene {index} of seed {seed}")
    left, behind = directions(stands[0].level)
    return Layout(
        world=world.name,
        seed=seed,
        index=index,
        split=world.split,
        objects=objects,
        shots=shots,
        lights=lights,
        table=world.table,
        ambient=world.ambient,
        left=left,
        behind=behind,
        containment=world.containment,
        category=category,
        surroundings=_surroundings(part.surroundings, sequence),
    )


def _hiding(world: World, camera: Camera, sequence: np.random.SeedSequence) -> Accept | None:
    """The test whether a scene hides as much of its first object as it is drawn to."""
    if world.hidden is None:
        return None
    low, high = world.hidden.range_at(float(_stream(sequence, _HIDING).random()))
    spare = _SHARE_TOLERANCE if low == high else 0.0
    return lambda objects: low - spare <= hidden_share(objects, camera, world.resolution) <= high + spare


def _part(world: World, rng: np.random.Generator) -> tuple[str, World]:
    """The category of a scene and the world of its scenes alone; nothing is drawn where there are no categories."""
    if not world.categories:
        return "", world
    steps, parts = _parts(world)
    return parts[min(bisect_right(steps, rng.random() * steps[-1]), len(parts) - 1)]


@lru_cache(maxsize=64)
def _parts(world: World) -> tuple[list[float], list[tuple[str, World]]]:
    parts = [(category.name, world.of_category(category)) for category in world.categories]
    return list(accumulate(category.weight for category in world.categories)), parts


@lru_cache(maxsize=64)
def _drawn(world: World) -> tuple[int, ...]:
    """Which cameras are drawn."""
    return tuple(i for i, camera in enumerate(world.cameras) if isinstance(camera, DrawnCameraSpec))


def _stream(sequence: np.random.SeedSequence, key: tuple[int, ...]) -> np.random.Generator:
    """Random numbers apart from all others of the scene."""
    return np.random.default_rng(np.random.SeedSequence(sequence.entropy, spawn_key=key))


def _sensor(spec: SensorSpec | None, sequence: np.random.SeedSequence, view: int) -> Sensor | None:
    return None if spec is None else spec.draw(_stream(sequence, (*_SENSORS, view)))


def _surroundings(spec: SurroundingsSpec, sequence: np.random.SeedSequence) -> Surroundings:
    return PLAIN if spec == NOTHING_AROUND else spec.draw(_stream(sequence, _AROUND))


@lru_cache(maxsize=256)
def _words(stream: int | str) -> tuple[int, ...]:
    """What a stream adds to the seed; 0 adds nothing, as GeoSpa's training scenes had it."""
    if isinstance(stream, str):
        return (int.from_bytes(hashlib.sha256(stream.encode()).digest()[:8], "little"),)
    return (stream,) if stream else ()


def directions(camera: Camera) -> tuple[tuple[float, float], tuple[float, float]]:
    """Left and behind of a camera: unit vectors on the table.

    Behind is where it looks; for a camera that looks straight down, what is up in its picture.

    >>> from sightline.geometry.cameras import look_at
    >>> above = look_at((0, 0, 13), (0, 0, 0), up=(0, 1, 0))
    >>> directions(Camera((), tuple(above.ravel().tolist())))
    ((-1.0, 0.0), (0.0, 1.0))
    """
    right, down, forward = (camera.world_to_camera[4 * row : 4 * row + 2] for row in range(3))
    ahead = forward if math.hypot(*forward) > 1e-6 else (-down[0], -down[1])
    return _unit(-right[0], -right[1]), _unit(ahead[0], ahead[1])


def _unit(x: float, y: float) -> tuple[float, float]:
    length = math.hypot(x, y)
    return x / length + 0.0, y / length + 0.0  # no −0


def _light(light: LightSpec, factor: float, rng: np.random.Generator) -> Light:
    position = moved(light.position, light.jitter * factor, rng)
    return Light(light.name, position, light.size, light.power, light.target, light.color)


def _rules(world: World, stands: Sequence[CameraStand]) -> PlacementRules:
    """What poses must respect: the original camera and drawn ones see each object, and no object reaches these."""
    drawn = _drawn(world)
    asked = {i: getattr(world.cameras[i], "in_view", None) or world.in_view for i in {0, *drawn}}
    x0, x1, y0, y1 = (float(end) for side in world.area for end in side)
    width, height = map(float, world.resolution)
    return PlacementRules(
        (x0, x1, y0, y1),
        (0.0, 2.0 * math.pi),
        world.raised,
        world.gap,
        world.clearance,
        world.stability,
        np.array([_lens(stands[i].held) for i in asked]),
        np.array([_WHOLE[part] for part in asked.values()]),
        width,
        height,
        np.array([stands[i].eye for i in drawn]).reshape(-1, 3),
    )


def _lens(camera: Camera) -> Floats:
    lens: Floats = np.array(camera.k).reshape(3, 3) @ np.array(camera.world_to_camera).reshape(3, 4)
    return lens


def _check_outside(camera: str, eye: Point, objects: tuple[Placed, ...], scene: str) -> None:
    """Refuse a camera inside the matter of an object; one in its cavity sees something."""
    for i, placed in enumerate(objects):
        (x, y, z), shape = placed.position, body(placed.shape)
        if not z <= eye[2] <= z + shape.height:
            continue
        c, s = math.cos(placed.yaw), math.sin(placed.yaw)
        dx, dy = eye[0] - x, eye[1] - y
        u, v = c * dx + s * dy, c * dy - s * dx
        in_cavity = eye[2] > z + shape.floor and holds(shape.cavity, len(shape.cavity), u, v, 0.0)
        if holds(shape.outline, len(shape.outline), u, v, 0.0) and not in_cavity:
            raise ConfigError(f"{scene}: camera {camera!r} stands inside object {i}, {placed.shape}")
