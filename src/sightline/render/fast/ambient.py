"""Light that comes from the sky or was thrown back once, and the lit map of the table.

Device functions; `touched` as in `lamplight`. Metal throws nothing back on matte surfaces here: caustics are left
out, as in the reference.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from sightline.render.fast import columns as col
from sightline.render.fast.jit import device, small
from sightline.render.fast.lamplight import direct, ggx, glance, hidden_share, lamp_factor, mirrored_share
from sightline.render.fast.rays import (
    FAR,
    FIRST,
    HALF,
    NEXT,
    OFFSET,
    ONE,
    PI,
    START,
    TWO,
    ZERO,
    met_surface,
    nearest,
    normal_at,
)
from sightline.render.fast.surroundings import FIRST_LAMP, ground_colour, lamps_end, sky_radiance

_APART2 = np.float32(0.0144)
_BOUNCED = np.int64(3)  # channel of the lit map
_TURNS = np.float32(2.0 * math.pi / 9.0)

COVERED = 1 << 62
"""Set in `touched` of a cell of the lit map that lies under an object; bodies have the bits below."""


@small
def _between_cells(lit, lit_by, env, x, y, c):
    """Channels c to c + 2 of the lit map, between its cells: (whether it reaches there, r, g, b, touched)."""
    cells = lit.shape[0]
    u = (x / env[0, col.MAP_HALF] + ONE) * HALF * np.float32(cells) - HALF
    v = (y / env[0, col.MAP_HALF] + ONE) * HALF * np.float32(cells) - HALF
    if u < ZERO or v < ZERO or u >= np.float32(cells - 1) or v >= np.float32(cells - 1):
        return False, ZERO, ZERO, ZERO, 0
    p, q = int(v), int(u)
    fv, fu = v - np.float32(p), u - np.float32(q)
    k, m, n, o = (ONE - fu) * (ONE - fv), fu * (ONE - fv), (ONE - fu) * fv, fu * fv
    d, e = c + 1, c + 2
    return (
        True,
        k * lit[p, q, c] + m * lit[p, q + 1, c] + n * lit[p + 1, q, c] + o * lit[p + 1, q + 1, c],
        k * lit[p, q, d] + m * lit[p, q + 1, d] + n * lit[p + 1, q, d] + o * lit[p + 1, q + 1, d],
        k * lit[p, q, e] + m * lit[p, q + 1, e] + n * lit[p + 1, q, e] + o * lit[p + 1, q + 1, e],
        lit_by[p, q] | lit_by[p, q + 1] | lit_by[p + 1, q] | lit_by[p + 1, q + 1],
    )


@device
def table_light(lit, lit_by, env, x, y):
    """Irradiance of the table at (x, y) from the lit map; beyond it that of a bare table."""
    known, red, green, blue, touched = _between_cells(lit, lit_by, env, x, y, START)
    if known:
        return red, green, blue, touched
    red, green, blue = (env[0, col.SKY_RED] * PI, env[0, col.SKY_GREEN] * PI, env[0, col.SKY_BLUE] * PI)
    after, end = FIRST_LAMP, lamps_end(env)
    while after < end:
        i, after = after, np.uint32(after + NEXT)
        amount = lamp_factor(env, i, x, y, ZERO, ZERO, ZERO, ONE, ZERO, ZERO) * env[i, col.AREA]
        red += amount * env[i, col.LAMP_RED]
        green += amount * env[i, col.LAMP_GREEN]
        blue += amount * env[i, col.LAMP_BLUE]
    return red, green, blue, 0


@device
def table_bounce(lit, lit_by, env, x, y):
    """The part of `table_light` that comes from the sky and from objects; beyond the map the open sky."""
    known, red, green, blue, touched = _between_cells(lit, lit_by, env, x, y, _BOUNCED)
    if known:
        return red, green, blue, touched
    return (env[0, col.SKY_RED] * PI, env[0, col.SKY_GREEN] * PI, env[0, col.SKY_BLUE] * PI, 0)


@small
def frame_of(nx, ny, nz):
    """Two unit vectors that make a right-handed frame with a unit normal."""
    sign = ONE if nz >= ZERO else -ONE
    a = -ONE / (sign + nz)
    b = nx * ny * a
    return ONE + sign * nx * nx * a, sign * b, -sign * nx, b, sign + ny * ny * a, -ny


@small
def around(env, x, y, nz):
    """Mean radiance that reaches a surface over (x, y) from sky and ground, nothing in between: (r, g, b)."""
    up = HALF * (ONE + nz)
    sr, sg, sb = env[0, col.SKY_RED], env[0, col.SKY_GREEN], env[0, col.SKY_BLUE]
    cr, cg, cb = ground_colour(env, x, y)
    return (
        up * sr + (ONE - up) * cr * (sr + env[0, col.BARE_RED]),
        up * sg + (ONE - up) * cg * (sg + env[0, col.BARE_GREEN]),
        up * sb + (ONE - up) * cb * (sb + env[0, col.BARE_BLUE]),
    )


@device
def bounced(nodes, tris, bodies, env, lit, lit_by, dome, c, s, mask, place, coat, alpha):
    """What comes from the sky and from what lies around, one bounce: irradiance, radiance in a coat, touched.

    `place` is a point, the normal and the direction to the eye; the dome is turned by the angle of cosine c and
    sine s; the coat has that reflectance and a broad lobe. Metal gives nothing back here: light it throws on matte
    surfaces (caustics) is left out, as in the reference.
    """
    px, py, pz, nx, ny, nz, vx, vy, vz = place
    near, k, end = START, FIRST, np.uint32(bodies.shape[0])
    while k < end:
        if (mask >> k) & 1:
            cx, cy, cz = bodies[k, col.X] - px, bodies[k, col.Y] - py, bodies[k, col.MIDDLE_Z] - pz
            r = bodies[k, col.RADIUS]
            # Too small a part of the sky to matter: decided body by body, so others may come and go.
            if r * r >= _APART2 * (cx * cx + cy * cy + cz * cz) and (nx * cx + ny * cy + nz * cz > -r):
                near |= 1 << np.int64(k)
        k = np.uint32(k + NEXT)
    level = nz > np.float32(0.999) and coat <= ZERO
    if near == 0 and level:
        sky = (env[0, col.SKY_RED] * PI, env[0, col.SKY_GREEN] * PI, env[0, col.SKY_BLUE] * PI)
        return sky, (ZERO, ZERO, ZERO), 0
    nv = max(nx * vx + ny * vy + nz * vz, np.float32(1e-3))
    red = green = blue = shiny_red = shiny_green = shiny_blue = weight = ZERO
    tx, ty, tz, bx, by, bz = frame_of(nx, ny, nz)
    # Without what is near a level surface has the mean of the sky, to which few directions only come close.
    touched, count = near if level and env[0, col.SKY_KIND] != ZERO else START, np.uint32(dome.shape[0])
    after = FIRST
    while after < count:
        i, after = after, np.uint32(after + NEXT)
        a, b, up = c * dome[i, 0] - s * dome[i, 1], s * dome[i, 0] + c * dome[i, 1], dome[i, 2]
        dx, dy, dz = a * tx + b * bx + up * nx, a * ty + b * by + up * ny, a * tz + b * bz + up * nz
        r, g, bl, met = matte_radiance(nodes, tris, bodies, env, lit, lit_by, near, mask, px, py, pz, dx, dy, dz)
        red += r
        green += g
        blue += bl
        touched |= met
        if coat > ZERO:
            hx, hy, hz = vx + dx, vy + dy, vz + dz
            nh = (nx * hx + ny * hy + nz * hz) / math.sqrt(hx * hx + hy * hy + hz * hz)
            share = ggx(alpha, nh) * hidden_share(alpha, nv, up)
            shiny_red += share * r
            shiny_green += share * g
            shiny_blue += share * bl
            weight += share
    scale = PI / np.float32(count)
    # The few directions say what the coat mirrors, the fitted share how much of it.
    shiny = mirrored_share(coat, alpha, nv) / weight if coat > ZERO else ZERO
    return (
        (red * scale, green * scale, blue * scale),
        (shiny_red * shiny, shiny_green * shiny, shiny_blue * shiny),
        touched,
    )


@device
def matte_radiance(nodes, tris, bodies, env, lit, lit_by, near, mask, px, py, pz, dx, dy, dz):
    """What a matte surface receives along one direction: (r, g, b, touched)."""
    reach = FAR
    if dz < np.float32(-1e-4):
        reach = -pz / dz
    t, k, look, _, nx, ny, nz = met_surface(nodes, tris, bodies, near, px, py, pz, dx, dy, dz, reach)
    if k < 0:
        if reach == FAR:
            r, g, b = sky_radiance(env, dx, dy, dz)
            return r, g, b, 0
        r, g, b, touched = table_light(lit, lit_by, env, px + t * dx, py + t * dy)
        cr, cg, cb = ground_colour(env, px + t * dx, py + t * dy)
        return r / PI * cr, g / PI * cg, b / PI * cb, touched
    touched = 1 << k
    matte = ONE - bodies[k, look + col.METAL]
    if matte <= ZERO:
        return ZERO, ZERO, ZERO, touched
    qx, qy, qz = px + t * dx + OFFSET * nx, py + t * dy + OFFSET * ny, pz + t * dz + OFFSET * nz
    r, g, b, met = matte_light(nodes, tris, bodies, env, mask, k, look, qx, qy, qz, nx, ny, nz)
    return r * matte, g * matte, b * matte, touched | met


@device
def matte_light(nodes, tris, bodies, env, mask, k, look, px, py, pz, nx, ny, nz):
    """Radiance of body k's look at a point, as a matte surface seen after a bounce: (r, g, b, touched)."""
    r, g, b, touched = glance(nodes, tris, bodies, env, mask, px, py, pz, nx, ny, nz)
    ar, ag, ab = around(env, px, py, nz)
    return (
        (r / PI + ar) * bodies[k, look + col.RED],
        (g / PI + ag) * bodies[k, look + col.GREEN],
        (b / PI + ab) * bodies[k, look + col.BLUE],
        touched,
    )


