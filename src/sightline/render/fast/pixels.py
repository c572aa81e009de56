"""What is worked out for one pixel. Device functions: the CPU's loops and the CUDA kernels both call them.

`seen` arrays come from the raster: parts, depth, normals of the pixels. A part is one painted part of one body as
one number; below `col.SLOTS` it is the ground or the sky. `cam` is `pack.camera_row`.

Pixels around are addressed by unsigned numbers: a signed one may count from an array's end, which a card has to
find out for every one.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from sightline.render.fast import columns as col
from sightline.render.fast.ambient import bounced, table_bounce
from sightline.render.fast.jit import device, small
from sightline.render.fast.lamplight import direct, direct_coated, mirrored_share
from sightline.render.fast.mirrors import glint, is_shiny, mirrored
from sightline.render.fast.rays import (
    BY_PI,
    FAR,
    HALF,
    HALVES,
    NEXT,
    NONE,
    OFFSET,
    ONE,
    PI,
    SINGLE,
    START,
    ZERO,
    met_surface,
    part_with,
)
from sightline.render.fast.settings import PATTERN
from sightline.render.fast.surroundings import camera_ray, ray, seen_albedo, sky_radiance
from sightline.render.tones import PER_RADIANCE, TONES

UNKNOWN, WORKED_OUT, BETWEEN = 0, 1, 2

_ALIKE = np.float32(0.97)
_CREASE = np.float32(0.9)
_BENT = np.float32(2e-3)
_STEP = np.float32(0.1)
_GRAINY = np.float32(0.5)
_LONE = np.float32(2.0)
_LONE_OF_MANY = np.float32(4.0)
_GRAINIER = np.float32(1 / 0.2)
_NOISY = np.float32(0.25)
_NOISIER = np.float32(1 / 0.2)
_FARTHEST = 7
_NEARBY = np.float32(0.05)
_EVEN = np.float32(0.15)
_FLAT = np.float32(0.98)
_DARK = np.float32(1e-3)
_STEPS, _LAST_STEP = np.float32(PER_RADIANCE), np.float32(len(TONES) - 1)


@small
def body_of(part):
    """The body that a part belongs to; −1 for ground and sky."""
    return (part >> col.SLOT_BITS) - 1


@small
def look_of(part):
    """First column, in a body's row, of the look that a part has."""
    return col.LOOKS + col.LOOK * (part & (col.SLOTS - 1))


@small
def without_self(tris, mask, k, face):
    """An object does not stand in the light of a face that has all of it behind."""
    if k >= 0 and tris[face, col.OPEN] != ZERO:
        return mask & ~(1 << k)
    return mask


@small
def surface_at(parts, faces, depth, normals, y, x):
    """What a pixel shows: (part, face, depth, nx, ny, nz, y, x)."""
    return (parts[y, x], faces[y, x], depth[y, x], normals[y, x, 0], normals[y, x, 1], normals[y, x, 2], y, x)


@small
def _looked_at(cam, surface):
    """The ray to a pixel's surface, and a point a little above it: (dx, dy, dz, px, py, pz)."""
    _, _, depth, nx, ny, nz, y, x = surface
    dx, dy, dz = ray(cam, np.float32(x) + HALF, np.float32(y) + HALF)
    px = cam[col.EYE_X] + depth * dx + OFFSET * nx
    py = cam[col.EYE_Y] + depth * dy + OFFSET * ny
    pz = cam[col.EYE_Z] + depth * dz + OFFSET * nz
    return dx, dy, dz, px, py, pz


@small
def eye_from(dx, dy, dz):
    """Unit direction back along a ray."""
    back = -ONE / math.sqrt(dx * dx + dy * dy + dz * dz)
    return dx * back, dy * back, dz * back


