"""Trains: high-speed, commuter, diesel and steam; cars are shorter than real ones, as those of toy makers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sightline.worlds.cad.coaches import Coach
from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import Part, both, box, cylinder, extrude, lathe, loft, ring, tube
from sightline.worlds.solids import Triple

Ends = tuple[str, float, float, float, float, float]
"""Name of a landmark's place, its y, half width below and above, and the two heights."""


def high_speed(rng: np.random.Generator) -> Draft:
    """A streamlined power car with a long nose, and a coach behind it."""
    first, second, nose = rng.uniform(13.5, 16.0), rng.uniform(8.0, 11.0), rng.uniform(4.0, 6.0)
    high, front = rng.uniform(3.7, 3.95), -(first + second) / 2
    head = Coach(front, front + first, 1.45, 0.45, 1.15, high, 0.16, 0.45, 0.22, bow=0.5, rake=0.0)
    roof = [
        (front, 1.75),
        (front + 0.3 * nose, 2.35),
        (front + 0.65 * nose, 3.2),
        (front + nose, high),
        (head.back, high),
    ]
    wide = [
        (front, 0.72),
        (front + 0.25 * nose, 1.15),
        (front + 0.6 * nose, 1.4),
        (front + nose, 1.45),
        (head.back, 1.45),
    ]
    lines = {"high": roof, "half": wide}
    coach = replace(head, front=head.back + 0.25, back=head.back + 0.25 + second, bow=0.0)
    parts = [head.body("paint", (), lines), coach.body("paint")]
    parts += [
        head.over("glass", lines, (-0.85, 0.85), (front + 0.4 * nose, front + 0.72 * nose)),
        _gangway(head, coach),
    ]
    start = front + nose + 0.4
    parts += [
        *head.row("glass", start + 1.3, head.back - 1.6, 1.9, 2.7, int(rng.integers(4, 7)), 0.35),
        *coach.row("glass", coach.front + 1.5, coach.back - 0.6, 1.9, 2.7, int(rng.integers(4, 6)), 0.35),
    ]
    parts += [
        *head.panes("second", start, head.back - 0.1, 1.25, 1.6),
        *coach.panes("second", coach.front + 0.1, coach.back - 0.1, 1.25, 1.6),
    ]
    parts += [
        *head.panes("dark", start, start + 0.9, 0.9, 2.9),
        *head.panes("dark", head.back - 1.2, head.back - 0.4, 0.9, 2.9),
        *coach.panes("dark", coach.front + 0.4, coach.front + 1.2, 0.9, 2.9),
    ]
    lamp = both(head.over("light", lines, (0.5, 0.78), (front + 0.16 * nose, front + 0.3 * nose)))
    parts += [
        *lamp,
        head.face("dark", 0.55, 0.75, -0.5, 0.5, proud=0.2),
        coach.face("dark", 0.9, 3.0, -0.5, 0.5, back=True),
        *both(coach.face("tail", 1.2, 1.5, 0.9, 1.1, back=True)),
    ]
    parts += _bogies([front + 0.62 * nose + 1.0, head.back - 2.0, coach.front + 2.0, coach.back - 2.0], 1.45)
    parts += _pantograph(coach.front + 0.5 * second, high + 0.05)
    ends: list[Ends] = [
        ("head", front + 0.1, 0.6, 0.7, 0.5, 1.75),
        ("mid1", head.back, 1.4, 1.2, 0.5, high),
        ("mid2", coach.back, 1.4, 1.2, 0.5, high),
    ]
    return Draft(
        parts, _marks(ends[1:], {**_corner("head", front, 0.6, 0.5), "head_top": (0.0, front + 0.62 * nose, 3.1)})
    )


