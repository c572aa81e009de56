"""Ground and sky in the fast back end: patterns and classes held to slow oracles, pixels to finer pictures."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fast_layouts import layout_of, made_layout, shot, thing
from PIL import Image
from radiance_files import write_radiance

from reference.patterns_oracle import colour_of, in_region, pattern_of
from sightline.errors import DataError
from sightline.render.fast import FastRenderer
from sightline.render.fast import columns as col
from sightline.render.fast.environment import environment
from sightline.render.fast.patterns import pattern_at, pattern_columns
from sightline.render.fast.surroundings import averaged_ground
from sightline.render.frames import Frame
from sightline.render.radiance import read_radiance
from sightline.render.sky import environment_map, lights_of
from sightline.render.tones import RADIANCES, encoded
from sightline.worlds.layout import Layout, Shot
from sightline.worlds.surroundings import PATTERNS, GroundRegion, Pattern, Sky, Surroundings, Wall

COLORS = ((0.5, 0.4, 0.3), (0.1, 0.05, 0.2))
GROUND = (
    GroundRegion("grass", "half-plane", (-1.0, 0.0), 0.4, (1.0, 1.0), Pattern("grass", *COLORS, 0.3, 0.0, 0.3, 5)),
    GroundRegion("road", "strip", (0.5, 0.0), 2.0, (1.2, 1.0), Pattern("asphalt", *COLORS, 0.1, 0.0, 0.3, 6)),
    GroundRegion(
        "floor", "rectangle", (1.5, -1.0), 0.7, (1.0, 0.6), Pattern("planks", *COLORS, 0.25, 0.02, 0.3, 7)
    ),
    GroundRegion("cloth", "disc", (-1.0, 1.0), 0.3, (0.8, 0.8), Pattern("cloth", *COLORS, 0.4, 0.0, 0.3, 8)),
)
AROUND = Surroundings(GROUND, classes=("sky", "table", "grass", "road", "floor", "cloth"))


def _rows(pattern: Pattern, x: float, y: float, f: float) -> tuple[float, float]:
    numbers = (np.float32(n) for n in (pattern.scale, pattern.joint, pattern.contrast, x, y, f, f))
    share, bright = pattern_at(PATTERNS.index(pattern.kind), pattern.seed, *numbers)
    return float(share), float(bright)


@pytest.mark.parametrize("kind", PATTERNS)
def test_a_pattern_is_what_the_oracle_says_at_a_point(kind: str) -> None:
    pattern = Pattern(kind, *COLORS, scale=0.37, joint=0.05, contrast=0.6, seed=12345)  # type: ignore[arg-type]
    points = np.random.default_rng(3).uniform(-20, 20, (400, 2)).astype(np.float32).astype(float)
    found = np.array([_rows(pattern, x, y, 0.0) for x, y in points])
    right = np.array([pattern_of(kind, 12345, 0.37, 0.05, 0.6, x, y) for x, y in points])
    # Half a dozen points lie so near a border that single precision puts them on its other side.
    assert (np.abs(found - right).max(axis=1) > 2e-3).sum() <= 6
    if kind != "plain":
        assert np.ptp(right, axis=0).max() > 0.3


@pytest.mark.parametrize("kind", ["tiles", "planks", "cloth"])
@pytest.mark.parametrize("width", [0.1, 0.8, 3.3])
def test_joints_and_checks_are_averaged_exactly(kind: str, width: float) -> None:
    pattern = Pattern(kind, *COLORS, scale=1.0, joint=0.2, contrast=0.0, seed=9)  # type: ignore[arg-type]
    steps = (np.arange(90) + 0.5) / 90 - 0.5
    for x, y in np.random.default_rng(4).uniform(-4, 4, (4, 2)):
        if kind == "planks":
            y = math.floor(y) + 0.5  # rows of planks are shifted: within one of them
            samples = [pattern_of(kind, 9, 1.0, 0.2, 0.0, x + width * a, y)[0] for a in steps]
            args = (np.float32(x), np.float32(y), np.float32(width), np.float32(0.0))
            share = pattern_at(PATTERNS.index(kind), 9, *map(np.float32, (1.0, 0.2, 0.0)), *args)[0]
        else:
            grid = [(x + width * a, y + width * b) for a in steps for b in steps]
            samples = [pattern_of(kind, 9, 1.0, 0.2, 0.0, *point)[0] for point in grid]
            share = _rows(pattern, x, y, width)[0]
        assert share == pytest.approx(np.mean(samples), abs=0.02)


@pytest.mark.parametrize("kind", PATTERNS)
def test_from_afar_a_pattern_has_its_mean_colour(kind: str) -> None:
    pattern = Pattern(kind, *COLORS, scale=0.5, joint=0.03, contrast=0.5, seed=77)  # type: ignore[arg-type]
    mean = np.array(pattern_columns(pattern)[-3:])
    points = np.random.default_rng(5).uniform(-200, 200, (3000, 2))
    near = np.mean([colour_of(pattern_of(kind, 77, 0.5, 0.03, 0.5, x, y), *COLORS) for x, y in points], axis=0)
    np.testing.assert_allclose(near, mean, atol=0.012)
    layout = replace(
        layout_of([]),
        surroundings=Surroundings(
            (GroundRegion("a", "everything", (0, 0), 0.0, (1, 1), pattern),), classes=("sky", "a")
        ),
    )
    far = np.float32(100.0)
    seen = averaged_ground(environment(layout, 6.0), np.float32(3.0), np.float32(4.0), far, far * 0, far * 0, far)
    np.testing.assert_allclose(seen, mean, atol=0.004)


def _point(view: Shot, frame: Frame, y: int, x: int) -> tuple[float, float]:
    """Where on the ground a pixel looks, in double precision, from the camera alone."""
    k = np.array(view.camera.k).reshape(3, 3)
    pose = np.array(view.camera.world_to_camera).reshape(3, 4)
    eye = -pose[:, :3].T @ pose[:, 3]
    ray = pose[:, :3].T @ np.linalg.solve(k, (x + 0.5, y + 0.5, 1.0))
    px, py, _ = eye - eye[2] / ray[2] * ray
    assert frame.depth[y, x] == pytest.approx(-eye[2] / ray[2], rel=1e-4)
    return px, py


def _class(x: float, y: float) -> str:
    top = [r.category for r in GROUND if in_region(r.shape, r.position, r.turn, r.extent, x, y)]
    return top[-1] if top else "table"


def test_stuff_and_things_cover_the_picture_and_classes_are_those_of_pixel_centres() -> None:
    level = shot((9.0, -4.0, 2.0), (0.0, 0.0, 1.5), name="level", focal=30.0)
    layout = replace(made_layout(), surroundings=AROUND)
    layout = replace(layout, shots=(*layout.shots, level))
    known = set()
    for view, frame in zip(layout.shots, FastRenderer().frames(layout, shade=False), strict=True):
        assert frame.stuff.dtype == np.uint8
        np.testing.assert_array_equal(frame.stuff == 0, frame.ids > 0)
        np.testing.assert_array_equal(frame.stuff == 1, np.isnan(frame.depth))
        ground = np.argwhere(frame.stuff > 1)
        names = [AROUND.classes[frame.stuff[y, x] - 1] for y, x in ground]
        right = [_class(*_point(view, frame, y, x)) for y, x in ground]
        assert sum(a != b for a, b in zip(names, right, strict=True)) <= 1  # one on a border
        known |= set(right)
        plain = FastRenderer().frame(replace(layout, surroundings=Surroundings()), view, shade=False)
        np.testing.assert_array_equal(plain.stuff, np.where(frame.stuff > 1, 2, frame.stuff))
        np.testing.assert_array_equal(plain.depth, frame.depth)
    assert known == set(AROUND.classes[1:])
    assert (frame.stuff == 1).any()  # the level camera sees the sky


def _light(layout: Layout, view: Shot) -> np.ndarray:
    image = FastRenderer().frame(layout, view).image
    assert image is not None
    return RADIANCES[image]


def test_patterns_are_averaged_over_a_pixel_as_in_a_finer_picture() -> None:
    eye, target = (4.0, -3.0, 1.6), (0.0, 0.0, 0.0)
    coarse, fine = shot(eye, target, size=(48, 32), focal=40), shot(eye, target, size=(288, 192), focal=40)
    layout = replace(layout_of([], coarse, fine), surroundings=AROUND)
    found, right = _light(layout, coarse), _light(layout, fine).reshape(32, 6, 48, 6, 3).mean(axis=(1, 3))
    # What is random fades to its mean; a finer picture still shows some of it.
    assert np.sqrt(np.mean((found - right) ** 2)) < 0.05 * right.max()
    np.testing.assert_allclose(found.mean(axis=(0, 1)), right.mean(axis=(0, 1)), rtol=0.01)
    assert right.std() > 0.1 * right.mean()


def test_a_counterfactual_on_patterned_ground_is_a_full_render() -> None:
    layout = replace(made_layout(), surroundings=AROUND)
    renderer = FastRenderer()
    for view in layout.shots:
        for gone in ((4,), (0, 1)):
            whole = FastRenderer().frame(layout.without(*gone), view)
            part = renderer.counterfactual(layout, view, *gone)
            for name in ("image", "ids", "depth", "stuff"):
                np.testing.assert_array_equal(getattr(part, name), getattr(whole, name))


def test_the_ground_colours_the_light_it_throws_back() -> None:
    """Under a red ground the shaded side of a white cube is redder than under a green one."""
    view = shot((4.0, -3.0, 1.0), (0.0, 0.0, 0.4))
    sides = []
    for color in ((0.8, 0.1, 0.1), (0.1, 0.8, 0.1)):
        around = Surroundings((GroundRegion("a", "everything", (0, 0), 0.0, (1, 1), Pattern(color=color)),))
        layout = replace(
            layout_of([thing("cube", 0, 0, color="white")], view),
            surroundings=replace(around, classes=("sky", "a")),
        )
        frame = FastRenderer().frame(layout, view)
        assert frame.image is not None
        sides.append(RADIANCES[frame.image][(frame.ids == 1) & (frame.normals[..., 2] < 0.1)].mean(axis=0))
    assert sides[0][0] / sides[0][1] > 1.1 * sides[1][0] / sides[1][1]


WALLS = (
    Wall("brick", 1.9, 3.0, 2.0, Pattern("tiles", *COLORS, 0.4, 0.03, 0.3, 9)),
    Wall("plaster", 3.6, 3.5, 4.0, Pattern("noise", *COLORS, 0.6, 0.0, 0.5, 10)),
)
BLUE = Sky("gradient", zenith=(0.1, 0.2, 0.6), horizon=(0.7, 0.6, 0.5))
ROOM = replace(AROUND, walls=WALLS, sky=BLUE, classes=(*AROUND.classes, "brick", "plaster"))
LEVEL = shot((4.0, -3.5, 1.5), (0.0, 0.0, 1.1), focal=24.0)


def _rays(view: Shot) -> tuple[np.ndarray, np.ndarray]:
    """The camera's place and the directions of depth 1 through pixel centres, in double precision."""
    k, pose = np.array(view.camera.k).reshape(3, 3), np.array(view.camera.world_to_camera).reshape(3, 4)
    y, x = np.indices(view.size[::-1]) + 0.5
    rays = np.stack((x, y, np.ones_like(x)), axis=-1) @ np.linalg.inv(k).T @ pose[:, :3]
    return -pose[:, :3].T @ pose[:, 3], rays


