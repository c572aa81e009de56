from __future__ import annotations

import importlib
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from reference import fits_oracle as oracle
from sightline.errors import ConfigError
from sightline.geometry.footprints import hull
from sightline.worlds import fits, load_world, solid
from sightline.worlds.fits import (
    TOLERANCE,
    can_contain,
    can_support,
    contain_margin,
    contains_fit,
    support_margin,
    supports_fit,
)
from sightline.worlds.solids import Cavity, Outline, Solid

PAGES = Path(__file__).resolve().parents[2] / "docs" / "pages"

few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])


def thing(outline: Outline, height: float = 0.0, cavity: Cavity | None = None) -> Solid:
    """A solid with the facts that fitting asks for and no mesh."""
    none = np.empty((0, 3), dtype=np.float32)
    return Solid("made", none, none.astype(np.int32), none, outline, outline, outline, height, cavity)


def vessel(outline: Outline, depth: float = 99.0) -> Solid:
    return thing(outline, depth, Cavity(outline, depth))


def margin(outer: Outline, *inner: Outline) -> float:
    return contains_fit(vessel(outer), *(thing(o) for o in inner))


def box(a: float, b: float) -> Outline:
    return Outline("box", (a, b))


def ellipse(a: float, b: float) -> Outline:
    return Outline("ellipse", (a, b))


def polygon(points: object) -> Outline:
    corners = hull(points)
    corners = corners - (corners.min(axis=0) + corners.max(axis=0)) / 2.0
    a, b = corners.max(axis=0)
    return Outline("polygon", (float(a), float(b)), tuple((float(x), float(y)) for x, y in corners))


def as_polygon(outline: Outline) -> Outline:
    return Outline("polygon", outline.half, tuple((float(x), float(y)) for x, y in outline.polygon(48)))


TRIANGLE = polygon([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])


def lengths(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high)


@st.composite
def outlines(draw: st.DrawFn, low: float, high: float) -> Outline:
    kind = draw(st.sampled_from(("box", "ellipse", "polygon")))
    a, b = draw(lengths(low, high)), draw(lengths(low, high))
    if kind != "polygon":
        return Outline(kind, (a, b))
    angles = sorted(draw(st.lists(lengths(0.0, 6.28), min_size=4, max_size=7)))
    points = [(a * math.cos(t), b * math.sin(t)) for t in angles]
    corners = hull(points)
    assume(len(corners) > 2 and np.ptp(corners, axis=0).min() > low)
    made = polygon(points)
    # corners closer than this are no shape anyone would draw
    edges = np.linalg.norm(np.diff(np.array([*made.points, made.points[0]]), axis=0), axis=1)
    assume(edges.min() > 0.05)
    return made


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        (box(1.0, 1.0), box(1.0, 1.0), 0.0),  # equality fits
        (box(1.0, 0.5), box(0.4, 0.9), 0.1),  # turned by a right angle
        (box(1.0, 1.0), box(1.05, 0.05), (2.0 - 1.1 * math.sqrt(2.0)) / 2.0),  # only aslant: both sides bind at 45°
        (box(1.0, 0.5), ellipse(1.0, 0.5), 0.0),  # an ellipse that touches all four sides
        (box(1.0, 1.0), ellipse(1.2, 0.4), 1.0 - math.sqrt((1.44 + 0.16) / 2.0)),  # an ellipse on the diagonal
        (ellipse(1.0, 1.0), box(0.6, 0.8), 0.0),  # a box with its corners on the circle
        (ellipse(1.0, 1.0), ellipse(1.0, 0.2), 0.0),  # as long as the circle is wide
        (ellipse(1.5, 1.0), ellipse(1.0, 1.5), 0.0),  # the same ellipse, turned
        (ellipse(2.0, 1.0), ellipse(1.0, 1.0), 0.0),  # a circle as wide as the ellipse is deep
        (ellipse(2.0, 1.0), box(2.0 / math.sqrt(5.0), 2.0 / math.sqrt(5.0)), 0.0),  # a square in an ellipse
        (ellipse(1.0, 1.0), ellipse(0.9, 0.9), 0.1),  # circle in circle
        (TRIANGLE, TRIANGLE, 0.0),  # a polygon without a middle
        (ellipse(math.sqrt(0.5), math.sqrt(0.5)), TRIANGLE, 0.0),  # its circumscribed circle
        (TRIANGLE, ellipse(1.0 - math.sqrt(0.5), 1.0 - math.sqrt(0.5)), 0.0),  # its inscribed circle
    ],
)
def test_margin_of_one(outer: Outline, inner: Outline, expected: float) -> None:
    assert margin(outer, inner) == pytest.approx(expected, abs=1e-7)


