"""Ids, depth, normals and every amodal mask in one pass over the triangles.

Each object is drawn alone into a scratch buffer of inverse depths, which gives its amodal mask, and then laid over
the picture so far. Inverse depth is linear in the image, also that of the table, so all comparisons are made on it.
Faces of closed solids that look away are left out; open surfaces are drawn from both sides.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.render.fast import columns as col
from sightline.render.fast.jit import kernel
from sightline.render.fast.pack import Bodies, Eye, Meshes
from sightline.render.fast.surroundings import wall_of

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

NEAR = 0.02
"""Nothing nearer to the camera's plane than this is drawn, metres."""


class Surfaces(NamedTuple):
    """What every pixel shows.

    Attributes:
        ids: (H, W) int32; depth: (H, W) float32, NaN for the sky; normals: (H, W, 3) float32.
        amodal: (n, H, W) bool; sums: (n, 2) float64: pixels of each amodal mask and the sum of their depths.
        faces: (H, W) int32: triangle of the pool, −1 for table and sky.
        parts: (H, W) int32: the painted part of an object, as `rays.part_of` numbers it; i + 1 for wall i, 0 for
            table and sky.
    """

    ids: NDArray[np.int32]
    depth: NDArray[np.float32]
    normals: NDArray[np.float32]
    amodal: NDArray[np.bool_]
    sums: NDArray[np.float64]
    faces: NDArray[np.int32]
    parts: NDArray[np.int32]


def raster(meshes: Meshes, bodies: Bodies, eye: Eye, size: tuple[int, int], env: F32) -> Surfaces:
    """Draw all objects and walls as seen by one camera; `size` is (width, height) in pixels."""
    width, height = size
    n = len(bodies.rows)
    ids, parts = np.zeros((height, width), np.int32), np.zeros((height, width), np.int32)
    faces = np.full((height, width), -1, np.int32)
    depth, normals = np.empty((height, width), np.float32), np.zeros((height, width, 3), np.float32)
    amodal, sums = np.zeros((n, height, width), np.bool_), np.zeros((n, 2), np.float64)
    _raster(*meshes[1:4], *bodies, *eye, env, ids, depth, normals, amodal, sums, faces, parts)
    return Surfaces(ids, depth, normals, amodal, sums, faces, parts)


def depths_alone(
    vertices: NDArray[np.float32], faces: NDArray[np.int32], k: F64, pose: F64, size: tuple[int, int]
) -> F32:
    """Draw one mesh alone, from both sides of its faces: inverse depths (H, W), 0 where it is not seen.

    Args:
        vertices: (V, 3).
        faces: (F, 3).
        k: 3×3, pixels.
        pose: Mesh→camera [R | t], 3×4.
        size: (width, height) in pixels.
    """
    row = np.zeros((1, col.SHEET + 1), np.float32)
    row[0, 3], row[0, col.SHEET] = 1.0, 1.0  # not turned, drawn from both sides
    ranges = np.array([[0, len(vertices), 0, len(faces)]], np.int32)
    scratch, shown = np.zeros(size[::-1], np.float32), np.empty(size[::-1], np.int32)
    seen = np.empty((len(vertices), 3), np.float64)
    _draw(vertices, faces, row, ranges, k, pose, 0, seen, scratch, shown)
    return scratch


@kernel
def _raster(
    tris,
    vertices,
    mesh_faces,
    rows,
    ranges,
    kay,
    pose,
    centre,
    env,
    ids,
    depth,
    normals,
    amodal,
    sums,
    faces,
    parts,
):
    height, width = ids.shape
    nearest = np.empty((height, width), np.float32)
    _table(kay, pose, centre, nearest)
    for i in range(int(env[0, col.REGIONS_END]), int(env[0, col.WALLS_END])):
        _wall(env, i, kay, pose, centre, nearest, parts)
    scratch, shown = np.zeros((height, width), np.float32), np.empty((height, width), np.int32)
    most = 0
    for k in range(ranges.shape[0]):
        most = max(most, ranges[k, 1] - ranges[k, 0])
    seen = np.empty((most, 3), np.float64)
    for k in range(rows.shape[0]):
        if rows[k, col.PRESENT] != 0.0:
            y0, y1, x0, x1 = _draw(vertices, mesh_faces, rows, ranges, kay, pose, k, seen, scratch, shown)
            _lay(k, y0, y1, x0, x1, scratch, shown, nearest, ids, faces, amodal, sums)
    _resolve(tris, rows, kay, pose, centre, env, nearest, ids, faces, depth, normals, parts)


