"""Light straight from the lamps, on matte surfaces and in their coats.

Device functions, float32, the same on CPU and CUDA. Every function that traces rays also returns `touched`: bit k
is set if body k was met by a ray that counts. A point that body k did not touch looks the same without it, which is
what makes counterfactuals cheap and exact; so nothing may depend on a body that no ray meets.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from sightline.render.fast import columns as col
from sightline.render.fast.jit import device, small
from sightline.render.fast.rays import FAINT, FIRST, HALF, HALVES, NEXT, NONE, ONE, PI, START, TWO, ZERO, blocker
from sightline.render.fast.surroundings import FIRST_LAMP, lamps_end

_QUARTER = np.float32(0.25)
_SLACK = np.float32(1.05)
_UNEVEN = np.float32(2.0)
_DARKEST = np.float32(1e-9)
_FEWEST = np.uint32(8)  # points tried, at least, of a lamp that is partly hidden
_CORNERS = 4  # the first points of a lamp are its corners

BROAD = np.float32(0.25)
"""Lobes wider than this show no shapes: what they mirror is worked out where light is, not pixel by pixel."""


@small
def in_shaft(bodies, k, px, py, pz, env, i):
    """Whether a body can stand between a point and some part of a lamp: its sphere meets the cone between them."""
    ax, ay, az = env[i, col.LAMP_X] - px, env[i, col.LAMP_Y] - py, env[i, col.LAMP_Z] - pz
    cx, cy, cz = bodies[k, col.X] - px, bodies[k, col.Y] - py, bodies[k, col.MIDDLE_Z] - pz
    s = (cx * ax + cy * ay + cz * az) / (ax * ax + ay * ay + az * az)
    s = min(max(s, ZERO), ONE)
    dx, dy, dz = cx - s * ax, cy - s * ay, cz - s * az
    reach = (bodies[k, col.RADIUS] + env[i, col.LAMP_RADIUS] * s) * _SLACK
    return dx * dx + dy * dy + dz * dz <= reach * reach


@small
def to_lamp(env, i, px, py, pz, su, sv):
    """From a point to the point (su, sv) in [−1, 1]² of a lamp."""
    return (
        env[i, col.LAMP_X] + su * env[i, col.U_X] + sv * env[i, col.V_X] - px,
        env[i, col.LAMP_Y] + su * env[i, col.U_Y] + sv * env[i, col.V_Y] - py,
        env[i, col.LAMP_Z] + su * env[i, col.U_Z] + sv * env[i, col.V_Z] - pz,
    )


@small
def lamp_factor(env, i, px, py, pz, nx, ny, nz, su, sv):
    """Cos · cos / r² between a surface point and a point (su, sv) in [−1, 1]² of a lamp; 0 where turned away."""
    dx, dy, dz = to_lamp(env, i, px, py, pz, su, sv)
    here = nx * dx + ny * dy + nz * dz
    there = -(env[i, col.FACING_X] * dx + env[i, col.FACING_Y] * dy + env[i, col.FACING_Z] * dz)
    if here <= ZERO or there <= ZERO:
        return ZERO
    r2 = dx * dx + dy * dy + dz * dz
    return here * there / (r2 * r2)


@small
def seen_share(nodes, tris, bodies, mask, env, i, points, turn, first, most, px, py, pz, nx, ny, nz):
    """Share of a lamp that a point sees, and who hides the rest. Few rays where they agree, more where not.

    `turn` tells where in the list of the lamp's points to begin.
    """
    touched, between, free, tried = START, START, FIRST, FIRST
    k, count = FIRST, np.uint32(bodies.shape[0])
    while k < count:
        if (mask >> k) & 1 and in_shaft(bodies, k, px, py, pz, env, i):
            between |= 1 << np.int64(k)
        k = np.uint32(k + NEXT)
    if between == 0:
        return ONE, START
    size = np.uint32(points.shape[0])
    at = np.uint32(np.uint32(turn) % size)
    j, end = FIRST, np.uint32(most)
    while j < end:
        # What hides all corners hides the lamp, but two bodies may leave a gap between them.
        gap = first >= _CORNERS and touched & (touched - 1) != 0
        if j == first and (free == tried or (free == 0 and not gap)):
            break
        j = np.uint32(j + NEXT)
        su, sv = points[at, 0], points[at, 1]
        at = np.uint32(at + NEXT) if np.uint32(at + NEXT) < size else FIRST
        dx, dy, dz = to_lamp(env, i, px, py, pz, su, sv)
        if nx * dx + ny * dy + nz * dz <= ZERO:
            continue
        tried = np.uint32(tried + NEXT)
        hider = blocker(nodes, tris, bodies, between, px, py, pz, dx, dy, dz, ONE)
        if hider < 0:
            free = np.uint32(free + NEXT)
        else:
            touched |= 1 << hider
    if free == tried:
        return ONE, touched
    return np.float32(free) / np.float32(tried), touched


@small
def ggx(alpha, nh):
    """Share of microfacets turned towards the half vector."""
    a2 = alpha * alpha
    d = nh * nh * (a2 - ONE) + ONE
    return a2 / (PI * d * d)


@small
def hidden_share(alpha, nv, nl):
    """Height-correlated Smith masking over 4 nv nl."""
    a2 = alpha * alpha
    v = nl * math.sqrt(nv * nv * (ONE - a2) + a2)
    w = nv * math.sqrt(nl * nl * (ONE - a2) + a2)
    return HALF / (v + w)


@small
def mirrored_share(f0, alpha, nv):
    """Share of light from everywhere that a surface of that reflectance mirrors towards a direction.

    A fit to the integral of the lobe (Lazarov); what is mirrored is missing in the matte light below a coat.
    """
    rough = math.sqrt(alpha)
    scale = ONE - rough
    edge = min(scale * scale, np.float32(2.0) ** (np.float32(-9.28) * nv)) * scale
    edge += np.float32(0.0425) - np.float32(0.0275) * rough
    low = np.float32(1.04) - np.float32(0.572) * rough - np.float32(1.04) * edge
    high = np.float32(0.022) * rough - np.float32(0.04) + np.float32(1.04) * edge
    return min(max(f0 * low + high, ZERO), ONE)


@small
def kept_again(f0, alpha, nv):
    """How much brighter a surface is for the light that leaves it only after several microfacets; a fit."""
    lost = alpha * alpha * (np.float32(1.35) + np.float32(1.6) * (ONE - nv))
    lost = min(lost, np.float32(0.32))
    return ONE + f0 * lost / (ONE - lost)


@small
def fresnel(f0, vh):
    """Schlick's reflectance."""
    m = ONE - vh
    m2 = m * m
    return f0 + (ONE - f0) * m2 * m2 * m