@device
def table_cell(nodes, tris, bodies, env, lit, lit_by, points, wide, numbers, mask, i, j):
    """Work out one cell of the ground by itself: light from the lamps in channels 0 to 2, bounced in 3 to 5."""
    half = env[0, col.MAP_HALF]
    step = TWO * half / np.float32(lit.shape[0])
    x, y = (np.float32(j) + HALF) * step - half, (np.float32(i) + HALF) * step - half
    first, most = numbers[col.TABLE_FIRST], numbers[col.TABLE_MOST]
    r, g, b, touched = direct(nodes, tris, bodies, env, points, mask, x, y, OFFSET, ZERO, ZERO, ONE, first, most)
    # Cells beside each other look along other directions, so that their mean has seen many.
    turn = _TURNS * np.float32((i % 3) * 3 + j % 3)
    place = (x, y, OFFSET, ZERO, ZERO, ONE, ZERO, ZERO, ONE)
    # Rays from the table never meet it again, so this does not read the map.
    (ir, ig, ib), _, met = bounced(
        nodes, tris, bodies, env, lit, lit_by, wide, math.cos(turn), math.sin(turn), mask, place, ZERO, ONE
    )
    lit[i, j, 0], lit[i, j, 1], lit[i, j, 2] = r, g, b
    lit[i, j, 3], lit[i, j, 4], lit[i, j, 5] = ir, ig, ib
    lit_by[i, j] = touched | met
    # One by one: where something stands on an object, either could be the first that a ray upwards meets.
    for k in range(bodies.shape[0]):
        if (mask >> k) & 1:
            alone = np.int64(1) << np.int64(k)
            _, met, face, u, v = nearest(nodes, tris, bodies, alone, x, y, OFFSET, ZERO, ZERO, ONE, FAR)
            if met >= 0 and normal_at(tris, bodies, k, face, u, v, ZERO, ZERO, ONE)[2] > ZERO:
                lit_by[i, j] |= (1 << k) | COVERED


