"""Convex polygons against shapely."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from shapely import Point, Polygon

from sightline.geometry import footprints

Floats = NDArray[np.float64]

SQUARE = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
DIAMOND = np.array([(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)])

steps = st.integers(-20, 20).map(lambda i: i / 8.0)
numbers = st.floats(-2.0, 2.0)


@st.composite
def polygons(draw: st.DrawFn) -> Floats:
    """Corners of a regular polygon, stretched, turned and moved; counter-clockwise."""
    n = draw(st.integers(3, 12))
    a, b = draw(st.floats(0.2, 2.0)), draw(st.floats(0.2, 2.0))
    turns = 2.0 * math.pi * (np.arange(n) + draw(st.floats(0.0, 1.0))) / n
    local = np.column_stack((a * np.cos(turns), b * np.sin(turns)))
    out = np.empty_like(local)
    assert footprints.turned(local, draw(st.floats(0.0, 7.0)), draw(numbers), draw(numbers), out) == n
    return out


def written(n: int, buffer: Floats) -> Polygon:
    return Polygon(buffer[:n]) if n > 2 else Polygon()


@settings(deadline=None)
@given(st.lists(st.tuples(steps, steps), min_size=1, max_size=12))
def test_hull_is_shapely_s(points: list[tuple[float, float]]) -> None:
    ours = footprints.hull(points)
    theirs = shapely.convex_hull(shapely.MultiPoint(points))
    assert footprints.area(ours) == pytest.approx(theirs.area)
    assert len(ours) == len(shapely.get_coordinates(theirs)) - (theirs.geom_type == "Polygon")


@settings(deadline=None)
@given(polygons())
def test_sides_are_unit_normals_with_the_polygon_behind(p: Floats) -> None:
    sides = footprints.sides(p)
    np.testing.assert_allclose(np.hypot(sides[:, 0], sides[:, 1]), 1.0)
    along = sides[:, :2] @ p.T
    np.testing.assert_allclose(along.max(axis=1), sides[:, 2], atol=1e-12)
    for i, row in enumerate(sides):
        assert footprints.reach(p, len(p), row[0], row[1]) == pytest.approx(along[i].max(), abs=1e-12)


@settings(deadline=None)
@given(polygons(), polygons(), st.floats(0.0, 1.0))
def test_clear_is_a_distance(a: Floats, b: Floats, gap: float) -> None:
    distance = Polygon(a).distance(Polygon(b))
    assume(abs(distance - gap) > 1e-9)
    touching = distance == 0.0
    assert footprints.clear(a, len(a), b, len(b), gap) == (not touching and distance >= gap)


def test_corner_to_corner_distance_is_not_that_of_an_edge() -> None:
    # 0.113 apart across the corners, 0.08 along each axis
    assert footprints.clear(SQUARE, 4, SQUARE + 2.08, 4, 0.1)
    assert not footprints.clear(SQUARE, 4, SQUARE + 2.06, 4, 0.1)


@settings(deadline=None)
@given(polygons(), polygons(), st.floats(0.0, 0.3))
def test_within_leaves_the_clearance(a: Floats, b: Floats, clearance: float) -> None:
    b = b * 2.0
    outer = Polygon(b)
    corners = [Point(corner) for corner in a]
    depth = min(outer.exterior.distance(c) if outer.contains(c) else -outer.distance(c) for c in corners)
    assume(abs(depth - clearance) > 1e-7)
    assert footprints.within(a, len(a), b, len(b), clearance) == (depth >= clearance)


@settings(deadline=None)
@given(polygons(), polygons())
def test_overlap_is_the_intersection(a: Floats, b: Floats) -> None:
    out, spare = np.empty((24, 2)), np.empty((24, 2))
    n = footprints.overlap(a, len(a), footprints.sides(b), out, spare)
    assert written(n, out).area == pytest.approx((Polygon(a) & Polygon(b)).area, abs=1e-7)


@settings(deadline=None)
@given(polygons())
def test_half_planes_of_a_polygon_make_it_again(p: Floats) -> None:
    made = footprints.halfplanes(footprints.sides(p))
    assert Polygon(made).symmetric_difference(Polygon(p)).area < 1e-9


@settings(deadline=None)
@given(polygons(), polygons())
def test_half_planes_leave_no_shift_out(outer: Floats, inner: Floats) -> None:
    limits = footprints.sides(outer)
    limits[:, 2] -= (limits[:, :2] @ inner.T).max(axis=1)
    found = footprints.halfplanes(limits)
    for shift in (np.stack(np.meshgrid(*[np.linspace(-4.0, 4.0, 9)] * 2), axis=2)).reshape(-1, 2):
        room = (limits[:, 2] - limits[:, :2] @ shift).min()
        if room > 1e-9:  # a tie may be lost to rounding
            assert shapely.MultiPoint(found).convex_hull.distance(Point(shift)) < 1e-9
    for corner in found:
        assert footprints.within(inner + corner, len(inner), outer, len(outer), -1e-9)


def test_half_planes_with_nearly_parallel_edges() -> None:
    needle = np.array([(0.0, 0.0), (100.0, -0.01), (100.0, 0.01)])
    assert footprints.area(footprints.halfplanes(footprints.sides(needle))) == pytest.approx(1.0, rel=1e-6)


@settings(deadline=None)
@given(polygons(), polygons())
def test_rim_is_the_hull_of_the_difference(p: Floats, hole: Floats) -> None:
    out = np.empty((36, 2))
    n = footprints.rim(p, len(p), footprints.sides(hole), 0.0, out)
    # A shared edge leaves a sliver or nothing, as rounding will have it: bracket the hole.
    least, most = ((Polygon(p) - Polygon(hole).buffer(by)).convex_hull for by in (1e-7, -1e-7))
    assert least.area - 1e-5 <= written(n, out).area <= most.area + 1e-5
    if least.area > 1e-3:
        assert footprints.holds(out, n, least.centroid.x, least.centroid.y, 0.0)


def test_a_wider_hole_leaves_less_rim() -> None:
    bar, hole, out = SQUARE * (1.0, 0.1), SQUARE * (0.9, 0.5), np.empty((12, 2))
    assert footprints.rim(bar, 4, footprints.sides(hole), 0.0, out) == 8  # lies on the rim at both ends
    assert footprints.rim(bar, 4, footprints.sides(hole), 0.2, out) == 0  # both ends are too short


@settings(deadline=None)
@given(polygons(), st.floats(-3.0, 3.0), st.floats(-3.0, 3.0), st.floats(0.0, 0.5))
def test_holds_keeps_the_margin(p: Floats, x: float, y: float, margin: float) -> None:
    shape, point = Polygon(p), Point(x, y)
    depth = shape.exterior.distance(point) if shape.contains(point) else -1.0
    assume(abs(depth - margin) > 1e-8)
    assert footprints.holds(p, len(p), x, y, margin) == (depth >= margin)


@pytest.mark.parametrize(
    ("hole", "item", "clearance", "area"),
    [
        (2.0 * SQUARE, SQUARE, 0.0, 4.0),  # room all around
        (2.0 * SQUARE, SQUARE, 0.5, 1.0),  # less of it
        (SQUARE, SQUARE, 0.0, 0.0),  # equality fits
        (SQUARE, 1.01 * SQUARE, 0.0, None),  # does not fit
        (SQUARE, SQUARE, 0.01, None),  # no clearance left
        (2.0 * SQUARE, DIAMOND, 0.0, 4.0),  # only the extent along the edges counts
        (2.0 * DIAMOND, SQUARE, 0.0, 0.0),  # corners on the edges
    ],
)
def test_shifts(hole: Floats, item: Floats, clearance: float, area: float | None) -> None:
    out, spare = np.empty((8, 2)), np.empty((8, 2))
    n = footprints.shifts(item, len(item), hole, footprints.sides(hole), clearance, out, spare)
    assert (n > 0) == (area is not None)
    assert footprints.area(out[:n]) == pytest.approx(area or 0.0)


@settings(deadline=None)
@given(polygons(), polygons(), st.tuples(*[st.floats(0.0, 0.999)] * 3))
def test_every_shift_brings_the_item_in(item: Floats, hole: Floats, u: tuple[float, ...]) -> None:
    item = item * 0.5
    out, spare = np.empty((16, 2)), np.empty((16, 2))
    n = footprints.shifts(item, len(item), hole, footprints.sides(hole), 0.01, out, spare)
    if n == 0:
        assert not any(
            footprints.within(item + move, len(item), hole, len(hole), 0.01) for move in hole - item.mean(axis=0)
        )
        return
    moved = item + np.array(footprints.somewhere(out, n, *u))
    assert Polygon(hole).buffer(1e-7).contains(Polygon(moved))
    assert footprints.within(moved, len(item), hole, len(hole), 0.01 - 1e-7)


def test_somewhere_is_everywhere_alike() -> None:
    rng = np.random.default_rng(0)
    points = np.array([footprints.somewhere(SQUARE, 4, *rng.random(3)) for _ in range(4000)])
    quarters = np.histogram2d(*points.T, bins=2, range=[[-1, 1], [-1, 1]])[0]
    assert np.all(abs(quarters - 1000) < 120)
