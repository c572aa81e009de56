"""Lamps, sky and mirrors against fine sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from fast_layouts import LIGHTS, layout_of, made_layout, numbers, thing
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference import light_oracle as oracle
from reference import ray_casting
from sightline.render.fast import columns as col
from sightline.render.fast.ambient import COVERED, bounced, frame_of, table_bounce, table_light
from sightline.render.fast.environment import environment
from sightline.render.fast.lamplight import (
    direct,
    fresnel,
    ggx,
    glance,
    in_shaft,
    kept_again,
    lamp_factor,
    mirrored_share,
    seen_share,
    sheen,
)
from sightline.render.fast.mirrors import glint, mirrored, path, visible_normal
from sightline.render.fast.pack import Pool
from sightline.render.fast.settings import Settings
from sightline.render.fast.shade import light_table
from sightline.worlds.layout import Layout, Light
from sightline.worlds.shapes import solid

PLAN = Settings().plan()
FINE = Settings(shadow_most=1024, dome=4096, mirror_rays=400, glint_side=64).plan()
NUMBERS = Settings()
HALF = NUMBERS.map_half
I32 = np.int32

POOL = Pool(solid)


class Scene:
    """A layout packed, with a lit map that can be filled by hand."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.rows = POOL.bodies(layout).rows
        self.nodes, self.tris = POOL.meshes[:2]
        self.env = environment(layout, HALF)
        self.lit = np.zeros((NUMBERS.map_cells, NUMBERS.map_cells, 6), np.float32)
        self.lit_by = np.zeros(self.lit.shape[:2], np.int64)
        self.meshes = [ray_casting.corners(o) for o in layout.objects]
        self.mask = 2 ** len(self.rows) - 1

    @property
    def solids(self) -> tuple[Any, Any, Any]:
        return self.nodes, self.tris, self.rows


def f32(*values: Any) -> list[Any]:
    """Flat float32 scalars, as the kernels hand them on."""
    return [np.float32(x) for value in values for x in np.ravel(value)]


def unit(*xyz: float) -> np.ndarray:
    vector = np.array(xyz, float)
    return vector / np.linalg.norm(vector)


UP = unit(0, 0, 1)
DOWNWARD = Light("over", (0.0, 0.0, 5.0), 1.0, 100.0, color=(1.0, 0.5, 0.25))
directions = st.tuples(numbers(-1, 1), numbers(-1, 1), numbers(-1, 1)).filter(lambda d: math.hypot(*d) > 0.1)


def lit_by_lamps(scene: Scene, point: Any, normal: Any, plan: Any = PLAN, mask: int = 0) -> tuple[np.ndarray, int]:
    first, most = NUMBERS.shadow_first, NUMBERS.shadow_most
    r, g, b, touched = direct(
        *scene.solids, scene.env, plan.points, mask, *f32(point, normal), I32(first), I32(most)
    )
    return np.array((r, g, b)), touched


# Straight from the lamps


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(numbers(-6, 6), numbers(-6, 6), numbers(3, 16)),
    numbers(0.2, 6.0),
    st.tuples(numbers(-3, 3), numbers(-3, 3), numbers(0, 1.5)),
    directions,
)
def test_a_lamp_against_a_fine_sum(place: Any, size: float, point: Any, normal: Any) -> None:
    width = size / math.dist(place, point)
    assume(width < 0.5)
    light = Light("lamp", place, size, 100.0, color=(1.0, 0.5, 0.25))
    way = unit(*normal)
    seen = (oracle.lamp_points(light, 2) - point) @ way
    edges = [
        np.array(place) + (a * light.axes()[0] + b * light.axes()[1]) * size / 2 for a in (-1, 1) for b in (-1, 1)
    ]
    over = [bool((corner - point) @ way > 0) for corner in edges]
    found, touched = lit_by_lamps(Scene(layout_of([], lights=(light,))), point, way)
    truth = oracle.irradiance(light, np.array(point), way)
    whole = oracle.irradiance(light, np.array(point), unit(*(np.array(place) - point)))
    assert touched == 0
    if all(over):
        assert found == pytest.approx(truth, rel=0.02 if width < 0.3 else 0.06, abs=0.005 * whole.max())
    elif not any(over):
        assert not found.any()
        assert (seen <= 0).all()
    else:  # the surface's horizon cuts the lamp
        assert np.abs(found - truth).max() < 0.1 * whole.max()


