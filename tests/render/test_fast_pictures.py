"""Whole pictures: the same every time, right where they can be reckoned, and exact without one object."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from fast_layouts import LIGHTS, PAINTED, layout_of, layouts, made_layout, shot, thing
from hypothesis import given, settings

from reference import light_oracle, ray_casting
from sightline import kernels
from sightline.errors import ConfigError, DataError
from sightline.render.fast import FastRenderer, Settings, bvh, jit, mirrors, raster, rays, shade
from sightline.render.fast.pack import MOST_OBJECTS
from sightline.render.fast.renderer import KEPT
from sightline.render.frames import Frame
from sightline.render.tones import RADIANCES
from sightline.worlds import arrange, load_world
from sightline.worlds.layout import Layout, Light, Shot
from sightline.worlds.looks import COLORS, linear

SMALL = (96, 64)
ARRAYS = ("image", "ids", "depth", "normals", "amodal", "mean_depth", "stuff")
RENDERER = FastRenderer()
"""One for all tests: what was drawn before must not matter."""


def picture(frame: Frame) -> np.ndarray:
    assert frame.image is not None
    return frame.image


def assert_same(one: Frame, other: Frame) -> None:
    """Bit for bit."""
    assert one.view == other.view
    for name in ARRAYS:
        a, b = getattr(one, name), getattr(other, name)
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), name


def resized(layout: Layout, size: tuple[int, int]) -> Layout:
    """The same views with fewer pixels."""
    shots = []
    for view in layout.shots:
        scale = np.diag((size[0] / view.size[0], size[1] / view.size[1], 1.0))
        k = (scale @ np.array(view.camera.k).reshape(3, 3)).ravel().tolist()
        shots.append(replace(view, camera=replace(view.camera, k=tuple(k)), size=size))
    return replace(layout, shots=tuple(shots))


@cache
def scene(preset: str, seed: int = 0, size: tuple[int, int] = SMALL) -> Layout:
    return resized(arrange(load_world(preset), seed, 0), size)


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    error = ((one.astype(float) - other) ** 2).mean()
    return float(10 * np.log10(255**2 / max(error, 1e-9)))


def light_of(image: np.ndarray) -> np.ndarray:
    """Radiance of a picture, by the inverse of the tone curve."""
    return RADIANCES[image]


def digest(frames: list[Frame]) -> str:
    return hashlib.sha256(b"".join(getattr(f, a).tobytes() for f in frames for a in ARRAYS)).hexdigest()


# The same every time


def test_the_same_whatever_was_drawn_before() -> None:
    layout = made_layout(SMALL)
    first = FastRenderer().frames(layout)
    used = FastRenderer()
    used.frames(scene("kitchen"), ["top", "original"])
    used.counterfactual(scene("geospa/train"), scene("geospa/train").shots[0], 0)
    turned = used.frames(layout, ["top", "original"])[::-1]
    again = used.frames(layout)
    for name, frames in (("after others", turned), ("kept", again)):
        assert digest(frames) == digest(first), name
    used.forget()
    assert digest(used.frames(layout)) == digest(first)
    [alone] = FastRenderer().frames(layout, ["top"])
    assert_same(alone, first[1])
    equal = replace(layout, objects=tuple(replace(o) for o in layout.objects))
    assert digest(FastRenderer().frames(equal)) == digest(first)


def test_solids_of_scenes_before_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds of many variants once ended after two million triangles."""
    first, second = (layout_of([thing(f"{name}:medium", 0.0, 0.0)]) for name in ("mug", "teapot"))
    monkeypatch.setattr("sightline.render.fast.pack.ROOM", 10)
    renderer = FastRenderer()
    before = renderer.frame(first, first.shots[0]).image
    renderer.frame(second, second.shots[0])
    assert renderer._pool.shapes == (second.objects[0].shape,)
    assert np.array_equal(renderer.frame(first, first.shots[0]).image, before)
    assert np.array_equal(before, FastRenderer().frame(first, first.shots[0]).image)
    renderer.know([second.objects[0].shape])  # what is known stays, however much
    renderer.frame(second, second.shots[0], shade=False)
    assert len(renderer._pool.shapes) == 2