def test_walls_hide_what_is_behind_them_and_end_where_they_are_high() -> None:
    layout = replace(made_layout(), surroundings=ROOM, shots=(LEVEL,))
    frame = FastRenderer().frame(layout, LEVEL, shade=False)
    bare = FastRenderer().frame(replace(layout, surroundings=replace(ROOM, walls=())), LEVEL, shade=False)
    eye, rays = _rays(LEVEL)
    depth, stuff = bare.depth.astype(float), bare.stuff.copy()
    depth[np.isnan(depth)] = np.inf
    for wall in WALLS:
        way = np.array((math.cos(wall.azimuth), math.sin(wall.azimuth), 0.0))
        with np.errstate(divide="ignore"):
            t = (wall.distance - eye @ way) / (rays @ way)
        shown = (t > 0) & (t < depth) & (eye[2] + t * rays[..., 2] <= wall.height)
        depth, stuff = np.where(shown, t, depth), np.where(shown, ROOM.number_of(wall.category), stuff)
    assert (frame.stuff != stuff).sum() <= 2  # on a border
    same = frame.stuff == stuff
    np.testing.assert_allclose(frame.depth[same & (stuff != 1)], depth[same & (stuff != 1)], rtol=1e-5)
    assert {1, 2, 7, 8} <= set(np.unique(frame.stuff))
    np.testing.assert_array_equal(frame.stuff == 0, frame.ids > 0)
    brick = frame.normals[frame.stuff == 7]
    np.testing.assert_allclose(brick, np.tile((-math.cos(1.9), -math.sin(1.9), 0.0), (len(brick), 1)), atol=1e-6)
    behind = shot((-6.0, 4.0, 1.5), (0.0, 0.0, 1.1), focal=24.0)  # from behind they are not there
    assert not np.isin(FastRenderer().frame(layout, behind, shade=False).stuff, (7, 8)).any()


