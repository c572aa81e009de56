"""Thin glass: what the camera sees through it, tinted by each pane; its own light and coat are drawn as any part's.

Ids, depth and normals are those of the pane, the nearest surface. A pane that lets more than half of the light pass
throws no shadow, a darker one a full shadow; light that bounces or is mirrored takes panes for matte surfaces.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from sightline.render.fast import columns as col
from sightline.render.fast.jit import device, kernel
from sightline.render.fast.mirrors import path
from sightline.render.fast.pixels import body_of, look_of
from sightline.render.fast.rays import FAR, HALF, OFFSET, ONE, START, ZERO, everything, look_at, nearest
from sightline.render.fast.surroundings import ray

PANES = 6
"""Panes one behind the other that are seen through."""

_QUARTER = np.float32(0.25)
_LYING = np.float32(1e-3)  # a pane this little above the ground lies on it and is not told from it
_SAMPLES = 4


@device
def _through(nodes, tris, bodies, env, lit, lit_by, points, numbers, cam, mask, sx, sy):
    """Radiance from behind the panes at a position of the image, tinted: (panes, r, g, b)."""
    dx, dy, dz = ray(cam, sx, sy)
    scale = ONE / math.sqrt(dx * dx + dy * dy + dz * dz)
    dx, dy, dz = dx * scale, dy * scale, dz * scale
    px, py, pz = cam[col.EYE_X], cam[col.EYE_Y], cam[col.EYE_Z]
    red = green = blue = ONE
    panes, others = 0, mask
    while panes < PANES:
        reach = FAR
        if dz < np.float32(-1e-5):
            reach = (_LYING - pz) / dz
        t, k, face, _, _ = nearest(nodes, tris, bodies, mask, px, py, pz, dx, dy, dz, reach)
        if k < 0:
            others = START
            break
        look = look_at(tris, face)
        clear = bodies[k, look + col.GLASS]
        if clear <= ZERO:
            break
        red, green = red * clear * bodies[k, look + col.RED], green * clear * bodies[k, look + col.GREEN]
        blue *= clear * bodies[k, look + col.BLUE]
        t += OFFSET * HALF
        px, py, pz = px + t * dx, py + t * dy, pz + t * dz
        panes += 1
    if panes == 0:  # beside the pane, at its edge
        return 0, ZERO, ZERO, ZERO
    depth = numbers[col.MIRROR_DEPTH]
    r, g, b, _ = path(nodes, tris, bodies, env, lit, lit_by, points, others, px, py, pz, dx, dy, dz, START, depth)
    return panes, red * r, green * g, blue * b


@device
def behind_glass(nodes, tris, bodies, env, lit, lit_by, points, numbers, cam, mask, y, x):
    """Radiance that comes through a pixel's glass, the mean over four positions in it: (r, g, b)."""
    red = green = blue = weight = ZERO
    for i in range(_SAMPLES):
        sx = np.float32(x) + HALF + (_QUARTER if i & 1 else -_QUARTER)
        sy = np.float32(y) + HALF + (_QUARTER if i & 2 else -_QUARTER)
        panes, r, g, b = _through(nodes, tris, bodies, env, lit, lit_by, points, numbers, cam, mask, sx, sy)
        if panes > 0:
            red, green, blue, weight = red + r, green + g, blue + b, weight + ONE
    scale = ONE / max(weight, ONE)
    return red * scale, green * scale, blue * scale


@kernel
def lay_glass(nodes, tris, bodies, env, lit, lit_by, points, numbers, cam, parts, colour):
    """Add what is seen through glass to the pixels that show some, on the CPU.

    Worked out anew for every picture, so that nothing must be known of what it depends on.
    """
    height, width = parts.shape
    mask = everything(bodies)
    for y in range(height):
        for x in range(width):
            k = body_of(parts[y, x])
            if k >= 0 and bodies[k, look_of(parts[y, x]) + col.GLASS] > ZERO:
                r, g, b = behind_glass(nodes, tris, bodies, env, lit, lit_by, points, numbers, cam, mask, y, x)
                colour[y, x, 0] += r
                colour[y, x, 1] += g
                colour[y, x, 2] += b