@pytest.mark.long
@pytest.mark.parametrize(
    ("outer", "one", "two", "expected"),
    [
        (box(1.0, 0.5), box(0.5, 0.5), box(0.5, 0.5), 0.0),  # two squares fill the box
        (box(1.0, 1.0), box(1.0, 0.5), box(0.5, 1.0), 0.0),  # two halves of a square, one drawn turned
        (box(1.0, 1.0), ellipse(0.4, 0.4), ellipse(0.4, 0.4), 1.2 * math.sqrt(2.0) - 0.8),  # in opposite corners
        (box(1.0, 0.5), box(0.5, 0.5), box(0.6, 0.5), -0.2),  # overlap that no push takes away
        (ellipse(1.0, 1.0), ellipse(0.5, 0.5), ellipse(0.5, 0.5), 0.0),  # two circles across a circle
        (ellipse(1.0, 1.0), ellipse(0.7, 0.7), ellipse(0.3, 0.3), 0.0),  # of different size
        (ellipse(1.0, 1.0), ellipse(1.0, 1.0), ellipse(0.5, 0.5), -1.0),  # no room at all
        (ellipse(1.0, 1.0), box(0.6, 0.4), box(0.6, 0.4), 0.0),  # two boxes that make up one inscribed box
        (box(0.5, 0.5), TRIANGLE, TRIANGLE, 0.0),  # two halves of a square along its diagonal
        (TRIANGLE, box(0.25, 0.25), polygon([(0.0, 0.0), (0.5, 0.0), (0.0, 0.5)]), 0.0),  # a polygon cut up
    ],
)
def test_margin_of_two(outer: Outline, one: Outline, two: Outline, expected: float) -> None:
    # a gap that is wide leaves the first rule to bind, so only the gap is compared
    alone = min(margin(outer, one), margin(outer, two))
    assert margin(outer, one, two) == pytest.approx(min(alone, expected), abs=1e-7)


@given(lengths(0.1, 1.0), lengths(0.1, 1.0), lengths(0.05, 1.2), lengths(0.05, 1.2))
@few
def test_box_in_box_is_the_classical_condition(a: float, b: float, p: float, q: float) -> None:
    ours = margin(box(a, b), box(p, q))
    assume(abs(ours) > 1e-6)
    assert (ours > 0.0) == oracle.box_in_box((a, b), (p, q))


@given(outlines(0.4, 1.0), outlines(0.1, 1.0))
@few
def test_one_against_trying(outer: Outline, inner: Outline) -> None:
    ours, found = margin(outer, inner), oracle.fits(outer, inner)
    assume(not -0.005 < ours < oracle.GRAIN)
    assert (ours > 0.0) == found


@given(outlines(0.5, 1.0), outlines(0.1, 0.6), outlines(0.1, 0.6))
@settings(few, max_examples=15)
def test_two_against_trying(outer: Outline, one: Outline, two: Outline) -> None:
    alone = min(margin(outer, one), margin(outer, two))
    assume(alone > oracle.GRAIN)
    ours, found = margin(outer, one, two), oracle.widest_gap(outer, one, two)
    assert min(alone, found) <= ours + 0.005  # a tried pose is no better than the best
    assert ours <= found + 2.0 * oracle.GRAIN


def halves(low: float, high: float) -> st.SearchStrategy[tuple[float, float]]:
    return st.tuples(lengths(low, high), lengths(low, high))