@pytest.mark.parametrize(
    ("point", "normal"),
    [
        ((0.0, 0.0, 5.5), (0.0, 0.0, -1.0)),  # behind it, facing it
        ((3.0, 1.0, 5.01), (0.0, 0.0, -1.0)),  # just behind its plane
        ((0.0, 0.0, 1.0), (0.0, 0.0, -1.0)),  # before it, facing away
        ((0.0, 0.0, 1.0), (0.6, 0.0, -0.8)),  # before it, turned away
    ],
)
def test_no_light_behind(point: Any, normal: Any) -> None:
    scene = Scene(layout_of([], lights=(DOWNWARD,)))
    assert not lit_by_lamps(scene, point, normal)[0].any()
    assert not oracle.irradiance(DOWNWARD, np.array(point), np.array(normal)).any()
    r, g, b, _ = glance(*scene.solids, scene.env, 0, *f32(point, normal))
    assert (r, g, b) == (0, 0, 0)


def test_all_the_power_of_a_lamp_arrives() -> None:
    """Over a table without end the irradiance adds up to the watts of each colour."""
    scene = Scene(layout_of([], lights=(DOWNWARD,)))
    tangent = np.tan((np.arange(400) + 0.5) / 400 * math.pi / 2)
    radius, ring = 5.0 * tangent, 2 * math.pi * 25.0 * tangent * (1 + tangent**2) * math.pi / 800
    total = sum(lit_by_lamps(scene, (r, 0, 0), UP)[0] * w for r, w in zip(radius, ring, strict=True))
    assert total == pytest.approx(np.array(DOWNWARD.color) * DOWNWARD.power, rel=0.01)


def test_lamps_add_up() -> None:
    both = Scene(layout_of([], lights=LIGHTS))
    alone = [Scene(layout_of([], lights=(light,))) for light in LIGHTS]
    total = sum(lit_by_lamps(scene, (0.5, -0.5, 0.0), UP)[0] for scene in alone)
    assert lit_by_lamps(both, (0.5, -0.5, 0.0), UP)[0] == pytest.approx(total, rel=1e-6)


def test_what_a_bare_white_table_gives_back() -> None:
    """The stand-in for light off the table: what the lamps give its middle; those that shine away give nothing."""
    lights = [replace(light, size=0.2) for light in LIGHTS]
    away = Light("away", (0.0, 3.0, 2.0), 0.2, 500.0, target=(0.0, 9.0, 5.0))
    below = Light("below", (0.0, 0.0, -2.0), 0.2, 500.0)
    truth = sum(oracle.irradiance(light, np.zeros(3), UP) for light in lights) / math.pi
    row = environment(layout_of([], lights=(*lights, away, below)), HALF)[0]
    assert row[6:9] == pytest.approx(truth, rel=1e-3)
    assert row[:6] == pytest.approx((0.5, 0.5, 0.5, 0.05, 0.06, 0.07))
    assert row[9] == HALF


BOX = Scene(layout_of([thing("rectangle", 0.0, 0.0, 1.0)], lights=(DOWNWARD,)))


def shadow(
    x: float, *, plan: Any = PLAN, turn: int = 0, first: int = NUMBERS.shadow_first, most: int = NUMBERS.shadow_most
) -> tuple[float, int]:
    share, touched = seen_share(
        *BOX.solids, BOX.mask, BOX.env, 1, plan.points, turn, I32(first), I32(most), *f32((x, 0.1, 0.0), UP)
    )
    return float(share), touched


