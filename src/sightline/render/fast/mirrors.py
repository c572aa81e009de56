"""What metal mirrors: the lamps, and everything else.

Device functions; `touched` as in `lamplight`.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from sightline.render.fast import columns as col
from sightline.render.fast.ambient import frame_of, table_light
from sightline.render.fast.jit import device, small
from sightline.render.fast.lamplight import glance, seen_share, sheen
from sightline.render.fast.rays import (
    FAINT,
    FAR,
    HALF,
    OFFSET,
    ONE,
    PI,
    QUARTERS,
    SINGLE,
    TWO,
    ZERO,
    look_at,
    nearest,
    normal_at,
)
from sightline.render.fast.surroundings import before_wall, ground_colour, lamps_end, sky_radiance, wall_of

_SOFT = np.float32(0.2)


@device
def glint(
    nodes, tris, bodies, env, points, mask, k, look, px, py, pz, nx, ny, nz, vx, vy, vz, alpha, count, turn, rays
):
    """Radiance of the lamps mirrored towards v by body k's look, its lobe alpha wide: (r, g, b, touched)."""
    f0, f1, f2 = bodies[k, look + col.RED], bodies[k, look + col.GREEN], bodies[k, look + col.BLUE]
    red = green = blue = ZERO
    touched = 0
    for i in range(1, lamps_end(env)):
        total, edge = sheen(env, i, points, count, alpha, px, py, pz, nx, ny, nz, vx, vy, vz)
        if total * env[i, col.LAMP_RED] < FAINT:
            continue
        share, met = seen_share(
            nodes, tris, bodies, mask, env, i, points, turn, rays, np.int32(4 * rays), px, py, pz, nx, ny, nz
        )
        touched |= met
        red += share * env[i, col.LAMP_RED] * (f0 * (total - edge) + edge)
        green += share * env[i, col.LAMP_GREEN] * (f1 * (total - edge) + edge)
        blue += share * env[i, col.LAMP_BLUE] * (f2 * (total - edge) + edge)
    return red, green, blue, touched


@small
def visible_normal(alpha, vx, vy, vz, u, v):
    """A half vector drawn from the microfacets that v sees, in the frame of the normal (z)."""
    sx, sy, sz = alpha * vx, alpha * vy, vz
    scale = ONE / math.sqrt(sx * sx + sy * sy + sz * sz)
    sx, sy, sz = sx * scale, sy * scale, sz * scale
    across = sx * sx + sy * sy
    if across > np.float32(1e-12):
        inverse = ONE / math.sqrt(across)
        ax, ay = -sy * inverse, sx * inverse
    else:
        ax, ay = ONE, ZERO
    bx, by, bz = -sz * ay, sz * ax, sx * ay - sy * ax
    r, phi = math.sqrt(u), TWO * PI * v
    p, q = r * math.cos(phi), r * math.sin(phi)
    s = HALF * (ONE + sz)
    q = (ONE - s) * math.sqrt(max(ZERO, ONE - p * p)) + s * q
    w = math.sqrt(max(ZERO, ONE - p * p - q * q))
    hx, hy, hz = p * ax + q * bx + w * sx, p * ay + q * by + w * sy, q * bz + w * sz
    hx, hy, hz = alpha * hx, alpha * hy, max(hz, np.float32(1e-6))
    scale = ONE / math.sqrt(hx * hx + hy * hy + hz * hz)
    return hx * scale, hy * scale, hz * scale


@device
def mirrored(nodes, tris, bodies, env, lit, lit_by, points, lobe, mask, place, start, count, depth):
    """Radiance of the surroundings mirrored by metal towards v, lamps left to `glint`: (r, g, b, touched).

    `place` is the metal's body k, the first column of its look, a point of it, the normal there, and v.
    """
    k, look, px, py, pz, nx, ny, nz, vx, vy, vz = place
    alpha = bodies[k, look + col.LOBE]
    f0, f1, f2 = bodies[k, look + col.RED], bodies[k, look + col.GREEN], bodies[k, look + col.BLUE]
    tx, ty, tz, bx, by, bz = frame_of(nx, ny, nz)
    lx, ly = vx * tx + vy * ty + vz * tz, vx * bx + vy * by + vz * bz
    lz = max(vx * nx + vy * ny + vz * nz, np.float32(1e-3))
    red = green = blue = ZERO
    touched = 0
    for i in range(start, start + count):
        hx, hy, hz = visible_normal(alpha, lx, ly, lz, lobe[i, 0], lobe[i, 1])
        vh = lx * hx + ly * hy + lz * hz
        rx, ry, rz = TWO * vh * hx - lx, TWO * vh * hy - ly, TWO * vh * hz - lz
        if rz <= ZERO:
            continue
        a2 = alpha * alpha
        kept = TWO * rz / (rz + math.sqrt(rz * rz * (ONE - a2) + a2))  # masking of the way out, G1
        dx, dy, dz = rx * tx + ry * bx + rz * nx, rx * ty + ry * by + rz * ny, rx * tz + ry * bz + rz * nz
        m = ONE - vh
        edge = m * m * m * m * m
        r, g, b, met = path(nodes, tris, bodies, env, lit, lit_by, points, mask, px, py, pz, dx, dy, dz, i, depth)
        red += kept * r * (f0 + (ONE - f0) * edge)
        green += kept * g * (f1 + (ONE - f1) * edge)
        blue += kept * b * (f2 + (ONE - f2) * edge)
        touched |= met
    scale = ONE / np.float32(count)
    return red * scale, green * scale, blue * scale, touched


