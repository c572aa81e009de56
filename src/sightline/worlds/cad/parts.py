"""Closed painted parts that CAD models are put together from: boxes, lofts, tubes, lathes, slabs, wheels.

Lengths are the maker's own, usually metres; z is up and the front looks along −y. Every part is a closed surface of
its own that faces outwards; parts of a model may reach into each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from sightline.worlds.cad.fills import area, filled, welded
from sightline.worlds.shapes.prisms import Indices
from sightline.worlds.shapes.surfaces import CREASE, unit
from sightline.worlds.solids import Floats, Triple

Axis = Literal["x", "y", "z"]

ORIGIN: Final[Triple] = (0.0, 0.0, 0.0)

_PLANES: Final[dict[Axis, tuple[int, int, int]]] = {"x": (1, 2, 0), "y": (0, 2, 1), "z": (0, 1, 2)}
"""Where the two coordinates of a plane and the one across it go."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One closed surface in one look.

    Attributes:
        slot: Key of `model.LOOKS`: ``paint``, ``glass``.
        vertices: (V, 3) float64.
        faces: (F, 3) int64, counter-clockwise seen from outside.
        crease: Degrees: faces that meet at less run smoothly into one another.
    """

    slot: str
    vertices: Floats
    faces: Indices
    crease: float = CREASE

    def bent(self, change: Callable[[Floats], Floats]) -> Part:
        """Deform it: `change` takes and gives (V, 3) points, and keeps inside and outside."""
        return replace(self, vertices=change(self.vertices.copy()))

    def moved(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Part:
        """Shift it."""
        return replace(self, vertices=self.vertices + np.array((x, y, z)))

    def turned(self, axis: Axis, degrees: float, about: Triple = ORIGIN) -> Part:
        """Turn it about an axis through a point, by the right-hand rule."""
        a, b, _ = _PLANES[axis]
        angle = math.radians(-degrees if axis == "y" else degrees)  # from x to z is a left turn about y
        c, s = math.cos(angle), math.sin(angle)
        away = self.vertices - about
        turned = away.copy()
        turned[:, a], turned[:, b] = c * away[:, a] - s * away[:, b], s * away[:, a] + c * away[:, b]
        return replace(self, vertices=turned + about)

    def scaled(self, x: float, y: float | None = None, z: float | None = None) -> Part:
        """Grow it about the origin, by one factor or three; all above 0."""
        return replace(self, vertices=self.vertices * (x, x if y is None else y, x if z is None else z))

    def mirrored(self) -> Part:
        """Its image on the other side of x = 0."""
        return replace(self, vertices=self.vertices * (-1.0, 1.0, 1.0), faces=self.faces[:, ::-1])


def both(*parts: Part) -> list[Part]:
    """Parts with their images on the other side of x = 0."""
    return [*parts, *(part.mirrored() for part in parts)]


def loft(slot: str, rings: ArrayLike, *, closed: bool = False, crease: float = CREASE) -> Part:
    """Close the surface through (k, n, 3) rings, each a loop of n points.

    The first and the last ring are filled, unless the last is joined to the first (`closed`, a torus). A ring may
    shrink to a point.

    >>> square = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)])
    >>> part = loft("paint", [square, square + (0, 0, 2)])
    >>> part.vertices.shape, part.faces.shape
    ((8, 3), (12, 3))
    """
    points = np.asarray(rings, np.float64)
    k, n = points.shape[:2]
    ids = np.arange(k * n).reshape(k, n)
    low, high = (ids, np.roll(ids, -1, axis=0)) if closed else (ids[:-1], ids[1:])
    low_next, high_next = np.roll(low, -1, axis=1), np.roll(high, -1, axis=1)
    faces = [
        np.stack((low, low_next, high_next), -1).reshape(-1, 3),
        np.stack((low, high_next, high), -1).reshape(-1, 3),
    ]
    if not closed:
        faces += [ids[0][filled(points[0])][:, ::-1], ids[-1][filled(points[-1])]]
    return Part(slot, *welded(points.reshape(-1, 3), np.concatenate(faces)), crease)


def slab(slot: str, grid: ArrayLike, thickness: float, *, crease: float = CREASE) -> Part:
    """Thicken a (k, n, 3) grid of points to both sides: a pane, a fender, a panel that follows another surface."""
    points = np.asarray(grid, np.float64)
    along, across = np.gradient(points, axis=0), np.gradient(points, axis=1)
    shift = unit(np.cross(along, across)) * (thickness / 2.0)
    k, n = points.shape[:2]
    front = np.arange(k * n).reshape(k, n)
    a, b, c, d = front[:-1, :-1], front[1:, :-1], front[1:, 1:], front[:-1, 1:]
    sheet = np.concatenate((np.stack((a, b, c), -1).reshape(-1, 3), np.stack((a, c, d), -1).reshape(-1, 3)))
    rim = np.concatenate((front[:-1, 0], front[-1, :-1], front[:0:-1, -1], front[0, :0:-1]))
    after, behind = np.roll(rim, -1), k * n
    wall = np.concatenate(
        (np.column_stack((rim, rim + behind, after + behind)), np.column_stack((rim, after + behind, after)))
    )
    vertices = np.concatenate((points + shift, points - shift)).reshape(-1, 3)
    return Part(slot, *welded(vertices, np.concatenate((sheet, sheet[:, ::-1] + behind, wall))), crease)


def patch(corners: ArrayLike, n: int = 2, m: int = 2) -> Floats:
    """Lay an (n, m, 3) grid between four corners in a row: n points from the first to the second."""
    a, b, c, d = np.asarray(corners, np.float64)
    u, v = np.linspace(0.0, 1.0, n)[:, None, None], np.linspace(0.0, 1.0, m)[None, :, None]
    grid: Floats = (1 - v) * ((1 - u) * a + u * b) + v * ((1 - u) * d + u * c)
    return grid


def box(slot: str, size: Triple, at: Triple = ORIGIN, *, edge: float = 0.0, steps: int = 1) -> Part:
    """Make a box of that size about `at`; `edge` is the radius of its edges, in so many steps.

    >>> box("wood", (1, 2, 3)).faces.shape
    (12, 3)
    """
    x, y, z = (side / 2.0 for side in size)
    reach = min(edge, 0.999 * min(x, y, z))
    if reach <= 0.0:
        corners = np.array([(-x, -y), (x, -y), (x, y), (-x, y)])
        return loft(slot, [_at(corners, -z), _at(corners, z)]).moved(*at)
    tilt = np.linspace(0.0, np.pi / 2.0, steps + 1)
    lower = [_at(rounded(x - reach, y - reach, reach * s, steps), -z + reach * (1 - c)) for s, c in _cycle(tilt)]
    upper = [ring * (1, 1, -1) for ring in lower[::-1]]
    return loft(slot, [*lower, *upper], crease=50.0).moved(*at)


def cushion(
    slot: str, size: Triple, at: Triple = ORIGIN, *, edge: float, corner: float | None = None, puff: float = 0.0
) -> Part:
    """Make a soft box about `at`: edges and, in plan, corners of those radii; it bulges up and down by `puff`."""
    x, y, z = (side / 2.0 for side in size)
    reach = min(edge, 0.999 * min(x, y, z))
    turn = min(max(corner or 0.0, reach), 0.999 * min(x, y))
    tilt = np.linspace(0.0, np.pi / 2.0, 3)

    def loop(cut: float) -> Floats:
        """The outline moved in by `cut`, with points along its straight sides."""
        quarters = rounded(x - turn, y - turn, turn - cut, 3).reshape(4, 4, 2)
        ahead = np.roll(quarters[:, 0], -1, axis=0)[:, None]
        part = np.array((0.25, 0.5, 0.75))[None, :, None]
        return np.concatenate((quarters, quarters[:, 3:] * (1 - part) + ahead * part), axis=1).reshape(-1, 2)

    rim = [_at(loop(reach * (1 - c)), z - reach * (1 - s)) for s, c in _cycle(tilt)]
    inner = [_at(loop(reach) * f, z) for f in (0.8, 0.5, 0.0)]
    for one in inner:
        one[:, 2] += puff * (1.0 - (one[:, 0] / x) ** 2) * (1.0 - (one[:, 1] / y) ** 2)
    upper = [*rim, *inner]
    return loft(slot, [*(ring * (1, 1, -1) for ring in upper[::-1]), *upper], crease=50.0).moved(*at)


def post(slot: str, path: ArrayLike, sizes: ArrayLike, *, edge: float = 0.0, steps: int = 2) -> Part:
    """Stand level rectangles on (k, 3) points, one over another: legs and posts that taper, lean or curve.

    `sizes` are those along x and y, (2,) for all or (k, 2); `edge` is the radius of the upright edges.
    """
    points = np.asarray(path, np.float64)
    halves = np.broadcast_to(np.asarray(sizes, np.float64) / 2.0, (len(points), 2)).tolist()
    radii = [min(edge, 0.99 * x, 0.99 * y) for x, y in halves]
    rings = [
        _at(rounded(x - r, y - r, r, steps) if r > 0.0 else np.array([(x, y), (-x, y), (-x, -y), (x, -y)]), 0.0) + p
        for (x, y), r, p in zip(halves, radii, points, strict=True)
    ]
    return loft(slot, rings, crease=40.0)


def extrude(
    slot: str, profile: ArrayLike, low: float, high: float, axis: Axis = "x", *, edge: float = 0.0, steps: int = 2
) -> Part:
    """Draw a polygon of any form along an axis, from `low` to `high`, its two rims rounded by `edge`.

    The profile has (y, z) along x, (x, z) along y and (x, y) along z.
    """
    loop = np.asarray(profile, np.float64)
    loop = loop if area(loop) > 0.0 else loop[::-1]
    reach = min(edge, 0.49 * (high - low))
    tilt = np.linspace(0.0, np.pi / 2.0, steps + 1) if reach > 0.0 else np.array([np.pi / 2.0])
    ends = [(inset(loop, reach * (1 - s)), reach * (1 - c)) for s, c in _cycle(tilt)]
    rings = [_at(ring, low + rise) for ring, rise in ends] + [_at(ring, high - rise) for ring, rise in ends[::-1]]
    order = np.argsort(_PLANES[axis])
    return loft(slot, np.asarray(rings)[..., order], crease=50.0 if reach > 0.0 else CREASE)


def lathe(
    slot: str,
    profile: ArrayLike,
    at: Triple = ORIGIN,
    axis: Axis = "z",
    *,
    sides: int = 24,
    closed: bool = False,
    crease: float = CREASE,
) -> Part:
    """Turn a line of (radius, height) points about an axis; `closed`: the line is a loop, and the part a ring."""
    radius, height = np.asarray(profile, np.float64).T
    turn = 2.0 * np.pi * np.arange(sides) / sides
    loops = np.stack(
        (radius[:, None] * np.cos(turn), radius[:, None] * np.sin(turn), np.repeat(height[:, None], sides, 1)), -1
    )
    return loft(slot, loops[..., np.argsort(_PLANES[axis])], closed=closed, crease=crease).moved(*at)


def cylinder(
    slot: str,
    radius: float,
    length: float,
    at: Triple = ORIGIN,
    axis: Axis = "z",
    *,
    sides: int = 24,
    edge: float = 0.0,
) -> Part:
    """Make a cylinder about `at`, along an axis, its rims chamfered by `edge`."""
    half, cut = length / 2.0, min(edge, 0.49 * length, 0.9 * radius)
    outline = [(radius, -half), (radius, half)]
    if cut > 0.0:
        outline = [(radius - cut, -half), (radius, cut - half), (radius, half - cut), (radius - cut, half)]
    return lathe(slot, outline, at, axis, sides=sides, crease=max(CREASE, 400.0 / sides))


def ring(
    slot: str, radius: float, tube_radius: float, at: Triple = ORIGIN, axis: Axis = "x", *, sides: int = 32
) -> Part:
    """Make a torus: a ring of round stuff."""
    turn = 2.0 * np.pi * np.arange(8) / 8
    circle = np.column_stack((radius + tube_radius * np.cos(turn), tube_radius * np.sin(turn)))
    return lathe(slot, circle, at, axis, sides=sides, closed=True, crease=60.0)


def ellipsoid(slot: str, radii: Triple, at: Triple = ORIGIN, *, sides: int = 16, rows: int = 8) -> Part:
    """Make an ellipsoid with those radii about `at`."""
    tilt = np.linspace(-np.pi / 2.0, np.pi / 2.0, rows + 1)
    line = np.column_stack((np.cos(tilt), np.sin(tilt)))
    line[[0, -1], 0] = 0.0
    return lathe(slot, line, sides=sides, crease=50.0).scaled(*radii).moved(*at)


def pod(slot: str, stations: ArrayLike, *, power: float = 2.0, points: int = 16, per: int = 3) -> Part:
    """Draw a rounded body along y through upright ovals: (y, z of the middle, half width, half height) a row.

    `power` as in `superellipse`; a round line runs through the rows, in `per` steps from one to the next.
    """
    y, z, wide, high = smooth(stations, per).T
    loop = superellipse(1.0, 1.0, power, points)
    wide, high = np.maximum(wide, 0.0), np.maximum(high, 0.0)
    rings = [
        [(u * a, at, middle + v * b) for u, v in loop] for at, middle, a, b in zip(y, z, wide, high, strict=True)
    ]
    return loft(slot, rings, crease=60.0)


def foil(slot: str, stations: ArrayLike, *, upright: bool = False) -> Part:
    """Draw a wing or fin with a rounded nose: (x, y, z of the leading edge, chord along y, thickness) a row.

    The thickness is along z, or along x where it stands `upright`.
    """
    u = np.array((0.0, 0.04, 0.15, 0.35, 0.65, 1.0))
    half = np.sqrt(u) * (1.0 - u) * 1.1 + 0.02 * (u > 0.0)
    around = np.concatenate((np.column_stack((u, half)), np.column_stack((u, -half))[:0:-1]))
    rings = []
    for x, y, z, chord, thick in np.asarray(stations, np.float64):
        along, across = y + around[:, 0] * chord, around[:, 1] * thick
        flat = (
            (x + across, along, np.full(len(around), z))
            if upright
            else (np.full(len(around), x), along, z + across)
        )
        rings.append(np.column_stack(flat))
    return loft(slot, rings, crease=50.0)


def tube(
    slot: str,
    path: ArrayLike,
    radius: float | Sequence[float],
    *,
    sides: int = 8,
    flat: float = 1.0,
    closed: bool = False,
) -> Part:
    """Draw a round bar along (k, 3) points, its radius one or one a point; `flat` squeezes it across its bends.

    A straight bar has its flat side towards z where it can.
    """
    points = np.asarray(path, np.float64)
    around = np.roll(points, -1, axis=0) - np.roll(points, 1, axis=0)
    ahead = unit(around if closed else np.gradient(points, axis=0))
    first = np.array((0.0, 0.0, 1.0)) if abs(ahead[0, 2]) < 0.9 else np.array((0.0, 1.0, 0.0))
    turn = 2.0 * np.pi * (np.arange(sides) + 0.5) / sides
    radii = np.broadcast_to(np.asarray(radius, np.float64), len(points))
    rings = []
    for point, forward, r in zip(points, ahead, radii, strict=True):
        first = unit(first - (first @ forward) * forward)  # the frame turns as little as it can
        second = np.cross(forward, first)
        rings.append(point + r * (flat * np.cos(turn)[:, None] * first + np.sin(turn)[:, None] * second))
    return loft(slot, rings, closed=closed, crease=max(50.0, 400.0 / sides))


def wheel(
    radius: float,
    width: float,
    at: Triple,
    *,
    rim: float = 0.68,
    spokes: int = 5,
    tyre: str = "tyre",
    metal: str = "metal",
    sides: int = 24,
    faces: Sequence[float] = (1.0,),
) -> list[Part]:
    """Make a road wheel whose axle runs along x: tyre, rim, hub, and spokes on the faces towards +x and −x (−1).

    `rim` is its radius in those of the tyre.
    """
    half, inner = width / 2.0, rim * radius
    shoulder = [(0.9, 1.0), (1.0, 0.6)]
    profile = [(inner, -0.9 * half), *((f * radius, -s * half) for f, s in shoulder)]
    profile += [(f * radius, s * half) for f, s in shoulder[::-1]] + [(inner, 0.9 * half)]
    lip = [(inner * f, h * half) for f, h in ((1.04, -0.96), (1.04, 0.96), (0.88, 0.8), (0.88, -0.8))]
    parts = [
        lathe(tyre, profile, at, "x", sides=sides, closed=True, crease=45.0),
        lathe(metal, lip, at, "x", sides=sides, closed=True),
        cylinder("dark", inner * 0.95, width * 0.5, at, "x", sides=sides),
        cylinder(metal, inner * 0.24, width * 0.9, at, "x", sides=12, edge=0.05 * width),
    ]
    long = inner * 0.8
    for i in range(spokes):
        for side in faces:
            bar = box(metal, (0.14 * width, 0.26 * inner, long), (side * 0.34 * width, 0.0, 0.52 * inner))
            parts.append(bar.turned("x", 360.0 * i / spokes).moved(*at))
    return parts


def wire_wheel(
    radius: float, tyre_radius: float, at: Triple, *, spokes: int = 18, hub: float = 0.035, sides: int = 32
) -> list[Part]:
    """Make a wheel with wire spokes whose axle runs along x: round tyre, thin rim, hub; lengths as `radius`."""
    felly = radius - 2.0 * tyre_radius
    parts = [
        ring("tyre", radius - tyre_radius, tyre_radius, at, "x", sides=sides),
        lathe(
            "metal",
            [(felly + r * tyre_radius, h * tyre_radius) for r, h in ((0, -0.8), (0.7, -0.8), (0.7, 0.8), (0, 0.8))],
            at,
            "x",
            sides=sides,
            closed=True,
        ),
        cylinder("metal", 0.5 * hub, 2.0 * hub, at, "x", sides=10),
    ]
    thick = max(0.004 * radius / 0.34, 0.0025)
    for i in range(spokes):
        lean, side = math.radians(360.0 * i / spokes), (-1.0) ** i
        start = lean + side * 0.25
        near = (side * hub * 0.8, 0.45 * hub * math.sin(start), 0.45 * hub * math.cos(start))
        far = (0.0, (felly + tyre_radius * 0.2) * math.sin(lean), (felly + tyre_radius * 0.2) * math.cos(lean))
        parts.append(tube("metal", [near, far], thick, sides=4).moved(*at))
    return parts


def rounded(x: float, y: float, radius: float, steps: int = 3) -> Floats:
    """Points of the rectangle of half sides x and y grown by `radius`, counter-clockwise, (4 steps + 4, 2)."""
    turn = np.linspace(0.0, np.pi / 2.0, steps + 1)
    quarters = []
    for i, (sx, sy) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
        angle = turn + i * np.pi / 2.0
        quarters.append(np.column_stack((sx * x + radius * np.cos(angle), sy * y + radius * np.sin(angle))))
    return np.concatenate(quarters)


def superellipse(x: float, y: float, power: float, points: int = 24) -> Floats:
    """Points of |u/x|^p + |v/y|^p = 1, counter-clockwise: 2 an ellipse, larger a rounded rectangle; (points, 2)."""
    turn = 2.0 * np.pi * (np.arange(points) + 0.5) / points
    c, s = np.cos(turn), np.sin(turn)
    reach = (np.abs(c) ** power + np.abs(s) ** power) ** (-1.0 / power)
    return np.column_stack((x * reach * c, y * reach * s))


def smooth(points: ArrayLike, per: int = 4) -> Floats:
    """Draw a round line through points of any dimension: `per` steps from one to the next (Catmull–Rom)."""
    p = np.asarray(points, np.float64)
    before = np.concatenate((2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]))
    t = np.arange(per)[:, None] / per
    lines = [
        0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
        for a, b, c, d in zip(before, before[1:], before[2:], before[3:], strict=False)
    ]
    return np.concatenate((*lines, p[-1:]))


def arc(centre: tuple[float, float], radius: float, start: float, end: float, steps: int = 8) -> Floats:
    """Points of a circle from one angle to another, degrees, (steps + 1, 2)."""
    turn = np.radians(np.linspace(start, end, steps + 1))
    return np.column_stack((centre[0] + radius * np.cos(turn), centre[1] + radius * np.sin(turn)))


def inset(loop: Floats, by: float) -> Floats:
    """Move the sides of a counter-clockwise polygon inwards, corners along their mitres of at most thrice that."""
    if by == 0.0:
        return loop
    edge = unit(np.roll(loop, -1, axis=0) - loop)
    before = np.roll(edge, 1, axis=0)
    inward = np.column_stack((-edge[:, 1], edge[:, 0])) + np.column_stack((-before[:, 1], before[:, 0]))
    mitre: Floats = loop + by * inward / np.maximum((inward**2).sum(axis=1, keepdims=True) / 2.0, 0.2)
    return mitre


def _cycle(tilt: Floats) -> Iterable[tuple[float, float]]:
    return zip(np.sin(tilt).tolist(), np.cos(tilt).tolist(), strict=True)


def _at(loop: Floats, height: float) -> Floats:
    return np.column_stack((loop, np.full(len(loop), height)))