@device
def arriving(nodes, tris, bodies, env, lit, lit_by, points, dome, numbers, cam, mask, surface):
    """Irradiance of a pixel's surface: (r, g, b, touched).

    What a broad coat mirrors is worked out here too, as the irradiance that would give the same radiance.
    """
    part, face, _, nx, ny, nz, _, _ = surface
    k, look = body_of(part), look_of(part)
    dx, dy, dz, px, py, pz = _looked_at(cam, surface)
    if k < 0:
        first, most = numbers[col.SHADOW_FIRST], numbers[col.SHADOW_MOST]
        r, g, b, touched = direct(nodes, tris, bodies, env, points, mask, px, py, pz, nx, ny, nz, first, most)
        if part > 0:  # of ground and sky alone: what objects keep off a wall is little, and few rays would show
            place = (px, py, pz, nx, ny, nz, nx, ny, nz)
            (ir, ig, ib), _, met = bounced(
                nodes, tris, bodies, env, lit, lit_by, dome, ONE, ZERO, START, place, ZERO, ONE
            )
        else:
            ir, ig, ib, met = table_bounce(lit, lit_by, env, px, py)
        return r + ir, g + ig, b + ib, touched | met
    others = without_self(tris, mask, k, face)
    vx, vy, vz = eye_from(dx, dy, dz)
    coat, lobe = bodies[k, look + col.COAT], bodies[k, look + col.LOBE]
    matte = ONE - mirrored_share(coat, lobe, nx * vx + ny * vy + nz * vz)
    if is_shiny(bodies, k, look):
        coat = ZERO
    first, most = numbers[col.OBJECTS_FIRST], numbers[col.OBJECTS_MOST]
    r, g, b, cr, cg, cb, touched = direct_coated(
        nodes, tris, bodies, env, points, others, px, py, pz, nx, ny, nz, vx, vy, vz, coat, lobe, first, most
    )
    place = (px, py, pz, nx, ny, nz, vx, vy, vz)
    (ir, ig, ib), (sr, sg, sb), met = bounced(
        nodes, tris, bodies, env, lit, lit_by, dome, ONE, ZERO, others, place, coat, lobe
    )
    return (
        (r + ir) * matte + (cr + sr) * PI / max(bodies[k, look + col.RED], _DARK),
        (g + ig) * matte + (cg + sg) * PI / max(bodies[k, look + col.GREEN], _DARK),
        (b + ib) * matte + (cb + sb) * PI / max(bodies[k, look + col.BLUE], _DARK),
        touched | met,
    )


@device
def sparkling(nodes, tris, bodies, env, points, numbers, cam, mask, surface):
    """The image of the lamps in a pixel's metal or coat: (r, g, b, touched)."""
    part, face, _, nx, ny, nz, _, _ = surface
    k, look = body_of(part), look_of(part)
    dx, dy, dz, px, py, pz = _looked_at(cam, surface)
    place = (k, look, px, py, pz, nx, ny, nz, *eye_from(dx, dy, dz))
    others = without_self(tris, mask, k, face)
    lobe, side, rays = bodies[k, look + col.LOBE], numbers[col.GLINT_SIDE], numbers[col.GLINT_RAYS]
    return glint(nodes, tris, bodies, env, points, others, place, lobe, NONE, side, START, rays)


@device
def mirroring(nodes, tris, bodies, env, lit, lit_by, points, lobe, numbers, cam, mask, surface):
    """The image of everything else there, this pixel's share of the rays: (r, g, b, touched)."""
    part, face, _, nx, ny, nz, y, x = surface
    k, look = body_of(part), look_of(part)
    dx, dy, dz, px, py, pz = _looked_at(cam, surface)
    place = (k, look, px, py, pz, nx, ny, nz, *eye_from(dx, dy, dz))
    others = without_self(tris, mask, k, face)
    count, depth = numbers[col.MIRROR_RAYS], numbers[col.MIRROR_DEPTH]
    start, seed = np.int64(y % PATTERN * PATTERN + x % PATTERN) * count, np.int64(y * 8209 + x * 31) * 64
    return mirrored(nodes, tris, bodies, env, lit, lit_by, points, lobe, others, place, start, count, seed, depth)


@small
def _normal(normals, y, x):
    """The normal of a pixel: (nx, ny, nz)."""
    return normals[y, x, 0], normals[y, x, 1], normals[y, x, 2]


@small
def _cosine(normal, normals, v, u):
    """Of the angle between a normal and that of a pixel."""
    nx, ny, nz = normal
    return nx * normals[v, u, 0] + ny * normals[v, u, 1] + nz * normals[v, u, 2]