@kernel
def _table(kay, pose, centre, nearest):
    """Inverse depth of the table z = 0: a x + b y + c in pixel coordinates; 0 where the sky is."""
    height, width = nearest.shape
    a = pose[0, 2] / kay[0, 0]
    b = pose[1, 2] / kay[1, 1]
    c = pose[2, 2] - kay[0, 2] * a - kay[1, 2] * b
    above = centre[2]
    for y in range(height):
        row = b * (y + 0.5) + c + a * 0.5
        for x in range(width):
            nearest[y, x] = max(0.0, -(row + a * x) / above)


@kernel
def _wall(env, i, kay, pose, centre, nearest, parts):
    """Lay a wall over what is farther, where it is not higher than it reaches; it is not seen from behind."""
    height, width = nearest.shape
    nx, ny = float(env[i, col.WALL_X]), float(env[i, col.WALL_Y])
    away = env[i, col.WALL_AWAY] - nx * centre[0] - ny * centre[1]
    if away <= 0.0:
        return
    part = i - int(env[0, col.REGIONS_END]) + 1
    for y in range(height):
        v = (y + 0.5 - kay[1, 2]) / kay[1, 1]
        for x in range(width):
            u = (x + 0.5 - kay[0, 2]) / kay[0, 0]
            dx = pose[0, 0] * u + pose[1, 0] * v + pose[2, 0]
            dy = pose[0, 1] * u + pose[1, 1] * v + pose[2, 1]
            near = np.float32((nx * dx + ny * dy) / away)
            if near > nearest[y, x]:
                dz = pose[0, 2] * u + pose[1, 2] * v + pose[2, 2]
                if centre[2] + dz / near <= env[i, col.WALL_HEIGHT]:
                    nearest[y, x] = near
                    parts[y, x] = part


@kernel
def _draw(vertices, mesh_faces, rows, ranges, kay, pose, k, seen, scratch, shown):
    """One object alone; returns the rectangle it may cover (rows, then columns)."""
    height, width = scratch.shape
    v0, v1, f0, f1 = ranges[k]
    m = _to_camera(rows[k], pose)
    fx, fy, cx, cy = kay[0, 0], kay[1, 1], kay[0, 2], kay[1, 2]
    left, right, upper, lower = 1e9, -1e9, 1e9, -1e9
    near, sheet = False, rows[k, col.SHEET] != 0.0
    for i in range(v0, v1):
        x, y, z = vertices[i, 0], vertices[i, 1], vertices[i, 2]
        zc = m[2, 0] * x + m[2, 1] * y + m[2, 2] * z + m[2, 3]
        if zc < NEAR:
            near = True
            seen[i - v0, 2] = -1.0
            continue
        inverse = 1.0 / zc
        u = fx * (m[0, 0] * x + m[0, 1] * y + m[0, 2] * z + m[0, 3]) * inverse + cx
        v = fy * (m[1, 0] * x + m[1, 1] * y + m[1, 2] * z + m[1, 3]) * inverse + cy
        seen[i - v0, 0], seen[i - v0, 1], seen[i - v0, 2] = u, v, inverse
        left, right, upper, lower = min(left, u), max(right, u), min(upper, v), max(lower, v)
    if near:
        left, right, upper, lower = 0.0, float(width), 0.0, float(height)
    x0, x1 = max(0, int(np.floor(left))), min(width, int(np.ceil(right)) + 1)
    y0, y1 = max(0, int(np.floor(upper))), min(height, int(np.ceil(lower)) + 1)
    for y in range(y0, y1):
        for x in range(x0, x1):
            scratch[y, x] = 0.0
    if x0 >= x1 or y0 >= y1:
        return 0, 0, 0, 0
    for f in range(f0, f1):
        a, b, c = mesh_faces[f, 0] - v0, mesh_faces[f, 1] - v0, mesh_faces[f, 2] - v0
        if near and (seen[a, 2] < 0 or seen[b, 2] < 0 or seen[c, 2] < 0):
            _clipped(vertices, mesh_faces, m, kay, f, sheet, scratch, shown)
        else:
            px, py, pz = seen[a, 0], seen[a, 1], seen[a, 2]
            qx, qy, qz = seen[b, 0], seen[b, 1], seen[b, 2]
            rx, ry, rz = seen[c, 0], seen[c, 1], seen[c, 2]
            _triangle(px, py, pz, qx, qy, qz, rx, ry, rz, f, sheet, scratch, shown)
    return y0, y1, x0, x1


