"""Canonical views: the object, alone, whole, its share of the square; the same whatever else is asked for."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sightline.errors import ConfigError, DataError
from sightline.geometry.cameras import centre
from sightline.render.canonical import FILLS, SIZE, Identity, canonical_layouts, canonical_views, identity, patch
from sightline.render.fast import FastRenderer
from sightline.render.frames import Frame
from sightline.render.tones import encoded
from sightline.worlds import Placed, load_world
from sightline.worlds.layout import Layout, Shot

CUBE: Identity = ("cube:small", "red", "metal")
MUG: Identity = ("mug:medium", "cyan", "rubber")
TEAPOT: Identity = ("teapot:large", "yellow", "metal")
WORLD = load_world("geospa/train")


@pytest.fixture(scope="module")
def renderer() -> FastRenderer:
    return FastRenderer()


@pytest.mark.parametrize("thing", [CUBE, MUG, TEAPOT, ("bottle:small", "gray", "rubber")])
def test_the_object_is_whole_and_fills_its_share(renderer: FastRenderer, thing: Identity) -> None:
    for layout in canonical_layouts(thing, WORLD, count=4):
        [shot] = layout.shots
        [mask] = renderer.frame(layout, shot, shade=False).amodal
        rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
        sides = [int(np.ptp(line)) + 1 for line in (rows, columns)]
        share = FILLS[thing[0].partition(":")[2]] * len(mask)
        assert max(sides) == pytest.approx(share, abs=2)
        for line in (rows, columns):  # in the middle
            assert (line[0] + line[-1] + 1) / 2 == pytest.approx(len(mask) / 2, abs=1)


def test_sides_and_turns_differ_but_not_the_height() -> None:
    layouts = list(canonical_layouts(MUG, WORLD, count=40))
    eyes = np.array([centre(layout.shots[0].camera.world_to_camera) for layout in layouts])
    azimuths = np.degrees(np.arctan2(eyes[:, 1], eyes[:, 0]))
    assert (np.histogram(azimuths, 4, (-180, 180))[0] > 0).all()  # all quarters
    elevations = np.degrees(np.arctan2(eyes[:, 2], np.hypot(eyes[:, 0], eyes[:, 1])))
    original = np.degrees(math.atan2(6.62, math.hypot(10.41, 9.79)))
    assert np.abs(elevations - original).max() < 5
    assert np.ptp([layout.objects[0].yaw for layout in layouts]) > math.pi
    assert len({light.position for layout in layouts for light in layout.lights if light.name == "key"}) == 40


def test_a_view_depends_on_its_object_and_number_alone(renderer: FastRenderer) -> None:
    both = canonical_views([CUBE, MUG], count=3, renderer=renderer)
    assert both.shape == (2, 3, SIZE, SIZE, 3)
    assert both.dtype == np.uint8
    np.testing.assert_array_equal(canonical_views([MUG], count=2), both[1:, :2])
    placed = [Placed(*thing, (1.0, 2.0, 0.3), 0.5) for thing in (MUG, CUBE)]
    np.testing.assert_array_equal(canonical_views(placed, count=3, renderer=renderer), both[::-1])
    assert (both[0, 0] != both[0, 1]).any()
    assert (canonical_views([CUBE], count=1, seed=1, renderer=renderer)[0, 0] != both[0, 0]).any()


def test_the_object_has_its_colour(renderer: FastRenderer) -> None:
    rubber = [("cube:large", color, "rubber") for color in ("red", "green", "blue")]
    views = canonical_views(rubber, count=2, size=16, renderer=renderer)
    middle = views[:, :, 6:10, 6:10].mean(axis=(1, 2, 3))
    assert middle.argmax(axis=1).tolist() == [0, 1, 2]


def test_the_world_lends_its_camera_and_lights(renderer: FastRenderer) -> None:
    above = replace(WORLD, cameras=WORLD.cameras[-1:])  # straight down
    [layout] = canonical_layouts(CUBE, above, count=1)
    x, y, z = centre(layout.shots[0].camera.world_to_camera)
    assert (abs(x) < 1, abs(y) < 1, z > 12) == (True, True, True)
    dark = replace(WORLD, lights=(), ambient=(0.01, 0.01, 0.01))
    assert canonical_views([MUG], count=1, world=dark).max() < 40
    assert canonical_views([MUG], count=1, renderer=renderer).max() > 100


def test_averaging_is_of_radiance() -> None:
    half = np.zeros((4, 4, 3), np.uint8)
    half[:2] = encoded(np.array(0.5))
    empty = np.zeros((4, 4))
    frame = Frame(
        "v",
        empty.astype(np.int32),
        empty.astype(np.float32),
        half.astype(np.float32),
        np.zeros((0, 4, 4), np.bool_),
        np.zeros(0),
        np.zeros((4, 4), np.uint8),
        half,
    )
    assert patch(frame).tolist() == [[[124, 124, 124]]]  # sRGB of 0.8 times a quarter


class _Counts:
    """Draws with someone else and counts."""

    def __init__(self, renderer: FastRenderer) -> None:
        self.renderer, self.drawn = renderer, 0

    def frame(self, layout: Layout, shot: Shot, *, shade: bool = True) -> Frame:
        self.drawn += 1
        return self.renderer.frame(layout, shot, shade=shade)


def test_any_renderer_may_draw(renderer: FastRenderer) -> None:
    counts = _Counts(renderer)
    canonical_views([CUBE, MUG], count=2, size=4, renderer=counts)
    assert counts.drawn == 4
    assert canonical_views([], count=2, renderer=counts).shape == (0, 2, SIZE, SIZE, 3)


@pytest.mark.parametrize(
    ("thing", "options", "problem"),
    [
        (("cubus", "red", "metal"), {}, "unknown shape 'cubus', did you mean 'cube'"),
        (("cube:huge", "red", "metal"), {}, "unknown size 'huge'"),
        (("cube", "puce", "metal"), {}, "unknown colour 'puce'; there are gray, red"),
        (("cube", "red", "wood"), {}, "unknown material 'wood'; there are rubber, metal"),
        (CUBE, {"count": 0}, "count of canonical views must be at least 1, not 0"),
        (CUBE, {"size": 0}, "size of canonical views must be at least 1, not 0"),
        (CUBE, {"world": "geospa/trian"}, "did you mean"),
    ],
)
def test_what_cannot_be_drawn(thing: Identity, options: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        canonical_views([thing], **{"count": 1, **options})  # type: ignore[arg-type]


def test_a_camera_that_is_too_close() -> None:
    near = replace(WORLD, cameras=(replace(WORLD.cameras[0], position=(0.1, 0.0, 0.1), jitter=0.0),))
    with pytest.raises(DataError, match=r"too close .*found 'teapot:large'"):
        list(canonical_layouts(TEAPOT, near, count=1))


def test_names_are_made_full() -> None:
    assert identity(("cube", "red", "metal")) == ("cube:medium", "red", "metal")
    assert identity(Placed("mug", "red", "metal", (0.0, 0.0, 0.0), 0.0)) == ("mug:medium", "red", "metal")
