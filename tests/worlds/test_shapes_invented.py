"""Invented shapes: sound solids, and none close to a shape that a split holds out."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.worlds import load_world
from sightline.worlds.looks import COLORS, MATERIALS, linear
from sightline.worlds.shapes import INVENTED, KITCHEN, SIZES, solid
from sightline.worlds.shapes.invented import CARRIES, RECIPES
from sightline.worlds.shapes.lofts import Surface, volume
from sightline.worlds.shapes.stacks import opening
from sightline.worlds.shapes.surfaces import open_edges

HELD_OUT = (*(shape for shape, _ in load_world("geospa/val_shape").shapes), *KITCHEN)
NEAREST = 0.8
"""Volume two shapes may share, of what they take up together, when both are brought to the same volume."""

GRID, HALF = 44, 1.5
TURNS = np.arange(6) * np.pi / 12


@cache
def filled(shape: str, turn: float = 0.0) -> NDArray[np.bool_]:
    """Which cells of a grid a solid fills, its hollow with it, at a volume of 1.

    A cell is filled where the surface winds around it, by the faces above it. Hollows count as filled because
    walls are thin: two cups would share little if one was only a little wider.
    """
    made, hollow = solid(shape), solid(shape).cavity
    vertices = made.vertices.astype(np.float64)
    opened = np.zeros((0, 2)) if hollow is None else hollow.outline.polygon()
    room = 0.0 if hollow is None else area(opened) * hollow.depth
    scale = 1.0 / np.cbrt(volume(Surface(vertices, made.faces)) + room)
    c, s = np.cos(turn), np.sin(turn)
    vertices = scale * vertices @ np.array([(c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)])
    opened = scale * opened @ np.array([(c, s), (-s, c)])
    places = (np.arange(GRID) + 0.5) / GRID * 2.0 * HALF - HALF + 1.3e-4
    heights = (np.arange(2 * GRID) + 0.5) * (2.0 * HALF / GRID)
    wound = np.zeros((GRID, GRID, 2 * GRID))
    for a, b, p in vertices[made.faces]:
        twice = (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
        if abs(twice) < 1e-12:
            continue
        low, high = (np.searchsorted(places, end) for end in (np.min((a, b, p), 0)[:2], np.max((a, b, p), 0)[:2]))
        here = (slice(low[0], high[0]), slice(low[1], high[1]))
        x, y = places[here[0], None], places[None, here[1]]
        v = ((x - a[0]) * (p[1] - a[1]) - (y - a[1]) * (p[0] - a[0])) / twice
        w = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / twice
        hit = (v >= 0) & (w >= 0) & (v + w <= 1)
        z = a[2] + v * (b[2] - a[2]) + w * (p[2] - a[2])
        wound[here] += np.sign(twice) * (hit[..., None] & (heights < z[..., None]))
    inside = wound > 0.5
    if hollow is not None:
        edges = list(zip(opened, np.roll(opened, -1, axis=0), strict=True))
        x, y = places[:, None], places[None]
        over = np.all([(q[0] - o[0]) * (y - o[1]) > (q[1] - o[1]) * (x - o[0]) for o, q in edges], axis=0)
        top = scale * made.height
        inside |= over[..., None] & (heights < top) & (heights > top - scale * hollow.depth)
    return inside


def area(corners: NDArray[np.float64]) -> float:
    x, y = corners.T
    return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum()) / 2.0


def shared(one: str, other: str) -> float:
    """The most that two shapes share over some turns of the first."""
    there = filled(other)
    return max(float((here & there).sum() / (here | there).sum()) for here in (filled(one, t) for t in TURNS))


def test_a_shape_shares_all_with_itself_and_little_with_others() -> None:
    assert shared("cube", "cube") == 1.0
    assert shared("cylinder", "cylinder") > 0.97
    assert 0.05 < shared("plate", "bottle") < 0.3
    for shape in ("cube", "cube_container", "donut", "tray"):
        assert filled(shape).sum() * (2.0 * HALF / GRID) ** 3 == pytest.approx(1.0, abs=0.1), shape


@pytest.mark.parametrize("shape", INVENTED)
def test_keeps_away_from_what_is_held_out(shape: str) -> None:
    nearest = max(HELD_OUT, key=lambda other: shared(shape, other))
    assert shared(shape, nearest) < NEAREST, nearest


@pytest.mark.parametrize("shape", INVENTED)
def test_sound(shape: str) -> None:
    recipe, made = RECIPES[shape], solid(shape)
    assert open_edges(made.faces.astype(np.int64)) == 0
    low, high = made.vertices.min(axis=0), made.vertices.max(axis=0)
    assert low[2] == 0.0
    assert high[2] == pytest.approx(made.height)
    assert (high - low)[:2] / 2.0 == pytest.approx(made.outline.half, rel=1e-5)
    assert np.linalg.norm(made.normals, axis=2) == pytest.approx(1.0, abs=1e-5)
    solid_part = volume(Surface(made.vertices.astype(np.float64), made.faces))
    assert solid_part > 0.0
    if recipe.hollow is None:
        assert made.cavity is None
    factors = [factor for _, factor in recipe.profile]
    assert (made.top is not None) == (factors[-1] >= CARRIES * max(factors))
    assert made.cavity is None or made.top is not None


@pytest.mark.parametrize("shape", [name for name, recipe in RECIPES.items() if recipe.hollow is not None])
def test_walls_stay_between_hollow_and_outside(shape: str) -> None:
    recipe, made = RECIPES[shape], solid(shape)
    assert made.cavity is not None
    assert made.cavity.depth < made.height
    hole = opening(made.cavity.outline)
    floor = (made.height - made.cavity.depth) / made.height * recipe.profile[-1][0]
    heights, factors = zip(*recipe.profile, strict=True)
    narrowest = min(np.interp(z, heights, factors) for z in np.linspace(floor, heights[-1], 50))
    loop = made.outline.polygon(segments=48) / max(factors) * narrowest
    along = np.roll(loop, -1, axis=0) - loop
    outward = np.column_stack((along[:, 1], -along[:, 0])) / np.linalg.norm(along, axis=1)[:, None]
    room = (outward * loop).sum(axis=1)[:, None] - outward @ hole.T
    assert room.min() > 0.02 * made.height / recipe.profile[-1][0]


WORLDS = ("geospa/invented", "geospa/alike")


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_of_invented_shapes_have_nothing_that_is_held_out(name: str) -> None:
    world = load_world(name)
    assert {shape for shape, _ in world.shapes} <= {s for s, _ in load_world("geospa/train").shapes} | set(INVENTED)
    for split in ("val_color", "val_material", "val_size", "val_shape", "val_op", "val_kitchen"):
        other, seen = load_world(f"geospa/{split}"), load_world("geospa/train")
        held = {
            "shapes": {s for s, _ in other.shapes} - {s for s, _ in seen.shapes},
            "sizes": set(other.sizes) - set(seen.sizes),
            "colors": set(other.colors) - set(seen.colors),
            "materials": set(other.materials) - set(seen.materials),
        }
        assert not held["shapes"] & {s for s, _ in world.shapes}
        for part in ("sizes", "colors", "materials"):
            assert not held[part] & set(getattr(world, part)), (split, part)


@pytest.mark.parametrize("held_out", ["gray", "red", "blue", "green"])
def test_colours_keep_away_from_those_held_out(held_out: str) -> None:
    for color in {color for name in WORLDS for color in load_world(name).colors}:
        assert np.linalg.norm(lab(color) - lab(held_out)) > 20.0, color


def lab(color: str) -> NDArray[np.float64]:
    """CIE L*a*b* of a colour under D65: distances are about as large as they look."""
    to_xyz = np.array([(0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)])
    xyz = to_xyz @ np.array(linear(COLORS[color])) / (0.9505, 1.0, 1.089)
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array((116 * y - 16, 500 * (x - y), 200 * (y - z)))


def test_materials_keep_away_from_rubber() -> None:
    rubber = MATERIALS["rubber"]
    for name in {material for world in WORLDS for material in load_world(world).materials}:
        other = MATERIALS[name]
        assert other.metallic - rubber.metallic >= 0.3 or rubber.roughness - other.roughness >= 0.3, name


def test_no_invented_size_is_large() -> None:
    assert SIZES["largish"] < SIZES["large"]
    assert not any("large" in load_world(name).sizes for name in WORLDS)
