"""Rays against the objects of a layout.

Device functions: compiled for the CPU as they stand and for CUDA when a kernel calls them. All arithmetic is
float32.

A ray is an origin o and a direction d of any length; distances t count in lengths of d. `mask` has bit k set for
every body k the ray is to be tried against.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from sightline.render.fast import columns as col
from sightline.render.fast.jit import device, small

FAR = np.float32(1e9)
ZERO, HALF, ONE, TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)
PI, BY_PI = np.float32(math.pi), np.float32(1.0 / math.pi)
START, NONE, HALVES, SINGLE = np.int64(0), np.int64(-1), np.int32(2), np.int32(1)
"""Whole numbers handed to other functions have a type of their own: numba compiles a function anew for every
literal, and twice for a variable that begins as one (`mask = 0`)."""

OFFSET = np.float32(2e-3)
"""Rays begin so far above the surface they leave, metres."""

FAINT = np.float32(2e-3)
"""Light of a lamp in a mirror that does not count."""

FIRST, NEXT = np.uint32(0), np.uint32(1)
"""Loops that run for every ray count in unsigned numbers of 32 bits, by `while`: a range keeps several numbers of
64 bits, for which a card has few registers."""

_NO_LEAF, _EIGHTH, _COUNT = np.uint32(0), np.uint32(3), np.uint32(7)
_SLIVER = np.float32(1e-3)
_TINY = np.float32(1e-12)
_HUGE = np.float32(1e12)


@device
def everything(bodies):
    """The mask of all bodies that are there."""
    mask, k, count = START, FIRST, np.uint32(bodies.shape[0])
    while k < count:
        if bodies[k, col.PRESENT] != ZERO:
            mask |= 1 << np.int64(k)
        k = np.uint32(k + NEXT)
    return mask


@small
def near_line(bodies, k, ox, oy, oz, dx, dy, dz, length2):
    """Whether a ray (from o on, without end) passes through a body's bounding sphere; length2 = d · d."""
    cx, cy, cz = bodies[k, col.X] - ox, bodies[k, col.Y] - oy, bodies[k, col.MIDDLE_Z] - oz
    r = bodies[k, col.RADIUS]
    along = cx * dx + cy * dy + cz * dz
    away2 = cx * cx + cy * cy + cz * cz
    if away2 <= r * r:
        return True
    return along > ZERO and away2 * length2 - along * along <= r * r * length2


@small
def _span(kind, a, b, ox, oy, dx, dy, ix, iy):
    """Where a ray is within an upright box (1) or elliptic cylinder (2) without ends: (enter, leave)."""
    if kind < TWO:
        x0, x1, y0, y1 = (-a - ox) * ix, (a - ox) * ix, (-b - oy) * iy, (b - oy) * iy
        return max(min(x0, x1), min(y0, y1)), min(max(x0, x1), max(y0, y1))
    px, py, qx, qy = ox / a, oy / b, dx / a, dy / b
    square, mixed, left = qx * qx + qy * qy, px * qx + py * qy, px * px + py * py - ONE
    if square < _TINY:
        return (-FAR, FAR) if left <= ZERO else (FAR, -FAR)
    root = mixed * mixed - square * left
    if root < ZERO:
        return FAR, -FAR
    root = math.sqrt(root)
    return (-mixed - root) / square, (-mixed + root) / square


@small
def _turned(bodies, k, ox, oy, oz, dx, dy):
    """A ray's origin and the level part of its direction in the axes of body k."""
    c, s = bodies[k, col.COS], bodies[k, col.SIN]
    px, py = ox - bodies[k, col.X], oy - bodies[k, col.Y]
    return c * px + s * py, c * py - s * px, oz - bodies[k, col.Z], c * dx + s * dy, c * dy - s * dx