def test_a_counterfactual_between_walls_is_a_full_render() -> None:
    layout = replace(made_layout(), surroundings=ROOM, shots=(LEVEL,))
    whole = FastRenderer().frame(layout.without(4), LEVEL)
    part = FastRenderer().counterfactual(layout, LEVEL, 4)
    for name in ("image", "ids", "depth", "stuff"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name))


def test_a_gradient_goes_from_the_horizon_to_the_zenith_and_lights_the_ground() -> None:
    layout = replace(layout_of([], LEVEL), surroundings=Surroundings(sky=BLUE))
    frame = FastRenderer().frame(layout, LEVEL)
    _, rays = _rays(LEVEL)
    sine = np.maximum(rays[..., 2] / np.linalg.norm(rays, axis=-1), 0.0)[..., None]
    horizon, zenith = np.array(BLUE.horizon), np.array(BLUE.zenith)
    right = encoded(horizon + (zenith - horizon) * (1 - (1 - sine) ** 2))
    sky = frame.stuff == 1
    sky[:-1] &= sky[1:]  # away from the horizon, which mixes
    assert sky.any()
    assert frame.image is not None
    assert np.abs(frame.image[sky].astype(int) - right[sky]).max() <= 1
    s = (np.arange(2000) + 0.5) / 2000  # light on level ground: radiance times sine, over the half sphere
    mean = (2 * s[:, None] * (horizon + (zenith - horizon) * (1 - (1 - s[:, None]) ** 2))).mean(axis=0)
    np.testing.assert_allclose(environment(layout, 6.0)[0, col.SKY_RED : col.SKY_BLUE + 1], mean, rtol=1e-3)