def test_umbra_penumbra_and_free() -> None:
    shares = []
    for x in np.linspace(0.0, 2.6, 66):
        share, touched = shadow(x)
        fine, _ = shadow(x, plan=FINE, first=1024, most=1024)
        hiding = oracle.hiding(BOX.meshes, oracle.lamp_points(DOWNWARD, 48), np.array((x, 0.1, 0.0)), UP)
        truth = float((hiding < 0).mean())
        assert fine == pytest.approx(truth, abs=0.02)
        assert share == pytest.approx(truth, abs=0.3)  # a few rays that agree are believed
        if truth in (0.0, 1.0):
            assert share == truth
        assert touched == (0 if share == 1.0 else 1)
        shares.append((share, truth))
    found, truths = np.array(shares).T
    assert (truths == 0).sum() > 10
    assert (truths == 1).sum() > 10
    assert ((truths > 0) & (truths < 1)).sum() > 8
    assert abs(found.mean() - truths.mean()) < 0.02
    thorough = [shadow(x, first=NUMBERS.shadow_most) for x in np.linspace(0.0, 2.6, 66)]
    assert abs(np.mean([share for share, _ in thorough]) - truths.mean()) < 0.01
    count = NUMBERS.objects_most
    assert len(np.unique(PLAN.points, axis=0)) == count  # each ray asked for has its own point
    every, turned = ([shadow(x, turn=t, first=count, most=count) for x in np.linspace(0, 2.6, 66)] for t in (0, 11))
    assert turned == every  # where the points begin does not matter once all are tried
    assert (np.diff(found) >= -0.1).all()


@pytest.mark.parametrize(
    ("powers", "highest"),
    [
        ((100.0, 100.0, 100.0), 12),  # the lamp that is partly hidden gives up to a quarter of the light
        ((400.0, 40.0, 4.0), 8),  # next to none
        ((1.0, 300.0, 90.0), 24),  # more than half
    ],
)
def test_a_lamp_is_tried_by_how_much_of_the_light_it_gives(powers: Sequence[float], highest: int) -> None:
    """The share of each that a point sees, from the number of points that the rule gives it."""
    lights = tuple(replace(light, power=power) for light, power in zip(LIGHTS, powers, strict=True))
    scene = Scene(layout_of([thing("rectangle", 0.0, 0.0, 1.0)], lights=lights))
    first, most, tried = 5, 24, set()
    for x, y in product(np.linspace(0.5, 4.0, 15), (0.1, 1.0)):
        point = (x, y, 0.0)
        middles = [f32(point, UP, quarter) for quarter in product((-0.5, 0.5), repeat=2)]
        around = [np.mean([lamp_factor(scene.env, i, *middle) for middle in middles]) for i in (1, 2, 3)]
        sizes = around * scene.env[1:4, col.AREA].astype(float)  # irradiance from each at radiance 1, none hidden
        rgb = scene.env[1:4, col.LAMP_RED : col.LAMP_BLUE + 1].astype(float)
        bright = sizes * rgb.sum(axis=1)
        whole = sum(bright) + math.pi * float(scene.env[0, col.SKY_RED : col.SKY_BLUE + 1].sum())
        counts = [min(max(int(2 * most * one / whole), 8), most) for one in bright]
        shares = [
            seen_share(
                *scene.solids, scene.mask, scene.env, i, PLAN.points, 0, I32(first), I32(n), *f32(point, UP)
            )[0]
            for i, n in enumerate(counts, start=1)
        ]
        expected = sum(size * share * added for size, share, added in zip(sizes, shares, rgb, strict=True))
        r, g, b, _ = direct(
            *scene.solids, scene.env, PLAN.points, scene.mask, *f32(point, UP), I32(first), I32(most)
        )
        assert (r, g, b) == pytest.approx(tuple(expected), rel=1e-5)
        tried |= {n for n, share in zip(counts, shares, strict=True) if 0.0 < share < 1.0}
    assert max(tried) == highest


