"""Textures of painted parts, where the camera sees them; bounced and mirrored light knows a part's mean colour.

`texels` is one array of all textures: (T, 3) uint16, linear light. A texture is a row of width, height and smaller
copies to come, then its texels row by row, then its copies, each half as wide and high as the one before. `uv` is
(F, 6) float32: where the three corners of a pool's triangle lie.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.render.fast import columns as col
from sightline.render.fast.jit import device, kernel, small
from sightline.render.fast.pixels import body_of, look_of
from sightline.render.fast.rays import BY_PI, HALF, ONE, TWO, ZERO, sides_of
from sightline.render.fast.surroundings import ray
from sightline.worlds.looks import LINEAR

FULL = np.float32(65535.0)

_TINY = np.float32(1e-12)
_GRAZING = np.float32(0.1)


def texture_rows(texture: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """A texture and its smaller copies as rows of `texels`."""
    level: NDArray[np.float64] = LINEAR[texture]
    levels = [level]
    while max(level.shape[:2]) > 1:
        height, width = (max(side // 2, 1) for side in level.shape[:2])
        rows, columns = (min(2, side) for side in level.shape[:2])
        cut = level[: height * rows, : width * columns]
        level = cut.reshape(height, rows, width, columns, 3).mean(axis=(1, 3))
        levels.append(level)
    parts: list[Any] = []
    for i, level in enumerate(levels):
        parts += [[(level.shape[1], level.shape[0], len(levels) - 1 - i)], level.reshape(-1, 3) * 65535.0]
    return np.concatenate([np.round(part).astype(np.uint16) for part in parts])


@small
def _texel(texels, start, x, y):
    """Between the four texels around a place of the level that begins at row `start`; sides meet: (r, g, b)."""
    width, height = int(texels[start, 0]), int(texels[start, 1])
    x, y = x * np.float32(width) - HALF, y * np.float32(height) - HALF
    left, top = math.floor(x), math.floor(y)
    u, v = x - np.float32(left), y - np.float32(top)
    x0, y0 = int(left) % width, int(top) % height
    x1, y1 = (x0 + 1) % width, (y0 + 1) % height
    upper, lower = start + 1 + y0 * width, start + 1 + y1 * width
    a, b, c, d = upper + x0, upper + x1, lower + x0, lower + x1
    p, q, r, s = (ONE - u) * (ONE - v), u * (ONE - v), (ONE - u) * v, u * v
    scale = ONE / FULL
    return (
        (p * texels[a, 0] + q * texels[b, 0] + r * texels[c, 0] + s * texels[d, 0]) * scale,
        (p * texels[a, 1] + q * texels[b, 1] + r * texels[c, 1] + s * texels[d, 1]) * scale,
        (p * texels[a, 2] + q * texels[b, 2] + r * texels[c, 2] + s * texels[d, 2]) * scale,
    )


@device
def seen_texture(tris, uv, texels, bodies, cam, k, look, face, depth, dx, dy, dz):
    """Colour of a textured part where a ray with depth 1 along d meets a triangle at `depth`: (r, g, b)."""
    c, s = bodies[k, col.COS], bodies[k, col.SIN]
    px = cam[col.EYE_X] + depth * dx - bodies[k, col.X]
    py = cam[col.EYE_Y] + depth * dy - bodies[k, col.Y]
    px, py = c * px + s * py - tris[face, 0], c * py - s * px - tris[face, 1]
    pz = cam[col.EYE_Z] + depth * dz - bodies[k, col.Z] - tris[face, 2]
    ax, ay, az, bx, by, bz = sides_of(tris, face)
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    area2 = max(nx * nx + ny * ny + nz * nz, _TINY)
    u = ((py * bz - pz * by) * nx + (pz * bx - px * bz) * ny + (px * by - py * bx) * nz) / area2
    v = ((ay * pz - az * py) * nx + (az * px - ax * pz) * ny + (ax * py - ay * px) * nz) / area2
    ux, uy = uv[face, 2] - uv[face, 0], uv[face, 3] - uv[face, 1]
    vx, vy = uv[face, 4] - uv[face, 0], uv[face, 5] - uv[face, 1]
    start = int(bodies[k, look + col.TEXTURE]) - 1
    texels_wide = np.float32(texels[start, 0]) * np.float32(texels[start, 1])
    # Side of a pixel on the surface, in texels: as if it were square.
    ex, ey = c * dx + s * dy, c * dy - s * dx
    lean = abs(ex * nx + ey * ny + dz * nz) / math.sqrt(area2 * (ex * ex + ey * ey + dz * dz))
    shrunk = abs(ux * vy - uy * vx) * texels_wide / (math.sqrt(area2) * max(lean, _GRAZING))
    side = depth * math.sqrt(cam[0] * cam[1] * shrunk)
    while side > TWO and texels[start, 2] > 0:
        start += 1 + int(texels[start, 0]) * int(texels[start, 1])
        side *= HALF
    return _texel(texels, start, uv[face, 0] + u * ux + v * vx, uv[face, 1] + u * uy + v * vy)


@small
def texture_light(tris, uv, texels, bodies, cam, k, look, faces, depth, light, y, x):
    """Radiance that a textured part's colour adds to that of its mean colour, under the light of a pixel."""
    dx, dy, dz = ray(cam, np.float32(x) + HALF, np.float32(y) + HALF)
    r, g, b = seen_texture(tris, uv, texels, bodies, cam, k, look, faces[y, x], depth[y, x], dx, dy, dz)
    matte = (ONE - bodies[k, look + col.METAL]) * BY_PI
    return (
        matte * light[y, x, 0] * (r - bodies[k, look + col.RED]),
        matte * light[y, x, 1] * (g - bodies[k, look + col.GREEN]),
        matte * light[y, x, 2] * (b - bodies[k, look + col.BLUE]),
    )


@kernel
def lay_textures(tris, uv, texels, bodies, cam, parts, faces, depth, light, colour):
    """Give the pixels of textured parts their texture's colour, on the CPU."""
    height, width = parts.shape
    for y in range(height):
        for x in range(width):
            k, look = body_of(parts[y, x]), look_of(parts[y, x])
            if k >= 0 and bodies[k, look + col.TEXTURE] > ZERO:
                r, g, b = texture_light(tris, uv, texels, bodies, cam, k, look, faces, depth, light, y, x)
                colour[y, x, 0] += r
                colour[y, x, 1] += g
                colour[y, x, 2] += b