@kernel
def _to_camera(place, pose):
    """Object→camera, 3×4."""
    m = np.empty((3, 4), np.float64)
    c, s = float(place[3]), float(place[4])
    for i in range(3):
        m[i, 0] = pose[i, 0] * c + pose[i, 1] * s
        m[i, 1] = -pose[i, 0] * s + pose[i, 1] * c
        m[i, 2] = pose[i, 2]
        m[i, 3] = pose[i, 0] * place[0] + pose[i, 1] * place[1] + pose[i, 2] * place[2] + pose[i, 3]
    return m


@kernel
def _triangle(ax, ay, az, bx, by, bz, cx, cy, cz, face, sheet, scratch, shown):
    """Rows are cut by the three edges first, so that only covered pixels are visited."""
    # The image's y axis points down, so a face seen from outside runs clockwise there.
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    if area >= 0.0:
        if area == 0.0 or not sheet:
            return
        bx, by, bz, cx, cy, cz = cx, cy, cz, bx, by, bz
        area = -area
    height, width = scratch.shape
    y0 = max(0, int(np.ceil(min(ay, by, cy) - 0.5)))
    y1 = min(height - 1, int(np.floor(max(ay, by, cy) - 0.5)))
    if y0 > y1:
        return
    low, high = min(ax, bx, cx), max(ax, bx, cx)
    if int(np.ceil(low - 0.5)) > int(np.floor(high - 0.5)):
        return
    scale = 1.0 / area
    # Inverse depth as a plane over the image.
    dx = ((bz - az) * (cy - ay) - (cz - az) * (by - ay)) * scale
    dy = ((cz - az) * (bx - ax) - (bz - az) * (cx - ax)) * scale
    for y in range(y0, y1 + 1):
        v = y + 0.5
        left, right = low, high
        left, right = _cut(ax, ay, bx, by, v, left, right)
        left, right = _cut(bx, by, cx, cy, v, left, right)
        left, right = _cut(cx, cy, ax, ay, v, left, right)
        x0, x1 = max(0, int(np.ceil(left - 0.5))), min(width - 1, int(np.floor(right - 0.5)))
        value = az + dy * (v - ay) + dx * (x0 + 0.5 - ax)
        for x in range(x0, x1 + 1):
            near = np.float32(value + dx * (x - x0))
            if near > scratch[y, x]:
                scratch[y, x] = near
                shown[y, x] = face


@kernel
def _cut(px, py, qx, qy, v, left, right):
    """Narrow a row to the inner side of the edge p→q."""
    rise = qy - py
    if rise == 0.0:
        return left, right
    # From the end with the smaller y, so that the two faces of an edge find the very same crossing.
    if rise > 0.0:
        x = px + (v - py) * ((qx - px) / rise)
        return max(left, x), right
    x = qx + (v - qy) * ((px - qx) / -rise)
    return left, min(right, x)


@kernel
def _clipped(vertices, mesh_faces, m, kay, f, sheet, scratch, shown):
    """A triangle that reaches behind the camera's plane: draw the part in front."""
    ring = np.empty((4, 3), np.float64)
    count = 0
    corner = np.empty((3, 3), np.float64)
    for j in range(3):
        p = vertices[mesh_faces[f, j]]
        for i in range(3):
            corner[j, i] = m[i, 0] * p[0] + m[i, 1] * p[1] + m[i, 2] * p[2] + m[i, 3]
    for j in range(3):
        p, q = corner[j], corner[(j + 1) % 3]
        if p[2] >= NEAR:
            for i in range(3):
                ring[count, i] = p[i]
            count += 1
        if (p[2] >= NEAR) != (q[2] >= NEAR):
            for i in range(3):
                ring[count, i] = p[i] + (q[i] - p[i]) * ((NEAR - p[2]) / (q[2] - p[2]))
            count += 1
    for j in range(count):
        inverse = 1.0 / ring[j, 2]
        ring[j, 0] = kay[0, 0] * ring[j, 0] * inverse + kay[0, 2]
        ring[j, 1] = kay[1, 1] * ring[j, 1] * inverse + kay[1, 2]
        ring[j, 2] = inverse
    for j in range(1, count - 1):
        a, b, c = ring[0], ring[j], ring[j + 1]
        _triangle(a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2], f, sheet, scratch, shown)