@settings(max_examples=30, deadline=None)
@given(numbers(-3, 3), numbers(-3, 3), st.sampled_from([0, 1, 2]))
def test_shares_of_a_whole_scene(x: float, y: float, which: int) -> None:
    """From the table of a scene with six objects, towards any lamp, with and without the sieve of spheres."""
    scene, light = WHOLE, LIGHTS[which]
    between = sum(
        1 << k for k in range(len(scene.rows)) if in_shaft(scene.rows, k, *f32((x, y, 2e-3)), scene.env, which + 1)
    )
    found = [
        seen_share(
            *scene.solids, mask, scene.env, which + 1, FINE.points, 0, I32(1024), I32(1024), *f32((x, y, 2e-3), UP)
        )
        for mask in (scene.mask, between)
    ]
    u, v, _ = light.axes()
    targets = (
        np.asarray(light.position)
        + FINE.points[:, :1] * light.size / 2 * u
        + FINE.points[:, 1:] * light.size / 2 * v
    )
    hiding = oracle.hiding(scene.meshes, targets[:1024], np.array((x, y, 2e-3)), UP)
    assert found[0] == found[1]  # the sieve lets through whatever hides a part
    assert found[0][0] == pytest.approx((hiding < 0).mean(), abs=0.003)  # a ray or two may graze an edge
    touched = {k for k in range(len(scene.rows)) if found[0][1] >> k & 1}
    assert all((hiding == k).sum() <= 3 for k in touched ^ set(hiding[hiding >= 0].tolist()))


WHOLE = Scene(made_layout())


@settings(max_examples=40, deadline=None)
@given(numbers(0.03, 1.0), directions, directions)
def test_ggx_and_fresnel(alpha: float, one: Any, other: Any) -> None:
    """A density of half vectors: its cosine-weighted sum over the half sphere is one. Schlick's ends are right."""
    x = (np.arange(50) + 0.5) / 50
    square = (1 - x) / (1 - x + alpha**2 * x)  # cos² θ, spread as GGX is; cos θ dω = π d(cos² θ)
    width = alpha**2 / (1 - x + alpha**2 * x) ** 2
    total = sum(float(ggx(*f32(alpha, math.sqrt(c)))) * w for c, w in zip(square, width, strict=True))
    assert math.pi * total / 50 == pytest.approx(1.0, rel=0.01)
    assert fresnel(np.float32(0.04), np.float32(1.0)) == np.float32(0.04)
    assert fresnel(np.float32(0.04), np.float32(0.0)) == pytest.approx(1.0)
    axes = np.array(frame_of(*f32(unit(*one)))).reshape(2, 3)
    frame = np.stack((*axes, unit(*one)))
    assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-5)
    assert np.linalg.det(frame) == pytest.approx(1.0, abs=1e-5)
    assert unit(*other) @ frame.T @ frame == pytest.approx(unit(*other), abs=1e-5)


# The sky, and light thrown back


def bounce(scene: Scene, point: Any, normal: Any, dome: Any) -> tuple[np.ndarray, int]:
    dark = f32(0.0, 1.0)
    (r, g, b), _, touched = bounced(
        *scene.solids,
        scene.env,
        scene.lit,
        scene.lit_by,
        dome,
        *f32(1.0, 0.0),
        scene.mask,
        tuple(f32(point, normal, normal)),
        *dark,
    )
    return np.array((r, g, b)), touched


def test_the_open_table_sees_the_whole_sky() -> None:
    """To the last bit, so that tables far from everything are even."""
    open_sky = np.float32(math.pi) * np.array((0.05, 0.06, 0.07), np.float32)
    bare = layout_of([])
    small = layout_of([thing("cube:small", -3.5, -3.5)])
    for layout, free in ((bare, np.s_[:, :]), (small, np.s_[-14:, -14:])):
        bodies = POOL.bodies(layout)
        ground = light_table(POOL.meshes, bodies, environment(layout, HALF), PLAN, NUMBERS.map_cells, None, ())
        assert (ground.light[free][..., 3:] == open_sky).all()
        assert not ground.touched[free].any()
        at = (np.arange(NUMBERS.map_cells) + 0.5) / NUMBERS.map_cells * 2 * HALF - HALF
        for i, j in ((-9, -4), (-1, -13)):
            truth = sum(oracle.irradiance(light, np.array((at[j], at[i], 0.0)), UP) for light in LIGHTS)
            assert ground.light[i, j, :3] - open_sky == pytest.approx(truth, rel=0.02)
    assert ground.touched[6, 6]
    assert not np.array_equal(ground.light[6, 6, 3:], open_sky)