def test_a_photo_is_seen_as_it_is_where_the_sky_is(tmp_path: Path) -> None:
    width, height = LEVEL.size
    photo = np.random.default_rng(1).integers(0, 256, (height, 2 * width, 3), dtype=np.uint8)
    Image.fromarray(photo).save(tmp_path / "wide.png")
    around = replace(ROOM, sky=Sky("backdrop", file=str(tmp_path / "wide.png")))
    frame = FastRenderer().frame(replace(made_layout(), surroundings=around, shots=(LEVEL,)), LEVEL)
    inner = np.zeros(frame.ids.shape, bool)
    for y, x in np.argwhere(frame.stuff == 1):  # away from edges, which mix
        inner[y, x] = (frame.stuff[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2] == 1).all()
    assert inner.any()
    assert frame.image is not None
    np.testing.assert_array_equal(frame.image[inner], photo[:, width // 2 : width // 2 + width][inner])


def _map(height: int = 64) -> np.ndarray:
    """A dim blue sky over brown ground, with a sun 40 degrees high in azimuth 60 degrees."""
    seen = np.empty((height, 2 * height, 3))
    seen[: height // 2], seen[height // 2 :] = (0.2, 0.3, 0.5), (0.15, 0.1, 0.05)
    row, column = int((0.5 - 40 / 180) * height), int((0.5 - 60 / 360) * 2 * height)
    seen[row : row + 2, column : column + 2] = (900.0, 800.0, 600.0)
    return seen


def test_the_sun_of_an_environment_becomes_a_lamp_and_no_light_is_lost(tmp_path: Path) -> None:
    write_radiance(tmp_path / "sky.hdr", _map())
    sky = Sky("environment", file=str(tmp_path / "sky.hdr"), turn=math.radians(30.0), strength=0.5)
    layout = replace(layout_of([], LEVEL), surroundings=Surroundings(sky=sky))
    *own, sun = lights_of(layout)
    assert tuple(own) == layout.lights
    x, y, z = sun.position
    assert math.degrees(math.atan2(y, x)) == pytest.approx(90.0, abs=3.0)  # 60, turned by 30
    assert math.degrees(math.asin(z / math.dist((0, 0, 0), sun.position))) == pytest.approx(40.0, abs=3.0)
    up = (0.5 - (np.arange(64) + 0.5) / 64) * math.pi
    weight = np.maximum(np.sin(up), 0.0) * np.cos(up) * (math.pi / 64) ** 2
    whole = 0.5 * (_map() * weight[:, None, None]).sum(axis=(0, 1))  # irradiance of level ground
    radiance = np.array(sun.color) * sun.power / (math.pi * sun.size**2)
    direct = radiance * sun.size**2 * z / math.dist((0, 0, 0), sun.position) ** 3
    mean = environment(layout, 6.0)[0, col.SKY_RED : col.SKY_BLUE + 1]
    np.testing.assert_allclose(direct + math.pi * mean, whole, rtol=0.03)
    assert environment_map(sky.file).small.max() < 1.0
    even = tmp_path / "even.hdr"
    write_radiance(even, np.full((16, 32, 3), 0.4))
    plain = replace(layout, surroundings=Surroundings(sky=Sky("environment", file=str(even))))
    assert lights_of(plain) == layout.lights  # nothing is far brighter than the rest
    grey = FastRenderer().frame(plain, LEVEL)
    ambient = FastRenderer().frame(replace(layout_of([], LEVEL, ambient=(0.4,) * 3)), LEVEL)
    assert grey.image is not None
    assert ambient.image is not None
    assert np.abs(grey.image.astype(int) - ambient.image).max() <= 1


@pytest.mark.parametrize("runs", [True, False])
def test_radiance_files_come_back(tmp_path: Path, runs: bool) -> None:
    light = np.random.default_rng(2).uniform(0, 40, (5, 40, 3)) ** 2
    light[:, 10:30] = 0.25
    light[2] = 0.0
    pixels = write_radiance(tmp_path / "a.hdr", light, runs=runs)
    right = pixels[..., :3] * np.ldexp(1.0, pixels[..., 3].astype(int) - 136)[..., None]
    right[pixels[..., 3] == 0] = 0.0
    np.testing.assert_allclose(read_radiance(tmp_path / "a.hdr"), right, rtol=1e-6)
    np.testing.assert_allclose(right, light, atol=light.max() / 128)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data[:-7], "cut short or damaged"),
        (lambda data: data.replace(b"rle_rgbe", b"rle_xyze"), "not a Radiance picture"),
        (lambda data: data.replace(b"-Y", b"+Y"), "not a Radiance picture"),
        (lambda data: data.replace(b"-Y 16 +X 32", b"-Y 0 +X 32"), "of no fitting size"),
        (lambda data: data.replace(b"-Y 16 +X 32", b"-Y 99999 +X 99999"), "of no fitting size"),
        (lambda data: data.replace(b"-Y 16 +X 32", b"-Y 8 +X 32"), "not a picture of all directions"),
        (lambda _: b"", "not a Radiance picture"),
        (None, "cannot be read"),  # no file
    ],
)
def test_what_is_no_environment_is_refused(tmp_path: Path, change: Any, problem: str) -> None:
    file = tmp_path / "a.hdr"
    write_radiance(file, np.full((16, 32, 3), 0.4))
    data = file.read_bytes()
    file.unlink() if change is None else file.write_bytes(change(data))
    with pytest.raises(DataError, match=problem):
        environment_map(str(file))
