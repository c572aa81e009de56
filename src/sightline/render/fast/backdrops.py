"""Ground, walls and sky as pictures, for a back end that takes pictures: what a camera sees of them, and light."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sightline.render.fast.environment import environment
from sightline.render.fast.jit import device
from sightline.render.fast.pack import camera_row, eye
from sightline.render.fast.rays import FAR, HALF, ONE, TWO, ZERO
from sightline.render.fast.surroundings import averaged_ground, before_wall, ray, seen_albedo, sky_radiance
from sightline.render.sky import seen_sky
from sightline.worlds.layout import Layout, Shot

F32 = NDArray[np.float32]

_SKY = (64, 128)
_GROUND = 1024


def seen_around(layout: Layout, shot: Shot) -> F32:
    """What a view would see without its objects, (H, W, 3): albedo of ground and walls, radiance of the sky."""
    seen = np.empty((shot.size[1], shot.size[0], 3), np.float32)
    sky = np.zeros(seen.shape[:2], np.bool_)
    _fill_seen(environment(layout, 1.0), camera_row(eye(shot)), seen, sky)
    picture = seen_sky(layout, shot, *np.nonzero(sky))
    if picture is not None:
        seen[sky] = picture
    return seen


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
def _fill_seen(env, cam, seen, sky):
    height, width, _ = seen.shape
    for y in range(height):
        for x in range(width):
            dx, dy, dz = ray(cam, np.float32(x) + HALF, np.float32(y) + HALF)
            reach = FAR
            if dz < np.float32(-1e-6):
                reach = -cam[15] / dz
            reach, part = before_wall(env, cam[13], cam[14], cam[15], dx, dy, dz, reach)
            sky[y, x] = reach >= FAR
            if sky[y, x]:
                seen[y, x, 0], seen[y, x, 1], seen[y, x, 2] = sky_radiance(env, dx, dy, dz)
            else:
                seen[y, x, 0], seen[y, x, 1], seen[y, x, 2] = seen_albedo(env, cam, part, reach, y, x)


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
