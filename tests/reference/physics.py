"""A layout in MuJoCo: let go of everything, simulate, and see what has moved.

Every solid is cut into convex prisms by hand: what touches the table, the body, the floor and the walls of a
cavity, the top. Its mass and inertia are those of the mesh at one density. Independent of the placement code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import mujoco
import numpy as np
import trimesh

from sightline.worlds import Layout, Solid, solid
from sightline.worlds.layout import Placed

SEGMENTS = 48
SKIN = 0.02  # share of the height that base and top are extruded over where they differ from the outline
DENSITY = 500.0  # kg/m³


@dataclass(frozen=True)
class Moved:
    """How far one object went: metres of its middle, degrees of its turn."""

    metres: float
    degrees: float


def moved(layout: Layout, seconds: float = 1.0) -> list[Moved]:
    """How far every object of the layout goes in that time."""
    model = mujoco.MjModel.from_xml_string(_document(layout))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = range(1, model.nbody)
    before = [(data.xipos[b].copy(), data.xmat[b].reshape(3, 3).copy()) for b in bodies]
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    found = []
    for b, (place, turn) in zip(bodies, before, strict=True):
        cosine = (np.trace(turn.T @ data.xmat[b].reshape(3, 3)) - 1.0) / 2.0
        angle = math.degrees(math.acos(min(1.0, max(-1.0, cosine))))
        found.append(Moved(float(np.linalg.norm(data.xipos[b] - place)), angle))
    return found


def _document(layout: Layout) -> str:
    names = sorted({o.shape for o in layout.objects})
    assets = [
        f'<mesh name="{name}/{i}" inertia="convex" vertex="{_numbers(points)}"/>'
        for name in names
        for i, points in enumerate(pieces(name))
    ]
    bodies = [_body(o) for o in layout.objects]
    return f"""<mujoco>
      <option timestep="0.002" integrator="implicitfast" cone="elliptic"><flag multiccd="enable"/></option>
      <size memory="200M"/>
      <asset>{"".join(assets)}</asset>
      <worldbody><geom type="plane" size="0 0 1"/>{"".join(bodies)}</worldbody>
    </mujoco>"""


def _body(placed: Placed) -> str:
    half = placed.yaw / 2.0
    mass, middle, inertia = weight(placed.shape)
    six = [inertia[a] for a in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    geoms = "".join(f'<geom type="mesh" mesh="{placed.shape}/{i}"/>' for i in range(len(pieces(placed.shape))))
    return (
        f'<body pos="{_numbers(placed.position)}" quat="{math.cos(half)!r} 0 0 {math.sin(half)!r}"><freejoint/>'
        f'<inertial pos="{_numbers(middle)}" mass="{mass!r}" fullinertia="{_numbers(six)}"/>'
        f"{geoms}</body>"
    )


def _numbers(values: Any) -> str:
    return " ".join(f"{v:.9g}" for v in np.asarray(values, dtype=float).ravel())


@cache
def weight(name: str) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, middle and inertia about it."""
    shape = solid(name)
    mesh = trimesh.Trimesh(shape.vertices.astype(float), shape.faces, process=True)
    mesh.density = DENSITY
    return float(mesh.mass), mesh.center_mass, mesh.moment_inertia


@cache
def pieces(name: str) -> list[np.ndarray]:
    """Corners of convex pieces, (n, 3) each."""
    shape = solid(name)
    floor = shape.height - shape.cavity.depth if shape.cavity else math.inf
    found = []
    for outline, low, high in _layers(shape):
        loop = outline.polygon(SEGMENTS)
        if low < floor:
            found.append(_prism(loop, low, min(high, floor)))
        if shape.cavity and high > floor:
            hole = shape.cavity.outline.polygon(SEGMENTS)
            if shape.cavity.outline.kind == "ellipse":
                hole = hole / math.cos(math.pi / SEGMENTS)  # around the ellipse: what fits it clears the walls
            found += [_prism(wall, max(low, floor), high) for wall in _walls(loop, hole)]
    return found


def _layers(shape: Solid) -> list[tuple[Any, float, float]]:
    """Outlines with the heights they hold between, bottom up."""
    skin = SKIN * shape.height
    low = skin if shape.base != shape.outline else 0.0
    has_top = shape.top is not None and shape.top != shape.outline
    high = shape.height - skin if has_top else shape.height
    layers = [(shape.base, 0.0, skin)] if low else []
    layers.append((shape.outline, low, high))
    return [*layers, (shape.top, high, shape.height)] if has_top else layers


def _prism(loop: np.ndarray, low: float, high: float) -> np.ndarray:
    return np.concatenate([np.column_stack((loop, np.full(len(loop), z))) for z in (low, high)])


def _walls(outer: np.ndarray, inner: np.ndarray) -> list[np.ndarray]:
    """The band between two loops cut along rays from the middle of the inner one through all corners."""
    middle = inner.mean(axis=0)
    angles = np.sort(np.concatenate([np.arctan2(*(loop - middle).T[::-1]) for loop in (outer, inner)]))
    angles = angles[np.diff(angles, prepend=angles[-1] - 2 * np.pi) > 1e-4]
    near, far = ([middle + _hit(loop - middle, a) for a in angles] for loop in (inner, outer))
    return [np.array((near[i - 1], near[i], far[i], far[i - 1])) for i in range(len(angles))]


def _hit(loop: np.ndarray, angle: float) -> np.ndarray:
    """Where a ray from the origin leaves a loop around it."""
    ray = np.array((math.cos(angle), math.sin(angle)))
    along = np.roll(loop, -1, axis=0) - loop
    normals = np.column_stack((along[:, 1], -along[:, 0]))
    reach = np.einsum("ij,ij->i", normals, loop)
    speed = normals @ ray
    out = speed > 1e-12
    return ray * float((reach[out] / speed[out]).min())
