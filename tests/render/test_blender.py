"""Cycles renders what a layout says: checked against rays cast one by one and light summed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import fast_layouts  # noqa: F401 - it registers painted shapes
import numpy as np
import pytest
from blender_layouts import SIZE, made_layout, shot

from reference.ray_casting import cast
from sightline.render.blender import BlenderRenderer, status
from sightline.render.blender.jobs import BlenderSettings
from sightline.render.blender.process import render
from sightline.render.fast import FastRenderer
from sightline.worlds import arrange, load_world
from sightline.worlds.layout import Layout, Light, Placed
from sightline.worlds.looks import LINEAR
from sightline.worlds.shapes import solid

pytestmark = pytest.mark.blender


@pytest.fixture(scope="module")
def place() -> Path:
    found = status()
    if found.problem:
        pytest.skip(found.problem)
    return found.folder


def test_passes_are_what_rays_hit(place: Path) -> None:
    layout = made_layout()
    for view, seen in zip(
        layout.shots, BlenderRenderer(environment=place).passes(layout, amodal=True), strict=True
    ):
        ids, depth, normals = cast(layout, view)
        same = ids == seen.ids
        assert seen.view == view.name
        assert (~same).sum() <= 1
        np.testing.assert_allclose(seen.depth[same], depth[same], atol=5e-4)
        # Where faces meet, the edge's pixel may fall to either face.
        assert (np.abs(seen.normals - normals).max(axis=-1)[same] > 6e-3).sum() <= 3
        assert seen.amodal is not None
        for i in range(len(layout.objects)):
            alone, _, _ = cast(replace(layout, objects=layout.objects[i : i + 1]), view)
            assert ((alone == 1) != seen.amodal[i]).sum() <= 1


@pytest.mark.long
def test_painted_and_open_things(place: Path) -> None:
    """Open surfaces from both sides, and panes as what is nearest; each part in its own colour."""
    things = (
        Placed("open_box", "red", "rubber", (0.8, -0.6, 0.0), 0.4),
        Placed("painted_mug", "blue", "rubber", (-1.0, 1.0, 0.0), 2.0),
        Placed("sign", "blue", "rubber", (-0.8, -1.4, 0.0), 0.5),
    )
    layout = replace(made_layout(), objects=things, shots=(shot("near", (5.0, -4.5, 4.0), focal=50.0),))
    [seen] = BlenderRenderer(environment=place).passes(layout)
    ids, _, normals = cast(layout, layout.shots[0])
    same = ids == seen.ids
    assert (~same).sum() <= 1
    assert (np.abs(seen.normals - normals).max(axis=-1)[same] > 6e-3).sum() <= 3
    light, [fast] = _seen(layout, place, 16), FastRenderer().frames(layout)
    assert fast.image is not None
    shown = LINEAR[fast.image]
    for i in range(1, 4):
        mine = fast.ids == i
        drawn, expected = shown[mine].mean(axis=0), light[mine].mean(axis=0)
        assert drawn / drawn.sum() == pytest.approx(expected / expected.sum(), abs=0.1), i


def test_shapes_of_ones_own(place: Path) -> None:
    layout = made_layout()
    view = layout.shots[0]
    own = replace(layout, objects=tuple(replace(placed, shape="mine") for placed in layout.objects))
    [seen] = BlenderRenderer(environment=place, solid=lambda _: solid("cylinder:small")).passes(own, [view.name])
    cylinders = replace(layout, objects=tuple(replace(p, shape="cylinder:small") for p in layout.objects))
    assert (seen.ids != cast(cylinders, view)[0]).sum() <= 1


def test_nothing_hit_is_nan(place: Path) -> None:
    level = shot("level", (0.0, -10.0, 0.5), size=(40, 40))
    [seen] = BlenderRenderer(environment=place).passes(replace(made_layout(), objects=(), shots=(level,)))
    assert np.isnan(seen.depth[:10]).all()
    assert not seen.normals[:10].any()
    assert np.isfinite(seen.depth[-10:]).all()


def _seen(layout: Layout, place: Path, samples: int = 64) -> np.ndarray:
    settings = BlenderSettings(samples, denoise=False)
    [found] = render([(layout, layout.shots[:1])], settings, folder=place)
    return found["light"]


def test_ambient_light_is_radiance(place: Path) -> None:
    layout = replace(made_layout(), objects=(), lights=(), table=(0.8, 0.4, 0.2), ambient=(0.5, 0.5, 0.25))
    np.testing.assert_allclose(_seen(layout, place).mean(axis=(0, 1)), (0.4, 0.2, 0.05), rtol=0.02)


def test_a_light_has_the_radiance_its_power_says(place: Path) -> None:
    light = Light("key", (0.5, 0.0, 2.0), 0.5, 20.0, (0.5, 0.0, 0.0), (1.0, 0.5, 1.0))
    view = shot("top", (0.0, 0.0, 13.0), focal=200.0)
    layout = replace(
        made_layout(), objects=(), lights=(light,), shots=(view,), table=(0.8,) * 3, ambient=(0.0,) * 3
    )
    grid = (np.arange(50) + 0.5) / 50 * 0.5 - 0.25
    dx, dy = np.meshgrid(grid + 0.5, grid)  # from the point under the camera to each patch of the light
    squared = dx**2 + dy**2 + 4.0
    radiance = 20.0 / (np.pi * 0.5**2)
    expected = 0.8 / np.pi * (radiance * (2.0**2 / squared) / squared).sum() * (0.5 / 50) ** 2
    middle = _seen(layout, place)[36:44, 56:64].mean(axis=(0, 1))
    np.testing.assert_allclose(middle, (expected, expected / 2, expected), rtol=0.02)


@pytest.mark.long
def test_a_picture_depends_on_nothing_but_its_layout(place: Path) -> None:
    layout = made_layout()
    other = replace(layout.without(1), ambient=(0.3, 0.1, 0.1))
    small = [shot("small", (7.0, -7.0, 10.0), size=(60, 40))]
    both = list(render([(other, small), (layout, small)], BlenderSettings(4, threads=2), folder=place))
    alone = list(render([(layout, small)], BlenderSettings(4, threads=1), folder=place))
    np.testing.assert_array_equal(both[1]["light"], alone[0]["light"])
    assert (both[0]["light"] != alone[0]["light"]).any()


@pytest.mark.long
def test_frames_join_both_back_ends(place: Path) -> None:
    layout = made_layout()
    told: list[tuple[int, int]] = []
    renderer = BlenderRenderer(samples=2, environment=place)
    [frames, _] = renderer.stream([layout, layout.without(0)], progress=lambda *at: told.append(at))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    for frame, seen in zip(frames, renderer.passes(layout), strict=True):
        assert frame.image is not None
        assert frame.image.shape == (SIZE[1], SIZE[0], 3)
        assert (frame.ids != seen.ids).sum() <= 1


@pytest.mark.long
def test_both_back_ends_show_the_same_ground_walls_and_sky(place: Path) -> None:
    street = replace(load_world("street"), resolution=(120, 80))
    layout = replace(arrange(street, 1, 3), objects=())
    view = layout.shots[0]
    [[cycles]] = BlenderRenderer(samples=64, environment=place).stream([layout], [view.name])
    fast = FastRenderer().frame(layout, view)
    assert fast.image is not None
    assert cycles.image is not None
    np.testing.assert_array_equal(cycles.stuff, fast.stuff)
    assert len(np.unique(fast.stuff)) == 5
    for number in np.unique(fast.stuff):
        off = (fast.image.astype(float) - cycles.image)[fast.stuff == number]
        assert 10 * np.log10(255**2 / np.mean(off**2)) > 32, layout.surroundings.classes[number - 1]
