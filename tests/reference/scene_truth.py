"""What is true of a scene, from its meshes, poses and cameras alone: ids, depth, stuff, and the eight predicates.

Nothing here asks who was put where: what stands in or on what is found by looking at heights and places.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from shapely import MultiPoint, Point

from reference import labels_oracle
from reference.patterns_oracle import in_region
from reference.ray_casting import edge_distance, meet
from sightline.scenes import Object, Scene, View
from sightline.worlds.shapes import solid
from sightline.worlds.surroundings import Surroundings

Floats = NDArray[np.float64]

NEAR = 1e-5
"""Metres: meshes and poses are drawn in float32, so a ray this near an edge or a border may go to either side."""

LEVEL = 1e-4
"""Metres between two heights that are the same."""

LEAST_OFFSET = 0.001
"""Metres between two middles that make a direction."""


class Seen(NamedTuple):
    """A view, surface by surface: the surroundings first, then each object alone.

    Attributes:
        alone: (n + 1, H, W) planar depth; inf: not there.
        lean: (n + 1, H, W) |cos| between the ray and the normal of what it meets.
        stuff: (H, W) class of the surroundings.
    """

    alone: Floats
    lean: Floats
    stuff: NDArray[np.int64]


def triangles(thing: Object) -> Floats:
    """(F, 3, 3) corners in the world."""
    pose = np.array(thing.pose).reshape(4, 4)
    mesh = solid(thing.shape or "")
    points = mesh.vertices.astype(np.float64) @ pose[:3, :3].T + pose[:3, 3]
    made: Floats = points[mesh.faces]
    return made


def rays(view: View) -> tuple[Floats, Floats]:
    """Where the camera stands, and (H · W, 3) directions of planar depth 1 through the pixels' middles."""
    assert view.camera is not None
    width, height = view.require_size()
    k, pose = np.array(view.camera.k).reshape(3, 3), np.array(view.camera.world_to_camera).reshape(3, 4)
    y, x = np.indices((height, width)).reshape(2, -1) + 0.5
    ahead = np.linalg.solve(k, np.stack((x, y, np.ones_like(x))))
    return -pose[:, :3].T @ pose[:, 3], (pose[:, :3].T @ ahead).T


def see(scene: Scene, view: View, around: Surroundings) -> Seen:
    """Cast a ray through every pixel's middle at every triangle, the ground and the walls."""
    eye, ways = rays(view)
    width, height = view.require_size()
    with np.errstate(divide="ignore", invalid="ignore"):
        ground = -eye[2] / ways[:, 2]
    depth = np.where(ground > 0, ground, np.inf)
    stuff = np.ones(len(ways), np.int64)
    for i in np.flatnonzero(np.isfinite(depth)):
        stuff[i] = around.classes.index(_ground(around, *(eye + depth[i] * ways[i])[:2])) + 1
    lean = np.abs(ways[:, 2]) / np.linalg.norm(ways, axis=1)
    for wall in around.walls:
        towards = np.array((math.cos(wall.azimuth), math.sin(wall.azimuth), 0.0))
        slope = ways @ towards
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (wall.distance - eye @ towards) / slope
        shown = (slope > 0) & (t > 0) & (t < depth) & (eye[2] + t * ways[:, 2] <= wall.height)
        depth, stuff = np.where(shown, t, depth), np.where(shown, around.classes.index(wall.category) + 1, stuff)
        lean = np.where(shown, np.abs(slope) / np.linalg.norm(ways, axis=1), lean)
    alone, leans = [depth], [lean]
    for thing in scene.objects:
        mesh = triangles(thing)
        met = meet(mesh, eye, ways)
        flat = np.cross(mesh[:, 1] - mesh[:, 0], mesh[:, 2] - mesh[:, 0])[met.face]
        sizes = np.maximum(np.linalg.norm(flat, axis=1) * np.linalg.norm(ways, axis=1), 1e-30)
        alone.append(met.t)
        leans.append(np.abs((flat * ways).sum(axis=1)) / sizes)
    shape = (len(alone), height, width)
    return Seen(np.array(alone).reshape(shape), np.array(leans).reshape(shape), stuff.reshape(height, width))


def _ground(around: Surroundings, x: float, y: float) -> str:
    over = [r.category for r in around.ground if in_region(r.shape, r.position, r.turn, r.extent, x, y)]
    return over[-1] if over else "table"


def wrong_pixels(scene: Scene, view: View, around: Surroundings) -> tuple[int, int]:
    """Pixels of a view in which its ids, depth, stuff or masks are not what casting finds, and those of them whose
    ray passes no edge and no border: the first may be a matter of rounding, the second not."""
    seen, ids = see(scene, view, around), view.ids()
    own, lean = (np.take_along_axis(of, ids[None].astype(np.int64), axis=0)[0] for of in (seen.alone, seen.lean))
    nearest = seen.alone.min(axis=0)
    slack = 4e-6 * (1 + own) / np.maximum(lean, 1e-3)
    depth = np.where(np.isnan(view.depth()), np.inf, view.depth())
    with np.errstate(invalid="ignore"):
        # Two surfaces may share a place, as an open box and the ground: then either may be shown.
        right = (own == nearest) | (np.abs(own - nearest) <= slack)
        right &= (depth == own) | (np.abs(depth - own) <= slack)
    right &= view.stuff() == np.where(ids > 0, 0, seen.stuff)
    right &= (view.amodal() == np.isfinite(seen.alone[1:])).all(axis=0)
    eye, ways = rays(view)
    meshes = [triangles(thing) for thing in scene.objects]
    ways = ways.reshape(*ids.shape, 3)
    grave = sum(not _on_border(meshes, around, eye, ways[y, x]) for y, x in np.argwhere(~right))
    return int((~right).sum()), grave