@small
def agreed(parts, depth, normals, light, how, tolerance, y, x, dy, dx):
    """Light between the lattice points around a pixel: (whether they agree, r, g, b).

    dy, dx lead to the neighbours: two of them along a row or column, four across. They agree if they lie on one
    smooth piece of the same part (inverse depth is linear over a plane) and their light differs little.
    """
    height, width = parts.shape
    if y - dy < 0 or x - dx < 0 or y + dy >= height or x + dx >= width:
        return False, ZERO, ZERO, ZERO
    four = dx != 0 and dy != 0
    count = 4 if four else 2
    part = parts[y, x]
    body, normal = body_of(part), _normal(normals, y, x)
    red = green = blue = inverse = ZERO
    low, high = FAR, ZERO
    for i in range(count):
        v = np.uint32(y - dy if i % 2 == 0 else y + dy)
        u = np.uint32(x - dx if i == 0 or i == 3 else x + dx)
        if how[v, u] == UNKNOWN or parts[v, u] != part:
            return False, ZERO, ZERO, ZERO
        if body >= 0:
            if _cosine(normal, normals, v, u) < _ALIKE:
                return False, ZERO, ZERO, ZERO
            inverse += ONE / depth[v, u]
        r, g, b = light[v, u, 0], light[v, u, 1], light[v, u, 2]
        red += r
        green += g
        blue += b
        low, high = min(low, r + g + b), max(high, r + g + b)
    scale = ONE / np.float32(count)
    if high - low > tolerance * high:
        return False, ZERO, ZERO, ZERO
    if body >= 0 and abs(inverse * scale * depth[y, x] - ONE) > _BENT:
        return False, ZERO, ZERO, ZERO
    return True, red * scale, green * scale, blue * scale


@small
def composed(parts, depth, normals, bodies, env, cam, light, mirror, glints, y, x):
    """Radiance of a pixel's middle towards the camera."""
    part = parts[y, x]
    k, look = body_of(part), look_of(part)
    if k < 0:
        if math.isnan(depth[y, x]):
            dx, dy, dz = ray(cam, np.float32(x) + HALF, np.float32(y) + HALF)
            return sky_radiance(env, dx, dy, dz)
        r, g, b = seen_albedo(env, cam, part, depth[y, x], y, x)
        return light[y, x, 0] * BY_PI * r, light[y, x, 1] * BY_PI * g, light[y, x, 2] * BY_PI * b
    metal = bodies[k, look + col.METAL]
    matte = (ONE - metal) * BY_PI
    r = matte * light[y, x, 0] * bodies[k, look + col.RED]
    g = matte * light[y, x, 1] * bodies[k, look + col.GREEN]
    b = matte * light[y, x, 2] * bodies[k, look + col.BLUE]
    if is_shiny(bodies, k, look):
        mr, mg, mb = _mean_mirror(parts, normals, mirror, y, x)
        r, g, b = r + mr + glints[y, x, 0], g + mg + glints[y, x, 1], b + mb + glints[y, x, 2]
    return r, g, b


@small
def _mean_mirror(parts, normals, mirror, y, x):
    """The mirror image averaged around a pixel, as far as the surface goes; nearer pixels count more.

    The weights fall so that each of the pixels that share out the rays counts alike, and no square shows. Where the
    pixels differ much they are taken from farther around, and none counts more than `_LONE` times their mean: a
    highlight that one ray in many finds would come out as a stain. The more neighbours differ, as in the hollow of
    a mirror, the more the mean over `_FARTHEST` pixels around counts. Little by little: a pixel whose neighbours
    were averaged otherwise would come out as a dot.
    """
    red, green, blue, unlike, _ = _around_mirror(parts, normals, mirror, y, x, PATTERN - 1, FAR)
    if unlike <= _GRAINY:
        return red, green, blue
    limit = _LONE * (red + green + blue)
    far, far_green, far_blue, _, noise = _around_mirror(parts, normals, mirror, y, x, PATTERN, limit)
    share = min((unlike - _GRAINY) * _GRAINIER, ONE)
    red, green = red + share * (far - red), green + share * (far_green - green)
    blue += share * (far_blue - blue)
    if noise <= _NOISY:
        return red, green, blue
    limit = _LONE_OF_MANY * (far + far_green + far_blue)
    far, far_green, far_blue, _, _ = _around_mirror(parts, normals, mirror, y, x, _FARTHEST, limit)
    share = min((noise - _NOISY) * _NOISIER, ONE)
    return red + share * (far - red), green + share * (far_green - green), blue + share * (far_blue - blue)