def test_the_map_goes_on_under_objects() -> None:
    """A cell in an object takes the mean of the open ones beside it, so that none of its dark comes out."""
    layout = made_layout()
    ground = light_table(POOL.meshes, POOL.bodies(layout), WHOLE.env, PLAN, NUMBERS.map_cells, None, ())
    at = (np.arange(NUMBERS.map_cells) + 0.5) / NUMBERS.map_cells * 2 * HALF - HALF
    low = [m for m in WHOLE.meshes if m[..., 2].min() < 2e-3]
    inside = np.array([[any(_inside(m, np.array((x, y, 2e-3))) for m in low) for x in at] for y in at])
    covered = (ground.touched & COVERED) != 0
    assert np.array_equal(covered, inside)
    filled = 0
    for i, j in np.argwhere(covered):
        around = np.s_[i - 1 : i + 2, j - 1 : j + 2]
        beside = ground.raw[around][~covered[around]]
        if len(beside):
            lamps, thrown = beside.mean(axis=0).reshape(2, 3)
            assert ground.light[i, j] == pytest.approx(np.concatenate((lamps + thrown, thrown)), rel=1e-5)
            filled += 1
    assert filled > 20


def _inside(mesh: np.ndarray, point: np.ndarray) -> bool:
    boxed = ((mesh.min(axis=(0, 1)) < point) & (point < mesh.max(axis=(0, 1)))).all()
    return bool(boxed) and ray_casting.within(mesh, point)


def test_metal_hides_the_sky() -> None:
    """Metal throws nothing back, so what is left is the share of the sky beside it."""
    lid = thing("short_cylinder:large", 0.3, 0.0, 0.6, metal=True)
    scene = Scene(layout_of([lid, thing("cube", -1.0, 1.0, metal=True)], lights=()))
    sky = np.array((0.05, 0.06, 0.07))
    for x in (-1.4, -0.5, 0.3, 1.0, 1.6):
        truth = oracle.sky_share(scene.meshes, np.array((x, 0.2, 0.0)), UP)
        found, touched = bounce(scene, (x, 0.2, 0.0), UP, FINE.dome)
        assert found / (math.pi * sky) == pytest.approx(truth, abs=0.02)
        assert touched & 1
        few, _ = bounce(scene, (x, 0.2, 0.0), UP, PLAN.wide)
        assert few / (math.pi * sky) == pytest.approx(truth, abs=0.16)


def test_a_wall_sees_half_sky_half_table() -> None:
    table = (0.8, 0.5, 0.2)
    scene = Scene(layout_of([], lights=(), table=table))
    scene.lit[:] = np.float32(math.pi) * np.tile(np.array((0.05, 0.06, 0.07), np.float32), 2)
    sky = np.array((0.05, 0.06, 0.07))
    for normal in ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), unit(1, 1, 0)):
        found, _ = bounce(scene, (0.0, 0.0, 0.5), normal, FINE.dome)
        assert found == pytest.approx(math.pi * sky * (0.5 + 0.5 * np.array(table)), rel=0.01)
    below, _ = bounce(scene, (0.0, 0.0, 0.5), (0.0, 0.0, -1.0), FINE.dome)
    assert below == pytest.approx(math.pi * sky * np.array(table), rel=0.01)


def test_colour_bleeds() -> None:
    """A point beside a red wall gets red light from it: what the wall has, over the share it fills."""
    wall = thing("rectangle:large", 0.0, 1.0)
    scene = Scene(layout_of([wall], lights=(Light("lamp", (0.0, -6.0, 3.0), 0.5, 300.0),)))
    point, share = np.array((0.0, 0.0, 2e-3)), 1 - oracle.sky_share(scene.meshes, np.array((0.0, 0.0, 2e-3)), UP)
    found, touched = bounce(scene, point, UP, FINE.dome)
    sky = np.array((0.05, 0.06, 0.07))
    thrown = found - math.pi * sky * (1 - share)
    albedo = scene.rows[0, col.LOOKS + col.RED : col.LOOKS + col.METAL].astype(float)
    face = oracle.irradiance(scene.layout.lights[0], np.array((0.0, 0.25, 0.6)), np.array((0.0, -1.0, 0.0)))
    assert touched == 1
    assert 0.1 < share < 0.5
    assert thrown == pytest.approx(share * math.pi * albedo * (face / math.pi + sky), rel=0.15)
    assert thrown[0] > 5 * thrown[1]