@small
def sheen(env, i, points, shown, side, alpha, px, py, pz, nx, ny, nz, vx, vy, vz):
    """Mirrored light of lamp i, for reflectance 1 and for Fresnel's edge term alone.

    Fresnel is linear in the reflectance seen head-on, so the two sums do for all colours. The lamp's image is made
    of the middles of its quarters. Where those differ much, it is made of the middles of `side` times `side` equal
    parts of it, or, with `shown` not below 0, of as many of the points in its list, from there on.
    """
    total, edge, low, high = _image(env, i, points, NONE, HALVES, alpha, px, py, pz, nx, ny, nz, vx, vy, vz)
    finer = shown >= 0 or side > HALVES
    if finer and alpha <= BROAD and high > _UNEVEN * low and total * env[i, col.LAMP_RED] >= FAINT:
        total, edge, _, _ = _image(env, i, points, shown, side, alpha, px, py, pz, nx, ny, nz, vx, vy, vz)
    return total, edge


@device
def _image(env, i, points, shown, side, alpha, px, py, pz, nx, ny, nz, vx, vy, vz):
    """The sums of `sheen` over points of lamp i, and the least and the most that one of them gave."""
    total = edge = high = ZERO
    low = np.float32(1e9)
    nv = max(nx * vx + ny * vy + nz * vz, np.float32(1e-3))
    count = side * side
    step = TWO / np.float32(side)
    for j in range(count):
        su, sv = step * (np.float32(j % side) + HALF) - ONE, step * (np.float32(j // side) + HALF) - ONE
        if shown >= 0:
            at = (shown + j) % points.shape[0]
            su, sv = points[at, 0], points[at, 1]
        dx, dy, dz = to_lamp(env, i, px, py, pz, su, sv)
        nl = nx * dx + ny * dy + nz * dz
        there = -(env[i, col.FACING_X] * dx + env[i, col.FACING_Y] * dy + env[i, col.FACING_Z] * dz)
        if nl <= ZERO or there <= ZERO:
            low = ZERO
            continue
        r2 = dx * dx + dy * dy + dz * dz
        inverse = ONE / math.sqrt(r2)
        dx, dy, dz, nl = dx * inverse, dy * inverse, dz * inverse, nl * inverse
        hx, hy, hz = vx + dx, vy + dy, vz + dz
        scale = ONE / math.sqrt(hx * hx + hy * hy + hz * hz)
        nh, vh = (nx * hx + ny * hy + nz * hz) * scale, (vx * hx + vy * hy + vz * hz) * scale
        amount = ggx(alpha, nh) * hidden_share(alpha, nv, nl) * nl * there * inverse / r2
        total += amount
        edge += amount * fresnel(ZERO, vh)
        low, high = min(low, amount), max(high, amount)
    weight = env[i, col.AREA] / np.float32(count)
    return total * weight, edge * weight, low, high


@small
def _unhidden(env, i, px, py, pz, nx, ny, nz):
    """Irradiance from a lamp of radiance 1 of which nothing is hidden: by the middles of its quarters."""
    return (_QUARTER * env[i, col.AREA]) * (
        lamp_factor(env, i, px, py, pz, nx, ny, nz, -HALF, -HALF)
        + lamp_factor(env, i, px, py, pz, nx, ny, nz, HALF, -HALF)
        + lamp_factor(env, i, px, py, pz, nx, ny, nz, -HALF, HALF)
        + lamp_factor(env, i, px, py, pz, nx, ny, nz, HALF, HALF)
    )


@small
def _radiance_sum(env, i):
    """Radiance of a lamp: the sum of its three channels."""
    return env[i, col.LAMP_RED] + env[i, col.LAMP_GREEN] + env[i, col.LAMP_BLUE]


@device
def direct_coated(
    nodes, tris, bodies, env, points, mask, px, py, pz, nx, ny, nz, vx, vy, vz, coat, alpha, first, most
):
    """Irradiance from the lamps, and their radiance in a coat of that reflectance: (r, g, b, r, g, b, touched).

    Of a lamp `first` points are tried, and where they do not agree up to `most`: so many if it gives half of the
    light that would arrive here with nothing in between, or more; else fewer in proportion.
    """
    red = green = blue = ZERO
    shiny_red = shiny_green = shiny_blue = ZERO
    touched = 0
    end = lamps_end(env)
    all_light = _DARKEST + PI * (env[0, col.SKY_RED] + env[0, col.SKY_GREEN] + env[0, col.SKY_BLUE])
    after = FIRST_LAMP
    while after < end:
        all_light += _unhidden(env, after, px, py, pz, nx, ny, nz) * _radiance_sum(env, after)
        after = np.uint32(after + NEXT)
    after = FIRST_LAMP
    while after < end:
        i, after = after, np.uint32(after + NEXT)
        unhidden = _unhidden(env, i, px, py, pz, nx, ny, nz)
        if unhidden <= ZERO:
            continue
        # Equal steps in soft shadows: the brighter a lamp, the more of its points are tried.
        rays = np.uint32(TWO * np.float32(most) * unhidden * _radiance_sum(env, i) / all_light)
        rays = min(max(rays, _FEWEST), np.uint32(most))
        share, met = seen_share(
            nodes, tris, bodies, mask, env, i, points, START, first, rays, px, py, pz, nx, ny, nz
        )
        touched |= met
        amount = unhidden * share
        red += amount * env[i, col.LAMP_RED]
        green += amount * env[i, col.LAMP_GREEN]
        blue += amount * env[i, col.LAMP_BLUE]
        if coat > ZERO and share > ZERO:
            total, edge = sheen(env, i, points, NONE, HALVES, alpha, px, py, pz, nx, ny, nz, vx, vy, vz)
            amount = share * (coat * (total - edge) + edge)
            shiny_red += amount * env[i, col.LAMP_RED]
            shiny_green += amount * env[i, col.LAMP_GREEN]
            shiny_blue += amount * env[i, col.LAMP_BLUE]
    return red, green, blue, shiny_red, shiny_green, shiny_blue, touched


@device
def direct(nodes, tris, bodies, env, points, mask, px, py, pz, nx, ny, nz, first, most):
    """Irradiance from the lamps: (r, g, b, touched)."""
    # Without a coat it does not matter from where the surface is seen.
    r, g, b, _, _, _, touched = direct_coated(
        nodes, tris, bodies, env, points, mask, px, py, pz, nx, ny, nz, nx, ny, nz, ZERO, ONE, first, most
    )
    return r, g, b, touched


@device
def glance(nodes, tris, bodies, env, mask, px, py, pz, nx, ny, nz):
    """Irradiance from the lamps with one shadow ray each: for light that arrives after a bounce."""
    red = green = blue = ZERO
    touched = 0
    after, end = FIRST_LAMP, lamps_end(env)
    while after < end:
        i, after = after, np.uint32(after + NEXT)
        factor = lamp_factor(env, i, px, py, pz, nx, ny, nz, ZERO, ZERO)
        if factor <= ZERO:
            continue
        dx, dy, dz = env[i, col.LAMP_X] - px, env[i, col.LAMP_Y] - py, env[i, col.LAMP_Z] - pz
        k = blocker(nodes, tris, bodies, mask, px, py, pz, dx, dy, dz, ONE)
        if k >= 0:
            touched |= 1 << k
            continue
        amount = factor * env[i, col.AREA]
        red += amount * env[i, col.LAMP_RED]
        green += amount * env[i, col.LAMP_GREEN]
        blue += amount * env[i, col.LAMP_BLUE]
    return red, green, blue, touched
