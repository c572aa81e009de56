"""Ground, walls and sky as pictures, for a back end that takes pictures: what a camera sees of them, and light."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sightline.render.fast import columns as col
from sightline.render.fast.environment import environment
from sightline.render.fast.jit import device
from sightline.render.fast.pack import camera_row, eye
from sightline.render.fast.rays import FAR, HALF, ONE, TWO, ZERO
from sightline.render.fast.surroundings import averaged_ground, camera_ray, seen_albedo, sky_radiance
from sightline.render.sky import seen_sky
from sightline.worlds.layout import Layout, Shot

F32 = NDArray[np.float32]

_SKY = (64, 128)
_GROUND = 1024
_OPEN, _DISTANT = 1, 2  # pixels of the sky, and of ground far away


def seen_around(layout: Layout, shot: Shot, far: float) -> tuple[F32, F32]:
    """What a view would see without its objects: albedo of ground and walls, and radiance behind, (H, W, 3) each.

    Where the one ends within a pixel the other goes on: albedo is drawn out by a pixel, and the sky stands behind
    everything but the ground farther away than `far` metres, which is there as lit by the sky alone.
    """
    env, size = environment(layout, 1.0), (shot.size[1], shot.size[0])
    albedo, behind = np.zeros((*size, 3), np.float32), np.empty((*size, 3), np.float32)
    kind = np.empty(size, np.uint8)
    _fill_seen(env, camera_row(eye(shot)), np.float32(far), albedo, behind, kind)
    picture = seen_sky(layout, shot, *np.nonzero(kind != _DISTANT))
    if picture is not None:
        behind[kind != _DISTANT] = picture
    open_sky = kind == _OPEN
    for axis, step in ((0, -1), (0, 1), (1, -1), (1, 1)):
        beside, shown = np.roll(albedo, step, axis), np.roll(kind, step, axis) != _OPEN
        taken = open_sky & shown
        albedo[taken] = beside[taken]
        open_sky &= ~taken
    return albedo, behind


def baked_ground(layout: Layout, half: float) -> F32:
    """Albedo of the ground from above, (1024, 1024, 3); columns go along x from −half to half, rows against y."""
    ground = np.empty((_GROUND, _GROUND, 3), np.float32)
    _fill_ground(environment(layout, 1.0), np.float32(half), ground)
    return ground


def baked_sky(layout: Layout) -> F32:
    """Radiance of all directions as it lights the scene, (64, 128, 3); see `render.sky` for the directions."""
    sky = np.empty((*_SKY, 3), np.float32)
    _fill_sky(environment(layout, 1.0), sky)
    return sky


@device
def _fill_seen(env, cam, far, albedo, behind, kind):
    height, width, _ = albedo.shape
    for y in range(height):
        for x in range(width):
            dx, dy, dz, reach, part = camera_ray(env, cam, np.float32(x) + HALF, np.float32(y) + HALF)
            kind[y, x] = _OPEN if reach >= FAR else 0
            behind[y, x, 0], behind[y, x, 1], behind[y, x, 2] = sky_radiance(env, dx, dy, dz)
            if reach < FAR:
                r, g, b = seen_albedo(env, cam, part, reach, y, x)
                albedo[y, x, 0], albedo[y, x, 1], albedo[y, x, 2] = r, g, b
                if part == 0 and reach > far:
                    kind[y, x] = _DISTANT
                    behind[y, x, 0], behind[y, x, 1] = r * env[0, col.SKY_RED], g * env[0, col.SKY_GREEN]
                    behind[y, x, 2] = b * env[0, col.SKY_BLUE]


@device
def _fill_ground(env, half, ground):
    rows, columns, _ = ground.shape
    step = TWO * half / np.float32(columns)
    for i in range(rows):
        for j in range(columns):
            x, y = (np.float32(j) + HALF) * step - half, half - (np.float32(i) + HALF) * step
            r, g, b = averaged_ground(env, x, y, step, ZERO, ZERO, step)
            ground[i, j, 0], ground[i, j, 1], ground[i, j, 2] = r, g, b


@device
def _fill_sky(env, sky):
    rows, columns, _ = sky.shape
    for i in range(rows):
        up = (HALF - (np.float32(i) + HALF) / np.float32(rows)) * np.float32(math.pi)
        for j in range(columns):
            around = (ONE - TWO * (np.float32(j) + HALF) / np.float32(columns)) * np.float32(math.pi)
            level = math.cos(up)
            dx, dy, dz = level * math.cos(around), level * math.sin(around), math.sin(up)
            sky[i, j, 0], sky[i, j, 1], sky[i, j, 2] = sky_radiance(env, dx, dy, dz)