@device
def smooth_cell(raw, raw_by, lit, lit_by, i, j):
    """Write a cell of the lit map: all its light, and the bounced part of it, which is a mean of the cells around.

    A cell under an object has the mean of the open cells around it in all its light: the map is read between cells.
    """
    cells = raw.shape[0]
    covered = raw_by[i, j] & COVERED
    open_cells = ZERO
    lit_by[i, j] = covered
    for c in range(6):
        lit[i, j, c] = ZERO
    for v in range(max(0, i - 1), min(cells, i + 2)):
        for u in range(max(0, j - 1), min(cells, j + 2)):
            lit_by[i, j] |= raw_by[v, u] & ~COVERED  # also of a covered one, which is open without its cover
            if raw_by[v, u] & COVERED:
                continue
            open_cells += ONE
            for c in range(6):
                # What an open cell differs by, so that even light stays what it is to the last bit.
                lit[i, j, c] += raw[v, u, c] if covered else raw[v, u, c] - raw[i, j, c]
    scale = ONE / max(open_cells, ONE)
    for c in range(3, 6):
        lit[i, j, c] = lit[i, j, c] * scale + (ZERO if covered else raw[i, j, c])
    for c in range(3):
        lit[i, j, c] = (lit[i, j, c] * scale if covered else raw[i, j, c]) + lit[i, j, 3 + c]
