"""Bicycles: city, road, mountain and child's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import (
    Part,
    both,
    box,
    cylinder,
    loft,
    ring,
    slab,
    smooth,
    superellipse,
    tube,
    wire_wheel,
)
from sightline.worlds.solids import Triple

AWAY = 0.07
"""How far from the middle plane the pedals' cranks turn, metres."""


@dataclass(frozen=True, slots=True)
class BicycleFrame:
    """Where a bicycle's frame has its corners, as (y, z); metres.

    Attributes:
        back: Rear axle; `front` the front axle.
        bracket: Where the cranks turn.
        seat: Top of the seat tube; `saddle` the middle of the saddle.
        head: Top of the head tube; `neck` its foot, where the fork begins.
        radius: Of the wheels; `tyre` of the tyre's section.
    """

    back: tuple[float, float]
    front: tuple[float, float]
    bracket: tuple[float, float]
    seat: tuple[float, float]
    saddle: tuple[float, float]
    head: tuple[float, float]
    neck: tuple[float, float]
    radius: float
    tyre: float


def city(rng: np.random.Generator) -> Draft:
    """An upright bicycle with swept-back handlebars, mudguards, rack, lamp and chain case."""
    f = _frame(rng, radius=rng.uniform(0.33, 0.36), tyre=0.021, base=(1.06, 1.14), seat=(0.88, 0.98), lean=68.0)
    low = rng.random() < 0.5
    parts = _common(f, 0.017, top=0.35 if low else 0.93, spokes=18)
    bar = [(0.0, f.head[0] - 0.06, f.head[1] + 0.1), (0.14, f.head[0] - 0.08, f.head[1] + 0.13)]
    bar += [(0.26, f.head[0] + 0.0, f.head[1] + 0.12), (0.28, f.head[0] + 0.17, f.head[1] + 0.1)]
    parts += [
        *_stem(f, bar[0]),
        *both(tube("metal", smooth(bar, 4), 0.012, sides=6)),
        *_grips(bar[-1], (0.28, bar[-1][1] - 0.11, bar[-1][2])),
    ]
    parts += [_guard(f, f.back, -25, 195), _guard(f, f.front, 20, 170), *_rack(f)]
    lamp = (0.0, f.head[0] - 0.1, f.head[1] - 0.02)
    parts += [
        cylinder("metal", 0.04, 0.07, lamp, "y", sides=14, edge=0.015),
        cylinder("light", 0.035, 0.02, (0.0, lamp[1] - 0.035, lamp[2]), "y", sides=14),
    ]
    parts.append(box("tail", (0.06, 0.03, 0.04), (0.0, f.back[0] + 0.26, f.radius * 2 + 0.04), edge=0.01))
    parts.append(_case(f))
    return Draft(parts, _marks(f, (0.28, bar[-1][1] - 0.03, bar[-1][2])), mirror=False)


def road(rng: np.random.Generator) -> Draft:
    """A racing bicycle: drop bars, thin tyres, level top tube, high saddle."""
    f = _frame(rng, radius=0.335, tyre=0.0135, base=(0.96, 1.0), seat=(0.96, 1.06), lean=73.0, drop=0.06)
    y, z = f.head
    bar = [
        (0.0, y - 0.1, z + 0.03),
        (0.19, y - 0.1, z + 0.03),
        (0.21, y - 0.17, z + 0.02),
        (0.215, y - 0.19, z - 0.05),
    ]
    bar += [(0.215, y - 0.13, z - 0.11), (0.215, y - 0.04, z - 0.11)]
    parts = [
        *_common(f, 0.019, top=0.97, spokes=16),
        *_stem(f, bar[0]),
        *both(tube("dark", smooth(bar, 4), 0.014, sides=6)),
    ]
    parts += both(box("dark", (0.03, 0.07, 0.05), (0.212, y - 0.19, z + 0.04), edge=0.012))
    parts += [
        tube(
            "second",
            [(0.0, *_between(f.bracket, f.neck, 0.3)), (0.0, *_between(f.bracket, f.neck, 0.62))],
            0.035,
            sides=10,
        )
    ]
    return Draft(parts, _marks(f, (0.212, y - 0.19, z + 0.02)), mirror=False)


