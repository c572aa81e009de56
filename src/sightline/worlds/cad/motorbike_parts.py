"""Pieces of motorbikes: chassis, fork, engines, mudguards, bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.worlds.cad.parts import Part, both, box, cylinder, ellipsoid, extrude, pod, slab, tube, wheel
from sightline.worlds.solids import Triple

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Chassis:
    """Axles, steering head and seat as (y, z); metres.

    Attributes:
        front: Front axle; its z is the wheel's radius, as that of `back`.
        head: Top of the steering head; the fork runs from there to the front axle.
        seat: Front and back end of the seat's top.
    """

    front: Place
    back: Place
    head: Place
    seat: tuple[Place, Place]

    def fork(self, share: float, x: float = 0.0, off: float = 0.0) -> Triple:
        """A point of the fork, 0 at the axle and 1 at the head, `off` before it."""
        y = self.front[0] + share * (self.head[0] - self.front[0])
        return x, y - off, self.front[1] + share * (self.head[1] - self.front[1])


def chassis(base: float, front: float, back: float, rake: float, head: float, seat: tuple[Place, Place]) -> Chassis:
    """`rake` is the fork's angle from the vertical, degrees."""
    lean = math.tan(math.radians(rake))
    return Chassis((-base / 2, front), (base / 2, back), (-base / 2 + lean * (head - front), head), seat)


def wheels(c: Chassis, front: float, back: float, rng: np.random.Generator) -> list[Part]:
    """Cast wheels with a brake disc in front."""
    spokes = int(rng.integers(5, 9))
    parts = [
        p
        for (y, z), wide in ((c.front, front), (c.back, back))
        for p in wheel(z, wide, (0.0, y, z), rim=0.74, spokes=spokes, faces=(-1.0, 1.0), sides=28)
    ]
    return parts + both(cylinder("metal", 0.4 * c.front[1], 0.006, (0.5 * front + 0.006, *c.front), "x", sides=24))


def fork(c: Chassis, x: float, radius: float, slot: str) -> list[Part]:
    """Two legs, their bridge, the axles."""
    legs = both(
        tube(slot, [c.fork(-0.02, x), c.fork(1.0, x)], radius, sides=8),
        tube("dark", [c.fork(-0.02, x), c.fork(0.35, x)], radius * 1.25, sides=8),
    )
    _, y, z = c.fork(0.98)
    return [
        *legs,
        box("dark", (2 * x + 0.08, 0.08, 0.05), (0.0, y, z), edge=0.015),
        box("dark", (2 * x + 0.07, 0.08, 0.04), c.fork(0.72), edge=0.015),
    ]


def tank(c: Chassis, wide: float, high: float, z: float, start: float = 0.1) -> Part:
    """A tank between steering head and seat."""
    y0, y1 = c.head[0] + start, c.seat[0][0] + 0.06
    rows = [
        (y0, z, 0.3 * wide, 0.3 * high),
        (y0 + 0.08, z + 0.01, 0.85 * wide, 0.85 * high),
        ((y0 + y1) / 2, z, wide, high),
    ]
    return pod(
        "paint",
        [*rows, (y1 - 0.08, z - 0.05, 0.6 * wide, 0.6 * high), (y1, z - 0.08, 0.3 * wide, 0.25 * high)],
        power=2.4,
    )


def seat(rows: Sequence[tuple[float, float, float, float]]) -> list[Part]:
    """A seat through ovals, as `parts.pod` has them, closed round at its ends."""
    first, last = rows[0], rows[-1]
    ends = [(first[0] - 0.01, first[1], 0.02, 0.01), *rows, (last[0] + 0.01, last[1], 0.02, 0.01)]
    return [pod("leather", ends, power=3.0, points=14, per=2)]


def engine(y: float, z: float, wide: float, high: float) -> list[Part]:
    """Crankcase, a cylinder leaning forwards with fins, clutch covers."""
    parts = [box("dark", (2 * wide - 0.06, 0.42, 1.2 * high), (0.0, y, z - 0.1), edge=0.05)]
    parts += both(cylinder("metal", 0.09, 0.06, (wide - 0.02, y + 0.04, z - 0.1), "x", sides=16, edge=0.015))
    fins = [box("metal", (1.5 * wide, 0.2, 0.018), (0.0, y - 0.12, z + 0.02 + 0.036 * i)) for i in range(5)]
    return parts + [fin.turned("x", 15, (0.0, y - 0.1, z)) for fin in fins]