@given(halves(0.3, 1.0), halves(0.05, 0.9), halves(0.05, 0.9))
@example((0.7265625, 0.654296875), (0.833984375, 0.14453125), (0.5, 0.5))  # one fits for less than half a degree
@few
def test_two_boxes_against_a_fine_grid(
    outer: tuple[float, float], one: tuple[float, float], two: tuple[float, float]
) -> None:
    alone = min(margin(box(*outer), box(*one)), margin(box(*outer), box(*two)))
    assume(alone > 0.0)
    ours, found = margin(box(*outer), box(*one), box(*two)), oracle.boxes_in_box(outer, one, two)
    assert min(alone, found) - 1e-7 <= ours <= min(alone, found + 0.02)


@given(outlines(0.5, 1.0), outlines(0.1, 0.7), outlines(0.1, 0.7), lengths(0.5, 0.99))
@settings(few, max_examples=25)
def test_more_room_never_hurts(outer: Outline, one: Outline, two: Outline, factor: float) -> None:
    here = margin(outer, one, two)
    assert here <= min(margin(outer, one), margin(outer, two))  # a second one never helps the first
    assert here == margin(outer, two, one)  # either may have been there first
    assume(min(margin(outer, one), margin(outer, two)) >= 0.0)  # else the gap is not part of it
    assert here <= margin(outer.scaled(1.0 / factor), one, two) + TOLERANCE  # a larger vessel
    assert here <= margin(outer, one.scaled(factor), two) + TOLERANCE  # a smaller item


@given(outlines(0.4, 1.0), outlines(0.1, 0.7), outlines(0.1, 0.7), lengths(0.2, 5.0))
@few
def test_margin_grows_with_the_scene(outer: Outline, one: Outline, two: Outline, factor: float) -> None:
    alone = min(margin(outer, one), margin(outer, two))
    assume(abs(alone) > 1e-5)  # the tolerance does not grow, so a tie may come to fall on its other side
    there = margin(outer.scaled(factor), one.scaled(factor), two.scaled(factor))
    assert there / factor == pytest.approx(margin(outer, one, two), abs=1e-6)


@given(outlines(0.5, 1.0), outlines(0.2, 0.6), outlines(0.2, 0.6))
@settings(few, max_examples=4)
def test_a_curve_is_the_limit_of_polygons(outer: Outline, one: Outline, two: Outline) -> None:
    exact, alone = margin(outer, one, two), min(margin(outer, one), margin(outer, two))
    assume(alone > max(0.02, exact + 0.05))  # else the walls bind, and those of an ellipse move in otherwise
    assert margin(*(as_polygon(o) for o in (outer, one, two))) == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize(
    ("depth", "height", "expected"),
    [
        (0.5, 1.0, True),  # exactly half below the rim
        (0.5, 1.0 + 1e-6, True),  # within the tolerance
        (0.5, 1.01, False),  # its middle above the rim
    ],
)
def test_half_of_the_height_is_below_the_rim(depth: float, height: float, expected: bool) -> None:
    low, tall = thing(box(0.1, 0.1)), thing(box(0.1, 0.1), height)
    cup = vessel(box(1.0, 1.0), depth)
    assert (contains_fit(cup, tall) >= -TOLERANCE) is expected
    assert (contains_fit(cup, low, tall) >= -TOLERANCE) is expected  # and so for the one beside


@pytest.mark.parametrize(
    ("excess", "expected"),
    [(0.0, True), (0.9e-6, True), (2e-6, False)],  # tie, within the tolerance, beyond it
)
def test_tolerance(excess: float, expected: bool) -> None:
    wide = thing(box(0.5, 1.0 + excess))
    assert (contains_fit(vessel(box(1.0, 1.0)), wide) >= -TOLERANCE) is expected
    assert (contains_fit(vessel(box(1.0, 1.0)), wide, thing(box(0.3, 0.3))) >= -TOLERANCE) is expected