def mountain(rng: np.random.Generator) -> Draft:
    """A mountain bicycle: fat tyres, straight wide bars, sloping frame, suspension fork."""
    f = _frame(
        rng,
        radius=rng.uniform(0.345, 0.37),
        tyre=rng.uniform(0.027, 0.033),
        base=(1.08, 1.18),
        seat=(0.9, 0.98),
        lean=71.0,
    )
    y, z = f.head
    wide = rng.uniform(0.33, 0.38)
    bar = [
        (0.0, y - 0.06, z + 0.05),
        (0.1, y - 0.06, z + 0.06),
        (0.2, y - 0.04, z + 0.075),
        (wide, y - 0.01, z + 0.08),
    ]
    parts = [
        *_common(f, 0.023, top=0.62, spokes=16, fork=False),
        *_stem(f, bar[0]),
        *both(tube("dark", smooth(bar, 3), 0.014, sides=6)),
    ]
    parts += _grips(bar[-1], (wide - 0.12, y - 0.025, z + 0.08))
    crown = (f.neck[0] - 0.015, f.neck[1] - 0.01)
    parts.append(box("dark", (0.2, 0.06, 0.05), (0.0, crown[0], crown[1] - 0.01), edge=0.015))
    parts += both(
        tube("metal", [(0.075, *crown), (0.075, *_between(crown, f.front, 0.5))], 0.016),
        tube("second", [(0.075, *_between(crown, f.front, 0.4)), (0.075, *f.front)], 0.024),
    )
    parts.append(cylinder("metal", 0.085, 0.004, (0.05, *f.front), "x", sides=20))
    return Draft(parts, _marks(f, (wide - 0.05, y - 0.015, z + 0.08)), mirror=False)


def child(rng: np.random.Generator) -> Draft:
    """A child's bicycle: small wheels, low frame, and, half of the time, training wheels."""
    f = _frame(rng, radius=rng.uniform(0.165, 0.215), tyre=0.022, base=(0.7, 0.8), seat=(0.56, 0.64), lean=68.0)
    y, z = f.head
    bar = [
        (0.0, y - 0.03, z + 0.1),
        (0.1, y - 0.03, z + 0.14),
        (0.2, y + 0.02, z + 0.18),
        (0.25, y + 0.1, z + 0.17),
    ]
    parts = [
        *_common(f, 0.02, top=0.42, spokes=14),
        *_stem(f, bar[0]),
        *both(tube("metal", smooth(bar, 3), 0.012, sides=6)),
    ]
    parts += [
        *_grips(bar[-1], (0.23, y + 0.04, z + 0.178)),
        _guard(f, f.back, -10, 190),
        _guard(f, f.front, 20, 170),
        _case(f),
    ]
    if rng.random() < 0.7:
        small = 0.07
        arm = [(0.06, *f.back), (0.15, f.back[0], f.back[1] - 0.03), (0.16, f.back[0] + 0.02, small)]
        parts += both(tube("metal", arm, 0.009, sides=6), *_small_wheel((0.18, f.back[0] + 0.02, small), small))
    else:
        basket = (0.0, y - 0.17, z + 0.02)
        parts += [
            box("second", (0.24, 0.18, 0.15), basket, edge=0.02),
            box("dark", (0.21, 0.15, 0.02), (0.0, basket[1], basket[2] + 0.07)),
        ]
    return Draft(parts, _marks(f, (0.245, bar[-1][1] - 0.03, bar[-1][2])), mirror=False)