def test_the_same_in_another_process() -> None:
    code = (
        "from test_fast_pictures import *;"
        "RENDERER.frames(scene('kitchen'), ['top']); print(digest(RENDERER.frames(made_layout(SMALL))))"
    )
    here = Path(__file__).parent
    path = f"import sys; sys.path[:0] = [{str(here)!r}, {str(here.parent)!r}];"
    done = subprocess.run([sys.executable, "-c", path + code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(RENDERER.frames(made_layout(SMALL)))


def test_compiled_code_goes_with_all_files() -> None:
    """Code kept on disk holds what it calls in other files: a change in any of them makes it stale."""
    for function in (rays.nearest, raster._raster, shade._light, bvh._build, mirrors.path):
        assert function._cache._cache_file._source_stamp == jit.STAMP
    files = [path for path in sorted(Path(jit.__file__).parent.iterdir()) if path.suffix == ".py"]
    text = b"".join(path.read_bytes() for path in (*files, Path(kernels.__file__)))
    assert hashlib.sha256(text).hexdigest() == jit.STAMP


def test_a_frame_may_be_drawn_on() -> None:
    """What is done to a frame afterwards does not come back in later ones."""
    layout, renderer = made_layout(), FastRenderer()
    before = digest(renderer.frames(layout))
    without = digest([renderer.counterfactual(layout, layout.shots[0], 2)])
    for frame in renderer.frames(layout):
        for name in ARRAYS:
            getattr(frame, name)[:] = 1
    assert digest(renderer.frames(layout)) == before
    assert digest([renderer.counterfactual(layout, layout.shots[0], 2)]) == without


# Counterfactuals


def check_counterfactuals(layout: Layout) -> None:
    """Every object in turn, every view, against a renderer that never saw it."""
    renderer = FastRenderer()
    for view in layout.shots:
        whole = renderer.frame(layout, view)
        for k in range(len(layout.objects)):
            found = renderer.counterfactual(layout, view, k)
            assert_same(found, RENDERER.frame(layout.without(k), view))
        n = len(layout.objects)
        for gone in {tuple(range(0, n, 2)), tuple(range(n))}:
            found = renderer.counterfactual(layout, view, *gone)
            assert_same(found, RENDERER.frame(layout.without(*gone), view))
        assert_same(renderer.frame(layout, view), whole)


@pytest.mark.parametrize(
    ("preset", "seed", "other"),
    [
        *product(("kitchen", "geospa/train", "context/train", "geospa/val_shape", "street", "room"), [1], ["top"]),
        *product(("kitchen", "geospa/train", "context/train", "geospa/val_shape"), [2], ["side_2"]),
    ],
)
def test_counterfactuals_of_presets(preset: str, seed: int, other: str) -> None:
    layout = scene(preset, seed)
    check_counterfactuals(replace(layout, shots=tuple(v for v in layout.shots if v.name in ("original", other))))


@settings(max_examples=4, deadline=None)
@given(layouts(most=3, shapes=PAINTED))
def test_counterfactuals_of_painted_things(layout: Layout) -> None:
    check_counterfactuals(layout)


@settings(max_examples=8, deadline=None)
@given(layouts(most=4))
def test_counterfactuals_of_anything(layout: Layout) -> None:
    """Also of objects that stand in each other, of mirrors in mirrors, against the horizon."""
    check_counterfactuals(layout)


def test_counterfactuals_touch_what_the_object_does() -> None:
    """Its shadow and its mirror image go with it, and nothing else changes."""
    layout = layout_of([thing("cube", 0.0, 0.0), thing("cylinder", 0.0, 1.5, metal=True), thing("mug", 0.0, -2.2)])
    whole, without = RENDERER.frame(layout, layout.shots[0]), RENDERER.counterfactual(layout, layout.shots[0], 0)
    changed = (picture(whole) != picture(without)).any(axis=2)
    assert (changed & (whole.ids == 0)).sum() > 20  # shadow
    assert (changed & (whole.ids == 2)).sum() > 10  # mirror image
    assert changed[whole.ids == 1].all()
    assert not changed[0].any()
    assert not changed[-1].any()


def test_counterfactuals_of_views_long_gone() -> None:
    layout, renderer = made_layout(), FastRenderer()
    first = renderer.counterfactual(layout, layout.shots[0], 3)
    for i in range(KEPT + 2):
        renderer.frame(replace(layout, index=i + 1), layout.shots[1])
    assert_same(renderer.counterfactual(layout, layout.shots[0], 3), first)


# What can be reckoned


def test_a_bare_table() -> None:
    """Lamps and sky over a matte plane, to within a step or two of 255."""
    layout = layout_of([], shot(focal=80.0), table=(0.5, 0.4, 0.3))
    frame = RENDERER.frame(layout, layout.shots[0])
    assert not frame.ids.any()
    assert frame.amodal.shape == (0, 40, 60)
    eye, rays = ray_casting.camera_rays(layout.shots[0])
    for y, x in ((20, 30), (2, 3), (37, 55)):
        point = eye + rays[y, x] * ray_casting.table_depth(layout.shots[0])[y, x]
        arriving = sum(light_oracle.irradiance(light, point, np.array((0.0, 0.0, 1.0))) for light in LIGHTS)
        radiance = np.array(layout.table) * (arriving / math.pi + layout.ambient)
        assert light_of(picture(frame)[y, x]) == pytest.approx(radiance, rel=0.03)


def test_sky_alone() -> None:
    """Without lamps a matte top has its colour times the sky's, a smooth metal too, and the sky is the sky."""
    things = [thing("cube", -1.0, 0.0, color="yellow"), thing("cube", 1.0, 0.0, color="yellow", metal=True)]
    sky = (0.7, 0.8, 0.9)
    level = shot((0.0, -8.0, 2.0), (0.0, 0.0, 1.8), focal=40.0)
    layout = layout_of(things, shot((0.0, -6.0, 6.0), size=SMALL), level, lights=(), ambient=sky)
    frame, over = (RENDERER.frame(layout, view) for view in layout.shots)
    light, albedo = light_of(picture(frame)), np.array(linear(COLORS["yellow"]))
    away = np.isnan(over.depth)
    assert away.any()
    assert np.abs(light_of(picture(over))[away] - sky).max() < 0.004
    # Away from edges, whose pixels are mixed.
    inner = np.zeros_like(frame.ids, bool)
    inner[1:-1, 1:-1] = True
    for axis in (0, 1):
        for step in (-1, 1):
            inner &= np.roll(frame.ids, step, axis) == frame.ids
            inner &= (np.roll(frame.normals, step, axis) == frame.normals).all(axis=2)
    tops = [inner & (frame.ids == i) & (frame.normals[..., 2] > 0.99) for i in (1, 2)]
    assert all(t.sum() > 5 for t in tops)
    coat = light[tops[0]].mean(axis=0) - albedo * sky  # mirrors a little of the sky and keeps that from the colour
    assert (coat[albedo < 0.5] > 0.0).all()
    assert np.abs(coat).max() < 0.025
    assert light[tops[1]].mean(axis=0) == pytest.approx(albedo * sky, abs=0.01)  # and a little of the edge term
    sides = inner & (frame.ids == 1) & (frame.normals[..., 2] < 0.01)
    assert sides.sum() > 5
    # Half sky, half a table of albedo 0.5 that its own shadow darkens.
    share = (light[sides].mean(axis=0) / (albedo * sky))[albedo > 0.5]  # the coat shows on dark colours
    assert ((share > 0.6) & (share < 0.75)).all()


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_light_goes_with_power(factor: float) -> None:
    """Twice the watts, twice the light, in every pixel that is neither dark nor full."""
    lights = tuple(replace(light, power=light.power / 6) for light in LIGHTS)
    layout = replace(made_layout(SMALL), lights=lights, ambient=(0.01, 0.01, 0.01))
    more = tuple(replace(light, power=light.power * factor) for light in lights)
    brighter = replace(layout, lights=more, ambient=(0.01 * factor,) * 3)
    one, other = (picture(RENDERER.frame(which, which.shots[0])) for which in (layout, brighter))
    good = (one > 40) & (other < 250)
    assert good.mean() > 0.5
    ratio = light_of(other)[good] / light_of(one)[good]
    assert np.median(ratio) == pytest.approx(factor, rel=0.01)
    assert (np.abs(ratio / factor - 1) < 0.06).mean() > 0.98


def test_colour_is_only_colour() -> None:
    layout = made_layout(SMALL)
    before = RENDERER.frame(layout, layout.shots[0])
    for k, color in ((2, "cyan"), (5, "gray")):
        objects = list(layout.objects)
        objects[k] = replace(objects[k], color=color)
        after = RENDERER.frame(replace(layout, objects=tuple(objects)), layout.shots[0])
        for name in ARRAYS[1:]:
            assert getattr(after, name).tobytes() == getattr(before, name).tobytes()
        mine = before.ids == k + 1
        assert (picture(after) != picture(before)).any(axis=2)[mine].all()
        goal, was = (np.array(linear(COLORS[c])) for c in (color, layout.objects[k].color))
        change = light_of(picture(after))[mine].mean(axis=0) - light_of(picture(before))[mine].mean(axis=0)
        assert (np.sign(change) == np.sign(goal - was)).all()


def test_a_shadow_falls_away_from_the_lamp() -> None:
    lamp = Light("lamp", (-4.0, 0.0, 4.0), 0.5, 300.0)
    layout = layout_of([thing("cube", 0.0, 0.0)], shot((0.0, 0.0, 13.0), focal=45.0, size=SMALL), lights=(lamp,))
    light = light_of(picture(RENDERER.frame(layout, layout.shots[0]))).mean(axis=2)
    row, middle = light[SMALL[1] // 2], SMALL[0] // 2
    step = 45.0 / 32.0 * SMALL[0] / 13.0  # pixels a metre on the table
    behind, before = row[int(middle + 0.75 * step)], row[int(middle - 0.75 * step)]
    assert behind < 0.2 * before
    assert row[int(middle + 3.5 * step)] > 3 * behind


# Edges


def test_edges_mix_the_two_sides() -> None:
    """No colour comes in that is not beside the pixel; off the edges nothing changes."""
    made, renderer = made_layout(SMALL), FastRenderer()
    # Bent metal is looked at anew on its edges, so it may bring a highlight in.
    layout = replace(made, objects=tuple(replace(o, material="rubber") for o in made.objects))
    for view in layout.shots:
        renderer.frame(layout, view)
        worked = renderer._worked[layout, view]
        colour, final, ids = worked.state.colour, worked.state.final, worked.seen.ids
        around = np.stack(
            [
                np.roll(np.pad(colour, ((1, 1), (1, 1), (0, 0)), "edge"), (dy, dx), (0, 1))[1:-1, 1:-1]
                for dy in (-1, 0, 1)
                for dx in (-1, 0, 1)
            ]
        )
        assert (final <= around.max(axis=0) * (1 + 1e-5) + 1e-6).all()
        assert (final >= around.min(axis=0) * (1 - 1e-5) - 1e-6).all()
        mixed = (final != colour).any(axis=2)
        border = np.zeros_like(mixed)
        border[:, 1:] |= ids[:, 1:] != ids[:, :-1]
        border[:, :-1] |= ids[:, 1:] != ids[:, :-1]
        assert mixed[border].mean() > 0.5
        far = (ids == 0) & ~border
        far[1:] &= ids[:-1] == 0
        far[:-1] &= ids[1:] == 0
        assert not mixed[far].any()


def test_edges_are_covered_as_in_a_finer_picture() -> None:
    layout = made_layout((72, 48))
    fine = resized(layout, (288, 192))
    for view, finer in zip(layout.shots, fine.shots, strict=True):
        renderer = FastRenderer()
        small, big = renderer.frame(layout, view), light_of(picture(renderer.frame(fine, finer)))
        truth = big.reshape(48, 4, 72, 4, 3).mean(axis=(1, 3))
        bare = np.clip(renderer._worked[layout, view].state.colour, 0, 1)
        edges = np.ptp(fine_ids := renderer.frame(fine, finer).ids.reshape(48, 4, 72, 4), axis=(1, 3)) > 0
        assert fine_ids.max() == 6
        assert edges.mean() > 0.02
        smooth, rough = (np.abs(x - truth)[edges].mean() for x in (light_of(picture(small)), bare))
        assert smooth < 0.75 * rough


def test_light_between_two_things_is_not_taken_for_shade() -> None:
    """They hide all corners of a lamp from the table between them, yet not its middle."""
    layout = arrange(load_world("context/reversed"), 411, 2)
    view = next(view for view in layout.shots if view.name == "side_3")
    frame, between = RENDERER.frame(layout, view), np.s_[228:252, 192:216]
    full = FastRenderer(Settings(shadow_first=Settings().shadow_most)).frame(layout, view)
    ground = frame.ids[between] == 0
    assert ground.sum() > 150
    unlike = np.abs(picture(frame)[between].astype(int) - picture(full)[between])[ground]
    assert unlike.sum(axis=1).max() < 20


def test_a_rim_passes_into_the_floor_behind_it() -> None:
    """Both are level and of one part, so depth alone tells them apart; they mix as in a finer picture."""
    view = shot((0.0, -5.0, 7.0), (0.0, 0.0, 0.5), size=(144, 96))
    layout = layout_of([thing("cube_container", 0.0, 0.0, yaw=0.1)], view)
    fine, renderer = resized(layout, (576, 384)), FastRenderer()
    small, finer = renderer.frame(layout, view), renderer.frame(fine, fine.shots[0])
    light, normals, depth = (
        a.reshape(96, 4, 144, 4, -1) for a in (light_of(picture(finer)), finer.normals, finer.depth)
    )
    level = (normals[..., 2] > 0.99).all(axis=(1, 3))
    borders = level & (np.ptp(depth[..., 0], axis=(1, 3)) > 0.3) & (small.ids == 1)
    assert borders.sum() > 40
    truth, bare = light.mean(axis=(1, 3)), np.clip(renderer._worked[layout, view].state.colour, 0, 1)
    smooth, rough = (np.abs(x - truth)[borders].mean() for x in (light_of(picture(small)), bare))
    assert smooth < 0.25 * rough  # 0.35 where only the distance in the picture counts


# Settings


@cache
def by_default(preset: str, size: tuple[int, int]) -> np.ndarray:
    layout = scene(preset, 0, size)
    return picture(RENDERER.frame(layout, layout.shots[0]))


def test_no_dots_in_mirrors() -> None:
    """Where a dark thing is mirrored in a bright one no pixel is much darker than those on both sides of it."""
    layout = arrange(load_world("geospa/train"), 1234, 8)
    light = picture(RENDERER.frame(layout, layout.shots[0])).astype(float).sum(axis=2)
    middle = light[164:186, 172:186]
    darker = np.full(middle.shape, np.inf)
    for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
        one, other = (light[164 + v : 186 + v, 172 + u : 186 + u] for v, u in ((dy, dx), (-dy, -dx)))
        darker = np.minimum(darker, np.minimum(one, other) - middle)
    assert darker.max() < 8


def test_no_dots_along_a_round_foot() -> None:
    """The sliver of dark ground under a rounded foot does not stand for all the ground of its pixel."""
    layout = arrange(load_world("kitchen"), 1234, 10)
    frame = RENDERER.frame(layout, layout.shots[0])
    foot = np.s_[128:142, 205:245]
    ground = picture(frame)[foot][frame.ids[foot] == 0].astype(int).sum(axis=1)
    assert ground.min() > 240


def test_a_wall_passes_into_the_ground() -> None:
    """Their border is as soft as any edge, though the wall is much darker than grass beside it."""
    layout = arrange(load_world("context/street/train"), 301, 6)
    row = picture(RENDERER.frame(layout, layout.shots[0]))[85, 20:45, 1].astype(int)
    assert row[0] < 85
    assert row[-1] > 125
    assert np.diff(row).max() < 25


@pytest.mark.parametrize(
    "changed",
    [
        {"lattice": 1},  # light in every pixel
        {"lattice": 2},
        {"lattice": 8},
        {"mirror_rays": 1},  # as few rays as there can be, one kind at a time
        {"mirror_depth": 1},
        {"dome": 1},
        {"table_dome": 1},
        {"edge_samples": 1},
        {"edge_samples": 31},
        {"shadow_first": 1, "shadow_most": 1},
        {"table_first": 1, "table_most": 1},
        {"glint_rays": 1, "glint_side": 1},
        {"map_cells": 2},
        {"map_cells": 108, "map_half": 9.0},  # further out
        {"tolerance": 0.0},
        {"shadow_first": 32, "shadow_most": 64, "dome": 128, "mirror_rays": 8, "glint_side": 8},  # many
    ],
)
def test_settings_run_and_stay_close(changed: dict[str, float]) -> None:
    for preset in ("kitchen", "geospa/train"):
        layout = scene(preset)
        image = picture(FastRenderer(Settings(**changed)).frame(layout, layout.shots[0]))  # type: ignore[arg-type]
        assert psnr(image, by_default(preset, SMALL)) > 30.0


@pytest.mark.parametrize("preset", ["kitchen", "geospa/val_shape", "context/train"])
def test_the_lattice_costs_little(preset: str) -> None:
    """Light between lattice points is as good as worked out."""
    size = (240, 160)
    layout = scene(preset, 0, size)
    thorough = picture(FastRenderer(Settings(lattice=1)).frame(layout, layout.shots[0]))
    assert psnr(thorough, by_default(preset, size)) > 38.0


# Errors


@pytest.mark.parametrize("samples", [0, 32])
def test_samples_that_cannot_be(samples: int) -> None:
    with pytest.raises(ConfigError, match=f"edge_samples: expected 1 to 31, found {samples}"):
        Settings(edge_samples=samples)


def test_views_by_name() -> None:
    layout = made_layout()
    with pytest.raises(ConfigError, match="unknown view 'side': the world has original, top"):
        RENDERER.frames(layout, ["original", "side"])
    assert [f.view for f in RENDERER.frames(layout, ["top", "original", "top"], shade=False)] == [
        "top",
        "original",
        "top",
    ]
    assert RENDERER.frames(layout, []) == []


def test_too_many_objects() -> None:
    def row(n: int) -> Layout:
        return layout_of([thing("cube:small", 0.5 * (i % 8) - 2, 0.5 * (i // 8) - 2) for i in range(n)])

    layout = row(MOST_OBJECTS)
    check = RENDERER.frame(layout, layout.shots[0])
    assert check.amodal.any(axis=(1, 2)).all()
    for k in (0, 31, 32, MOST_OBJECTS - 1):
        found = RENDERER.counterfactual(layout, layout.shots[0], k)
        assert_same(found, FastRenderer().frame(layout.without(k), layout.shots[0]))
    with pytest.raises(
        DataError, match=rf"too many objects for one picture \(expected at most {MOST_OBJECTS}, found 63\)"
    ):
        RENDERER.frame(row(63), layout.shots[0])


@pytest.mark.parametrize("shade", [True, False])
@pytest.mark.parametrize(
    ("view", "problem"),
    [
        (
            shot((0.0, 0.0, 0.03), (5.0, 0.0, 0.4)),
            "row original: camera inside an object .*0, cube_container",
        ),  # its floor
        (shot((0.48, 0.0, 0.5), (5.0, 0.0, 0.4)), "inside an object"),  # within its wall
        (shot((5.0, 0.0, -0.1), (0.0, 0.0, 0.4)), r"row original: camera under the table \(expected z > 0"),
        (shot((5.0, 0.0, 0.0), (0.0, 0.0, 0.0)), "under the table"),  # level with it
        (shot((0.0, 0.0, 0.6), (5.0, 0.0, 0.4)), None),  # within the cavity: air
        (shot((0.51, 0.0, 0.5), (5.0, 0.0, 0.4)), None),  # just outside the wall
    ],
)
def test_where_a_camera_may_stand(view: Shot, problem: str | None, shade: bool) -> None:
    layout = layout_of([thing("cube_container", 0.0, 0.0)], view)
    if problem is None:
        RENDERER.frame(layout, layout.shots[0], shade=shade)
        return
    with pytest.raises(DataError, match=problem):
        RENDERER.frame(layout, layout.shots[0], shade=shade)


@pytest.mark.parametrize("index", [-1, 6])
def test_only_objects_can_be_taken_away(index: int) -> None:
    layout = made_layout()
    with pytest.raises(DataError, match=rf"no such object to take away \(expected 0 … 5, found {index}\)"):
        RENDERER.counterfactual(layout, layout.shots[0], index)


def test_the_last_object_can_be_taken_away() -> None:
    layout = layout_of([thing("mug", 0.0, 0.0)])
    found = RENDERER.counterfactual(layout, layout.shots[0], 0)
    assert_same(found, FastRenderer().frame(layout_of([]), layout.shots[0]))