@small
def _around(parts, y, x, reach):
    """Find the pixels so far around one: (first row, first column, the row and the column after the last)."""
    height, width = parts.shape
    top, left = np.uint32(max(y - reach, 0)), np.uint32(max(x - reach, 0))
    return top, left, np.uint32(min(y + reach + 1, height)), np.uint32(min(x + reach + 1, width))


@device
def _around_mirror(parts, normals, mirror, y, x, reach, limit):
    """Mean of the mirror image over the pixels around of one surface: (r, g, b, span, grain).

    No pixel counts more than `limit`; span is the relative difference of the brightest and the darkest, grain that
    of neighbours in a row.
    """
    part, normal = parts[y, x], _normal(normals, y, x)
    red = green = blue = weight = high = grain = both = ZERO
    low = FAR
    v, left, below, right = _around(parts, y, x, reach)
    while v < below:
        before, row = -ONE, _bell(reach, np.float32(v) - np.float32(y))
        u = left
        while u < right:
            if parts[v, u] != part or _cosine(normal, normals, v, u) < _ALIKE:
                before = -ONE
                u = np.uint32(u + NEXT)
                continue
            w = row * _bell(reach, np.float32(u) - np.float32(x))
            r, g, b = mirror[v, u, 0], mirror[v, u, 1], mirror[v, u, 2]
            bright = r + g + b
            weight += w
            if bright > limit:
                w *= limit / bright
            red, green, blue = red + w * r, green + w * g, blue + w * b
            low, high = min(low, bright), max(high, bright)
            if before >= ZERO:
                grain, both = grain + abs(bright - before), both + bright + before
            before = bright
            u = np.uint32(u + NEXT)
        v = np.uint32(v + NEXT)
    span = (high - low) / max(high, _DARK)
    return red / weight, green / weight, blue / weight, span, grain / max(both, _DARK)


@small
def _bell(reach, away):
    """Weight of a pixel so many pixels away along a row or column.

    As far as PATTERN what three means over PATTERN pixels, one after the other, come to; nearer, what two do.
    """
    if reach < PATTERN:
        return np.float32(PATTERN) - abs(away)
    if reach == PATTERN:
        return np.float32(7.0) - away * away if abs(away) < np.float32(PATTERN) else ONE
    share = away / np.float32(reach + 1)
    rest = ONE - share * share
    return rest * rest


@small
def on_edge(parts, depth, normals, bodies, y, x):
    """Whether a pixel differs from one beside it in its part, in its normal, or by a step in depth, up to the sky.

    A mirror image turns twice as fast as the normal, so a shiny surface is bent sooner.
    """
    height, width = parts.shape
    part, normal = parts[y, x], _normal(normals, y, x)
    crease = _CREASE
    if part >= col.SLOTS and is_shiny(bodies, body_of(part), look_of(part)):
        crease = _ALIKE
    for i in range(4):
        v = np.uint32(min(max(y + (i == 0) - (i == 1), 0), height - 1))
        u = np.uint32(min(max(x + (i == 2) - (i == 3), 0), width - 1))
        if parts[v, u] != part or math.isnan(depth[v, u]) != math.isnan(depth[y, x]):
            return True
        if part >= col.SLOTS:
            if _cosine(normal, normals, v, u) < crease:
                return True
            if abs(depth[v, u] - depth[y, x]) > _STEP:
                return True
    return False


@small
def _is_bare_mirror(bodies, k, look):
    """Whether a look mirrors shapes and shows nothing that is laid over it pixel by pixel."""
    laid = bodies[k, look + col.TEXTURE] > ZERO or bodies[k, look + col.GLASS] > ZERO
    return is_shiny(bodies, k, look) and not laid