def _frame(
    rng: np.random.Generator,
    *,
    radius: float,
    tyre: float,
    base: tuple[float, float],
    seat: tuple[float, float],
    lean: float,
    drop: float = 0.0,
) -> BicycleFrame:
    """Draw the geometry: wheelbase and height of the saddle between ends, `lean` the angle of the seat tube."""
    length, high = rng.uniform(*base), rng.uniform(*seat)
    back, front = (length / 2, radius), (-length / 2, radius)
    bracket = (back[0] - 0.4 * length, radius - 0.06 * (radius / 0.34))
    slope = 1.0 / np.tan(np.radians(lean + rng.uniform(-1.5, 1.5)))
    top = high - 0.1
    seat_top = (bracket[0] + slope * (top - bracket[1]), top - 0.08 + drop)
    saddle = (bracket[0] + slope * (high - bracket[1]), high)
    rake = 1.0 / np.tan(np.radians(rng.uniform(69.0, 73.0)))
    head_z = high - drop - rng.uniform(0.02, 0.09)
    head = (front[0] + 0.045 + rake * (head_z - radius), head_z)
    neck_z = max(2 * radius + 0.05, head_z - 0.2)
    neck = (front[0] + 0.045 + rake * (neck_z - radius), neck_z)
    return BicycleFrame(back, front, bracket, seat_top, saddle, head, neck, radius, tyre)


def _common(f: BicycleFrame, thick: float, *, top: float, spokes: int, fork: bool = True) -> list[Part]:
    """Wheels, frame, fork, saddle, cranks and chain; `top`: how high the top tube meets the seat tube."""
    parts = [p for axle in (f.back, f.front) for p in wire_wheel(f.radius, f.tyre, (0.0, *axle), spokes=spokes)]
    joint = _between(f.bracket, f.seat, top)
    lines = [
        (f.bracket, f.seat),
        (f.bracket, _between(f.neck, f.head, 0.12)),
        (joint, _between(f.neck, f.head, 0.75)),
        (f.neck, f.head),
    ]
    parts += [tube("paint", [(0.0, *a), (0.0, *b)], thick, sides=8) for a, b in lines]
    parts.append(tube("metal", [(0.0, *f.seat), (0.0, f.saddle[0], f.saddle[1] - 0.03)], thick * 0.75, sides=8))
    stay = _between(f.bracket, f.seat, 0.9)
    side = max(0.055, f.tyre + 0.03)
    parts += both(
        tube(
            "paint",
            [(0.02, *f.bracket), (side, *_between(f.bracket, f.back, 0.3)), (side, *f.back)],
            thick * 0.5,
            sides=6,
        ),
        tube(
            "paint", [(0.015, *stay), (side, *_between(stay, f.back, 0.3)), (side, *f.back)], thick * 0.45, sides=6
        ),
    )
    if fork:
        bend = (f.front[0] + 0.045, f.front[1] + 0.18)
        blade = smooth([(side, f.neck[0], f.neck[1] - 0.01), (side, *bend), (side, *f.front)], 3)
        parts += both(tube("paint", blade, thick * 0.6, sides=6))
        parts.append(box("paint", (2 * side + 0.03, 0.035, 0.04), (0.0, f.neck[0], f.neck[1] - 0.005), edge=0.01))
    return [*parts, _saddle(f), *_drive(f)]


def _saddle(f: BicycleFrame) -> Part:
    """Broad behind, narrow before."""
    rings = []
    for y, wide, high in (
        (-0.15, 0.012, 0.012),
        (-0.13, 0.022, 0.018),
        (-0.04, 0.03, 0.02),
        (0.04, 0.06, 0.024),
        (0.1, 0.075, 0.026),
        (0.125, 0.06, 0.016),
    ):
        loop = superellipse(wide, high, 2.6, 10)
        rings.append([(x, f.saddle[0] + y, f.saddle[1] - 0.01 + z) for x, z in loop])
    return loft("leather", rings, crease=70.0)


def _drive(f: BicycleFrame) -> list[Part]:
    """Chainring, cranks, pedals and chain, on the side that the rider has on the right: −x."""
    size = 0.09 * min(1.0, f.radius / 0.3)
    y, z = f.bracket
    long = 0.17 * min(1.0, f.radius / 0.3)
    parts = [
        ring("metal", size, 0.006, (-0.045, y, z), "x", sides=20),
        cylinder("metal", size * 0.95, 0.003, (-0.045, y, z), "x", sides=20),
        cylinder("metal", 0.02, 0.11, (0.0, y, z), "x", sides=10),
        cylinder("metal", size * 0.42, 0.03, (-0.045, *f.back), "x", sides=14),
    ]
    for sign, turn in ((-1.0, 0.0), (1.0, np.pi)):
        end = (y - long * np.cos(turn + 0.35), z - long * np.sin(turn + 0.35))
        parts.append(tube("metal", [(sign * 0.06, y, z), (sign * AWAY, *end)], 0.011, sides=6))
        parts.append(box("dark", (0.09, 0.08, 0.022), (sign * (AWAY + 0.05), *end), edge=0.006))
    for rise, lift in ((size, size * 0.42), (-size, -size * 0.42)):
        parts.append(tube("dark", [(-0.045, y, z + rise), (-0.045, f.back[0], f.back[1] + lift)], 0.006, sides=4))
    return parts


