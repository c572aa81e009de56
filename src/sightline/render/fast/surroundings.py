"""What lies around the objects: colour and class of ground and walls, radiance of the sky. Device functions.

`env` is one array a scene: a header that says where the other rows are, then lamps and regions; see `columns`.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sightline.render.fast import columns as col
from sightline.render.fast.jit import device, small
from sightline.render.fast.patterns import pattern_colour
from sightline.render.fast.rays import BY_PI, FAR, HALF, ONE, ZERO

F32 = NDArray[np.float32]

FIRST_LAMP = np.uint32(1)
"""The row of the first lamp."""

SKY_CLASS = 1
"""Number of the sky in stuff maps."""

_THIN = np.float32(1e-6)
_LEVEL = np.float32(1e-6)
_HIDDEN = np.float32(1e-3)


@small
def ray(cam, x, y):
    """The direction with depth 1 through a position of the image, in world axes."""
    u, v = (x - cam[2]) * cam[0], (y - cam[3]) * cam[1]
    return cam[4] * u + cam[7] * v + cam[10], cam[5] * u + cam[8] * v + cam[11], cam[6] * u + cam[9] * v + cam[12]


@small
def lamps_end(env):
    """The row after the last lamp's."""
    return np.uint32(env[0, col.LAMPS_END])


@small
def is_plain(env):
    """Whether the ground has one colour throughout."""
    return env[0, col.REGIONS_END] == env[0, col.LAMPS_END]


@small
def _in_region(env, i, x, y):
    """A position in the axes of region i: (x, y)."""
    dx, dy = x - env[i, col.REGION_X], y - env[i, col.REGION_Y]
    c, s = env[i, col.REGION_COS], env[i, col.REGION_SIN]
    return c * dx + s * dy, c * dy - s * dx


@device
def _region_at(env, x, y):
    """The row of the region that lies on top at (x, y); 0 where the table is bare."""
    for i in range(int(env[0, col.REGIONS_END]) - 1, lamps_end(env) - 1, -1):
        u, v = _in_region(env, i, x, y)
        r = env[i, col.DISC]
        inside = env[i, col.LOW] <= u <= env[i, col.HIGH] and abs(v) <= env[i, col.SIDE]
        if inside and (r == ZERO or u * u + v * v <= r * r):
            return i
    return 0


@small
def ground_class(env, x, y):
    """Number of the ground's class at (x, y) metres."""
    if is_plain(env):
        return int(env[0, col.TABLE_CLASS])
    i = _region_at(env, x, y)
    return int(env[i, col.CLASS]) if i > 0 else int(env[0, col.TABLE_CLASS])


@small
def ground_colour(env, x, y):
    """Albedo of the ground around (x, y) metres, its patterns averaged, as bounced light sees it: (r, g, b)."""
    if is_plain(env):
        return env[0, col.TABLE_RED], env[0, col.TABLE_GREEN], env[0, col.TABLE_BLUE]
    i = _region_at(env, x, y)
    if i == 0:
        return env[0, col.TABLE_RED], env[0, col.TABLE_GREEN], env[0, col.TABLE_BLUE]
    return env[i, col.MEAN_RED], env[i, col.MEAN_GREEN], env[i, col.MEAN_BLUE]


@small
def _covered(low, high, f):
    """Share of a width f around 0 that lies between low and high."""
    f = max(f, _THIN)
    return max(min(high / f, HALF) - max(low / f, -HALF), ZERO)


@device
def averaged_ground(env, x, y, ax, ay, bx, by):
    """Albedo of the ground averaged over the parallelogram around (x, y) with the sides a and b: (r, g, b)."""
    red = green = blue = ZERO
    left = ONE
    for i in range(int(env[0, col.REGIONS_END]) - 1, lamps_end(env) - 1, -1):
        u, v = _in_region(env, i, x, y)
        c, s = env[i, col.REGION_COS], env[i, col.REGION_SIN]
        fu, fv = abs(c * ax + s * ay) + abs(c * bx + s * by), abs(c * ay - s * ax) + abs(c * by - s * bx)
        if env[i, col.DISC] > ZERO:
            away = math.sqrt(u * u + v * v)
            f = (abs(u) * fu + abs(v) * fv) / max(away, _THIN)
            share = _covered(-env[i, col.DISC] - away, env[i, col.DISC] - away, f)
        else:
            side = env[i, col.SIDE]
            share = _covered(env[i, col.LOW] - u, env[i, col.HIGH] - u, fu) * _covered(-side - v, side - v, fv)
        share *= left
        if share > ZERO:
            r, g, b = pattern_colour(env, i, u, v, fu, fv)
            red, green, blue, left = red + share * r, green + share * g, blue + share * b, left - share
            if left < _HIDDEN:
                break
    return (
        red + left * env[0, col.TABLE_RED],
        green + left * env[0, col.TABLE_GREEN],
        blue + left * env[0, col.TABLE_BLUE],
    )


