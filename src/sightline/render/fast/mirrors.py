"""What metal and coats mirror: the lamps, and everything else.

Device functions; `touched` as in `lamplight`.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from sightline.render.fast import columns as col
from sightline.render.fast.ambient import frame_of, matte_light, table_light
from sightline.render.fast.jit import device, small
from sightline.render.fast.lamplight import BROAD, glance, kept_again, seen_share, sheen
from sightline.render.fast.rays import (
    FAINT,
    FAR,
    HALF,
    HALVES,
    NEXT,
    NONE,
    OFFSET,
    ONE,
    PI,
    SINGLE,
    TWO,
    ZERO,
    met_surface,
)
from sightline.render.fast.surroundings import (
    FIRST_LAMP,
    before_wall,
    ground_colour,
    lamps_end,
    sky_radiance,
    wall_of,
)

_SOFT = np.float32(0.15)
_DIM = np.float32(0.02)
_STEP24 = np.float32(1.0 / (1 << 24))


@small
def is_shiny(bodies, k, look):
    """Whether a look mirrors shapes: metal, or a coat whose lobe is not too broad for that."""
    if bodies[k, look + col.METAL] > ZERO:
        return True
    return bodies[k, look + col.COAT] > ZERO and bodies[k, look + col.LOBE] <= BROAD


@small
def reflectance(bodies, k, look):
    """Reflectance of a look seen head-on: of the metal's colour and of the coat, by how much of each there is."""
    metal = bodies[k, look + col.METAL]
    coat = (ONE - metal) * bodies[k, look + col.COAT]
    return (
        coat + metal * bodies[k, look + col.RED],
        coat + metal * bodies[k, look + col.GREEN],
        coat + metal * bodies[k, look + col.BLUE],
    )


@device
def glint(nodes, tris, bodies, env, points, mask, place, alpha, shown, side, turn, rays):
    """Radiance of the lamps mirrored towards v by a lobe alpha wide: (r, g, b, touched).

    `place` as in `mirrored`; `shown` and `side` say which points of a lamp make up its image, as in `sheen`, `turn`
    and `rays` which are tried for shadow.
    """
    k, look, px, py, pz, nx, ny, nz, vx, vy, vz = place
    f0, f1, f2 = reflectance(bodies, k, look)
    red = green = blue = ZERO
    touched = 0
    after, end = FIRST_LAMP, lamps_end(env)
    while after < end:
        i, after = after, np.uint32(after + NEXT)
        total, edge = sheen(env, i, points, shown, side, alpha, px, py, pz, nx, ny, nz, vx, vy, vz)
        if total * env[i, col.LAMP_RED] < FAINT:
            continue
        share, met = seen_share(
            nodes, tris, bodies, mask, env, i, points, turn, rays, np.int32(4 * rays), px, py, pz, nx, ny, nz
        )
        touched |= met
        red += share * env[i, col.LAMP_RED] * (f0 * (total - edge) + edge)
        green += share * env[i, col.LAMP_GREEN] * (f1 * (total - edge) + edge)
        blue += share * env[i, col.LAMP_BLUE] * (f2 * (total - edge) + edge)
    nv = nx * vx + ny * vy + nz * vz
    return (
        red * kept_again(f0, alpha, nv),
        green * kept_again(f1, alpha, nv),
        blue * kept_again(f2, alpha, nv),
        touched,
    )


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


@small
def drawn_mirror(alpha, nx, ny, nz, vx, vy, vz, u, v):
    """A direction drawn from the lobe that mirrors towards v: (dx, dy, dz, share kept, Fresnel's edge term)."""
    tx, ty, tz, bx, by, bz = frame_of(nx, ny, nz)
    lx, ly = vx * tx + vy * ty + vz * tz, vx * bx + vy * by + vz * bz
    lz = max(vx * nx + vy * ny + vz * nz, np.float32(1e-3))
    hx, hy, hz = visible_normal(alpha, lx, ly, lz, u, v)
    vh = lx * hx + ly * hy + lz * hz
    rx, ry, rz = TWO * vh * hx - lx, TWO * vh * hy - ly, TWO * vh * hz - lz
    m, a2 = ONE - vh, alpha * alpha
    kept = ZERO
    if rz > ZERO:
        kept = TWO * rz / (rz + math.sqrt(rz * rz * (ONE - a2) + a2))  # masking of the way out, G1
    dx, dy, dz = rx * tx + ry * bx + rz * nx, rx * ty + ry * by + rz * ny, rx * tz + ry * bz + rz * nz
    return dx, dy, dz, kept, m * m * m * m * m