def _stem(f: BicycleFrame, bar: Sequence[float]) -> list[Part]:
    return [
        tube(
            "metal",
            [(0.0, *f.head), (0.0, f.head[0] + 0.01, max(bar[2] - 0.02, f.head[1] + 0.02)), tuple(bar)],
            0.014,
            sides=6,
        )
    ]


def _grips(end: Triple, start: Triple) -> list[Part]:
    return both(tube("dark", [start, end], 0.018, sides=8))


def _guard(f: BicycleFrame, axle: tuple[float, float], start: float, end: float) -> Part:
    """A mudguard over a wheel, from one angle to another."""
    reach = f.radius + 0.02
    turn = np.radians(np.linspace(start, end, 12))
    grid = [
        [
            (x, axle[0] + (reach + d) * np.cos(a), axle[1] + (reach + d) * np.sin(a))
            for x, d in ((-0.03, -0.012), (0.0, 0.0), (0.03, -0.012))
        ]
        for a in turn
    ]
    return slab("paint", grid, 0.006, crease=60.0)


def _rack(f: BicycleFrame) -> list[Part]:
    """A luggage rack over the rear wheel."""
    z, y = f.radius * 2 + 0.07, f.back[0]
    parts = [tube("metal", [(x, y - 0.17, z), (x, y + 0.22, z)], 0.006, sides=4) for x in (-0.05, 0.0, 0.05)]
    parts += [tube("metal", [(-0.055, y + d, z), (0.055, y + d, z)], 0.006, sides=4) for d in (-0.17, 0.03, 0.22)]
    return parts + both(tube("metal", [(0.06, *f.back), (0.055, y + 0.1, z)], 0.005, sides=4))


def _case(f: BicycleFrame) -> Part:
    """A chain case."""
    (y, z), (u, v) = f.bracket, f.back
    shape = [(y - 0.11, z), (y - 0.07, z + 0.08), (y, z + 0.1), (u + 0.02, v + 0.06), (u + 0.05, v)]
    shape += [(u + 0.02, v - 0.05), (y, z - 0.09), (y - 0.07, z - 0.07)]
    small = min(1.0, f.radius / 0.3)
    middle = np.array((y, z))
    loop = middle + (np.array(shape) - middle) * ((1.0, small) if small < 1.0 else (1.0, 1.0))
    return loft("second", [[(x, *p) for p in loop] for x in (-0.062, -0.034)])


def _small_wheel(at: Triple, radius: float) -> list[Part]:
    return [
        cylinder("tyre", radius, 0.03, at, "x", sides=16, edge=0.008),
        cylinder("second", radius * 0.6, 0.034, at, "x", sides=12),
    ]


def _between(a: tuple[float, float], b: tuple[float, float], share: float) -> tuple[float, float]:
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


def _marks(f: BicycleFrame, handle: Triple) -> dict[str, Triple]:
    """Landmarks; `handle` is the right grip."""
    marks: dict[str, Triple] = {
        "head_center": (0.0, f.head[0], f.head[1] + 0.01),
        "seat_back": (0.0, f.saddle[0] + 0.125, f.saddle[1]),
        "seat_front": (0.0, f.saddle[0] - 0.15, f.saddle[1]),
    }
    for side, sign in (("left", -1.0), ("right", 1.0)):
        marks |= {
            f"{side}_front_wheel": (sign * 0.06, *f.front),
            f"{side}_back_wheel": (sign * 0.06, *f.back),
            f"{side}_handle": (sign * handle[0], handle[1], handle[2]),
            f"{side}_pedal_center": (sign * 0.06, *f.bracket),
        }
    return marks