def test_the_lit_map_is_read_between_its_cells() -> None:
    scene = Scene(layout_of([]))
    at = (np.arange(NUMBERS.map_cells) + 0.5) / NUMBERS.map_cells * 2 * HALF - HALF
    y, x = np.meshgrid(at, at, indexing="ij")
    scene.lit[:] = np.stack((x, y, x * 0 + 1, 2 * x, 2 * y, x * 0 + 3), axis=-1)
    scene.lit_by[20, 30] = 4
    for px, py in ((0.0, 0.0), (1.234, -2.345), (-4.3, 4.3), (at[30], at[20])):
        *light, _ = table_light(scene.lit, scene.lit_by, scene.env, *f32(px, py))
        *thrown, _ = table_bounce(scene.lit, scene.lit_by, scene.env, *f32(px, py))
        assert light == pytest.approx((px, py, 1), abs=1e-4)
        assert thrown == pytest.approx((2 * px, 2 * py, 3), abs=1e-4)
    assert table_light(scene.lit, scene.lit_by, scene.env, *f32(at[30] + 0.01, at[20] - 0.01))[3] == 4
    assert table_light(scene.lit, scene.lit_by, scene.env, *f32(at[32], at[20]))[3] == 0
    for px, py in ((4.6, 0.0), (0.0, -4.6), (-100.0, 3.0)):
        *light, touched = table_light(scene.lit, scene.lit_by, scene.env, *f32(px, py))
        truth = sum(oracle.irradiance(lamp, np.array((px, py, 0.0)), UP) for lamp in LIGHTS)
        assert light == pytest.approx(truth + math.pi * np.array((0.05, 0.06, 0.07)), rel=0.03)
        assert touched == 0


# Mirrors


def mirror(scene: Scene, point: Any, normal: Any, view: Any, *, start: int = 0, count: int) -> np.ndarray:
    r, g, b, _ = mirrored(
        *scene.solids,
        scene.env,
        scene.lit,
        scene.lit_by,
        FINE.points,
        FINE.lobe,
        scene.mask & ~1,
        (0, col.LOOKS, *f32(point, normal, view)),
        start,
        I32(count),
        np.int64(start),
        I32(4),
    )
    # The oracles know light that one microfacet mirrors.
    cosine = float(np.dot(unit(*normal), unit(*view)))
    look = scene.rows[0, col.LOOKS :]
    again = [float(kept_again(*f32(c, look[col.LOBE], cosine))) for c in look[col.RED : col.METAL]]
    return np.array((r, g, b)) / again


def white(scene: Scene, *, alpha: float, body: int = 0) -> Scene:
    scene.rows[body, col.LOOKS + col.RED : col.LOOKS + col.METAL] = 1.0
    scene.rows[body, col.LOOKS + col.METAL] = 1.0
    scene.rows[body, col.LOOKS + col.LOBE] = alpha
    return scene


@pytest.mark.parametrize("alpha", [0.01, 0.0625, 0.25, 0.7])
@pytest.mark.parametrize("cosine", [0.05, 0.3, 0.7, 1.0])
def test_a_white_mirror_under_an_even_sky(alpha: float, cosine: float) -> None:
    """What it throws back is what the microfacet model says, and never more than arrives."""
    scene = white(Scene(layout_of([thing("cube", 0.0, 0.0, metal=True)], lights=())), alpha=alpha)
    view = np.array((math.sqrt(1 - cosine**2), 0.0, cosine))
    found = mirror(scene, (0.0, 0.0, 0.902), UP, view, count=len(FINE.lobe)) / (0.05, 0.06, 0.07)
    assert found == pytest.approx(oracle.mirror_albedo(alpha, cosine), abs=0.005)
    assert (found <= 1.0 + 1e-4).all()
    if alpha < 0.1 and cosine > 0.2:
        assert (found > 0.97).all()