def _on_border(meshes: list[Floats], around: Surroundings, eye: Floats, way: Floats) -> bool:
    """Whether a ray passes an edge of a triangle, or what it meets is near the border of a region or a wall."""
    if any(edge_distance(mesh, eye, way) < NEAR for mesh in meshes):
        return True
    # A step of the ray by this much must not change what is seen around: its class, or that there is a wall.
    bends = [way + sign * NEAR * step for step in np.eye(3) for sign in (-1, 1)]
    return len({_around_at(around, eye, bent) for bent in (way, *bends)}) > 1


def _around_at(around: Surroundings, eye: Floats, way: Floats) -> str:
    nearest, name = math.inf, "sky"
    if way[2] < 0:
        nearest = -eye[2] / way[2]
        name = _ground(around, *(eye + nearest * way)[:2])
    for wall in around.walls:
        towards = np.array((math.cos(wall.azimuth), math.sin(wall.azimuth), 0.0))
        t = (wall.distance - eye @ towards) / (way @ towards)
        if way @ towards > 0 and 0 < t < nearest and eye[2] + t * way[2] <= wall.height:
            nearest, name = t, wall.category
    return name


class Standing(NamedTuple):
    """An object by its shape, and what it was found to stand in or on: −1 for the ground."""

    shape: str
    how: str
    parent: int


class Stand(NamedTuple):
    """A scene as `labels_oracle` takes it."""

    objects: list[Standing]
    containment: bool


def standings(scene: Scene) -> list[Standing]:
    """Find what every object stands in or on: its base is at that one's floor or top, its weight above it."""
    found = []
    for thing in scene.objects:
        options = [
            (how, i)
            for i, other in enumerate(scene.objects)
            if other is not thing
            for how, height in _levels(other)
            if abs(_base(thing)[2] - height) < LEVEL and _above(other, _middle_of_mass(thing))
        ]
        assert len(options) <= 1, (scene.id, thing.id, options)
        how, parent = options[0] if options else ("independent", -1)
        found.append(Standing(thing.shape or "", how, parent))
    return found


def _base(thing: Object) -> Floats:
    return np.array(thing.pose).reshape(4, 4)[:3, 3]


def _levels(thing: Object) -> Iterator[tuple[str, float]]:
    """Heights in the world that things may stand at: its top, and the floor of its hollow."""
    top = triangles(thing)[..., 2].max()
    yield "supported", top
    if (cavity := solid(thing.shape or "").cavity) is not None:
        yield "contained", top - cavity.depth


def _above(thing: Object, point: Floats) -> bool:
    return bool(MultiPoint(triangles(thing)[..., :2].reshape(-1, 2)).convex_hull.contains(Point(point[:2])))


def _middle_of_mass(thing: Object) -> Floats:
    """Of what a closed mesh encloses: its tetrahedra with the origin, weighed by their volumes."""
    mesh = triangles(thing)
    volumes = np.einsum("ij,ij->i", mesh[:, 0], np.cross(mesh[:, 1], mesh[:, 2]))
    middle: Floats = (volumes[:, None] * mesh.sum(axis=1) / 4).sum(axis=0) / volumes.sum()
    return middle


def judgements(scene: Scene, *, containment: bool) -> Iterator[tuple[str, str, str, bool | None]]:
    """Judge every ordered pair by every predicate: (subject, predicate, object, whether it holds; None: too near
    a tie to say)."""
    view = scene.view("original")
    assert view.camera is not None
    forward = np.array(view.camera.world_to_camera).reshape(3, 4)[2, :2]
    behind = forward / np.linalg.norm(forward)
    left = np.array((-behind[1], behind[0]))
    stand = Stand(standings(scene), containment)
    for i, subject in enumerate(scene.objects):
        for j, other in enumerate(scene.objects):
            if i == j:
                continue
            offset = (_base(subject) - _base(other))[:2]
            held = {
                "left": offset @ left > LEAST_OFFSET,
                "right": offset @ left < -LEAST_OFFSET,
                "behind": offset @ behind > LEAST_OFFSET,
                "front": offset @ behind < -LEAST_OFFSET,
                "contains": stand.objects[j][1:] == ("contained", i),
                "supports": stand.objects[j][1:] == ("supported", i),
                "can_contain": labels_oracle.possible(stand, i, j, "contained"),
                "can_support": labels_oracle.possible(stand, i, j, "supported"),
            }
            for predicate, holds in held.items():
                yield subject.id, predicate, other.id, None if holds is None else bool(holds)