@device
def path(nodes, tris, bodies, env, lit, lit_by, points, mask, px, py, pz, dx, dy, dz, turn, depth):
    """What a mirror ray sees, through further mirrors: (r, g, b, touched).

    `turn` numbers the ray, so that the rays of a pixel look for different points of the lamps.
    """
    wr = wg = wb = ONE
    red = green = blue = ZERO
    touched = 0
    for _ in range(depth):
        reach = FAR
        if dz < np.float32(-1e-5):
            reach = -pz / dz
        reach, wall = before_wall(env, px, py, pz, dx, dy, dz, reach)
        t, k, face, u, v = nearest(nodes, tris, bodies, mask, px, py, pz, dx, dy, dz, reach)
        if k < 0:
            if wall > 0:
                i = wall_of(env, wall)
                qx, qy, qz = px + t * dx, py + t * dy, pz + t * dz
                nx, ny = -env[i, col.WALL_X], -env[i, col.WALL_Y]
                r, g, b, met = glance(nodes, tris, bodies, env, mask, qx, qy, qz, nx, ny, ZERO)
                return (
                    red + wr * (r / PI + env[0, col.SKY_RED]) * env[i, col.MEAN_RED],
                    green + wg * (g / PI + env[0, col.SKY_GREEN]) * env[i, col.MEAN_GREEN],
                    blue + wb * (b / PI + env[0, col.SKY_BLUE]) * env[i, col.MEAN_BLUE],
                    touched | met,
                )
            if reach == FAR:
                r, g, b = sky_radiance(env, dx, dy, dz)
                return red + wr * r, green + wg * g, blue + wb * b, touched
            r, g, b, met = table_light(lit, lit_by, env, px + t * dx, py + t * dy)
            cr, cg, cb = ground_colour(env, px + t * dx, py + t * dy)
            return (red + wr * r / PI * cr, green + wg * g / PI * cg, blue + wb * b / PI * cb, touched | met)
        touched |= 1 << k
        look = look_at(tris, face)
        nx, ny, nz = normal_at(tris, bodies, k, face, u, v, dx, dy, dz)
        facing = nx * dx + ny * dy + nz * dz
        if facing > ZERO:  # a smooth normal that leans away at the rim
            return red, green, blue, touched
        px, py, pz = px + t * dx + OFFSET * nx, py + t * dy + OFFSET * ny, pz + t * dz + OFFSET * nz
        if bodies[k, look + col.METAL] < HALF:
            r, g, b, met = glance(nodes, tris, bodies, env, mask, px, py, pz, nx, ny, nz)
            # A stand-in for the light that reaches it from the lit table.
            around = HALF * (ONE - nz) * env[0, col.TABLE_RED]
            r = r / PI + env[0, col.SKY_RED] + around * env[0, col.BARE_RED]
            g = g / PI + env[0, col.SKY_GREEN] + around * env[0, col.BARE_GREEN]
            b = b / PI + env[0, col.SKY_BLUE] + around * env[0, col.BARE_BLUE]
            return (
                red + wr * bodies[k, look + col.RED] * r,
                green + wg * bodies[k, look + col.GREEN] * g,
                blue + wb * bodies[k, look + col.BLUE] * b,
                touched | met,
            )
        # A sharp highlight seen in another mirror would come out as speckles: few rays find it.
        soft = max(bodies[k, look + col.LOBE], _SOFT)
        r, g, b, met = glint(
            nodes,
            tris,
            bodies,
            env,
            points,
            mask,
            k,
            look,
            px,
            py,
            pz,
            nx,
            ny,
            nz,
            -dx,
            -dy,
            -dz,
            soft,
            QUARTERS,
            turn,
            SINGLE,
        )
        red, green, blue, touched = red + wr * r, green + wg * g, blue + wb * b, touched | met
        dx, dy, dz = dx - TWO * facing * nx, dy - TWO * facing * ny, dz - TWO * facing * nz
        wr, wg, wb = (
            wr * bodies[k, look + col.RED],
            wg * bodies[k, look + col.GREEN],
            wb * bodies[k, look + col.BLUE],
        )
    return red, green, blue, touched
