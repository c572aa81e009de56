"""Viewpoints and landmarks of generated objects: where each named point is seen, and what hides it.

A landmark is ``self_occluded`` where a ray to it meets the object's own surface before. If not, it is ``truncated``
where it is outside the image, and ``occluded`` where another object is seen in its pixel and is nearer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.geometry.viewpoints import Floats, Viewpoint, seen_from
from sightline.kernels import compiler, stamp
from sightline.render.fast import bvh
from sightline.render.frames import Frame
from sightline.render.sensor import bent_places
from sightline.scenes.types import Landmark, LandmarkState, Sighting
from sightline.worlds.layout import Layout, Placed, Shot
from sightline.worlds.shapes import solid
from sightline.worlds.solids import Solid

kernel = compiler(stamp([Path(__file__), Path(bvh.__file__)]))

TOLERANCE: Final = 0.05
"""Diagonals of the object: its own surface hides a landmark only if it is met so much before it, for landmarks of
real models lie near the surface, not on it. Chosen on seven of them (docs/results/viewpoint/landmarks.md)."""

_DIGITS: Final = 6
"""Decimals of stored degrees and pixels: the same on every machine."""


class RayMesh(NamedTuple):
    """A mesh for rays: `bvh.Tree` and its triangles (first corner and two edges) in leaf order, float64."""

    bounds: Floats
    links: NDArray[np.int32]
    triangles: Floats


def ray_mesh(vertices: ArrayLike, faces: ArrayLike) -> RayMesh:
    """Prepare a mesh for `hidden_by_itself`."""
    corners, indices = np.asarray(vertices, np.float64), np.asarray(faces, np.int32)
    tree = bvh.build(corners.astype(np.float32), indices)
    a, b, c = np.moveaxis(corners[indices[tree.order]], 1, 0)
    return RayMesh(tree.bounds.astype(np.float64), tree.links, np.stack((a, b - a, c - a), axis=1))


def hidden_by_itself(
    mesh: RayMesh, eyes: ArrayLike, points: ArrayLike, tolerance: float = TOLERANCE
) -> NDArray[np.bool_]:
    """Decide which points (n, 3) a surface hides from which eyes (k, 3): (k, n).

    Args:
        mesh: In the same unit as the points.
        eyes: Where cameras stand.
        points: Landmarks.
        tolerance: How long before a point the surface must be met to hide it.
    """
    views, marks = (np.ascontiguousarray(v, dtype=np.float64).reshape(-1, 3) for v in (eyes, points))
    hidden: NDArray[np.bool_] = _hidden(*mesh, views, marks, tolerance)
    return hidden


@kernel
def _hidden(
    bounds: Floats, links: NDArray[np.int32], triangles: Floats, eyes: Floats, points: Floats, tolerance: float
) -> NDArray[np.bool_]:
    hidden = np.zeros((len(eyes), len(points)), np.bool_)
    inverse = np.empty(3)
    for e in range(len(eyes)):
        for p in range(len(points)):
            x, y, z = points[p, 0] - eyes[e, 0], points[p, 1] - eyes[e, 1], points[p, 2] - eyes[e, 2]
            reach = 1.0 - tolerance / math.sqrt(x * x + y * y + z * z)
            inverse[0] = 1.0 / x if abs(x) > 1e-12 else 1e12
            inverse[1] = 1.0 / y if abs(y) > 1e-12 else 1e12
            inverse[2] = 1.0 / z if abs(z) > 1e-12 else 1e12
            node = 0
            while node < len(bounds) and not hidden[e, p]:
                enter, leave = 0.0, reach
                for k in range(3):
                    low = (bounds[node, k] - 1e-6 - eyes[e, k]) * inverse[k]
                    high = (bounds[node, k + 3] + 1e-6 - eyes[e, k]) * inverse[k]
                    enter, leave = max(enter, min(low, high)), min(leave, max(low, high))
                if enter > leave:
                    node = links[node, 0]
                    continue
                for f in range(links[node, 1], links[node, 1] + links[node, 2]):
                    if 0.0 < _meeting(triangles[f], eyes[e], x, y, z) < reach:
                        hidden[e, p] = True
                        break
                node += 1
    return hidden


@kernel
def _meeting(triangle: Floats, eye: Floats, dx: float, dy: float, dz: float) -> float:
    """Where a ray meets a triangle, in lengths of its direction; −1: nowhere."""
    a, u, v = triangle[0], triangle[1], triangle[2]
    px, py, pz = dy * v[2] - dz * v[1], dz * v[0] - dx * v[2], dx * v[1] - dy * v[0]
    det = px * u[0] + py * u[1] + pz * u[2]
    if abs(det) < 1e-18:
        return -1.0
    tx, ty, tz = eye[0] - a[0], eye[1] - a[1], eye[2] - a[2]
    s = (px * tx + py * ty + pz * tz) / det
    if s < 0.0 or s > 1.0:
        return -1.0
    qx, qy, qz = ty * u[2] - tz * u[1], tz * u[0] - tx * u[2], tx * u[1] - ty * u[0]
    t = (dx * qx + dy * qy + dz * qz) / det
    if t < 0.0 or s + t > 1.0:
        return -1.0
    along: float = (v[0] * qx + v[1] * qy + v[2] * qz) / det
    return along


@dataclass(frozen=True, slots=True, eq=False)
class _Marked:
    """A solid with a front in the CAD frame: centred, diagonal 1; `to_solid` leads back, 4×4, metres.

    Its mesh is None where no landmark asks what it hides.
    """

    names: tuple[str, ...]
    points: Floats
    mesh: RayMesh | None
    to_solid: Floats


@lru_cache(maxsize=4096)
def _cad_frame(shape: Solid) -> Floats:
    """CAD frame→solid, 4×4, metres."""
    low, high = shape.vertices.min(axis=0).astype(np.float64), shape.vertices.max(axis=0).astype(np.float64)
    diagonal = float(np.linalg.norm(high - low))
    to_solid = np.diag([diagonal, diagonal, diagonal, 1.0])
    to_solid[:3, 3] = (low + high) / 2.0
    return to_solid


def _to_camera(placed: Placed, shot: Shot, to_solid: Floats) -> Floats:
    return np.array(shot.camera.world_to_camera).reshape(3, 4) @ placed.pose() @ to_solid


def viewpoint_of(placed: Placed, shot: Shot) -> Viewpoint | None:
    """Compute from where a placed object is seen; None for one whose middle is behind the camera."""
    to_camera = _to_camera(placed, shot, _cad_frame(solid(placed.shape)))
    return seen_from(shot.camera.k, to_camera) if to_camera[2, 3] > 0.0 else None


@lru_cache(maxsize=1024)
def _marked(shape: Solid) -> _Marked:
    to_solid = _cad_frame(shape)
    middle, diagonal = to_solid[:3, 3], to_solid[0, 0]
    points = (np.array(list(shape.landmarks.values()), np.float64).reshape(-1, 3) - middle) / diagonal
    mesh = ray_mesh((shape.vertices - middle) / diagonal, shape.faces) if len(points) else None
    return _Marked(tuple(shape.landmarks), points, mesh, to_solid)


def posed(
    seen: Sequence[Sighting], names: Sequence[str], layout: Layout, shot: Shot, frame: Frame
) -> Iterator[Sighting]:
    """Give the sightings of a view the viewpoints and landmarks of all objects that have a front.

    Args:
        seen: Sightings of the view.
        names: Object ids, in the order of the layout.
        layout: What stands where.
        shot: The view's camera and sensor.
        frame: The view as its sensor takes it.
    """
    index = {name: i for i, name in enumerate(names)}
    for sighting in seen:
        i = index[sighting.object_id]
        shape = solid(layout.objects[i].shape)
        if not shape.front:
            yield sighting
            continue
        viewpoint, landmarks = _truth(_marked(shape), layout.objects[i], shot, frame, i + 1)
        yield replace(sighting, viewpoint=viewpoint, landmarks=landmarks)


def _truth(
    shape: _Marked, placed: Placed, shot: Shot, frame: Frame, own: int
) -> tuple[Viewpoint | None, tuple[Landmark, ...]]:
    k = np.array(shot.camera.k).reshape(3, 3)
    to_camera = _to_camera(placed, shot, shape.to_solid)
    turn, shift = to_camera[:, :3], to_camera[:, 3]
    eye = -np.linalg.solve(turn, shift)
    seen = shape.points @ turn.T + shift
    depth = seen[:, 2]
    pixels = seen @ k.T
    pixels = np.where(depth[:, None] > 0.0, pixels[:, :2] / np.where(depth > 0.0, depth, 1.0)[:, None], np.nan)
    viewpoint = seen_from(k, to_camera, shape.points) if shift[2] > 0.0 else None
    if shot.sensor is not None and shot.sensor.distortion != 0.0:
        pixels = bent_places(pixels, shot.size, shot.sensor.distortion)
        if viewpoint is not None and viewpoint.principal is not None:
            x, y = bent_places(np.array([viewpoint.principal]), shot.size, shot.sensor.distortion)[0].tolist()
            viewpoint = replace(viewpoint, principal=(x, y), error=None)
    landmarks: list[Landmark] = []
    if shape.mesh is None:
        return viewpoint and _rounded(viewpoint), ()
    hidden = hidden_by_itself(shape.mesh, eye, shape.points)[0]
    for name, (x, y), z, itself in zip(shape.names, pixels.tolist(), depth.tolist(), hidden.tolist(), strict=True):
        state = _state(x, y, z, itself, frame, own)
        across, down = (None, None) if math.isnan(x) else (round(x, _DIGITS), round(y, _DIGITS))
        landmarks.append(Landmark(name, across, down, state))
    return viewpoint and _rounded(viewpoint), tuple(landmarks)


def _state(x: float, y: float, z: float, itself: bool, frame: Frame, own: int) -> LandmarkState:
    height, width = frame.ids.shape
    if itself:
        return "self_occluded"
    if not (0.0 <= x < width and 0.0 <= y < height):  # also what is behind the camera: NaN
        return "truncated"
    at = int(y), int(x)
    return "occluded" if frame.ids[at] not in (0, own) and frame.depth[at] < z else "visible"


def _rounded(viewpoint: Viewpoint) -> Viewpoint:
    x, y = viewpoint.principal or (0.0, 0.0)
    return replace(
        viewpoint,
        azimuth=round(viewpoint.azimuth, _DIGITS) % 360.0,
        elevation=round(viewpoint.elevation, _DIGITS),
        distance=round(viewpoint.distance, _DIGITS),
        theta=round(viewpoint.theta, _DIGITS) + 0.0,
        principal=(round(x, _DIGITS), round(y, _DIGITS)),
        error=None if viewpoint.error is None else round(viewpoint.error, _DIGITS),
    )