def commuter(rng: np.random.Generator) -> Draft:
    """Two cars of a multiple unit: a flat face with a large screen, sliding doors, a pantograph."""
    first, high = rng.uniform(11.0, 13.5), rng.uniform(3.55, 3.8)
    head = Coach(
        -first, 0.0, 1.42, 0.75, 1.7, high, 0.14, 0.4, 0.2, bow=rng.uniform(0.1, 0.3), rake=rng.uniform(0.1, 0.5)
    )
    coach = replace(head, front=0.25, back=first, bow=0.0, rake=0.0)
    parts = [head.body("paint"), coach.body("paint"), _gangway(head, coach)]
    face = "second" if rng.random() < 0.6 else "dark"
    parts += [
        head.face(face, 1.0, high - 0.3, -1.2, 1.2),
        head.face("glass", 1.95, high - 0.55, -1.1, 1.1, proud=0.06),
        head.face("dark", high - 0.5, high - 0.28, -0.7, 0.7, proud=0.07),
    ]
    parts += [
        *both(head.face("light", 1.25, 1.5, 0.72, 1.08, proud=0.08)),
        *both(coach.face("tail", 1.2, 1.5, 0.8, 1.05, back=True)),
        coach.face("dark", 0.95, 2.95, -0.5, 0.5, back=True),
    ]
    doors = int(rng.integers(2, 4))
    for car in (head, coach):
        begin = car.front + (1.5 if car is head else 0.6)
        step = (car.back - 0.6 - begin) / doors
        for i in range(doors):
            y = begin + i * step
            parts += car.panes("second" if face == "second" else "dark", y, y + 1.3, 0.95, 2.95)
            parts += [
                p
                for k in range(2)
                for p in _proud(car.panes("glass", y + 0.1 + 0.6 * k, y + 0.6 + 0.6 * k, 1.85, 2.7))
            ]
            parts += car.row("glass", y + 1.5, y + step - 0.2, 1.8, 2.75, 2, 0.15)
        parts += car.panes("second", car.front + 0.2, car.back - 0.1, 1.2, 1.4)
    parts += [*_bogies([-first + 2.3, -2.0, 2.2, first - 2.2], 1.42), *_pantograph(0.55 * first, high + 0.05)]
    parts += [box("dark", (1.3, 1.6, 0.26), (0.0, y, high + 0.14), edge=0.06) for y in (-0.5 * first, 0.25 * first)]
    parts += [*_buffers(-first - 0.1, 0.85), box("dark", (1.7, 0.3, 0.35), (0.0, -first + 0.1, 0.62), edge=0.06)]
    ends: list[Ends] = [
        ("head", -first, 1.42, 1.2, 0.8, high),
        ("mid1", 0.0, 1.42, 1.2, 0.8, high),
        ("mid2", first, 1.42, 1.2, 0.8, high),
    ]
    return Draft(parts, _marks(ends))


def diesel(rng: np.random.Generator) -> Draft:
    """A hood-unit locomotive: short nose, cab, long narrow hood with grilles, walkways with rails."""
    length, high = rng.uniform(15.0, 18.0), rng.uniform(3.9, 4.2)
    f, b, deck = -length / 2, length / 2, 1.55
    nose, cab = rng.uniform(1.9, 2.8), rng.uniform(2.3, 2.8)
    parts = [
        box("second", (2.9, length, 0.28), (0.0, 0.0, deck - 0.14), edge=0.05),
        box("dark", (2.2, length - 0.6, 0.5), (0.0, 0.0, deck - 0.45)),
    ]
    parts += [box("paint", (1.7, nose, 1.35), (0.0, f + 1.0 + nose / 2, deck + 0.67), edge=0.18, steps=2)]
    y0 = f + 1.0 + nose
    room = Coach(y0, y0 + cab, 1.42, deck, deck + 1.1, high, 0.1, 0.3, 0.08, bow=0.0, rake=0.12)
    parts += [
        room.body("paint"),
        *room.panes("glass", y0 + 0.4, y0 + 1.15, deck + 1.25, deck + 2.0),
        *room.panes("glass", y0 + 1.3, y0 + cab - 0.3, deck + 1.25, deck + 2.0),
    ]
    parts += both(room.face("glass", deck + 1.45, deck + 2.05, 0.12, 1.2)) + both(
        room.face("glass", deck + 1.4, deck + 2.0, 0.95, 1.25, back=True)
    )
    h0, h1 = y0 + cab - 0.05, b - 0.9
    hood = Coach(h0, h1, 0.92, deck, deck + 1.3, high - 0.15, 0.05, 0.3, 0.1, bow=0.0, rake=0.0)
    parts += [
        hood.body("paint"),
        *hood.row("dark", h0 + 0.6, h1 - 3.2, deck + 1.35, deck + 2.0, int(rng.integers(4, 7)), 0.3),
        *hood.panes("dark", h1 - 2.8, h1 - 0.5, deck + 0.5, deck + 2.0),
    ]
    parts += hood.panes("second", h0 + 0.1, h1 - 0.2, deck + 0.75, deck + 1.05)
    parts += [
        cylinder("dark", 0.62, 0.16, (0.0, y, high - 0.06), sides=20) for y in np.linspace(h1 - 2.6, h1 - 1.1, 2)
    ]
    parts += [
        box("dark", (0.7, 1.1, 0.35), (0.0, h0 + 0.35 * (h1 - h0), high), edge=0.08),
        box("metal", (0.5, 0.9, 0.2), (0.0, y0 + 0.8, high + 0.15), edge=0.05),
    ]
    parts += [*_rails(f + 0.3, y0, 1.35, deck), *_rails(h0 + 0.2, b - 0.3, 1.35, deck)]
    parts += [
        box("dark", (2.2, 3.4, 0.85), (0.0, 0.0, 0.8), edge=0.2),
        *_bogies([f + 3.2, b - 3.2], 1.35, axles=3, radius=0.52),
    ]
    for y, slot in ((f + 0.98, "light"), (b - 0.92, "tail")):
        parts += both(cylinder(slot, 0.13, 0.1, (0.17, y, deck + 1.05), "y", sides=12))
    parts += both(cylinder("light", 0.12, 0.1, (0.17, y0 + 0.02, high - 0.22), "y", sides=12))
    parts += [_plough(f, 2.5), *_buffers(f - 0.05, 1.05), *_buffers(b + 0.05, 1.05)]
    ends: list[Ends] = [
        ("head", f, 1.4, 0.85, 0.6, deck + 1.35),
        ("mid1", b - 0.1, 1.4, 0.9, deck - 0.2, high - 0.2),
    ]
    return Draft(parts, _marks(ends))