@small
def meets_prism(bodies, k, ox, oy, oz, dx, dy, dz, reach):
    """Whether a ray meets body k, a prism less its cavity, at 0 < t < reach."""
    ox, oy, oz, dx, dy = _turned(bodies, k, ox, oy, oz, dx, dy)
    ix, iy, iz = inverse(dx), inverse(dy), inverse(dz)
    enter, leave = _span(
        bodies[k, col.PRISM], bodies[k, col.PRISM_X], bodies[k, col.PRISM_Y], ox, oy, dx, dy, ix, iy
    )
    z0, z1 = -oz * iz, (bodies[k, col.HEIGHT] - oz) * iz
    enter, leave = max(enter, min(z0, z1)), min(min(leave, max(z0, z1)), reach)
    if enter < ZERO and leave < _SLIVER:  # from the ground between a round side and the flat ones that are drawn
        return False
    enter = max(enter, ZERO)
    if enter >= leave:
        return False
    if bodies[k, col.HOLLOW] == ZERO:
        return True
    into, out = _span(
        bodies[k, col.HOLLOW], bodies[k, col.HOLLOW_X], bodies[k, col.HOLLOW_Y], ox, oy, dx, dy, ix, iy
    )
    floor = (bodies[k, col.HEIGHT] - bodies[k, col.DEPTH] - oz) * iz  # the cavity has no lid
    if dz >= ZERO:  # as `inverse` takes it
        into = max(into, floor)
    else:
        out = min(out, floor)
    return into > enter or out < leave or into >= out


@small
def _inside_out(kind, a, b, px, py):
    """The outward normal of an upright box's (1) or elliptic cylinder's (2) side at a point of it: (x, y)."""
    if kind < TWO:
        if abs(px) * b > abs(py) * a:
            return (ONE if px > ZERO else -ONE), ZERO
        return ZERO, (ONE if py > ZERO else -ONE)
    nx, ny = px / (a * a), py / (b * b)
    scale = ONE / math.sqrt(nx * nx + ny * ny + _TINY)
    return nx * scale, ny * scale


@small
def _meet_prism(bodies, k, ox, oy, oz, dx, dy, dz, best):
    """Where a ray meets body k, a prism less its cavity: (t, from outside?, nx, ny, nz); t = best: nowhere."""
    ox, oy, oz, dx, dy = _turned(bodies, k, ox, oy, oz, dx, dy)
    ix, iy, iz = inverse(dx), inverse(dy), inverse(dz)
    kind, a, b = bodies[k, col.PRISM], bodies[k, col.PRISM_X], bodies[k, col.PRISM_Y]
    side, leave = _span(kind, a, b, ox, oy, dx, dy, ix, iy)
    z0, z1 = -oz * iz, (bodies[k, col.HEIGHT] - oz) * iz
    enter, leave = max(side, min(z0, z1)), min(leave, max(z0, z1))
    if max(enter, ZERO) >= min(leave, best):
        return best, True, ZERO, ZERO, ONE
    t, outside, nz = enter, True, ZERO
    if enter > side:
        nz = -ONE if dz > ZERO else ONE
    if bodies[k, col.HOLLOW] != ZERO:
        kind, a, b = bodies[k, col.HOLLOW], bodies[k, col.HOLLOW_X], bodies[k, col.HOLLOW_Y]
        into, out = _span(kind, a, b, ox, oy, dx, dy, ix, iy)
        floor = (bodies[k, col.HEIGHT] - bodies[k, col.DEPTH] - oz) * iz  # the cavity has no lid
        wall = out
        if dz >= ZERO:  # as `inverse` takes it
            into = max(into, floor)
        else:
            out = min(out, floor)
        if into <= max(enter, ZERO) < out:  # through the opening, or from within
            if out >= leave:
                return best, False, ZERO, ZERO, ONE
            t, outside, nz = out, False, (ONE if out < wall else ZERO)
    if t <= ZERO or t >= best:
        return best, True, ZERO, ZERO, ONE
    if nz != ZERO:
        return t, outside, ZERO, ZERO, nz
    if outside:
        kind, a, b = bodies[k, col.PRISM], bodies[k, col.PRISM_X], bodies[k, col.PRISM_Y]
    nx, ny = _inside_out(kind, a, b, ox + t * dx, oy + t * dy)
    if not outside:
        nx, ny = -nx, -ny
    c, s = bodies[k, col.COS], bodies[k, col.SIN]
    return t, outside, c * nx - s * ny, s * nx + c * ny, ZERO


