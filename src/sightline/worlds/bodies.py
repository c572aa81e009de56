"""A solid as placement sees it: corners of its outlines, its weight, and the poses it can take in or on another."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.geometry import footprints
from sightline.geometry.footprints import holds, overlap, reach, rim, shifts, sides, turned
from sightline.kernels import compiler, stamp
from sightline.worlds.fits import can_support
from sightline.worlds.shapes import solid
from sightline.worlds.solids import Floats, Outline, Solid

kernel = compiler(
    stamp([Path(footprints.__file__), Path(__file__), Path(__file__).with_name("poses.py")]), error_model="python"
)
"""Compile for the CPU, here and in `poses`."""

STEP = math.radians(5.0)
"""Grid of turns that pairs are tried at."""

BITE = 0.005
"""A rim counts as support only this far from its inner edge, metres."""

_SLACK = 1e-6
"""Metres: far above rounding, so that what is refused early would be refused in full."""

_PLACES = 5
"""Places along each side that an object is tried at on another."""

_ENOUGH = 64
"""Known poses that a draw starts from."""

_STRIDE = 1117
"""Poses of the grid are tried in strides, so that the first that carry are spread over turns and places."""


class Body(NamedTuple):
    """One solid for the compiled loops: polygons (n, 2), no corners where it has none of the kind; metres.

    Attributes:
        top_sides: See `footprints.sides`; `cavity_sides` likewise.
        floor: Height of the cavity's floor above the base.
        mass: Volume of the matter, m³: all objects are equally dense.
        com: Centre of mass seen from above.
        grip: Half of the smallest width of the base.
        box: Outline's x range and y range.
        radius: Of the smallest circle about the origin that holds the outline.
    """

    outline: Floats
    base: Floats
    top: Floats
    cavity: Floats
    top_sides: Floats
    cavity_sides: Floats
    height: float
    floor: float
    mass: float
    com: tuple[float, float]
    grip: float
    box: tuple[float, float, float, float]
    radius: float


@lru_cache(maxsize=4096)
def body(name: str) -> Body:
    """The body of the solid of that name.

    >>> cube = body("cube:medium")
    >>> round(cube.mass, 6), [round(c, 6) for c in cube.com]
    (0.729, [0.0, 0.0])
    """
    return body_of(solid(name))


def body_of(shape: Solid) -> Body:
    """The body of a solid."""
    outline, base, top = (_corners(part) for part in (shape.outline, shape.base, shape.top))
    cavity = _corners(shape.cavity.outline if shape.cavity else None)
    (x0, y0), (x1, y1) = outline.min(axis=0).tolist(), outline.max(axis=0).tolist()
    volume, x, y = _weight(shape)
    return Body(
        outline,
        base,
        top,
        cavity,
        sides(top),
        sides(cavity),
        height=float(shape.height),
        floor=float(shape.height - shape.cavity.depth) if shape.cavity else math.inf,
        mass=volume,
        com=(x, y),
        grip=_half_width(base),
        box=(x0, x1, y0, y1),
        radius=float(np.hypot(*outline.T).max()),
    )


def _corners(outline: Outline | None) -> Floats:
    """Corners in a row of their own; one that repeats its neighbour would make an edge without direction."""
    if outline is None:
        return np.zeros((0, 2))
    points = outline.polygon()
    apart = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1) > 1e-9
    return np.ascontiguousarray(points[apart])


def _half_width(polygon: Floats) -> float:
    """Half of the distance between the closest two parallels that hold a polygon: one lies along an edge."""
    along = sides(polygon)
    return float((along[:, 2] - (along[:, :2] @ polygon.T).min(axis=1)).min()) / 2.0


def _weight(shape: Solid) -> tuple[float, float, float]:
    """Volume and the x and y of its middle, summed over the tetrahedra from the origin to every face.

    An open surface encloses nothing: it counts as half the prism over its outline, with the middle of its area.
    """
    a, b, c = np.moveaxis(shape.vertices.astype(np.float64)[shape.faces], 1, 0)
    if not shape.closed:
        areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        x, y, _ = (((a + b + c) * (areas / 3.0)[:, None]).sum(axis=0) / areas.sum()).tolist()
        return footprints.area(shape.outline.polygon()) * shape.height / 2.0, x, y
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    middle = ((a + b + c) * (volumes / 4.0)[:, None]).sum(axis=0) / volumes.sum()
    return float(volumes.sum()), float(middle[0]), float(middle[1])


@lru_cache(maxsize=65536)
def turns_within(container: str, item: str, clearance: float) -> NDArray[np.float64]:
    """Turns against the container at which the item fits its cavity, radians; empty if there are none.

    At least half of it is below the rim, as `fits.can_contain` has it, and the clearance is left at the walls.
    """
    host, guest = body(container), body(item)
    if not len(host.cavity) or guest.height / 2.0 > host.height - host.floor:
        return np.zeros(0)
    return _turns(host, guest, clearance)


@lru_cache(maxsize=65536)
def perches(supporter: str, item: str, stability: float) -> Floats:
    """Poses at which the supporter's top really carries the item, (n, 3): turn, and place as a share of the room.

    The item must be able to be supported by the rules of `fits`, stay within the box around the top, and have its
    centre of mass over the hull of the contact, `stability` half widths of its base from the edge.
    """
    host, guest = body(supporter), body(item)
    if not len(host.top) or not can_support(supporter, item):
        return np.zeros((0, 3))
    return _perches(host, guest, stability, _ENOUGH)


@lru_cache(maxsize=65536)
def carries(supporter: str, item: str, stability: float) -> bool:
    """Whether there are any `perches`: the first is found sooner than all."""
    host, guest = body(supporter), body(item)
    if not len(host.top) or not can_support(supporter, item):
        return False
    return len(_perches(host, guest, stability, 1)) > 0


@kernel
def _turns(host: Body, guest: Body, clearance: float) -> Floats:
    turns = np.empty(360)
    n = 0
    item = np.empty_like(guest.outline)
    moves, spare = np.empty((len(host.cavity) + 4, 2)), np.empty((len(host.cavity) + 4, 2))
    for k in range(round(2.0 * math.pi / STEP)):
        turned(guest.outline, k * STEP, 0.0, 0.0, item)
        if shifts(item, len(item), host.cavity, host.cavity_sides, clearance, moves, spare) > 0:
            turns[n] = k * STEP
            n += 1
    return turns[:n].copy()


@kernel
def _perches(host: Body, guest: Body, stability: float, enough: int) -> Floats:
    turns, places = round(2.0 * math.pi / STEP), _PLACES * _PLACES
    rooms = np.empty((turns, 4))
    for k in range(turns):
        rooms[k] = _room(host, guest, k * STEP)
    poses = turns * places
    perches = np.empty((enough, 3))
    n = 0
    footing = np.empty((footing_rows(host, guest), 2))
    for k in range(poses):
        pose = k * _STRIDE % poses
        turn, place = pose // places * STEP, pose % places
        u, v = place // _PLACES * 2.0 / (_PLACES - 1) - 1.0, place % _PLACES * 2.0 / (_PLACES - 1) - 1.0
        fits, x, y = _in_room(rooms[pose // places], u, v)
        if fits and stands(host, guest, turn, x, y, stability, footing) > 0:
            perches[n, 0], perches[n, 1], perches[n, 2] = turn, u, v
            n += 1
            if n == enough:
                break
    return perches[:n].copy()


@kernel
def footing_rows(host: Body, guest: Body) -> int:
    """Rows that any contact between the two needs."""
    return 3 * (len(host.top) + len(guest.base) + 4)


@kernel
def on_top(host: Body, guest: Body, turn: float, u: float, v: float) -> tuple[bool, float, float]:
    """Whether the turned item fits the box around the top; and its place, u and v in [−1, 1] from edge to edge."""
    return _in_room(_room(host, guest, turn), u, v)


@kernel
def _room(host: Body, guest: Body, turn: float) -> Floats:
    """Where the turned item may be in the box around the top: least x, most x, least y, most y."""
    c, s = math.cos(turn), math.sin(turn)
    room = np.empty(4)
    # Along a direction of the supporter the item reaches as far as along that direction turned back.
    room[0] = -reach(host.top, len(host.top), -1.0, 0.0) + reach(guest.outline, len(guest.outline), -c, s)
    room[1] = reach(host.top, len(host.top), 1.0, 0.0) - reach(guest.outline, len(guest.outline), c, -s)
    room[2] = -reach(host.top, len(host.top), 0.0, -1.0) + reach(guest.outline, len(guest.outline), -s, -c)
    room[3] = reach(host.top, len(host.top), 0.0, 1.0) - reach(guest.outline, len(guest.outline), s, c)
    return room


@kernel
def _in_room(room: Floats, u: float, v: float) -> tuple[bool, float, float]:
    low_x, high_x, low_y, high_y = room
    x = 0.5 * (low_x + high_x + u * (high_x - low_x))
    y = 0.5 * (low_y + high_y + v * (high_y - low_y))
    return low_x <= high_x + 1e-9 and low_y <= high_y + 1e-9, x, y


@kernel
def _all_behind(by: Floats, x: float, y: float, reach: float) -> bool:
    """Whether a disc lies behind all sides; a negative reach shrinks them."""
    for i in range(len(by)):  # noqa: SIM110 - numba has no generators here
        if by[i, 0] * x + by[i, 1] * y + reach > by[i, 2]:
            return False
    return True


@kernel
def stands(host: Body, guest: Body, turn: float, x: float, y: float, stability: float, footing: Floats) -> int:
    """Write the hull of the contact, in the supporter's frame; its number of corners, 0 where the item falls."""
    c, s = math.cos(turn), math.sin(turn)
    mx = c * guest.com[0] - s * guest.com[1] + x
    my = s * guest.com[0] + c * guest.com[1] + y
    margin = stability * guest.grip
    # Most poses are refused here: the middle is beside the top, or all of the item over the hollow.
    if not _all_behind(host.top_sides, mx, my, margin - _SLACK):
        return 0
    if len(host.cavity) > 0 and _all_behind(host.cavity_sides, x, y, guest.radius + _SLACK):
        return 0
    rows = len(footing)
    base, shared, spare = np.empty_like(guest.base), np.empty((rows, 2)), np.empty((rows, 2))
    turned(guest.base, turn, x, y, base)
    n = overlap(base, len(base), host.top_sides, shared, spare)
    if len(host.cavity) > 0:
        n = rim(shared, n, host.cavity_sides, BITE, footing)
    else:
        for i in range(n):
            footing[i, 0], footing[i, 1] = shared[i, 0], shared[i, 1]
    return n if holds(footing, n, mx, my, margin) else 0