@device
def mirrored(nodes, tris, bodies, env, lit, lit_by, points, lobe, mask, place, start, count, seed, depth):
    """Radiance of the surroundings mirrored towards v, lamps left to `glint`: (r, g, b, touched).

    By `count` rays with the numbers of `lobe` from `start` on; `seed` tells how they go on from further mirrors.
    `place` is the body k, the first column of its look, a point of it, the normal there, and v.
    """
    k, look, px, py, pz, nx, ny, nz, vx, vy, vz = place
    alpha = bodies[k, look + col.LOBE]
    f0, f1, f2 = reflectance(bodies, k, look)
    red = green = blue = ZERO
    touched = 0
    for i in range(start, start + count):
        dx, dy, dz, kept, edge = drawn_mirror(alpha, nx, ny, nz, vx, vy, vz, lobe[i, 0], lobe[i, 1])
        if kept <= ZERO:
            continue
        r, g, b, met = path(
            nodes, tris, bodies, env, lit, lit_by, points, mask, px, py, pz, dx, dy, dz, seed + i, depth
        )
        r = kept * r * (f0 + (ONE - f0) * edge)
        g = kept * g * (f1 + (ONE - f1) * edge)
        b = kept * b * (f2 + (ONE - f2) * edge)
        red, green, blue = red + r, green + g, blue + b
        touched |= met
    scale, nv = ONE / np.float32(count), nx * vx + ny * vy + nz * vz
    return (
        red * scale * kept_again(f0, alpha, nv),
        green * scale * kept_again(f1, alpha, nv),
        blue * scale * kept_again(f2, alpha, nv),
        touched,
    )


@small
def _scattered(turn, bounce):
    """Two numbers in [0, 1) for a ray's further mirrors: all rays go on differently."""
    p = (turn * 2654435769 + bounce * 2246822519) & 0xFFFFFFFF
    q = (turn * 1640531527 + bounce * 3266489917 + 374761393) & 0xFFFFFFFF
    p, q = p ^ (p >> 15), q ^ (q >> 13)
    p, q = (p * 2146121005) & 0xFFFFFFFF, (q * 2221713035) & 0xFFFFFFFF
    return np.float32(p >> 8) * _STEP24, np.float32(q >> 8) * _STEP24


@device
def path(nodes, tris, bodies, env, lit, lit_by, points, mask, px, py, pz, dx, dy, dz, turn, depth):
    """What a mirror ray sees, through further mirrors: (r, g, b, touched).

    `turn` numbers the ray, so that the rays of a pixel try different points of the lamps and go on differently.
    """
    wr = wg = wb = ONE
    red = green = blue = ZERO
    touched = 0
    for bounce in range(depth):
        reach = FAR
        if dz < np.float32(-1e-5):
            reach = -pz / dz
        reach, wall = before_wall(env, px, py, pz, dx, dy, dz, reach)
        t, k, look, _, nx, ny, nz = met_surface(nodes, tris, bodies, mask, px, py, pz, dx, dy, dz, reach)
        if k < 0:
            if wall > 0:
                i = wall_of(env, wall)
                qx, qy, qz = px + t * dx, py + t * dy, pz + t * dz
                wx, wy = -env[i, col.WALL_X], -env[i, col.WALL_Y]
                r, g, b, met = glance(nodes, tris, bodies, env, mask, qx, qy, qz, wx, wy, ZERO)
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
        if nx * dx + ny * dy + nz * dz > ZERO:  # a smooth normal that leans away at the rim
            return red, green, blue, touched
        px, py, pz = px + t * dx + OFFSET * nx, py + t * dy + OFFSET * ny, pz + t * dz + OFFSET * nz
        metal = bodies[k, look + col.METAL]
        if metal < ONE:
            r, g, b, met = matte_light(nodes, tris, bodies, env, mask, k, look, px, py, pz, nx, ny, nz)
            matte = ONE - metal
            red, green, blue = red + wr * matte * r, green + wg * matte * g, blue + wb * matte * b
            touched |= met
            if metal <= ZERO:  # what its coat mirrors is left out
                return red, green, blue, touched
        # A sharp highlight seen in another mirror would come out as speckles: few rays find it.
        soft = max(bodies[k, look + col.LOBE], _SOFT)
        place = (k, look, px, py, pz, nx, ny, nz, -dx, -dy, -dz)
        r, g, b, met = glint(nodes, tris, bodies, env, points, mask, place, soft, NONE, HALVES, turn, SINGLE)
        red, green, blue, touched = red + wr * r, green + wg * g, blue + wb * b, touched | met
        p, q = _scattered(turn, bounce)
        dx, dy, dz, kept, edge = drawn_mirror(bodies[k, look + col.LOBE], nx, ny, nz, -dx, -dy, -dz, p, q)
        f0, f1, f2 = reflectance(bodies, k, look)
        wr, wg = wr * kept * (f0 + (ONE - f0) * edge), wg * kept * (f1 + (ONE - f1) * edge)
        wb *= kept * (f2 + (ONE - f2) * edge)
        if max(max(wr, wg), wb) < _DIM:
            break
    return red, green, blue, touched