@device
def seen_ground(env, cam, depth, y, x):
    """Albedo of the ground as a pixel sees it: (r, g, b)."""
    dx, dy, dz = ray(cam, np.float32(x) + HALF, np.float32(y) + HALF)
    # How the point moves on the ground from this pixel to the next.
    a, b = cam[0] * cam[6] / dz, cam[1] * cam[9] / dz
    return averaged_ground(
        env,
        cam[col.EYE_X] + depth * dx,
        cam[col.EYE_Y] + depth * dy,
        depth * (cam[0] * cam[4] - dx * a),
        depth * (cam[0] * cam[5] - dy * a),
        depth * (cam[1] * cam[7] - dx * b),
        depth * (cam[1] * cam[8] - dy * b),
    )


@device
def _nearest_wall(env, ox, oy, oz, dx, dy, dz, reach):
    part, first = 0, int(env[0, col.REGIONS_END])
    for i in range(first, int(env[0, col.WALLS_END])):
        along = env[i, col.WALL_X] * dx + env[i, col.WALL_Y] * dy
        away = env[i, col.WALL_AWAY] - env[i, col.WALL_X] * ox - env[i, col.WALL_Y] * oy
        if along > _THIN and away > ZERO and away < reach * along:
            t = away / along
            if oz + t * dz <= env[i, col.WALL_HEIGHT]:
                reach, part = t, i - first + 1
    return reach, part


@small
def before_wall(env, ox, oy, oz, dx, dy, dz, reach):
    """Where a ray that goes so far meets a wall, and which part that is: (t, part); (reach, 0) if it meets none.

    Walls are not seen from behind, so those that the ray begins behind do not count.
    """
    if env[0, col.WALLS_END] == env[0, col.REGIONS_END]:
        return reach, 0
    return _nearest_wall(env, ox, oy, oz, dx, dy, dz, reach)


@small
def camera_ray(env, cam, x, y):
    """The ray through a position of the image, up to the table or a wall: (dx, dy, dz, reach, part).

    `reach` is FAR and the part 0 where the ray meets neither.
    """
    dx, dy, dz = ray(cam, x, y)
    reach = FAR
    if dz < -_LEVEL:
        reach = -cam[col.EYE_Z] / dz
    reach, part = before_wall(env, cam[col.EYE_X], cam[col.EYE_Y], cam[col.EYE_Z], dx, dy, dz, reach)
    return dx, dy, dz, reach, part


@small
def wall_of(env, part):
    """The row of the wall that is a part of the picture."""
    return int(env[0, col.REGIONS_END]) + part - 1


@device
def seen_wall(env, cam, part, depth, y, x):
    """Albedo of a wall as a pixel sees it: (r, g, b)."""
    i = wall_of(env, part)
    nx, ny = env[i, col.WALL_X], env[i, col.WALL_Y]
    dx, dy, dz = ray(cam, np.float32(x) + HALF, np.float32(y) + HALF)
    along = ONE / (nx * dx + ny * dy)
    a = cam[0] * (nx * cam[4] + ny * cam[5]) * along
    b = cam[1] * (nx * cam[7] + ny * cam[8]) * along
    across = ny * (cam[col.EYE_X] + depth * dx) - nx * (cam[col.EYE_Y] + depth * dy)
    au = ny * (cam[0] * cam[4] - dx * a) - nx * (cam[0] * cam[5] - dy * a)
    bu = ny * (cam[1] * cam[7] - dx * b) - nx * (cam[1] * cam[8] - dy * b)
    av, bv = cam[0] * cam[6] - dz * a, cam[1] * cam[9] - dz * b
    fu, fv = depth * (abs(au) + abs(bu)), depth * (abs(av) + abs(bv))
    return pattern_colour(env, i, across, cam[col.EYE_Z] + depth * dz, fu, fv)