@pytest.mark.parametrize("alpha", [0.25, 0.7])
@pytest.mark.parametrize("cosine", [0.5, 0.8, 0.97])
def test_a_rough_mirror_spreads_what_it_shows(alpha: float, cosine: float) -> None:
    """Seen from above, a steep side over a black table shows as much sky as its lobe reaches."""
    cube = thing("cube", 0.0, 0.0, metal=True)
    scene = white(Scene(layout_of([cube], lights=(), table=(0.0, 0.0, 0.0))), alpha=alpha)
    view = np.array((cosine, 0.0, math.sqrt(1 - cosine**2)))
    found = mirror(scene, (0.452, 0.0, 0.5), (1.0, 0.0, 0.0), view, count=len(FINE.lobe)) / (0.05, 0.06, 0.07)
    truth = oracle.mirror_albedo(alpha, cosine, half=True)
    assert 0.001 < truth < 0.6
    assert found == pytest.approx(truth, abs=0.01)


@settings(max_examples=40, deadline=None)
@given(numbers(0.01, 1.0), numbers(0.0, 1.0), numbers(0.0, 1.0), numbers(0.02, 1.0), numbers(-3.1, 3.1))
def test_half_vectors_are_seen(alpha: float, u: float, v: float, cosine: float, turn: float) -> None:
    side = math.sqrt(1 - cosine**2)
    view = np.array((side * math.cos(turn), side * math.sin(turn), cosine))
    half = np.array(visible_normal(*f32(alpha, view, u, v)))
    assert np.linalg.norm(half) == pytest.approx(1.0, abs=1e-5)
    assert half[2] > 0
    assert half @ view > -1e-4


@settings(max_examples=30, deadline=None)
@given(numbers(-0.4, 0.4), numbers(0.2, 0.7), numbers(0.5, 5.0), numbers(-4.0, 4.0), numbers(2.0, 9.0))
def test_a_flat_mirror_shows_the_mirror_point(y: float, z: float, ex: float, ey: float, ez: float) -> None:
    """A steep side of a metal cube shows the table where the mirrored line of sight ends."""
    scene = white(
        Scene(layout_of([thing("cube", 0.0, 0.0, metal=True)], lights=(), table=(1.0, 1.0, 1.0))), alpha=1e-4
    )
    at = (np.arange(NUMBERS.map_cells) + 0.5) / NUMBERS.map_cells * 2 * HALF - HALF
    gy, gx = np.meshgrid(at, at, indexing="ij")
    scene.lit[..., 0], scene.lit[..., 1], scene.lit[..., 2] = gx + 10, gy + 10, 1
    point, eye = np.array((0.452, y, z)), np.array((0.452 + ex, ey, ez))
    view = unit(*(eye - point))
    away = np.array((1.0, -1.0, -1.0)) * view  # mirrored in x
    end = point + away * (z / -away[2])
    assume(np.abs(end[:2]).max() < 4.3)
    found = mirror(scene, point, (1.0, 0.0, 0.0), view, count=16) * math.pi
    assert found[:2] / found[2] - 10 == pytest.approx(end[:2], abs=0.02)
    assert found[2] == pytest.approx(1.0, rel=1e-3)


def test_mirrors_in_a_row() -> None:
    """A ray between two facing metal walls takes the colour of each as often as it meets it, then ends."""
    walls = [thing("rectangle:large", 0.0, y, metal=True) for y in (-1.75, 1.75)]
    scene = Scene(layout_of(walls, lights=(), ambient=(1.0, 1.0, 1.0)))
    (
        scene.rows[0, col.LOOKS + col.RED : col.LOOKS + col.METAL],
        scene.rows[1, col.LOOKS + col.RED : col.LOOKS + col.METAL],
    ) = (0.5, 0.25, 1.0), (0.8, 1.0, 0.1)
    scene.rows[:, col.LOOKS + col.LOBE] = 1e-4

    def colour(rise: float, depth: int) -> np.ndarray:
        r, g, b, touched = path(
            *scene.solids,
            scene.env,
            scene.lit,
            scene.lit_by,
            FINE.points,
            scene.mask,
            *f32((0.0, 0.0, 0.2), unit(0, 1, rise)),
            np.int64(0),
            I32(depth),
        )
        return np.array((r, g, b, touched))

    first, second = (
        scene.rows[1, col.LOOKS + col.RED : col.LOOKS + col.METAL].astype(float),
        scene.rows[0, col.LOOKS + col.RED : col.LOOKS + col.METAL].astype(float),
    )
    assert colour(3.0, 4) == pytest.approx((1, 1, 1, 0))  # over both
    assert colour(0.8, 4) == pytest.approx((*first, 2), abs=2e-3)  # one
    assert colour(0.35, 4) == pytest.approx((*(first * second), 3), abs=2e-3)  # one, then the other
    assert colour(0.1, 2) == pytest.approx((0, 0, 0, 3))  # deeper than is followed


