"""Ground and sky in the fast back end: patterns and classes held to slow oracles, pixels to finer pictures."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from fast_layouts import layout_of, made_layout, shot, thing

from reference.patterns_oracle import colour_of, in_region, pattern_of
from sightline.render.fast import FastRenderer
from sightline.render.fast.environment import environment
from sightline.render.fast.patterns import pattern_at, pattern_columns
from sightline.render.fast.surroundings import averaged_ground
from sightline.render.frames import Frame
from sightline.render.tones import RADIANCES
from sightline.worlds.layout import Layout, Shot
from sightline.worlds.surroundings import PATTERNS, GroundRegion, Pattern, Surroundings

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
