"""Light on what the raster found: the CPU's loops around the device functions.

Light is worked out on a lattice of pixels and refined where it changes: between neighbours on one smooth surface
that agree it is interpolated. A state keeps what was worked out, with the bodies that touched it; a counterfactual
takes over all that the missing body did not touch, which by construction is what a full render would find.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.kernels import is_kept
from sightline.render.fast import columns as col
from sightline.render.fast.ambient import smooth_cell, table_cell
from sightline.render.fast.glass import lay_glass
from sightline.render.fast.jit import device, small
from sightline.render.fast.mirrors import is_shiny
from sightline.render.fast.pack import Bodies, Meshes, has_glass
from sightline.render.fast.pixels import (
    BETWEEN,
    UNKNOWN,
    WORKED_OUT,
    agreed,
    arriving,
    body_of,
    composed,
    edge_colour,
    look_of,
    mirroring,
    on_edge,
    sparkling,
    surface_at,
    tone_step,
)
from sightline.render.fast.raster import Surfaces
from sightline.render.fast.rays import BY_PI, ONE, ZERO, everything
from sightline.render.fast.settings import RenderPlan
from sightline.render.fast.surroundings import is_plain
from sightline.render.fast.textures import lay_textures
from sightline.render.tones import TONES

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


class Ground(NamedTuple):
    """The lit map of the table.

    Attributes:
        raw: (c, c, 6) irradiance of each cell by itself, from lamps and bounced; `raw_touched` (c, c).
        light: (c, c, 6) irradiance, then the bounced part of it, a mean over the cells around; `touched` (c, c).
    """

    raw: F32
    raw_touched: I64
    light: F32
    touched: I64


class State(NamedTuple):
    """All that was worked out for a view.

    Attributes:
        light: (H, W, 3) irradiance; `touched` (H, W); `how` (H, W) uint8, worked out or between.
        mirror: (H, W, 3) radiance in metal; `mirror_touched` (H, W).
        glints: (H, W, 3) image of the lamps; `glints_touched` (H, W).
        colour: (H, W, 3) radiance of the pixel's middle.
        final: (H, W, 3) radiance of the pixel; `final_touched` (H, W) of its samples, on edges.
    """

    light: F32
    touched: I64
    how: NDArray[np.uint8]
    mirror: F32
    mirror_touched: I64
    glints: F32
    glints_touched: I64
    colour: F32
    final: F32
    final_touched: I64


def _new_state(height: int, width: int) -> State:
    """Make the empty arrays of a view."""
    light, mirror, glints, colour, final = (np.zeros((height, width, 3), np.float32) for _ in range(5))
    touched, mirror_touched, glints_touched, final_touched = (np.zeros((height, width), np.int64) for _ in range(4))
    how = np.zeros((height, width), np.uint8)
    return State(light, touched, how, mirror, mirror_touched, glints, glints_touched, colour, final, final_touched)


def light_table(
    meshes: Meshes, bodies: Bodies, env: F32, plan: RenderPlan, cells: int, old: Ground | None, gone: Sequence[int]
) -> Ground:
    """The lit map; cells of `old` that no body of `gone` touched are taken over."""
    raw, light = (np.zeros((cells, cells, 6), np.float32) for _ in range(2))
    raw_touched, touched = (np.zeros((cells, cells), np.int64) for _ in range(2))
    ground = Ground(raw, raw_touched, light, touched)
    _light_table((meshes.nodes, meshes.tris, bodies.rows), env, plan, ground, old or ground, _bits(gone))
    return ground


def shade(
    meshes: Meshes,
    bodies: Bodies,
    env: F32,
    plan: RenderPlan,
    cam: F32,
    ground: Ground,
    seen: Surfaces,
    before: tuple[Surfaces, State] | None = None,
    gone: Sequence[int] = (),
    sky: F32 | None = None,
) -> tuple[NDArray[np.uint8], State]:
    """The picture, (H, W, 3) uint8 sRGB, and how it came about; `before` is how it was with the bodies `gone`.

    `sky` is the radiance of the pixels that show it, in their order, where it is a picture.
    """
    bits = _bits(gone)
    state = _new_state(*seen.ids.shape)
    old_seen, old = before or (seen, state)
    image = np.empty((*seen.ids.shape, 3), np.uint8)
    same = np.zeros(seen.ids.shape, np.bool_)
    if bits:
        same = (seen.ids == old_seen.ids) & (seen.faces == old_seen.faces) & (seen.depth == old_seen.depth)
    scene, view = (meshes.nodes, meshes.tris, bodies.rows), (seen.parts, seen.depth, seen.normals)
    faced = (seen.parts, seen.faces, seen.depth, seen.normals)
    _light(scene, env, ground, plan, cam, faced, same, state[:3], old[:3], bits)
    _gloss(scene, env, ground, plan, cam, faced, same, state[3:7], old[3:7], bits)
    _compose(bodies.rows, env, cam, *view, state.light, state.mirror, state.glints, state.colour)
    if sky is not None:
        state.colour[np.isnan(seen.depth)] = sky
    if len(meshes.texels):
        textured = (meshes.tris, meshes.uv, meshes.texels, bodies.rows, cam)
        lay_textures(*textured, *faced[:3], state.light, state.colour)
    if has_glass(bodies.rows):
        lay_glass(*scene, env, *ground[2:], plan.points, plan.numbers, cam, seen.parts, state.colour)
    if bits:
        same &= (state.colour == old.colour).all(axis=2)
    lights = (state.light, state.colour, state.final, state.final_touched)
    _smooth_edges(scene, env, ground, plan, cam, view, same, lights, (old.final, old.final_touched), bits)
    _encode(state.final, TONES, image)
    return image, state


def is_compiled() -> bool:
    """Whether all that shades lies compiled on disk."""
    return all(map(is_kept, (_light_table, _light, _gloss, _compose, _smooth_edges, _encode)))


def _bits(gone: Sequence[int]) -> int:
    return sum(1 << body for body in set(gone))


@device
def _light_table(scene, env, plan, ground, before, bits):
    nodes, tris, bodies = scene
    raw, raw_by, lit, lit_by = ground
    old, old_by, _, _ = before
    cells = lit.shape[0]
    mask = everything(bodies)
    for i in range(cells):
        for j in range(cells):
            if bits and not old_by[i, j] & bits:
                for c in range(6):
                    raw[i, j, c] = old[i, j, c]
                raw_by[i, j] = old_by[i, j]
                continue
            table_cell(nodes, tris, bodies, env, raw, raw_by, plan.points, plan.wide, plan.numbers, mask, i, j)
    for i in range(cells):
        for j in range(cells):
            smooth_cell(raw, raw_by, lit, lit_by, i, j)


@device
def _light(scene, env, ground, plan, cam, faced, same, state, old, bits):
    # Arrays come in tuples here, once a picture; to take them apart once more for every pixel would cost.
    nodes, tris, bodies = scene
    _, _, lit, lit_by = ground
    points, dome, numbers, tolerance = plan.points, plan.dome, plan.numbers, plan.tolerance[0]
    parts, faces, depth, normals = faced
    light, touched, how = state
    old_light, old_touched, old_how = old
    height, width = parts.shape
    mask = everything(bodies)
    step = int(numbers[col.LATTICE])
    start = True
    how[:] = UNKNOWN
    while True:
        half = step // 2
        stride = step if start else half
        for y in range(0, height, stride):
            for x in range(0, width, stride):
                if how[y, x] != UNKNOWN:
                    continue
                if not start:
                    dy, dx = half if y % step else 0, half if x % step else 0
                    if _on_table(parts, light, tolerance, y, x, dy, dx):
                        how[y, x] = BETWEEN
                        continue
                    fits, r, g, b = agreed(parts, depth, normals, light, how, tolerance, y, x, dy, dx)
                    if fits:
                        light[y, x, 0], light[y, x, 1], light[y, x, 2] = r, g, b
                        how[y, x] = BETWEEN
                        continue
                how[y, x] = WORKED_OUT
                k, look = body_of(parts[y, x]), look_of(parts[y, x])
                if math.isnan(depth[y, x]) or (k >= 0 and bodies[k, look + col.METAL] >= ONE):
                    light[y, x, 0] = light[y, x, 1] = light[y, x, 2] = ZERO
                    touched[y, x] = 0
                elif same[y, x] and old_how[y, x] == WORKED_OUT and not old_touched[y, x] & bits:
                    for c in range(3):
                        light[y, x, c] = old_light[y, x, c]
                    touched[y, x] = old_touched[y, x]
                else:
                    surface = surface_at(parts, faces, depth, normals, y, x)
                    light[y, x, 0], light[y, x, 1], light[y, x, 2], touched[y, x] = arriving(
                        nodes, tris, bodies, env, lit, lit_by, points, dome, numbers, cam, mask, surface
                    )
        if start:
            start = False
        else:
            step = half
        if step <= 1:
            break


@small
def _on_table(parts, light, tolerance, y, x, dy, dx):
    """`agreed` for a pixel of table or wall among its like, which most are; writes the light down."""
    height, width = parts.shape
    part = parts[y, x]
    if y < dy or x < dx or y + dy >= height or x + dx >= width or part >= col.SLOTS:
        return False
    a, b, c, d = y - dy, y + dy, x - dx, x + dx
    if dy and dx:
        if parts[a, c] != part or parts[a, d] != part or parts[b, c] != part or parts[b, d] != part:
            return False
        p = light[a, c, 0] + light[a, c, 1] + light[a, c, 2]
        q = light[b, d, 0] + light[b, d, 1] + light[b, d, 2]
        r = light[b, c, 0] + light[b, c, 1] + light[b, c, 2]
        s = light[a, d, 0] + light[a, d, 1] + light[a, d, 2]
        high = max(max(p, q), max(r, s))
        if high - min(min(p, q), min(r, s)) > tolerance * high:
            return False
        for i in range(3):
            # In the order of `agreed`, so that both give the same bits.
            total = ((light[a, c, i] + light[b, d, i]) + light[a, d, i]) + light[b, c, i]
            light[y, x, i] = total * np.float32(0.25)
        return True
    if parts[a, c] != part or parts[b, d] != part:
        return False
    p = light[a, c, 0] + light[a, c, 1] + light[a, c, 2]
    q = light[b, d, 0] + light[b, d, 1] + light[b, d, 2]
    if max(p, q) - min(p, q) > tolerance * max(p, q):
        return False
    for i in range(3):
        light[y, x, i] = (light[a, c, i] + light[b, d, i]) * np.float32(0.5)
    return True


@device
def _gloss(scene, env, ground, plan, cam, faced, same, state, old, bits):
    nodes, tris, bodies = scene
    _, _, lit, lit_by = ground
    points, lobe, numbers = plan.points, plan.lobe, plan.numbers
    parts, faces, depth, normals = faced
    mirror, mirror_by, glints, glints_by = state
    old_mirror, old_mirror_by, old_glints, old_glints_by = old
    height, width = parts.shape
    mask = everything(bodies)
    for y in range(height):
        for x in range(width):
            k, look = body_of(parts[y, x]), look_of(parts[y, x])
            if k < 0 or not is_shiny(bodies, k, look):
                continue
            surface = surface_at(parts, faces, depth, normals, y, x)
            if same[y, x] and not old_glints_by[y, x] & bits:
                for c in range(3):
                    glints[y, x, c] = old_glints[y, x, c]
                glints_by[y, x] = old_glints_by[y, x]
            else:
                glints[y, x, 0], glints[y, x, 1], glints[y, x, 2], glints_by[y, x] = sparkling(
                    nodes, tris, bodies, env, points, numbers, cam, mask, surface
                )
            if same[y, x] and not old_mirror_by[y, x] & bits:
                for c in range(3):
                    mirror[y, x, c] = old_mirror[y, x, c]
                mirror_by[y, x] = old_mirror_by[y, x]
            else:
                mirror[y, x, 0], mirror[y, x, 1], mirror[y, x, 2], mirror_by[y, x] = mirroring(
                    nodes, tris, bodies, env, lit, lit_by, points, lobe, numbers, cam, mask, surface
                )


@device
def _compose(bodies, env, cam, parts, depth, normals, light, mirror, glints, colour):
    height, width = parts.shape
    red, green = env[0, col.TABLE_RED] * BY_PI, env[0, col.TABLE_GREEN] * BY_PI
    blue = env[0, col.TABLE_BLUE] * BY_PI
    plain = is_plain(env)
    for y in range(height):
        for x in range(width):
            # Most pixels show the table, for which a call costs more than the work.
            if plain and parts[y, x] == 0 and not math.isnan(depth[y, x]):
                colour[y, x, 0] = light[y, x, 0] * red
                colour[y, x, 1] = light[y, x, 1] * green
                colour[y, x, 2] = light[y, x, 2] * blue
            else:
                colour[y, x, 0], colour[y, x, 1], colour[y, x, 2] = composed(
                    parts, depth, normals, bodies, env, cam, light, mirror, glints, y, x
                )


@device
def _smooth_edges(scene, env, ground, plan, cam, view, same, state, old, bits):
    nodes, tris, bodies = scene
    _, _, lit, lit_by = ground
    rays = (plan.points, plan.lobe, plan.inside, plan.numbers)
    parts, depth, normals = view
    light, colour, final, final_by = state
    shown = (parts, depth, normals, light, colour)
    old_final, old_by = old
    height, width = parts.shape
    every = everything(bodies)
    for y in range(height):
        for x in range(width):
            within = False  # among ground: most pixels are, and need no closer look
            if 0 < y < height - 1 and 0 < x < width - 1:
                other = parts[y, x] | parts[y - 1, x] | parts[y + 1, x] | parts[y, x - 1] | parts[y, x + 1]
                away = depth[y, x] + depth[y - 1, x] + depth[y + 1, x] + depth[y, x - 1] + depth[y, x + 1]
                within = other == 0 and not math.isnan(away)
            if within or not on_edge(parts, depth, normals, bodies, y, x):
                for c in range(3):
                    final[y, x, c] = colour[y, x, c]
            elif not old_by[y, x] & bits and _same_around(same, y, x):
                for c in range(3):
                    final[y, x, c] = old_final[y, x, c]
                final_by[y, x] = old_by[y, x]
            else:
                final[y, x, 0], final[y, x, 1], final[y, x, 2], final_by[y, x] = edge_colour(
                    *(nodes, tris, bodies, env, lit, lit_by, rays, cam, every), *shown, y, x
                )


@device
def _same_around(same, y, x):
    height, width = same.shape
    for v in range(max(0, y - 1), min(height, y + 2)):
        for u in range(max(0, x - 1), min(width, x + 2)):
            if not same[v, u]:
                return False
    return True


@device
def _encode(light, tones, image):
    height, width, _ = light.shape
    for y in range(height):
        for x in range(width):
            for c in range(3):
                image[y, x, c] = tones[tone_step(light[y, x, c])]