@pytest.mark.parametrize("alpha", [0.0625, 0.2, 0.5])
@pytest.mark.parametrize("ahead", [0.0, 0.15, 0.4])
def test_the_image_of_a_lamp(alpha: float, ahead: float) -> None:
    """Of a metal top under a lamp, seen in the mirror direction or beside it."""
    light = Light("lamp", (-3.0, 0.0, 5.0), 2.0, 100.0)
    scene = white(Scene(layout_of([thing("cube", 0.0, 0.0, metal=True)], lights=(light,))), alpha=alpha)
    point, view = np.array((0.0, 0.0, 0.902)), unit(3.0 + 5 * ahead, 0.4, 4.098)
    truth = oracle.highlight(light, point, UP, view, alpha)
    total, edge = sheen(scene.env, 1, FINE.points, -1, I32(64), *f32(alpha, point, UP, view))
    radiance = light.power / (math.pi * light.size**2)
    assert float(total) * radiance == pytest.approx(truth, rel=0.06)  # four points where they agree
    assert 0 <= edge <= total
    r, g, b, touched = glint(
        *scene.solids,
        scene.env,
        PLAN.points,
        scene.mask & ~1,
        (0, col.LOOKS, *f32(point, UP, view)),
        np.float32(alpha),
        -1,
        I32(5),
        0,
        I32(4),
    )
    assert touched == 0
    assert r == g == b
    r /= kept_again(*f32(1.0, alpha, view[2]))
    assert r == pytest.approx(truth, rel=0.25, abs=0.1 * radiance)


def test_a_hidden_lamp_makes_no_highlight() -> None:
    light = Light("lamp", (-3.0, 0.0, 5.0), 1.0, 100.0)
    lid = thing("rectangle:large", -1.0, 0.0, 1.6)
    scene = white(Scene(layout_of([thing("cube", 0.0, 0.0, metal=True), lid], lights=(light,))), alpha=0.0625)
    place, alpha = (0, col.LOOKS, *f32((0.0, 0.0, 0.902), UP, unit(3, 0, 4.1))), np.float32(0.0625)
    tried = (place, alpha, -1, I32(5), 0, I32(4))
    *shown, touched = glint(*scene.solids, scene.env, PLAN.points, 0b10, *tried)
    assert shown == [0, 0, 0]
    assert touched == 0b10
    *shown, _ = glint(*scene.solids, scene.env, PLAN.points, 0, *tried)
    assert min(shown) > 1.0


@pytest.mark.parametrize("alpha", [0.16, 0.25, 0.49])
@pytest.mark.parametrize("cosine", [0.35, 0.7, 1.0])
def test_fitted_shares_of_the_lobe(alpha: float, cosine: float) -> None:
    """What a coat mirrors of an even sky, and what microfacets give back of a white metal's, by many rays."""
    rng = np.random.default_rng(0)
    view = np.array((math.sqrt(1 - cosine**2), 0.0, cosine))
    kept, edges = [], []
    for u, v in rng.random((4000, 2)):
        half = np.array(visible_normal(*f32(alpha, view, u, v)))
        across = float(half @ view)
        out = 2 * across * half[2] - cosine
        kept.append(2 * out / (out + math.sqrt(out**2 * (1 - alpha**2) + alpha**2)) if out > 0 else 0.0)
        edges.append((1 - across) ** 5)
    once = float(np.mean(kept))
    assert float(kept_again(*f32(1.0, alpha, cosine))) == pytest.approx(1 / once, rel=0.06)
    coat = float(np.mean([k * (0.04 + 0.96 * e) for k, e in zip(kept, edges, strict=True)]))
    assert float(mirrored_share(*f32(0.04, alpha, cosine))) == pytest.approx(coat, abs=0.025)