@device
def edge_colour(
    nodes, tris, bodies, env, lit, lit_by, plan, cam, every, parts, depth, normals, light, colour, y, x
):
    """Look again at several positions of a pixel: (r, g, b, touched)."""
    scene, shown = (nodes, tris, bodies, env), (parts, depth, normals, light)
    _, _, inside, _ = plan
    red, green, blue, taken, waiting = edge_samples(*scene, inside, cam, *shown, colour, y, x)
    touched = 0
    if waiting != 0:
        r, g, b, touched = mirrored_samples(*scene, lit, lit_by, plan, cam, every, *shown, y, x, waiting)
        red, green, blue = red + r, green + g, blue + b
    scale = ONE / np.float32(taken)
    return red * scale, green * scale, blue * scale, touched


@device
def edge_samples(nodes, tris, bodies, env, inside, cam, parts, depth, normals, light, colour, y, x):
    """The sum over samples of a pixel: (r, g, b, samples taken, bits of those left to `mirrored_samples`).

    Each is given the colour of the like-most pixel around it, but on shiny surfaces that are bent much it needs a
    mirror image of its own. Half of the samples will do where none does and they agree. Ground that is lit much
    less than the ground around is given the mean of their light: what a pixel's middle sees under a round foot is
    narrower than the pixel and would be a dot.
    """
    mask = _bodies_around(parts, y, x)
    ground_red = ground_green = ground_blue = grounds = ZERO
    v, left, below, right = _around(parts, y, x, 1)
    while v < below:
        u = left
        while u < right:
            if parts[v, u] == 0 and normals[v, u, 2] > HALF:
                ground_red, ground_green = ground_red + light[v, u, 0], ground_green + light[v, u, 1]
                ground_blue, grounds = ground_blue + light[v, u, 2], grounds + ONE
            u = np.uint32(u + NEXT)
        v = np.uint32(v + NEXT)
    least = HALF * (ground_red + ground_green + ground_blue)
    red = green = blue = ZERO
    low, high = FAR, ZERO
    count, taken, waiting = inside.shape[0], 0, START
    for i in range(count):
        if 2 * i == count and waiting == 0 and high - low < _EVEN * high:
            break
        taken += 1
        sample = _edge_sample(nodes, tris, bodies, env, cam, mask, inside, parts, depth, normals, y, x, i)
        _, _, _, _, k, look, _, nx, ny, nz, part, v, u = sample
        flat = nx * normals[v, u, 0] + ny * normals[v, u, 1] + nz * normals[v, u, 2] > _FLAT
        if k >= 0 and parts[v, u] == part and not flat and _is_bare_mirror(bodies, k, look):
            waiting |= 1 << i
            continue
        r, g, b = colour[v, u, 0], colour[v, u, 1], colour[v, u, 2]
        if part == 0 and nz > HALF and (light[v, u, 0] + light[v, u, 1] + light[v, u, 2]) * grounds < least:
            r *= ground_red / (grounds * max(light[v, u, 0], _DARK))
            g *= ground_green / (grounds * max(light[v, u, 1], _DARK))
            b *= ground_blue / (grounds * max(light[v, u, 2], _DARK))
        red, green, blue = red + r, green + g, blue + b
        low, high = min(low, r + g + b), max(high, r + g + b)
    return red, green, blue, taken, waiting


@device
def mirrored_samples(
    nodes, tris, bodies, env, lit, lit_by, plan, cam, every, parts, depth, normals, light, y, x, waiting
):
    """The sum over the samples of a pixel that need a mirror image, told by their bits: (r, g, b, touched).

    A card leaves them to a kernel of their own: only few samples wait for so many rays.
    """
    points, lobe, inside, numbers = plan
    mask = _bodies_around(parts, y, x)
    red = green = blue = ZERO
    touched = 0
    i = START
    while waiting != 0:
        while waiting & 1 == 0:
            waiting >>= 1
            i += 1
        sample = _edge_sample(nodes, tris, bodies, env, cam, mask, inside, parts, depth, normals, y, x, i)
        r, g, b, met = _mirrored_sample(
            nodes, tris, bodies, env, lit, lit_by, points, lobe, numbers, cam, every, light, sample, i
        )
        red, green, blue, touched = red + r, green + g, blue + b, touched | met
        waiting >>= 1
        i += 1
    return red, green, blue, touched


