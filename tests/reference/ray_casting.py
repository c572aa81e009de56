"""What a camera sees of a layout, by intersecting every ray with every triangle in float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.worlds.layout import Layout, Placed, Shot
from sightline.worlds.shapes import solid

Floats = NDArray[np.float64]


class Meeting(NamedTuple):
    """Where each of R rays first meets a mesh.

    Attributes:
        t: (R,) lengths of the ray's direction; inf: never.
        face: (R,) face of the mesh, −1: never.
        u: (R,) weight of the face's second corner; `v` of its third.
    """

    t: Floats
    face: NDArray[np.int64]
    u: Floats
    v: Floats


class Front(NamedTuple):
    """Each object alone, (n, H, W): planar depth (inf: not there), normals, and |cos| between ray and flat face."""

    depth: Floats
    normals: Floats
    lean: Floats


def corners(placed: Placed) -> Floats:
    """(F, 3, 3): the triangles of an object in the world."""
    shape, pose = solid(placed.shape), placed.pose()
    points = shape.vertices.astype(np.float64) @ pose[:3, :3].T + pose[:3, 3]
    triangles: Floats = points[shape.faces]
    return triangles


def meet(triangles: Floats, origins: Floats, directions: Floats) -> Meeting:
    """The first meeting at t > 0 of each ray (R, 3) with triangles (F, 3, 3), both sides of them."""
    origins, directions = np.broadcast_arrays(origins, directions)
    best = Meeting(*(np.full(len(directions), x) for x in (np.inf, -1, 0.0, 0.0)))
    middle = (triangles.min(axis=(0, 1)) + triangles.max(axis=(0, 1))) / 2
    radius = np.linalg.norm(triangles - middle, axis=2).max() + 1e-6
    away = np.linalg.norm(np.cross(middle - origins, directions), axis=1) / np.linalg.norm(directions, axis=1)
    a, to_b, to_c = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    normal = np.cross(to_b, to_c)
    candidates = np.flatnonzero(away <= radius)
    for some in np.array_split(candidates, len(candidates) // 128 + 1):
        o, d = origins[some], directions[some]
        # o + t d = a + u to_b + v to_c by Cramer's rule; the rays' part is (d, o × d).
        moment = np.cross(o, d)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1.0 / (d @ normal.T)
            t = ((a * normal).sum(axis=1) - o @ normal.T) * scale
            u = -(moment @ to_c.T + d @ np.cross(a, to_c).T) * scale
            v = (moment @ to_b.T + d @ np.cross(a, to_b).T) * scale
            t = np.where((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0), t, np.inf)
        first = t.argmin(axis=1)
        at = np.arange(len(some)), first
        best.t[some], best.face[some] = t[at], np.where(np.isfinite(t[at]), first, -1)
        best.u[some], best.v[some] = u[at], v[at]
    return best


def edge_distance(triangles: Floats, origin: Floats, direction: Floats) -> float:
    """Metres between a line and the nearest edge of any triangle."""
    p = triangles.reshape(-1, 3)
    along = np.roll(triangles, -1, axis=1).reshape(-1, 3) - p
    d = direction / np.linalg.norm(direction)
    start = np.cross(p - origin, d)  # across the line, only these parts count
    step = np.cross(along, d)
    share = -(start * step).sum(axis=1) / np.maximum((step * step).sum(axis=1), 1e-300)
    return float(np.linalg.norm(start + np.clip(share, 0, 1)[:, None] * step, axis=1).min())


def within(triangles: Floats, point: Floats) -> bool:
    """Whether a point lies inside a closed mesh: its triangles fill the whole sphere of directions."""
    a, b, c = (triangles[:, i] - point for i in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    volume = (a * np.cross(b, c)).sum(axis=1)
    rest = la * lb * lc + (a * b).sum(axis=1) * lc + (b * c).sum(axis=1) * la + (c * a).sum(axis=1) * lb
    return bool(np.arctan2(volume, rest).sum() > np.pi)


def camera_rays(shot: Shot) -> tuple[Floats, Floats]:
    """Where the camera stands, and (H, W, 3) directions of planar depth 1 through the pixels' middles."""
    width, height = shot.size
    k = np.array(shot.camera.k).reshape(3, 3)
    pose = np.array(shot.camera.world_to_camera).reshape(3, 4)
    u, v = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    ahead = np.stack(((u - k[0, 2]) / k[0, 0], (v - k[1, 2]) / k[1, 1], np.ones_like(u)), axis=-1)
    return -pose[:, :3].T @ pose[:, 3], ahead @ pose[:, :3]


def table_depth(shot: Shot) -> Floats:
    """Planar depth of the table, (H, W); inf: sky."""
    eye, rays = camera_rays(shot)
    with np.errstate(divide="ignore"):
        depth = -eye[2] / rays[..., 2]
    return np.where(depth > 0, depth, np.inf)


def fronts(layout: Layout, shot: Shot) -> Front:
    """Every object as if it were alone in the world."""
    eye, rays = camera_rays(shot)
    height, width = rays.shape[:2]
    shape = (len(layout.objects), height, width)
    front = Front(np.full(shape, np.inf), np.zeros((*shape, 3)), np.ones(shape))
    for i, placed in enumerate(layout.objects):
        triangles = corners(placed)
        t, face, u, v = meet(triangles, eye, rays.reshape(-1, 3))
        front.depth[i] = t.reshape(height, width)
        hit = np.flatnonzero(face >= 0)
        weights = np.stack((1 - u - v, u, v), axis=1)[hit, :, None]
        smooth = (solid(placed.shape).normals[face[hit]] * weights).sum(axis=1) @ placed.pose()[:3, :3].T
        at = np.unravel_index(hit, (height, width))
        front.normals[i][at] = smooth / np.linalg.norm(smooth, axis=1, keepdims=True)
        abc = triangles[face[hit]]
        flat = np.cross(abc[:, 1] - abc[:, 0], abc[:, 2] - abc[:, 0])
        ray = rays[at]
        if not solid(placed.shape).closed:  # a sheet has a normal on the side that is seen
            front.normals[i][at] *= np.where((flat * ray).sum(axis=1) > 0, -1.0, 1.0)[:, None]
        sizes = np.linalg.norm(flat, axis=1) * np.linalg.norm(ray, axis=1)
        front.lean[i][at] = np.abs((flat * ray).sum(axis=1)) / sizes
    return front


def seen(front: Front, table: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Ids, planar depth (inf: nothing) and normals of whatever is nearest in each pixel."""
    depth = np.concatenate((table[None], front.depth))
    up = np.zeros((1, *table.shape, 3))
    up[0, np.isfinite(table)] = (0, 0, 1)
    ids = depth.argmin(axis=0)
    normals = np.take_along_axis(np.concatenate((up, front.normals)), ids[None, ..., None], axis=0)[0]
    return ids, depth.min(axis=0), normals


def cast(layout: Layout, shot: Shot) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Ids, planar depth (inf: nothing) and interpolated normals at pixel centres."""
    return seen(fronts(layout, shot), table_depth(shot))
