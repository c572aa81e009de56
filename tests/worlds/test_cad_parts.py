"""The toolbox of the CAD library: closed parts of known volume, transforms, and the nearest point of a surface."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.worlds.cad.model import nearest
from sightline.worlds.cad.parts import (
    Part,
    both,
    box,
    cushion,
    cylinder,
    ellipsoid,
    extrude,
    inset,
    lathe,
    loft,
    patch,
    post,
    ring,
    rounded,
    slab,
    smooth,
    superellipse,
    tube,
    wheel,
    wire_wheel,
)
from sightline.worlds.shapes.surfaces import Surface

STAR = [
    (math.cos(a) * r, math.sin(a) * r) for a, r in zip(np.arange(10) * math.pi / 5, [2.0, 0.7] * 5, strict=True)
]
UP = [(-1, -1, 3), (1, -1, 3), (1, 1, 3), (-1, 1, 3)]
HALF_TURN = [(math.cos(a), 0.0, math.sin(a)) for a in np.linspace(0, math.pi, 40)]

FULL_TURN = np.array(HALF_TURN[:-1] + [(x, y, -z) for x, y, z in HALF_TURN[:0:-1]])


def volume(part: Part) -> float:
    a, b, c = part.vertices[part.faces].transpose(1, 0, 2)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def assert_closed(part: Part) -> None:
    edges = Counter(edge for a, b, c in part.faces.tolist() for edge in ((a, b), (b, c), (c, a)))
    assert set(edges.values()) == {1}
    assert all((b, a) in edges for a, b in edges)
    assert volume(part) > 0.0


def shoelace(points: list[tuple[float, float]]) -> float:
    x, y = np.array(points).T
    return abs(float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())) / 2


@pytest.mark.parametrize(
    ("part", "expected", "within"),
    [
        (box("paint", (1, 2, 3)), 6.0, 1e-12),  # plain
        (box("paint", (1, 2, 3), (4, 5, 6), edge=0.2, steps=8), 6.0 - 0.8584 * 0.04 * 4.8, 0.01),  # round edges
        (box("paint", (1, 1, 1), edge=9.0, steps=12), math.pi / 6, 0.02),  # all edge: nearly a ball
        (cushion("fabric", (1, 2, 0.5), edge=1e-6), 1.0, 1e-4),  # sharp
        (cushion("fabric", (1, 2, 0.5), edge=1e-6, puff=0.09), 1.0 + 2 * 0.09 * 2 * 4 / 9, 0.02),  # bulging
        (post("wood", [(0, 0, 0), (1, 0, 2), (0, 0, 3)], [(1, 2), (1, 2), (0.5, 1)]), 4 + 3.5 / 3, 1e-9),  # bent
        (cylinder("metal", 0.5, 2.0, axis="y", sides=96), math.pi / 2, 2e-3),  # along y
        (cylinder("metal", 0.5, 2.0, sides=96, edge=0.01), math.pi / 2, 2e-3),  # chamfered
        (ellipsoid("paint", (1, 2, 3), sides=64, rows=48), 8 * math.pi, 5e-3),  # poles
        (ring("tyre", 2.0, 0.3, sides=96), 2 * math.pi**2 * 2.0 * 0.09 * 0.9003, 2e-3),  # torus of octagons
        (extrude("paint", STAR, -1.0, 2.0), 3 * shoelace(STAR), 1e-12),  # not convex
        (extrude("paint", STAR, -1.0, 2.0, "y", edge=0.05), 3 * shoelace(STAR), 0.02),  # rounded rims
        (extrude("paint", STAR[::-1], 0.0, 1.0, "z"), shoelace(STAR), 1e-12),  # clockwise
        (lathe("clear", [(0, 0), (1, 0), (1, 2), (0, 2)], sides=96), 2 * math.pi, 2e-3),  # from pole to pole
        (tube("metal", HALF_TURN, 0.1, sides=24), math.pi**2 * 0.01, 0.02),  # bent
        (tube("metal", [(0, 0, 0), (0, 0, 3)], [0.1, 0.2], sides=48), math.pi * 0.07, 0.01),  # a cone, straight up
        (tube("metal", 0.5 * FULL_TURN, 0.1, closed=True),
         math.pi**2 * 0.01 * 0.9003, 0.01),  # a loop of octagons
        (slab("glass", patch([(0, 0, 0), (2, 0, 0), (2, 0, 1), (0, 0, 1)], 5, 3), 0.1), 0.2, 1e-9),  # flat pane
        (loft("paint", [np.zeros((4, 3)), UP]), 4.0, 1e-12),  # a pyramid
    ],
)  # fmt: skip
def test_parts_are_closed_and_have_their_volume(part: Part, expected: float, within: float) -> None:
    assert_closed(part)
    assert volume(part) == pytest.approx(expected, rel=within)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0.3, 2.0), min_size=3, max_size=16), st.floats(0.0, 0.05), st.sampled_from("xyz"))
def test_any_star_shaped_profile_extrudes(radii: list[float], edge: float, axis: str) -> None:
    turn = 2 * np.pi * np.arange(len(radii)) / len(radii)
    profile = np.column_stack((radii * np.cos(turn), radii * np.sin(turn)))
    plain = extrude("paint", profile, 0.0, 1.0, axis)  # type: ignore[arg-type]
    assert_closed(plain)
    assert volume(plain) == pytest.approx(shoelace(profile.tolist()), rel=1e-9)
    assert_closed(extrude("paint", profile, 0.0, 1.0, axis, edge=edge))  # type: ignore[arg-type]


def test_moves_turns_and_mirrors_keep_the_volume() -> None:
    part = box("paint", (1, 2, 3), (1, 0, 0))
    turned = part.turned("z", 90.0)
    np.testing.assert_allclose(
        (turned.vertices.min(0), turned.vertices.max(0)), [(-1, 0.5, -1.5), (1, 1.5, 1.5)], atol=1e-12
    )
    np.testing.assert_allclose(part.turned("x", 90, (0, 0, 1.5)).vertices[:, 1].max(), 3.0)
    np.testing.assert_allclose(
        box("paint", (1, 1, 1), (1, 0, 0)).turned("y", 90).vertices.mean(0), (0, 0, -1), atol=1e-12
    )
    for changed in (
        turned,
        part.moved(3, 4, 5),
        *both(part),
        part.bent(lambda p: p + np.sin(p[:, [2, 0, 1]]) * 0.1),
    ):
        assert_closed(changed)
        assert volume(changed) == pytest.approx(6.0, rel=0.05)
    assert volume(part.scaled(1, 2, 0.5)) == pytest.approx(6.0)
    assert both(part)[1].vertices[:, 0].max() == -0.5


@pytest.mark.parametrize("parts", [wheel(0.3, 0.2, (1, 2, 0.3)), wire_wheel(0.34, 0.02, (0, 0, 0.34))])
def test_wheels_stand_on_the_ground(parts: list[Part]) -> None:
    for part in parts:
        assert_closed(part)
    low = min(part.vertices[:, 2].min() for part in parts)
    assert low == pytest.approx(0.0, abs=0.005)


def test_lines() -> None:
    assert len(rounded(1, 2, 0.5, 3)) == 16
    np.testing.assert_allclose(np.abs(rounded(1, 2, 0.5, 3)).max(0), (1.5, 2.5))
    np.testing.assert_allclose(np.linalg.norm(superellipse(2, 2, 2.0), axis=1), 2.0)
    line = smooth([(0, 0), (1, 1), (2, 0)], 4)
    assert len(line) == 9
    np.testing.assert_allclose(line[4], (1, 1))
    square = np.array([(0, 0), (2, 0), (2, 2), (0, 2)], float)
    np.testing.assert_allclose(inset(square, 0.5), [(0.5, 0.5), (1.5, 0.5), (1.5, 1.5), (0.5, 1.5)])


@settings(max_examples=30, deadline=None)
@given(st.tuples(*[st.floats(-3, 3)] * 3))
def test_nearest_point_of_a_box(point: tuple[float, float, float]) -> None:
    part = box("paint", (2, 2, 2))
    p = np.array(point)
    found = nearest(p, Surface(part.vertices, part.faces))
    clipped = np.clip(p, -1, 1)
    if np.abs(p).max() < 1:  # inside: to the closest side
        axis = np.abs(p).argmax()
        expected = 1 - abs(p[axis])
    else:
        expected = np.linalg.norm(p - clipped)
    assert np.linalg.norm(found - p) == pytest.approx(expected, abs=1e-9)
