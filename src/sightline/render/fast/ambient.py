"""Light that comes from the sky or was thrown back once, and the lit map of the table.

Device functions; `touched` as in `lamplight`. Metal throws nothing back on matte surfaces here: caustics are left
out, as in the reference.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from sightline.render.fast import columns as col
from sightline.render.fast.jit import device, small
from sightline.render.fast.lamplight import direct, glance, lamp_factor
from sightline.render.fast.rays import FAR, HALF, OFFSET, ONE, PI, START, TWO, ZERO, look_at, nearest, normal_at
from sightline.render.fast.surroundings import ground_colour, lamps_end, sky_radiance

_APART2 = np.float32(0.0144)
_BOUNCED = np.int64(3)  # channel of the lit map

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
    for i in range(1, lamps_end(env)):
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


@device
def bounced(nodes, tris, bodies, env, lit, lit_by, dome, mask, px, py, pz, nx, ny, nz):
    """Irradiance from the sky and from what lies around, one bounce: (r, g, b, touched).

    Metal gives nothing back here: light it throws on matte surfaces (caustics) is left out, as in the reference.
    """
    near = START
    for k in range(bodies.shape[0]):
        if (mask >> k) & 1:
            cx, cy, cz = bodies[k, col.X] - px, bodies[k, col.Y] - py, bodies[k, col.MIDDLE_Z] - pz
            r = bodies[k, col.RADIUS]
            # Too small a part of the sky to matter: decided body by body, so others may come and go.
            if r * r >= _APART2 * (cx * cx + cy * cy + cz * cz) and (nx * cx + ny * cy + nz * cz > -r):
                near |= 1 << k
    table = nz < np.float32(0.999)
    if near == 0 and not table:
        return (env[0, col.SKY_RED] * PI, env[0, col.SKY_GREEN] * PI, env[0, col.SKY_BLUE] * PI, 0)
    tx, ty, tz, bx, by, bz = frame_of(nx, ny, nz)
    red = green = blue = ZERO
    touched, count = 0, dome.shape[0]
    for i in range(count):
        a, b, c = dome[i, 0], dome[i, 1], dome[i, 2]
        dx, dy, dz = a * tx + b * bx + c * nx, a * ty + b * by + c * ny, a * tz + b * bz + c * nz
        r, g, bl, met = matte_radiance(nodes, tris, bodies, env, lit, lit_by, near, mask, px, py, pz, dx, dy, dz)
        red += r
        green += g
        blue += bl
        touched |= met
    scale = PI / np.float32(count)
    return red * scale, green * scale, blue * scale, touched


@device
def matte_radiance(nodes, tris, bodies, env, lit, lit_by, near, mask, px, py, pz, dx, dy, dz):
    """What a matte surface receives along one direction: (r, g, b, touched)."""
    reach = FAR
    if dz < np.float32(-1e-4):
        reach = -pz / dz
    t, k, face, u, v = nearest(nodes, tris, bodies, near, px, py, pz, dx, dy, dz, reach)
    if k < 0:
        if reach == FAR:
            r, g, b = sky_radiance(env, dx, dy, dz)
            return r, g, b, 0
        r, g, b, touched = table_light(lit, lit_by, env, px + t * dx, py + t * dy)
        cr, cg, cb = ground_colour(env, px + t * dx, py + t * dy)
        return r / PI * cr, g / PI * cg, b / PI * cb, touched
    touched = 1 << k
    look = look_at(tris, face)
    matte = ONE - bodies[k, look + col.METAL]
    if matte <= ZERO:
        return ZERO, ZERO, ZERO, touched
    nx, ny, nz = normal_at(tris, bodies, k, face, u, v, dx, dy, dz)
    qx, qy, qz = px + t * dx + OFFSET * nx, py + t * dy + OFFSET * ny, pz + t * dz + OFFSET * nz
    r, g, b, met = glance(nodes, tris, bodies, env, mask, qx, qy, qz, nx, ny, nz)
    return (
        (r / PI + env[0, col.SKY_RED]) * bodies[k, look + col.RED] * matte,
        (g / PI + env[0, col.SKY_GREEN]) * bodies[k, look + col.GREEN] * matte,
        (b / PI + env[0, col.SKY_BLUE]) * bodies[k, look + col.BLUE] * matte,
        touched | met,
    )


@device
def table_cell(nodes, tris, bodies, env, lit, lit_by, points, wide, numbers, mask, i, j):
    """Work out one cell of the lit map: all its light, and the part of it that bounced."""
    half = env[0, col.MAP_HALF]
    step = TWO * half / np.float32(lit.shape[0])
    x, y = (np.float32(j) + HALF) * step - half, (np.float32(i) + HALF) * step - half
    first, most = numbers[col.TABLE_FIRST], numbers[col.TABLE_MOST]
    r, g, b, touched = direct(nodes, tris, bodies, env, points, mask, x, y, OFFSET, ZERO, ZERO, ONE, first, most)
    # Rays from the table never meet it again, so this does not read the map.
    ir, ig, ib, met = bounced(nodes, tris, bodies, env, lit, lit_by, wide, mask, x, y, OFFSET, ZERO, ZERO, ONE)
    lit[i, j, 0], lit[i, j, 1], lit[i, j, 2] = r + ir, g + ig, b + ib
    lit[i, j, 3], lit[i, j, 4], lit[i, j, 5] = ir, ig, ib
    lit_by[i, j] = touched | met
    # One by one: where something stands on an object, either could be the first that a ray upwards meets.
    for k in range(bodies.shape[0]):
        if (mask >> k) & 1:
            _, met, face, u, v = nearest(nodes, tris, bodies, 1 << k, x, y, OFFSET, ZERO, ZERO, ONE, FAR)
            if met >= 0 and normal_at(tris, bodies, k, face, u, v, ZERO, ZERO, ONE)[2] > ZERO:
                lit_by[i, j] |= (1 << k) | COVERED


@device
def fill_covered(lit, lit_by, i, j):
    """Give a cell under an object the mean of the open cells around it: the map is read between cells."""
    if not lit_by[i, j] & COVERED:
        return
    cells, found = lit.shape[0], 0
    for v in range(max(0, i - 1), min(cells, i + 2)):
        for u in range(max(0, j - 1), min(cells, j + 2)):
            lit_by[i, j] |= lit_by[v, u]  # also of a covered one, which is open without its cover
            if lit_by[v, u] & COVERED:
                continue
            for c in range(6):
                lit[i, j, c] = lit[v, u, c] if found == 0 else lit[i, j, c] + lit[v, u, c]
            found += 1
    for c in range(6):
        lit[i, j, c] /= np.float32(max(found, 1))