def steam(rng: np.random.Generator) -> Draft:
    """A steam locomotive with its tender: boiler, chimney, domes, driving wheels with rods, cow-catcher."""
    boiler, r = rng.uniform(6.4, 7.6), rng.uniform(0.82, 0.95)
    big, many = rng.uniform(0.72, 0.88), int(rng.integers(2, 4))
    f, z = -7.2, 2.45
    back = f + 1.0 + boiler
    tank = [
        (0.0, 0.0),
        (0.8 * r, 0.02),
        (r * 1.04, 0.12),
        (r * 1.04, 1.3),
        (r, 1.32),
        (r, boiler - 2.2),
        (1.12 * r, boiler - 1.2),
        (1.12 * r, boiler),
        (0.0, boiler),
    ]
    parts = [
        lathe("paint", tank, (0.0, f + 1.0, z), "y", sides=24),
        cylinder("dark", 0.72 * r, 0.08, (0.0, f + 0.99, z), "y", sides=20, edge=0.03),
    ]
    parts += [
        ring("metal", r * 1.01, 0.03, (0.0, f + 1.0 + s * boiler, z), "y", sides=24) for s in (0.3, 0.5, 0.68)
    ]
    chimney = (
        [(0.2, 0.0), (0.24, 0.0), (0.235, 0.5), (0.3, 0.95), (0.3, 1.05), (0.24, 1.05)]
        if rng.random() < 0.6
        else [(0.2, 0.0), (0.26, 0.0), (0.26, 0.45), (0.5, 0.95), (0.36, 1.2), (0.28, 1.2)]
    )
    parts.append(lathe("dark", chimney, (0.0, f + 1.7, z + r - 0.1), "z", sides=18, closed=True))
    for y, slot in ((f + 1.0 + 0.42 * boiler, "metal"), (f + 1.0 + 0.66 * boiler, "second")):
        parts.append(
            lathe(
                slot,
                [(0.36, 0.0), (0.34, 0.4), (0.24, 0.58), (0.0, 0.64)],
                (0.0, y, z + r - 0.12),
                "z",
                sides=16,
                crease=50.0,
            )
        )
    lamp = (0.0, f + 1.1, z + r + 0.12)
    parts += [
        cylinder("metal", 0.22, 0.36, lamp, "y", sides=14),
        cylinder("light", 0.19, 0.06, (0.0, lamp[1] - 0.18, lamp[2]), "y", sides=14),
    ]
    cab = box("paint", (2.7, 1.9, 2.2), (0.0, back + 0.75, 2.6), edge=0.06)
    top = extrude(
        "dark",
        [(-1.55, 3.72), (1.55, 3.72), (1.3, 3.95), (0.7, 4.1), (0.0, 4.15), (-0.7, 4.1), (-1.3, 3.95)],
        back - 0.4,
        back + 2.0,
        "y",
    )
    parts += [
        cab,
        top,
        *both(
            box("glass", (0.06, 0.75, 0.8), (1.34, back + 0.45, 3.05)),
            box("dark", (0.06, 0.5, 1.6), (1.34, back + 1.35, 2.6)),
            box("glass", (0.5, 0.06, 0.6), (0.95, back - 0.2, 3.1)),
        ),
    ]
    parts += [
        box("dark", (1.5, back + 2.4 - f - 0.1, 0.4), (0.0, (f + 0.1 + back + 2.4) / 2, 1.35)),
        box("second", (2.5, boiler - 0.6, 0.1), (0.0, f + 1.3 + boiler / 2, 1.75)),
        box("second", (2.5, 0.25, 0.5), (0.0, f + 0.2, 1.3), edge=0.04),
    ]
    parts += both(cylinder("metal", 0.32, 1.3, (1.15, f + 1.75, 1.15), "y", sides=16, edge=0.06))
    drivers = back - 0.6 - 2.12 * big * np.arange(many)[::-1]
    for y in drivers:
        parts += both(*_driver((0.98, float(y), big), big))
    rod = [(1.18, float(drivers[0]), big - 0.3), (1.18, float(drivers[-1]), big - 0.3)]
    parts += both(
        tube("metal", rod, 0.08, sides=6),
        tube("metal", [(1.26, f + 2.3, 1.15), (1.26, float(drivers[many // 2]), big - 0.3)], 0.07, sides=6),
    )
    for y in (f + 0.9, f + 2.0, back + 1.1):
        parts += both(
            cylinder("dark", 0.42, 0.16, (0.85, y, 0.42), "x", sides=20),
            cylinder("metal", 0.3, 0.18, (0.85, y, 0.42), "x", sides=16),
        )
    parts += [_plough(f, 2.3, bars=True), *_tender(back + 2.35, rng.uniform(4.2, 5.4), rng)]
    end = max(float(p.vertices[:, 1].max()) for p in parts)
    marks = _corner("head", f + 0.1, 1.2, 1.1) | {"head_top": (0.0, f + 1.7, z + r + 0.95)}
    ends: list[Ends] = [("mid1", back + 1.7, 1.35, 1.35, 1.55, 3.65), ("mid2", end, 1.3, 1.3, 1.2, 2.9)]
    return Draft(parts, _marks(ends, marks))


def _driver(at: Triple, r: float) -> list[Part]:
    """A driving wheel: tyre, spokes, hub and counterweight."""
    x, y, z = at
    rim = [(0.86 * r, -0.08), (r, -0.08), (r, 0.08), (0.86 * r, 0.08)]
    spokes = [
        box("second", (0.08, 0.07, 0.76 * r), (0.0, 0.0, 0.5 * r)).turned("x", 36.0 * i).moved(*at)
        for i in range(10)
    ]
    return [
        lathe("metal", rim, at, "x", sides=24, closed=True),
        cylinder("second", 0.2 * r, 0.24, at, "x", sides=14),
        *spokes,
        box("second", (0.1, 0.6 * r, 0.24 * r), (x, y, z + 0.72 * r), edge=0.04),
    ]


def _tender(y: float, length: float, rng: np.random.Generator) -> list[Part]:
    """Water and coal behind the cab."""
    middle, high = y + length / 2, rng.uniform(1.3, 1.7)
    parts = [
        box("paint", (2.6, length, high), (0.0, middle, 1.4 + high / 2), edge=0.08),
        box("dark", (2.2, length, 0.4), (0.0, middle, 1.2)),
    ]
    heap = [
        [
            (u * w, middle + v * length * 0.4 * w, 1.4 + high + lift)
            for u, v in ((-1.1, -1), (1.1, -1), (1.1, 1), (-1.1, 1))
        ]
        for w, lift in ((1.0, -0.05), (0.85, 0.2), (0.4, 0.38))
    ]
    parts += [
        loft("dark", heap),
        *both(box("second", (0.05, length - 0.5, 0.12), (1.3, middle, 1.4 + 0.65 * high))),
    ]
    return (
        parts
        + _bogies([y + 1.2, y + length - 1.2], 1.25, radius=0.42)
        + both(cylinder("tail", 0.12, 0.1, (0.9, y + length + 0.02, 1.7), "y", sides=10))
    )


def _bogies(places: Sequence[float], half: float, *, axles: int = 2, radius: float = 0.46) -> list[Part]:
    """Wheel sets with their frames."""
    parts = []
    for y in places:
        reach = 1.15 if axles == 2 else 1.75
        parts += both(
            box("dark", (0.16, 2 * reach + 1.0, 0.34), (half - 0.28, y, radius + 0.08), edge=0.05),
            box("dark", (0.2, 0.7, 0.24), (half - 0.26, y, radius + 0.28), edge=0.04),
        )
        for d in np.linspace(-reach, reach, axles):
            parts += both(
                cylinder("metal", radius, 0.14, (half - 0.45, y + d, radius), "x", sides=18, edge=0.03),
                box("metal", (0.14, 0.26, 0.26), (half - 0.2, y + d, radius), edge=0.05),
            )
        parts.append(box("dark", (2 * half - 0.7, 2 * reach, 0.3), (0.0, y, radius + 0.1)))
    return parts


def _pantograph(y: float, z: float) -> list[Part]:
    """A current collector on the roof."""
    arms = [
        tube("dark", [(x, y, z + 0.1), (x * 0.8, y + 0.8, z + 0.45), (x * 0.6, y - 0.2, z + 0.95)], 0.04, sides=5)
        for x in (-0.35, 0.35)
    ]
    return [
        *arms,
        box("metal", (1.5, 0.25, 0.05), (0.0, y - 0.2, z + 0.98), edge=0.02),
        box("dark", (0.9, 0.8, 0.12), (0.0, y, z + 0.08)),
    ]


def _gangway(a: Coach, b: Coach) -> Part:
    """The bellows between two cars."""
    return box(
        "dark",
        (1.8, b.front - a.back + 0.4, a.high - a.low - 0.9),
        (0.0, (a.back + b.front) / 2, (a.high + a.low) / 2 + 0.1),
    )


def _rails(y0: float, y1: float, x: float, z: float) -> list[Part]:
    """Handrails along a walkway."""
    posts = [
        tube("metal", [(x, y, z), (x, y, z + 1.0)], 0.03, sides=4)
        for y in np.linspace(y0, y1, max(3, int((y1 - y0) / 1.4)))
    ]
    return both(tube("metal", [(x, y0, z + 1.0), (x, y1, z + 1.0)], 0.03, sides=4), *posts)


def _buffers(y: float, z: float) -> list[Part]:
    return [box("metal", (0.3, 0.5, 0.3), (0.0, y, z), edge=0.06)]


def _plough(f: float, wide: float, *, bars: bool = False) -> Part:
    """A wedge before the wheels that clears the track."""
    base = [(-wide / 2, f + 0.1, 0.2), (0.0, f - 0.75, 0.2), (wide / 2, f + 0.1, 0.2), (0.0, f + 0.3, 0.2)]
    head = [(-wide / 2.2, f + 0.15, 1.05), (0.0, f - 0.1, 1.05), (wide / 2.2, f + 0.15, 1.05), (0.0, f + 0.3, 1.05)]
    return loft("second" if bars else "dark", [base, head])


def _proud(panes: list[Part]) -> list[Part]:
    """Panes moved out a little, to lie on others."""
    return [p.moved(0.02 if p.vertices[:, 0].mean() > 0 else -0.02) for p in panes]


def _corner(name: str, y: float, x: float, z: float) -> dict[str, Triple]:
    return {f"{name}_left_bottom": (-x, y, z), f"{name}_right_bottom": (x, y, z)}


def _marks(ends: Sequence[Ends], more: Mapping[str, Triple] | None = None) -> dict[str, Triple]:
    """Landmarks at both sides of every place, below and above."""
    marks: dict[str, Triple] = dict(more or {})
    for name, y, low_x, high_x, low, high in ends:
        marks |= _corner(name, y, low_x, low)
        marks |= {f"{name}_left_top": (-high_x, y, high), f"{name}_right_top": (high_x, y, high)}
    return marks