def v_twin(y: float, z: float) -> list[Part]:
    """Two finned cylinders in a V over a round crankcase."""
    parts = [
        cylinder("metal", 0.15, 0.24, (0.0, y, z), "x", sides=20, edge=0.03),
        box("dark", (0.26, 0.4, 0.14), (0.0, y + 0.2, z - 0.04), edge=0.04),
    ]
    for lean in (-24, 24):
        stack = [
            cylinder(
                "metal" if i % 2 else "dark",
                0.085 if i % 2 else 0.07,
                0.024,
                (0.0, y, z + 0.15 + 0.024 * i),
                sides=14,
            )
            for i in range(8)
        ]
        stack.append(box("metal", (0.15, 0.15, 0.07), (0.0, y, z + 0.37), edge=0.02))
        parts += [p.turned("x", lean, (0.0, y, z)) for p in stack]
    return [*parts, cylinder("metal", 0.09, 0.06, (0.14, y, z + 0.24), "x", sides=16, edge=0.015)]


def swingarm(c: Chassis) -> list[Part]:
    """Rear fork, shock absorbers, chain."""
    y, z = c.back
    parts = both(
        tube("dark", [(0.11, 0.08, z + 0.04), (0.12, y, z)], 0.024, sides=8),
        tube("metal", [(0.13, y - 0.06, z + 0.04), (0.12, y - 0.2, z + 0.32)], 0.022, sides=8),
    )
    return [
        *parts,
        cylinder("metal", 0.1, 0.01, (0.1, y, z), "x", sides=18),
        *(tube("dark", [(0.1, 0.06, z + d * 0.5), (0.1, y, z + d)], 0.009, sides=4) for d in (-0.09, 0.09)),
    ]


def fender(axle: Place, radius: float, half: float, start: float, end: float) -> list[Part]:
    """A mudguard over a wheel; degrees from behind it over its top."""
    reach = radius + 0.03
    grid = []
    for a in np.radians(np.linspace(start, end, 10)):
        rims = ((-half, -0.05), (-0.7 * half, -0.012), (0.0, 0.0), (0.7 * half, -0.012), (half, -0.05))
        grid.append(
            [(x, axle[0] + (reach + d) * math.cos(a), axle[1] + (reach + d) * math.sin(a)) for x, d in rims]
        )
    return [slab("paint", grid, 0.01, crease=60.0)]


def knobs(axle: Place, radius: float, half: float) -> list[Part]:
    """Studs around an off-road tyre."""
    parts = []
    for i in range(24):
        stud = box("tyre", (0.9 * half, 0.03, 0.03), ((-1) ** i * 0.35 * half, 0.0, radius - 0.008))
        parts.append(stud.turned("x", 15.0 * i).moved(0.0, *axle))
    return parts


def sheet(slot: str, outline: Sequence[Place], x0: float, x1: float) -> Part:
    """A flat piece of any outline in the (y, z) plane, between two x."""
    return extrude(slot, outline, x0, x1, edge=0.012)


def bars(line: Sequence[Sequence[float]], radius: float) -> list[Part]:
    """Handlebars through points of the +x side, grips and levers at their ends."""
    x, y, z = line[-1]
    u, v, w = line[-2]
    along = np.array((x - u, y - v, z - w)) / math.dist((x, y, z), (u, v, w))
    end, before = np.array((x, y, z)), np.array((0.0, -0.055, 0.0))
    start = end - 0.12 * along
    middle = (0.0, line[0][1], line[0][2])
    return both(
        tube("metal", np.vstack((middle, *line)), radius, sides=6),
        tube("dark", [start, end], 0.02, sides=8),
        tube("metal", [start + before, end - 0.02 * along + before], 0.008, sides=4),
    )


def mirrors(line: Sequence[Triple]) -> list[Part]:
    """Mirrors at the end of stalks through points of the +x side."""
    end = line[-1]
    return both(
        tube("dark", line, 0.008, sides=5),
        ellipsoid("dark", (0.065, 0.02, 0.04), end, sides=12, rows=6),
        ellipsoid("glass", (0.055, 0.012, 0.032), (end[0], end[1] + 0.012, end[2]), sides=12, rows=6),
    )


def plate(y: float, z: float) -> list[Part]:
    """A number plate on its arm."""
    arm = tube("dark", [(0.0, y - 0.16, z + 0.14), (0.0, y, z)], 0.014, sides=5)
    return [box("light", (0.19, 0.012, 0.15), (0.0, y + 0.01, z)), arm]


def marks(c: Chassis, handle: Triple, lamp: Triple, front: float, back: float) -> dict[str, Triple]:
    """Landmarks; `handle` is the grip at +x, `front` and `back` half the width at the wheels' hubs."""
    (y0, z0), (y1, z1) = c.seat
    marks: dict[str, Triple] = {
        "front_seat": (0.0, y0, z0 + 0.03),
        "back_seat": (0.0, y1, z1 + 0.02),
        "head_center": (0.0, c.head[0], c.head[1] + 0.02),
        "headlight_center": lamp,
    }
    for side, sign in (("left", -1.0), ("right", 1.0)):
        marks |= {
            f"{side}_front_wheel": (sign * (front + 0.02), *c.front),
            f"{side}_back_wheel": (sign * (back + 0.02), *c.back),
            f"{side}_handle_center": (sign * (handle[0] - 0.05), handle[1], handle[2]),
        }
    return marks