@small
def _bodies_around(parts, y, x):
    """The mask of the bodies seen in a pixel and the eight around it."""
    v, left, below, right = _around(parts, y, x, 1)
    mask = START
    while v < below:
        u = left
        while u < right:
            if parts[v, u] >= col.SLOTS:
                mask |= 1 << body_of(parts[v, u])
            u = np.uint32(u + NEXT)
        v = np.uint32(v + NEXT)
    return mask


@device
def _edge_sample(nodes, tris, bodies, env, cam, mask, inside, parts, depth, normals, y, x, i):
    """What sample i of a pixel sees: (dx, dy, dz, t, body, look, whether it is all behind, nx, ny, nz, part, v, u).

    The ray, what it meets, and the like-most pixel around.
    """
    sx, sy = np.float32(x) + inside[i, 0], np.float32(y) + inside[i, 1]
    dx, dy, dz, reach, part = camera_ray(env, cam, sx, sy)
    t, k, look, behind, nx, ny, nz = met_surface(
        nodes, tris, bodies, mask, cam[col.EYE_X], cam[col.EYE_Y], cam[col.EYE_Z], dx, dy, dz, reach
    )
    if k >= 0:
        part = part_with(k, look)
    elif reach == FAR:
        nz = -ONE  # the sky is not like the ground
    v, u = _likeliest(parts, depth, normals, y, x, sy - HALF, sx - HALF, part, t, nx, ny, nz)
    return dx, dy, dz, t, k, look, behind, nx, ny, nz, part, v, u


@device
def _mirrored_sample(nodes, tris, bodies, env, lit, lit_by, points, lobe, numbers, cam, every, light, sample, i):
    """Colour of sample i of a pixel, with a mirror image of its own: (r, g, b, touched)."""
    dx, dy, dz, t, k, look, behind, nx, ny, nz, _, v, u = sample
    px = cam[col.EYE_X] + t * dx + OFFSET * nx
    py = cam[col.EYE_Y] + t * dy + OFFSET * ny
    pz = cam[col.EYE_Z] + t * dz + OFFSET * nz
    place = (k, look, px, py, pz, nx, ny, nz, *eye_from(dx, dy, dz))
    others = every & ~(1 << k) if behind else every
    start = 11 * (i + 1) % lobe.shape[0]  # the same in every pixel: noise would show as dots along a rim
    turn, shown, mirrors = np.int64(i), np.int64(4 * i), numbers[col.MIRROR_DEPTH]
    mr, mg, mb, touched = mirrored(
        nodes, tris, bodies, env, lit, lit_by, points, lobe, others, place, start, SINGLE, turn, mirrors
    )
    alpha = bodies[k, look + col.LOBE]
    gr, gg, gb, met = glint(nodes, tris, bodies, env, points, others, place, alpha, shown, HALVES, turn, SINGLE)
    matte = (ONE - bodies[k, look + col.METAL]) * BY_PI
    return (
        matte * light[v, u, 0] * bodies[k, look + col.RED] + mr + gr,
        matte * light[v, u, 1] * bodies[k, look + col.GREEN] + mg + gg,
        matte * light[v, u, 2] * bodies[k, look + col.BLUE] + mb + gb,
        touched | met,
    )


@small
def _likeliest(parts, depth, normals, y, x, sy, sx, part, t, nx, ny, nz):
    """The pixel around (y, x) that shows most nearly what a sample saw at depth t.

    Of an object also by depth: the rim of a box and its floor look the same way.
    """
    v, left, below, right = _around(parts, y, x, 1)
    best, by, bx = -FAR, np.uint32(y), np.uint32(x)
    while v < below:
        u = left
        while u < right:
            if parts[v, u] == part:
                dy, dx = np.float32(v) - sy, np.float32(u) - sx
                turn = nx * normals[v, u, 0] + ny * normals[v, u, 1] + nz * normals[v, u, 2]
                score = turn - _NEARBY * (dx * dx + dy * dy)
                if part >= col.SLOTS:
                    score -= abs(depth[v, u] - t)
                if score > best:
                    best, by, bx = score, v, u
            u = np.uint32(u + NEXT)
        v = np.uint32(v + NEXT)
    return by, bx


@small
def tone_step(radiance):
    """The step of `tones.TONES` that a radiance falls on."""
    return int(min(max(radiance, ZERO) * _STEPS, _LAST_STEP))