@small
def seen_albedo(env, cam, part, depth, y, x):
    """Albedo of ground or wall as a pixel sees it: (r, g, b)."""
    if part > 0:
        return seen_wall(env, cam, part, depth, y, x)
    if is_plain(env):
        return env[0, col.TABLE_RED], env[0, col.TABLE_GREEN], env[0, col.TABLE_BLUE]
    return seen_ground(env, cam, depth, y, x)


@small
def stuff_at(env, cam, part, depth, y, x):
    """Number of the class that a pixel shows; 0 for an object."""
    if part >= col.SLOTS:
        return 0
    if math.isnan(depth):
        return SKY_CLASS
    if part > 0:
        return int(env[wall_of(env, part), col.CLASS])
    if is_plain(env):
        return int(env[0, col.TABLE_CLASS])
    dx, dy, _ = ray(cam, np.float32(x) + HALF, np.float32(y) + HALF)
    return ground_class(env, cam[col.EYE_X] + depth * dx, cam[col.EYE_Y] + depth * dy)


def stuff_map(env: F32, cam: F32, parts: NDArray[np.int32], depth: F32) -> NDArray[np.uint8]:
    """Number of the class that every pixel shows, (H, W); 0 for an object."""
    stuff = np.empty(parts.shape, np.uint8)
    _fill_stuff(env, cam, parts, depth, stuff)
    return stuff


@device
def _fill_stuff(env, cam, parts, depth, stuff):
    height, width = parts.shape
    plain, table = is_plain(env) and env[0, col.WALLS_END] == env[0, col.REGIONS_END], int(env[0, col.TABLE_CLASS])
    for y in range(height):
        if plain:  # without a branch for every pixel: most worlds are, and geometry is cheap
            for x in range(width):
                ground = depth[y, x] == depth[y, x]  # not NaN
                stuff[y, x] = (parts[y, x] < col.SLOTS) * (SKY_CLASS + ground * (table - SKY_CLASS))
            continue
        for x in range(width):
            stuff[y, x] = stuff_at(env, cam, parts[y, x], depth[y, x], y, x)


@device
def _patterned_sky(env, dx, dy, dz):
    """Radiance of a sky that is not the same everywhere."""
    up = dz / math.sqrt(dx * dx + dy * dy + dz * dz)
    if env[0, col.SKY_KIND] == ONE:
        m = ONE - max(up, ZERO)
        s = ONE - m * m
        return (
            env[0, col.HORIZON_RED] + s * (env[0, col.ZENITH_RED] - env[0, col.HORIZON_RED]),
            env[0, col.HORIZON_GREEN] + s * (env[0, col.ZENITH_GREEN] - env[0, col.HORIZON_GREEN]),
            env[0, col.HORIZON_BLUE] + s * (env[0, col.ZENITH_BLUE] - env[0, col.HORIZON_BLUE]),
        )
    v = (HALF - math.asin(min(max(up, -ONE), ONE)) * BY_PI) * np.float32(col.MAP_ROWS) - HALF
    u = (HALF - math.atan2(dy, dx) * BY_PI * HALF) * np.float32(col.MAP_COLUMNS) - HALF
    i, j = int(math.floor(v)), int(math.floor(u))  # noqa: RUF046 - CUDA's floor is a float
    b, a = v - np.float32(i), u - np.float32(j)
    first = int(env[0, col.WALLS_END])
    top, low = first + 3 * min(max(i, 0), col.MAP_ROWS - 1), first + 3 * min(max(i + 1, 0), col.MAP_ROWS - 1)
    left, right = j % col.MAP_COLUMNS, (j + 1) % col.MAP_COLUMNS
    k, m, n, o = (ONE - a) * (ONE - b), a * (ONE - b), (ONE - a) * b, a * b
    return (
        k * env[top, left] + m * env[top, right] + n * env[low, left] + o * env[low, right],
        k * env[top + 1, left] + m * env[top + 1, right] + n * env[low + 1, left] + o * env[low + 1, right],
        k * env[top + 2, left] + m * env[top + 2, right] + n * env[low + 2, left] + o * env[low + 2, right],
    )


@small
def sky_radiance(env, dx, dy, dz):
    """Radiance that comes from the sky against a direction of any length: (r, g, b)."""
    if env[0, col.SKY_KIND] == ZERO:
        return env[0, col.SKY_RED], env[0, col.SKY_GREEN], env[0, col.SKY_BLUE]
    return _patterned_sky(env, dx, dy, dz)