@kernel
def _lay(k, y0, y1, x0, x1, scratch, shown, nearest, ids, faces, amodal, sums):
    pixels, total = 0, 0.0
    for y in range(y0, y1):
        for x in range(x0, x1):
            near = scratch[y, x]
            if near > 0.0:
                amodal[k, y, x] = True
                pixels += 1
                total += 1.0 / near
                if near > nearest[y, x]:
                    nearest[y, x] = near
                    ids[y, x] = k + 1
                    faces[y, x] = shown[y, x]
    sums[k, 0], sums[k, 1] = pixels, total


@kernel
def _resolve(tris, rows, kay, pose, centre, env, nearest, ids, faces, depth, normals, parts):
    height, width = ids.shape
    for y in range(height):
        for x in range(width):
            near = nearest[y, x]
            if near <= 0.0:
                depth[y, x] = np.nan
                continue
            depth[y, x] = np.float32(1.0) / near
            if ids[y, x] == 0:
                if parts[y, x] == 0:
                    normals[y, x, 2] = 1.0
                else:
                    i = wall_of(env, parts[y, x])
                    normals[y, x, 0], normals[y, x, 1] = -env[i, col.WALL_X], -env[i, col.WALL_Y]
                continue
            parts[y, x] = (ids[y, x] << col.SLOT_BITS) + int(tris[faces[y, x], col.SLOT])
            u, v = (x + 0.5 - kay[0, 2]) / kay[0, 0], (y + 0.5 - kay[1, 2]) / kay[1, 1]
            dx = pose[0, 0] * u + pose[1, 0] * v + pose[2, 0]
            dy = pose[0, 1] * u + pose[1, 1] * v + pose[2, 1]
            dz = pose[0, 2] * u + pose[1, 2] * v + pose[2, 2]
            _normal(tris, rows, ids[y, x] - 1, centre, dx, dy, dz, faces[y, x], normals, y, x)


@kernel
def _normal(tris, rows, k, centre, dx, dy, dz, face, normals, y, x):
    """The smooth normal where a camera ray meets a triangle, in world axes."""
    c, s = float(rows[k, col.COS]), float(rows[k, col.SIN])
    ox, oy, oz = centre[0] - rows[k, col.X], centre[1] - rows[k, col.Y], centre[2] - rows[k, col.Z]
    ox, oy = c * ox + s * oy, -s * ox + c * oy
    dx, dy = c * dx + s * dy, -s * dx + c * dy
    tx, ty, tz = ox - tris[face, 0], oy - tris[face, 1], oz - tris[face, 2]
    px, py = dy * tris[face, 8] - dz * tris[face, 7], dz * tris[face, 6] - dx * tris[face, 8]
    pz = dx * tris[face, 7] - dy * tris[face, 6]
    qx, qy = ty * tris[face, 5] - tz * tris[face, 4], tz * tris[face, 3] - tx * tris[face, 5]
    qz = tx * tris[face, 4] - ty * tris[face, 3]
    scale = 1.0 / (px * tris[face, 3] + py * tris[face, 4] + pz * tris[face, 5])
    u = min(1.0, max(0.0, (px * tx + py * ty + pz * tz) * scale))
    v = min(1.0 - u, max(0.0, (qx * dx + qy * dy + qz * dz) * scale))
    w = 1.0 - u - v
    nx = w * tris[face, 9] + u * tris[face, 12] + v * tris[face, 15]
    ny = w * tris[face, 10] + u * tris[face, 13] + v * tris[face, 16]
    nz = w * tris[face, 11] + u * tris[face, 14] + v * tris[face, 17]
    length = 1.0 / np.sqrt(nx * nx + ny * ny + nz * nz)
    if scale < 0.0 and rows[k, col.SHEET] != 0.0:  # seen from behind
        length = -length
    normals[y, x, 0] = (c * nx - s * ny) * length
    normals[y, x, 1] = (s * nx + c * ny) * length
    normals[y, x, 2] = nz * length
