"""Ids, depth, normals and amodal masks against casting every ray at every triangle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fast_layouts import PAINTED, layout_of, layouts, made_layout, shot, thing, things
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import ray_casting
from sightline.render.fast import FastRenderer
from sightline.render.fast import columns as col
from sightline.render.fast.environment import environment
from sightline.render.fast.pack import Eye, Pool
from sightline.render.fast.pack import eye as eye_of
from sightline.render.fast.raster import Surfaces, raster
from sightline.render.frames import Frame
from sightline.worlds.layout import Layout, Placed, Shot
from sightline.worlds.shapes import solid
from sightline.worlds.solids import Solid

CLOSE = 1e-6
"""Metres: poses are kept in float32, so a ray this near an edge may pass on either side of it."""

RENDERER = FastRenderer()
"""One for all tests: what was drawn before must not matter."""


def drawn(layout: Layout) -> tuple[Frame, Shot]:
    [frame] = RENDERER.frames(layout, shade=False)
    return frame, layout.shots[0]


def on_edges(layout: Layout, shot: Shot, pixels: np.ndarray) -> bool:
    """Whether the ray of every one of these pixels (H, W) passes within CLOSE of some edge."""
    eye, rays = ray_casting.camera_rays(shot)
    meshes = [ray_casting.corners(o) for o in layout.objects]
    return all(min(ray_casting.edge_distance(m, eye, ray) for m in meshes) < CLOSE for ray in rays[pixels])


def check(layout: Layout) -> Frame:
    """Everything in a frame against the reference."""
    frame, shot = drawn(layout)
    front, table = ray_casting.fronts(layout, shot), ray_casting.table_depth(shot)
    surfaces = np.concatenate((table[None], front.depth))
    lean = np.concatenate((np.ones((1, *table.shape)), front.lean))
    ids, depth, normals = ray_casting.seen(front, table)
    amodal = np.isfinite(front.depth)
    for i in range(len(layout.objects)):
        assert on_edges(layout, shot, frame.amodal[i] != amodal[i])
        both = frame.amodal[i] & amodal[i]
        if np.array_equal(frame.amodal[i], amodal[i]) and both.any():
            assert frame.mean_depth[i] == pytest.approx(front.depth[i][both].mean(), rel=1e-5)
        assert np.isnan(frame.mean_depth[i]) == (not frame.amodal[i].any())
    # Two surfaces may share a place: then either may be shown.
    own = np.take_along_axis(surfaces, frame.ids[None], axis=0)[0]
    slack = 2e-6 * (1 + depth) / np.maximum(np.take_along_axis(lean, frame.ids[None], axis=0)[0], 1e-3)
    sky = np.isinf(depth)
    assert np.array_equal(frame.ids[sky], ids[sky])
    assert np.isnan(frame.depth[sky]).all()
    with np.errstate(invalid="ignore"):
        assert on_edges(layout, shot, ~sky & ~(own <= depth + slack))
        assert on_edges(layout, shot, ~sky & ~(np.abs(frame.depth - depth) <= slack))
    same = frame.ids == ids
    turned = same & (np.abs(frame.normals - normals).max(axis=2) > 1e-3)
    assert on_edges(layout, shot, turned)
    return frame


@settings(max_examples=40, deadline=None)
@given(layouts())
def test_frames_against_ray_casting(layout: Layout) -> None:
    frame = check(layout)
    assert (frame.ids.dtype, frame.depth.dtype, frame.normals.dtype, frame.amodal.dtype) == (
        np.int32,
        np.float32,
        np.float32,
        np.bool_,
    )
    for i, amodal in enumerate(frame.amodal):
        assert not (frame.ids == i + 1)[~amodal].any()  # what is seen of an object is part of it
    assert set(np.unique(frame.ids)) <= set(range(len(layout.objects) + 1))
    table = ray_casting.table_depth(layout.shots[0])
    inside = np.isfinite(table)
    assert (frame.depth[inside] <= table[inside] * (1 + 1e-6)).all()
    lengths = np.linalg.norm(frame.normals, axis=2)
    assert np.allclose(lengths[~np.isnan(frame.depth)], 1.0, atol=1e-5)
    assert not lengths[np.isnan(frame.depth)].any()


@settings(max_examples=25, deadline=None)
@given(layouts(shapes=PAINTED))
def test_painted_and_open_things_against_ray_casting(layout: Layout) -> None:
    check(layout)


@pytest.mark.parametrize("name", PAINTED)
@pytest.mark.parametrize("height", [0.3, 4.0])
def test_painted_parts_sum_to_the_solid(name: str, height: float) -> None:
    """Each part drawn alone, as the sheet it is: the nearest of them is what the whole shows, part by part."""
    whole = solid(name)
    view = eye_of(shot((3.0, -2.0, height), (0.0, 0.0, 0.3), focal=60.0))
    parts = [
        replace(whole, name=f"{i}", faces=whole.faces[whole.paint == i], normals=whole.normals[whole.paint == i],
                paint=whole.paint[whole.paint == i], closed=False)
        for i in range(len(whole.slots))
    ]  # fmt: skip
    assert sum(len(part.faces) for part in parts) == len(whole.faces)
    drawn = [seen_alone(made, view) for made in (whole, *parts)]
    depth = np.stack([np.where(s.ids > 0, s.depth, np.inf) for s in drawn])
    assert np.array_equal(depth[0], depth[1:].min(axis=0))
    assert np.array_equal(drawn[0].amodal[0], np.any([s.amodal[0] for s in drawn[1:]], axis=0))
    shown = drawn[0].ids > 0
    assert np.array_equal(depth[1:].argmin(axis=0)[shown], drawn[0].parts[shown] - col.SLOTS)
    assert len(np.unique(drawn[0].parts)) >= (3 if name == "sign" else 4)


def seen_alone(made: Solid, view: Eye) -> Surfaces:
    pool = Pool(lambda _: made)
    layout = layout_of([thing(made.name, 0.0, 0.0)])
    bodies = pool.bodies(layout)
    return raster(pool.meshes, bodies, view, (96, 64), environment(layout, 6.0))


BIG = thing("rectangle:large", 0.0, 0.0, yaw=0.4)
CASES = [
    (shot((1.2, -1.3, 0.4), (0.0, 0.0, 0.4)), [BIG]),  # close to a big object: its corners lie behind the camera
    (shot((0.0, -0.95, 0.8), (2.0, -0.9, 0.5), focal=18.0), [BIG]),  # along its side
    (shot((0.0, 0.0, 1.6), (0.5, 0.2, 0.0), focal=18.0), [BIG]),  # just above its top
    (shot((2.0, 2.0, 0.3), (6.0, 6.0, 0.2)), [BIG]),  # it stands behind the camera
    (shot((2.0, 2.0, 0.3), (6.0, 6.0, 0.2)), [BIG, thing("mug", 5.0, 5.0)]),  # one behind, one before
    (shot((9.0, 0.0, 3.0), (0.0, 3.2, 0.0)), [BIG]),  # half outside the image
    (shot((9.0, 0.0, 3.0), (0.0, 30.0, 0.0)), [BIG]),  # outside, in front of the camera
    (shot((9.0, 0.0, 3.0), (12.0, 0.0, 9.0)), [BIG]),  # nothing but sky
    (shot((9.0, 0.0, 0.5), (0.0, 0.0, 1.5)), [BIG]),  # against the horizon
    (shot((9.0, 0.0, 0.5), (0.0, 0.0, 6.0)), [BIG, thing("cube", 2.0, 0.0, 3.0)]),  # up, at one in the air
    (shot((0.0, 0.0, 13.0), focal=35.0), [BIG, thing("donut", 0.0, 0.0, 1.5)]),  # straight down
    (shot(), []),  # nothing
    (shot(), [thing("cube", 0.0, 0.0), thing("cube", 0.0, 0.0)]),  # two in one place
    (shot(size=(1, 1)), [BIG]),  # one pixel
    (shot(size=(1, 17)), [BIG]),  # one column
    (shot(size=(31, 1)), [BIG]),  # one row
    (shot(size=(23, 47), aspect=1.5), [BIG, thing("teapot", 1.0, -2.0)]),  # upright, pixels that are not square
]


@pytest.mark.parametrize(("view", "objects"), CASES)
def test_views_that_go_wrong_easily(view: Shot, objects: list[Placed]) -> None:
    frame = check(layout_of(objects, view))
    width, height = view.size
    assert frame.ids.shape == frame.depth.shape == (height, width)
    assert frame.normals.shape == (height, width, 3)
    assert frame.amodal.shape == (len(objects), height, width)


def test_what_the_cases_show() -> None:
    """The cases above are what they say."""
    frames = [drawn(layout_of(objects, view))[0] for view, objects in CASES]
    shares = [[float(a.mean()) for a in f.amodal] for f in frames]
    assert shares[0][0] > 0.5  # close
    assert shares[3] == [0.0]
    assert np.isnan(frames[3].mean_depth).all()
    assert shares[4][0] == 0.0
    assert shares[4][1] > 0.01
    assert frames[5].amodal[0][:, 0].any() != frames[5].amodal[0][:, -1].any()  # cut by one side
    assert shares[6] == [0.0]
    assert not np.isnan(frames[6].depth).all()
    assert np.isnan(frames[7].depth).all()
    assert not frames[7].normals.any()
    assert 0.2 < np.isnan(frames[8].depth).mean() < 0.8
    assert shares[8][0] > 0
    assert shares[9][1] > 0
    assert np.isnan(frames[9].depth).any()


@settings(max_examples=25, deadline=None)
@given(layouts(most=4), things())
def test_an_amodal_mask_is_the_object_alone(layout: Layout, more: Placed) -> None:
    """Nothing that comes in changes what is known of the others, nor what they hide of each other."""
    before, _ = drawn(layout)
    after, _ = drawn(replace(layout, objects=(*layout.objects, more)))
    assert np.array_equal(after.amodal[:-1], before.amodal)
    assert np.array_equal(after.mean_depth[:-1], before.mean_depth, equal_nan=True)
    alone, _ = drawn(replace(layout, objects=(more,)))
    assert np.array_equal(after.amodal[-1:], alone.amodal)
    assert np.array_equal(after.mean_depth[-1:], alone.mean_depth, equal_nan=True)
    elsewhere = after.ids != len(after.amodal)
    assert np.array_equal(after.ids[elsewhere], before.ids[elsewhere])
    assert np.array_equal(after.depth[elsewhere], before.depth[elsewhere], equal_nan=True)
    assert np.array_equal(after.normals[elsewhere], before.normals[elsewhere])


@settings(max_examples=15, deadline=None)
@given(layouts(most=4), st.randoms(use_true_random=False))
def test_the_order_of_objects_is_only_a_name(layout: Layout, random: object) -> None:
    order = list(range(len(layout.objects)))
    random.shuffle(order)  # type: ignore[attr-defined]
    before, _ = drawn(layout)
    after, _ = drawn(replace(layout, objects=tuple(layout.objects[i] for i in order)))
    assert np.array_equal(after.amodal, before.amodal[order])
    assert np.array_equal(after.depth, before.depth, equal_nan=True)
    names = np.array([0, *(i + 1 for i in order)])
    apart = names[after.ids] != before.ids
    # Only where two objects share a surface does the first of them win.
    front = ray_casting.fronts(layout, layout.shots[0]).depth
    tied = (np.abs(front - before.depth) < 1e-5 * (1 + before.depth)).sum(axis=0) > 1
    assert tied[apart].all()


def test_shaded_and_bare_frames_agree() -> None:
    layout = made_layout()
    for bare, shaded in zip(RENDERER.frames(layout, shade=False), RENDERER.frames(layout), strict=True):
        assert bare.image is None
        assert shaded.image is not None
        for name in ("ids", "depth", "normals", "amodal", "mean_depth"):
            assert np.array_equal(getattr(bare, name), getattr(shaded, name), equal_nan=name != "ids")