@pytest.mark.parametrize(
    ("container", "item", "beside", "expected"),
    [
        ("cube_container:medium", "cube:medium", None, True),  # exactly as wide as the cavity
        ("cube_container", "cube:large", None, False),  # too wide
        ("cube", "cube:small", None, False),  # no cavity
        ("rectangle_cylinder", "long_cylinder", None, True),  # the very ellipse
        ("rectangle_cylinder", "cylinder:small", "cylinder:small", True),  # one after the other
        ("cube_container", "cube:small", "cube:small", True),  # corner to corner, exactly
        ("cube_container", "cube:small", "cube:medium", False),  # full
        ("cylinder_container", "cylinder:small", "short_cylinder:small", True),  # two circles across a circle
        ("cylinder_container", "cube:small", "cylinder:small", False),  # a corner in the way
    ],
)
def test_can_contain(container: str, item: str, beside: str | None, expected: bool) -> None:
    assert can_contain(container, item, beside) is expected
    assert (contain_margin(container, item, beside) >= -TOLERANCE) is expected


@pytest.mark.parametrize(
    ("supporter", "item", "beside", "boxes", "true"),
    [
        ("cylinder", "cube", None, True, False),  # corners over the edge of a round top
        ("cube", "cylinder", None, True, True),  # the other way round
        ("rectangle", "cube", "thin_rectangle", True, True),  # 4.0 takes 1.8 and 1.0
        ("rectangle", "cube", "rectangle:small", True, True),  # turned across
        ("long_cylinder", "cube:small", "cube:small", True, True),  # two on an ellipse
        ("cylinder", "cylinder", "cylinder:small", False, False),  # full
        ("cylinder", "cube:small", "cube:small", True, False),  # two squares fill a square, not a circle
    ],
)
def test_can_support(supporter: str, item: str, beside: str | None, boxes: bool, true: bool) -> None:
    assert can_support(supporter, item, beside) is boxes
    assert can_support(supporter, item, beside, footprints="true") is true
    assert (support_margin(supporter, item, beside) >= -TOLERANCE) is boxes


def test_what_has_no_top_carries_nothing() -> None:
    bare = thing(box(1.0, 1.0))
    pointed = Solid("p", bare.vertices, bare.faces, bare.normals, bare.outline, bare.base, None, 1.0)
    assert supports_fit(pointed, thing(box(0.1, 0.1))) == -math.inf


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: can_contain("cube_contaner", "cube"), "did you mean 'cube_container'"),  # a misspelt shape
        (lambda: can_support("cube", "cube", footprints="hulls"), "'boxes' or 'true'"),  # an unknown rule
    ],
)
def test_misses_are_named(call: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        call()  # type: ignore[operator]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("relation", "pairs", "triples"),
    [
        ("contain", 0.98, 0.82),
        ("support", 0.98, 0.60),  # GeoSpa's support triples let things hang over
    ],
)
def test_agrees_with_geospa(
    real_data: Path, monkeypatch: pytest.MonkeyPatch, relation: str, pairs: float, triples: float
) -> None:
    monkeypatch.syspath_prepend(PAGES)
    compare = importlib.import_module("geospa_tables").compare
    found = compare(relation, data=real_data)
    assert found.agreement >= pairs
    assert found.triple_agreement() >= triples
    if relation == "contain":  # whatever GeoSpa finds room for, so do we
        assert not (found.judged & (found.triples == 1) & (found.triple_margins < -TOLERANCE)).any()


def test_plain_answers_are_those_of_the_margin() -> None:
    """What areas and boxes side by side decide, the search for the widest gap decides the same way."""
    rng = np.random.default_rng(4)
    outlines = [solid(name).outline for name in load_world("geospa/invented").solids()]
    regions = [s.cavity.outline for name in load_world("geospa/invented").solids() if (s := solid(name)).cavity]
    told: list[bool] = []
    while len(told) < 24:
        region = (regions if len(told) % 2 else outlines)[rng.integers(len(regions))]
        one, two = (outlines[i] for i in rng.integers(len(outlines), size=2))
        plain = fits._plain_fit(region, one, two)
        if plain is None or min(fits._together(region, [part]) for part in (one, two)) < -fits.TOLERANCE:
            continue
        assert plain == (fits._together(region, [one, two]) >= -fits.TOLERANCE), (region, one, two)
        told.append(plain)
    assert 4 < sum(told) < 20
