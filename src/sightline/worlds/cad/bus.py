"""Buses: city, coach, double-decker and mini."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sightline.worlds.cad.coaches import Coach
from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import Part, both, box, tube, wheel
from sightline.worlds.solids import Triple


def city(rng: np.random.Generator) -> Draft:
    """A low-floor city bus with a band of windows and two doors."""
    length, high = rng.uniform(10.0, 12.5), rng.uniform(2.85, 3.15)
    coach = Coach(
        -length / 2,
        length / 2,
        1.27,
        0.3,
        1.05,
        high,
        lean=0.08,
        nose=rng.uniform(0.12, 0.22),
        rake=rng.uniform(0, 0.15),
    )
    top = high - rng.uniform(0.5, 0.65)
    axles = (-length / 2 + rng.uniform(2.5, 2.8), length / 2 - rng.uniform(2.9, 3.4))
    parts = [*_chassis(coach, axles, 0.48), *_windows(coach, 1.1, top, int(rng.integers(6, 9)), coach.front + 0.5)]
    parts += [
        coach.face("glass", 0.95, top + 0.08, -1.12, 1.12),
        coach.face("dark", top + 0.16, high - 0.18, -0.85, 0.85),
        coach.face("light", top + 0.2, high - 0.22, -0.6, 0.6, proud=0.05),
        coach.face("glass", 1.5, top, -0.95, 0.95, back=True),
        coach.face("dark", 0.55, 1.2, -0.8, 0.8, back=True),
        *_doors(coach, (coach.front + 0.35, axles[0] + 1.6, axles[1] - 2.4), top, rng.uniform(1.1, 1.3)),
        *_lights(coach, 0.62, 0.9),
        *_ears(coach, top, 0.55),
        box(
            "second",
            (1.7, length * rng.uniform(0.15, 0.4), 0.25),
            (0.0, rng.uniform(-1.5, 1.5), high + 0.1),
            edge=0.08,
        ),
    ]
    return Draft(parts, _landmarks(coach, axles, 0.48), mirror=False)


def coach(rng: np.random.Generator) -> Draft:
    """A high touring coach with a raked one-piece windscreen and luggage bays."""
    length, high = rng.uniform(11.5, 13.5), rng.uniform(3.45, 3.8)
    body = Coach(
        -length / 2,
        length / 2,
        1.27,
        0.34,
        1.6,
        high,
        lean=0.1,
        edge=0.32,
        nose=0.28,
        bow=0.2,
        rake=rng.uniform(0.4, 0.8),
    )
    axles = [-length / 2 + rng.uniform(2.6, 2.9), length / 2 - rng.uniform(3.0, 3.4)]
    three = rng.random() < 0.5
    top = high - rng.uniform(0.42, 0.55)
    parts = [*_chassis(body, (*axles, axles[1] + 1.25) if three else axles, 0.5)]
    parts += [*_windows(body, 1.75, top, int(rng.integers(6, 8)), body.front + 1.0), *_lights(body, 0.7, 0.8)]
    parts += [
        body.face("glass", 1.05, high - 0.45, -1.1, 1.1),
        body.face("dark", 0.42, 0.62, -0.6, 0.6),
        body.face("glass", 2.1, top, -0.9, 0.9, back=True),
        body.face("dark", 0.6, 1.1, -0.75, 0.75, back=True),
        *body.panes("second", body.front + 1.2, body.back - 0.3, 1.3, 1.48),
        *body.row("dark", axles[0] + 0.8, axles[1] - 0.8, 0.5, 0.53, 4, 0.2),
        *_doors(body, (body.front + 0.5,), 1.75, 0.85),
        *_ears(body, high - 0.35, 0.7),
    ]
    parts.append(box("paint", (1.5, length * 0.2, 0.2), (0.0, 0.15 * length, high + 0.08), edge=0.08))
    return Draft(parts, _landmarks(body, axles, 0.5), mirror=False)


def double_decker(rng: np.random.Generator) -> Draft:
    """A double-decker: two rows of windows, an open-looking upper front."""
    length, high = rng.uniform(9.8, 11.2), rng.uniform(4.15, 4.45)
    body = Coach(
        -length / 2,
        length / 2,
        1.27,
        0.3,
        1.1,
        high,
        lean=0.1,
        edge=0.22,
        nose=0.22,
        bow=0.16,
        rake=rng.uniform(0.15, 0.5),
    )
    axles = (-length / 2 + rng.uniform(2.4, 2.7), length / 2 - rng.uniform(2.3, 2.8))
    many, middle = int(rng.integers(5, 8)), 2.2
    parts = [
        *_chassis(body, axles, 0.5),
        *_windows(body, 1.15, middle - 0.12, many, body.front + 0.5),
        *_windows(body, middle + 0.45, high - 0.45, many, body.front + 0.25),
        *body.panes("second", body.front + 0.3, body.back - 0.3, middle + 0.02, middle + 0.2),
        body.face("glass", 0.95, middle - 0.1, -1.1, 1.1),
        body.face("glass", middle + 0.45, high - 0.4, -1.1, 1.1),
        body.face("dark", middle + 0.02, middle + 0.36, -0.75, 0.75),
        body.face("light", middle + 0.07, middle + 0.31, -0.55, 0.55, proud=0.05),
        body.face("glass", middle + 0.5, high - 0.5, -0.9, 0.9, back=True),
        body.face("dark", 0.55, 1.5, -0.8, 0.8, back=True),
        *_doors(body, (body.front + 0.35, axles[0] + 1.5), middle - 0.12, 1.15),
        *_lights(body, 0.65, 0.85),
        *_ears(body, middle, 0.5),
    ]
    return Draft(parts, _landmarks(body, axles, 0.5), mirror=False)


def mini(rng: np.random.Generator) -> Draft:
    """A minibus with a short bonnet before a steep windscreen."""
    length, high, half = rng.uniform(5.6, 7.0), rng.uniform(2.45, 2.75), rng.uniform(0.97, 1.05)
    bonnet, belt = rng.uniform(0.75, 0.95), rng.uniform(1.12, 1.2)
    lower = Coach(-length / 2, length / 2, half, 0.28, 0.7, belt, 0.02, 0.1, 0.12, 0.12, 0.2)
    cab = Coach(
        -length / 2 + bonnet,
        length / 2 - 0.005,
        half - 0.01,
        belt - 0.2,
        belt + 0.02,
        high,
        0.12,
        0.2,
        0.12,
        0.1,
        0.75,
    )
    axles = (-length / 2 + rng.uniform(0.92, 1.05), length / 2 - rng.uniform(1.2, 1.6))
    top, start = high - 0.38, cab.front
    parts = [
        *_chassis(lower, axles, 0.36),
        cab.body("paint"),
        *cab.row("glass", start + 1.3, cab.back - 0.3, belt + 0.1, top, int(rng.integers(3, 5)), 0.08),
        *cab.panes("glass", start + 0.5, start + 1.22, belt + 0.1, top),
        cab.face("glass", belt + 0.04, high - 0.25, -half + 0.14, half - 0.14),
        lower.face("dark", 0.62, 0.86, -0.42, 0.42),
        lower.face("metal", 0.72, 0.76, -0.4, 0.4, proud=0.05),
        lower.face("dark", 0.32, 0.5, -half + 0.1, half - 0.1, proud=0.08),
        *both(lower.face("light", 0.66, 0.88, half - 0.42, half - 0.14, proud=0.06)),
        *both(lower.face("tail", 0.7, 1.0, half - 0.24, half - 0.12, back=True)),
        *both(cab.face("glass", belt + 0.1, top, 0.04, half - 0.2, back=True)),
        lower.face("dark", 0.32, 0.5, -half + 0.1, half - 0.1, back=True, proud=0.12),
        *both(box("dark", (0.14, 0.1, 0.26), (half + 0.12, start + 0.5, belt + 0.2), edge=0.03)),
        *both(
            tube(
                "dark",
                [(half - 0.05, start + 0.5, belt + 0.1), (half + 0.12, start + 0.5, belt + 0.1)],
                0.02,
                sides=6,
            )
        ),
    ]
    ends = replace(lower, high=high, rake=bonnet + cab.rake)
    return Draft(parts, _landmarks(ends, axles, 0.36))


def _chassis(body: Coach, axles: tuple[float, ...] | list[float], radius: float) -> list[Part]:
    """Body with arches, a dark underside, and wheels."""
    middle = (body.front + body.back) / 2
    inside = box("dark", (2 * body.half - 0.75, body.back - body.front - 0.4, 0.9), (0.0, middle, 0.75))
    parts = [body.body("paint", [(y, radius, radius + 0.09) for y in axles]), inside]
    return parts + [part for y in axles for part in _pair(y, radius, body.half)]


def _pair(y: float, radius: float, half: float) -> list[Part]:
    return both(*wheel(radius, 0.3, (half - 0.19, y, radius), rim=0.6, spokes=6))


def _windows(body: Coach, z0: float, z1: float, many: int, start: float) -> list[Part]:
    """A row of windows on both sides, dark between."""
    return body.row("glass", start, body.back - 0.35, z0, z1, many, 0.08)


def _doors(body: Coach, places: tuple[float, ...], top: float, wide: float) -> list[Part]:
    """Glass doors on the kerb's side, which is −x where people drive on the right."""
    doors = []
    for y in places:
        doors += [
            p for p in body.panes("dark", y - 0.06, y + wide + 0.06, 0.4, top + 0.02) if p.vertices[:, 0].max() < 0
        ]
        for i in range(2):
            leaf = body.panes("glass", y + i * wide / 2 + 0.03, y + (i + 1) * wide / 2 - 0.03, 0.48, top - 0.05)
            doors += [p.moved(-0.012) for p in leaf if p.vertices[:, 0].max() < 0]
    return doors