@device
def met_surface(nodes, tris, bodies, mask, ox, oy, oz, dx, dy, dz, reach):
    """The nearest surface as light meets it: (t, body, its look, whether the body is all behind it, nx, ny, nz).

    Body −1 and t = reach where there is none. Prisms are met as such, not by their triangles: their round sides are
    round, and their edges sharp.
    """
    length2 = dx * dx + dy * dy + dz * dz
    best, body, face, behind = reach, NONE, NONE, False
    bu = bv = nx = ny = ZERO
    nz = ONE
    after, count = FIRST, np.uint32(bodies.shape[0])
    while after < count:
        k, after = after, np.uint32(after + NEXT)
        if (mask >> k) & 1 and near_line(bodies, k, ox, oy, oz, dx, dy, dz, length2):
            if bodies[k, col.PRISM] != ZERO:
                t, outside, ax, ay, az = _meet_prism(bodies, k, ox, oy, oz, dx, dy, dz, best)
                if t < best:
                    best, body, face, behind, nx, ny, nz = t, np.int64(k), NONE, outside, ax, ay, az
                continue
            t, f, u, v = walk(nodes, tris, bodies, k, ox, oy, oz, dx, dy, dz, best, False)
            if t < best:
                best, body, face, bu, bv = t, np.int64(k), f, u, v
    if face < 0:
        return best, body, col.LOOKS, behind, nx, ny, nz
    nx, ny, nz = normal_at(tris, bodies, body, face, bu, bv, dx, dy, dz)
    return best, body, look_at(tris, face), tris[face, col.OPEN] != ZERO, nx, ny, nz


@device
def blocker(nodes, tris, bodies, mask, ox, oy, oz, dx, dy, dz, reach):
    """The first body by number that the ray meets at 0 < t < reach, or −1."""
    length2 = dx * dx + dy * dy + dz * dz
    after, count = FIRST, np.uint32(bodies.shape[0])
    while after < count:
        k, after = after, np.uint32(after + NEXT)
        if (mask >> k) & 1 and near_line(bodies, k, ox, oy, oz, dx, dy, dz, length2):
            if bodies[k, col.PRISM] != ZERO:
                if meets_prism(bodies, k, ox, oy, oz, dx, dy, dz, reach):
                    return np.int64(k)
                continue
            t, _, _, _ = walk(nodes, tris, bodies, k, ox, oy, oz, dx, dy, dz, reach, True)
            if t < reach:
                return np.int64(k)
    return NONE


@device
def nearest(nodes, tris, bodies, mask, ox, oy, oz, dx, dy, dz, reach):
    """The nearest meeting: (t, body, face, u, v); body −1 and t = reach where there is none."""
    length2 = dx * dx + dy * dy + dz * dz
    best, body, face = reach, NONE, NONE
    bu = bv = ZERO
    after, count = FIRST, np.uint32(bodies.shape[0])
    while after < count:
        k, after = after, np.uint32(after + NEXT)
        if (mask >> k) & 1 and near_line(bodies, k, ox, oy, oz, dx, dy, dz, length2):
            if bodies[k, col.PRISM] != ZERO and not meets_prism(bodies, k, ox, oy, oz, dx, dy, dz, best):
                continue
            t, f, u, v = walk(nodes, tris, bodies, k, ox, oy, oz, dx, dy, dz, best, False)
            if t < best:
                best, body, face, bu, bv = t, np.int64(k), f, u, v
    return best, body, face, bu, bv


@small
def walk(nodes, tris, bodies, k, ox, oy, oz, dx, dy, dz, reach, any_will_do):
    """One body's hierarchy: (t, face, u, v) of the nearest meeting, or of any but clear glass; t = reach: none.

    On a card the threads of a warp look for a leaf each, and then all try the triangles of theirs. Indices are
    unsigned and of 32 bits: to work out an address from others takes as long as to test the box there.
    """
    ox, oy, oz, dx, dy = _turned(bodies, k, ox, oy, oz, dx, dy)
    ix, iy, iz = inverse(dx), inverse(dy), inverse(dz)
    x, y, z, ax, ay, az = ox * ix, oy * iy, oz * iz, abs(ix), abs(iy), abs(iz)
    best, face = reach, NONE
    bu = bv = ZERO
    node, end = np.uint32(bodies[k, col.FIRST_NODE]), np.uint32(bodies[k, col.END_NODE])
    while node < end:
        leaf = _NO_LEAF
        while node < end and leaf == _NO_LEAF:
            # From the middle of the box by half its sides: this takes half the comparisons of two corners.
            mx, my, mz = nodes[node, 0] * ix - x, nodes[node, 1] * iy - y, nodes[node, 2] * iz - z
            hx, hy, hz = nodes[node, 3] * ax, nodes[node, 4] * ay, nodes[node, 5] * az
            enter = max(max(mx - hx, my - hy), max(mz - hz, ZERO))
            leave = min(min(mx + hx, my + hy), min(mz + hz, best))
            if enter <= leave:
                leaf = np.uint32(nodes[node, col.LEAF])
                node = np.uint32(node + NEXT)
            else:
                node = np.uint32(nodes[node, col.SKIP])
        f = np.uint32(leaf >> _EIGHTH)
        after = np.uint32(f + (leaf & _COUNT))
        while f < after:
            t, u, v = _meet(tris, f, ox, oy, oz, dx, dy, dz)
            if ZERO < t < best:
                if any_will_do:
                    look = look_at(tris, f)
                    if bodies[k, look + col.GLASS] * bodies[k, look + col.GREEN] <= HALF:
                        return t, np.int64(f), u, v
                else:
                    best, face, bu, bv = t, np.int64(f), u, v
            f = np.uint32(f + NEXT)
    return best, face, bu, bv


@small
def inverse(d):
    """1 / d, huge where d is 0."""
    if abs(d) > _TINY:
        return ONE / d
    return _HUGE if d >= ZERO else -_HUGE


@small
def _meet(c, f, ox, oy, oz, dx, dy, dz):
    """Ray against triangle: (t, u, v); t = −1 where they do not meet."""
    px, py, pz = dy * c[f, 8] - dz * c[f, 7], dz * c[f, 6] - dx * c[f, 8], dx * c[f, 7] - dy * c[f, 6]
    det = px * c[f, 3] + py * c[f, 4] + pz * c[f, 5]
    if abs(det) < _TINY:
        return -ONE, ZERO, ZERO
    scale = ONE / det
    tx, ty, tz = ox - c[f, 0], oy - c[f, 1], oz - c[f, 2]
    u = (px * tx + py * ty + pz * tz) * scale
    if u < ZERO or u > ONE:
        return -ONE, ZERO, ZERO
    qx, qy, qz = ty * c[f, 5] - tz * c[f, 4], tz * c[f, 3] - tx * c[f, 5], tx * c[f, 4] - ty * c[f, 3]
    v = (dx * qx + dy * qy + dz * qz) * scale
    if v < ZERO or u + v > ONE:
        return -ONE, ZERO, ZERO
    return (c[f, 6] * qx + c[f, 7] * qy + c[f, 8] * qz) * scale, u, v


@small
def look_at(tris, face):
    """First column, in a body's row, of the look that a face has."""
    return col.LOOKS + col.LOOK * int(tris[face, col.SLOT])


@small
def part_with(k, look):
    """The painted part of body k that has a look, as one number."""
    return ((k + 1) << col.SLOT_BITS) + (look - col.LOOKS) // col.LOOK


@small
def part_of(tris, k, face):
    """The painted part of body k that a face belongs to, as one number."""
    return ((k + 1) << col.SLOT_BITS) + int(tris[face, col.SLOT])


@small
def sides_of(tris, face):
    """From the first corner of a triangle to the second and to the third: (ax, ay, az, bx, by, bz)."""
    return tris[face, 3], tris[face, 4], tris[face, 5], tris[face, 6], tris[face, 7], tris[face, 8]


@small
def normal_at(tris, bodies, k, face, u, v, dx, dy, dz):
    """The smooth unit normal where a ray along d meets a triangle of body k, in world axes.

    An open surface has one on either side: that of the side the ray comes from.
    """
    w = ONE - u - v
    nx = w * tris[face, 9] + u * tris[face, 12] + v * tris[face, 15]
    ny = w * tris[face, 10] + u * tris[face, 13] + v * tris[face, 16]
    nz = w * tris[face, 11] + u * tris[face, 14] + v * tris[face, 17]
    scale = ONE / math.sqrt(nx * nx + ny * ny + nz * nz)
    c, s = bodies[k, col.COS], bodies[k, col.SIN]
    if bodies[k, col.SHEET] != ZERO:
        ax, ay, az, bx, by, bz = sides_of(tris, face)
        ex, ey = c * dx + s * dy, c * dy - s * dx
        if ex * (ay * bz - az * by) + ey * (az * bx - ax * bz) + dz * (ax * by - ay * bx) > ZERO:
            scale = -scale
    return (c * nx - s * ny) * scale, (s * nx + c * ny) * scale, nz * scale