def _lights(body: Coach, z: float, x: float) -> list[Part]:
    return [
        *both(body.face("light", z - 0.1, z + 0.12, x - 0.2, x + 0.22, proud=0.05)),
        *both(body.face("tail", z + 0.1, z + 0.75, x + 0.12, x + 0.26, back=True, proud=0.05)),
        body.face("dark", body.low + 0.06, body.low + 0.2, -1.1, 1.1, proud=0.08),
        body.face("dark", body.low + 0.06, body.low + 0.2, -1.1, 1.1, back=True, proud=0.08),
        body.face("second", z - 0.12, z + 0.02, -0.28, 0.28, back=True, proud=0.06),
    ]


def _ears(body: Coach, z: float, reach: float) -> list[Part]:
    """Mirrors that hang before the front corners."""
    y, x = body.front, body.side(z) - 0.06
    arm = [(x, y + 0.12, z), (x + 0.14, y - 0.15, z + 0.02), (x + 0.2, y - 0.3, z - 0.12)]
    return both(
        tube("dark", arm, 0.03, sides=6),
        box("dark", (0.2, 0.1, reach * 0.7), (x + 0.2, y - 0.3, z - reach * 0.45), edge=0.04),
    )


def _landmarks(body: Coach, axles: tuple[float, ...] | list[float], radius: float) -> dict[str, Triple]:
    marks: dict[str, Triple] = {}
    for side, sign in (("left", -1.0), ("right", 1.0)):
        x0, x1 = sign * body.half, sign * body.side(body.high)
        marks |= {
            f"body_back_{side}_lower": (x0, body.back, body.low),
            f"body_back_{side}_upper": (x1, body.back, body.high),
            f"body_front_{side}_lower": (x0, body.front, body.low),
            f"body_front_{side}_upper": (x1, body.front + body.rake, body.high),
            f"{side}_front_wheel": (x0 * 1.1, axles[0], radius),
            f"{side}_back_wheel": (x0 * 1.1, axles[1], radius),
        }
    return marks
