"""Cars: sedan, hatchback, SUV and pickup."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.worlds.cad.coaches import Coach
from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import Part, both, box, cylinder, ellipsoid, loft, patch, rounded, slab, tube, wheel
from sightline.worlds.solids import Floats, Triple

PILLAR, GLASS = 0.07, 0.024
"""Width of the posts between windows, and thickness of the panes; metres."""


@dataclass(frozen=True, slots=True)
class Cabin:
    """The upper part of a car: y of foot and head of windscreen and rear window, heights, half widths; metres."""

    front: float
    front_top: float
    back_top: float
    back: float
    belt: float
    high: float
    half: float
    half_top: float
    bow: float = 0.1

    def at(self, rise: float) -> tuple[float, float, float, float]:
        """Front y, back y, half width and z at a share of the height."""
        return (
            self.front + rise * (self.front_top - self.front),
            self.back + rise * (self.back_top - self.back),
            self.half + rise * (self.half_top - self.half),
            self.belt + rise * (self.high - self.belt),
        )

    def swept(self, points: Floats) -> Floats:
        """Bow the windscreen and the rear window, and crown the roof."""
        x, y, z = points.T
        rise = (z - self.belt) / (self.high - self.belt)
        front, back, half, _ = self.at(np.clip(rise, 0.0, 1.0))
        share = np.clip((y - front) / (back - front), 0.0, 1.0)
        across = 1.0 - (x / half) ** 2
        points[:, 1] += self.bow * across * (0.6 * share**4 - (1.0 - share) ** 4)
        points[:, 2] += 0.05 * np.clip(rise, 0.0, 1.0) ** 3 * across * np.sin(np.pi * share)
        return points

    def shell(self) -> Part:
        """Posts and roof in one piece, its sides straight up to a rounded roof."""
        rings = []
        rises = [
            (-0.25, 0.0),
            (0.0, 0.0),
            (0.3, 0.0),
            (0.6, 0.0),
            (0.88, 0.0),
            (0.95, 0.02),
            (0.99, 0.06),
            (1.0, 0.13),
        ]
        for rise, inset in rises:
            front, back, half, z = self.at(rise)
            corner = 0.1 if inset < 0.1 else 0.06
            loop = rounded(half - inset - corner, (back - front) / 2 - inset - corner, corner, 3)
            loop = np.concatenate([_split(a, b, 5) for a, b in zip(loop, np.roll(loop, -1, axis=0), strict=True)])
            rings.append(np.column_stack((loop[:, 0], loop[:, 1] + (front + back) / 2, np.full(len(loop), z))))
        return loft("paint", rings, crease=45.0).bent(self.swept)

    def screen(self, back: bool, low: float, high: float) -> Part:
        """The windscreen or the rear window, between shares of the height."""
        corners = []
        for rise, sign in ((low, -1), (low, 1), (high, 1), (high, -1)):
            front, rear, half, z = self.at(rise)
            corners.append((sign * (half - PILLAR - 0.02), rear if back else front, z))
        return slab("glass", patch(corners, 7, 4), GLASS).bent(self.swept)

    def side(self, places: tuple[float, float, float, float], low: float = 0.06, high: float = 0.86) -> list[Part]:
        """A window on both sides: y of its lower front, lower back, upper back and upper front corner."""
        heights = (low, low, high, high)
        corners = [(self.at(rise)[2], y, self.at(rise)[3]) for y, rise in zip(places, heights, strict=True)]
        return both(slab("glass", patch(corners, 5, 3), GLASS).bent(self.swept))

    def sides(self, posts: tuple[float, ...], high: float = 0.86) -> list[Part]:
        """Windows on both sides from windscreen to rear window, with upright posts at those y."""
        low, (f0, b0, *_), (f1, b1, *_) = 0.06, self.at(0.06), self.at(high)
        gap = PILLAR / 2
        lower, upper = [f0 + 0.2, *posts, b0 - 0.16], [f1 + 0.14, *posts, b1 - 0.12]
        panes = []
        for i in range(len(lower) - 1):
            a, b = (0.0 if i == 0 else gap), (0.0 if i == len(lower) - 2 else gap)
            panes += self.side((lower[i] + a, lower[i + 1] - b, upper[i + 1] - b, upper[i] + a), low, high)
        return panes


def sedan(rng: np.random.Generator) -> Draft:
    """A saloon: bonnet, cabin and boot."""
    length, half, high = rng.uniform(4.45, 4.95), rng.uniform(0.89, 0.94), rng.uniform(1.4, 1.48)
    belt = rng.uniform(0.9, 0.95)
    share = [rng.uniform(*ends) for ends in ((0.26, 0.29), (0.41, 0.44), (0.69, 0.73), (0.83, 0.86))]
    return _car(length, half, high, belt, share, rng.uniform(0.31, 0.34), rng, deck=belt + rng.uniform(0.0, 0.06))


def hatchback(rng: np.random.Generator) -> Draft:
    """A short car whose roof runs to a steep tailgate."""
    length, half, high = rng.uniform(3.75, 4.25), rng.uniform(0.85, 0.9), rng.uniform(1.43, 1.53)
    belt = rng.uniform(0.92, 0.97)
    share = [rng.uniform(*ends) for ends in ((0.23, 0.26), (0.38, 0.41), (0.84, 0.88), (0.955, 0.97))]
    return _car(length, half, high, belt, share, rng.uniform(0.3, 0.33), rng, deck=belt + 0.02)


def suv(rng: np.random.Generator) -> Draft:
    """A tall car with much ground clearance, dark cladding and roof rails."""
    length, half, high = rng.uniform(4.4, 4.95), rng.uniform(0.92, 0.98), rng.uniform(1.66, 1.82)
    belt = rng.uniform(1.08, 1.15)
    share = [rng.uniform(*ends) for ends in ((0.25, 0.28), (0.37, 0.4), (0.88, 0.92), (0.97, 0.98))]
    return _car(length, half, high, belt, share, rng.uniform(0.36, 0.4), rng, deck=belt, clear=0.3, rugged=True)


def pickup(rng: np.random.Generator) -> Draft:
    """A double cab with an open bed behind."""
    length, half, high = rng.uniform(5.15, 5.6), rng.uniform(0.92, 1.0), rng.uniform(1.76, 1.88)
    belt = rng.uniform(1.1, 1.16)
    share = [rng.uniform(*ends) for ends in ((0.25, 0.27), (0.35, 0.37), (0.54, 0.58), (0.575, 0.6))]
    share[3] = max(share[3], share[2] + 0.02)
    return _car(
        length, half, high, belt, share, rng.uniform(0.38, 0.42), rng, deck=0.92, clear=0.34, rugged=True, bed=True
    )


def _car(
    length: float,
    half: float,
    high: float,
    belt: float,
    share: list[float],
    radius: float,
    rng: np.random.Generator,
    *,
    deck: float,
    clear: float = 0.2,
    rugged: bool = False,
    bed: bool = False,
) -> Draft:
    """Any car: `share` has the cabin's places along the length, `deck` the height behind it."""
    front, back = -length / 2, length / 2
    foot, head, head_back, foot_back = (front + s * length for s in share)
    nose = belt - rng.uniform(0.08, 0.12) if rugged else belt - rng.uniform(0.16, 0.22)
    top = [(front, nose - 0.04), (front + 0.35, nose + 0.02), (foot, belt + 0.01), (foot_back, belt + 0.02)]
    top += [(foot_back + 0.06, deck), (back - 0.1, deck)] if bed else [(back - 0.25, deck), (back, deck - 0.06)]
    wide = [
        (front, half * 0.86),
        (front + 0.5, half * 0.97),
        (0.0, half),
        (back - 0.6, half * 0.98),
        (back, half * 0.9),
    ]
    axles = (front + length * rng.uniform(0.175, 0.195), back - length * rng.uniform(0.19, 0.22))
    body = Coach(front, back, half, clear, 0.5, belt, 0.07, 0.11, 0.12, 0.16, 0.12, 0.1)
    wheels = [(y, radius, radius + 0.06) for y in axles]
    cabin = Cabin(foot, head, head_back, foot_back, belt - 0.02, high, half - 0.05, half - rng.uniform(0.2, 0.26))
    inner = box("dark", (2 * half - 0.62, length - 0.5, 0.5), (0.0, 0.0, clear + 0.24))
    posts = (
        ((foot + foot_back) / 2 + 0.08,)
        if bed or length < 4.3
        else (_post(cabin, 0.5), foot_back - 0.05 - 0.16 * length)
    )
    parts = [
        body.body("paint", wheels, {"high": top, "half": wide}),
        inner,
        *(
            p
            for y in axles
            for p in both(*wheel(radius, 0.22, (half - 0.13, y, radius), spokes=int(rng.integers(5, 8))))
        ),
        cabin.shell(),
        cabin.screen(False, 0.05, 0.92),
        cabin.screen(True, 0.12, 0.88),
        *cabin.sides(posts[:1] if bed or length < 4.3 else posts),
        *_front(body, nose, half, rugged),
        *_back(body, deck if not bed else belt, half, bed),
        *_flanks(body, cabin, posts[0], belt, half),
    ]
    if rugged and not bed:
        x = cabin.half_top - 0.1
        rail = [
            (x, head + 0.3, high),
            (x, head + 0.4, high + 0.06),
            (x, head_back - 0.3, high + 0.06),
            (x, head_back - 0.2, high),
        ]
        parts += both(tube("metal", rail, 0.018, sides=6))
    if rugged:
        parts += [p for y in axles for p in _cladding(y, radius, half)]
    if bed:
        parts += _bed(foot_back + 0.07, back - 0.03, half, deck, belt + 0.1)
    marks: dict[str, Triple] = {}
    _, rear, half_up, z = cabin.at(0.92)
    ahead = cabin.at(0.92)[0]
    for side, sign in (("left", -1.0), ("right", 1.0)):
        marks |= {
            f"{side}_front_wheel": (sign * (half + 0.1), axles[0], radius),
            f"{side}_back_wheel": (sign * (half + 0.1), axles[1], radius),
            f"upper_{side}_windshield": (sign * (half_up - PILLAR), ahead, z),
            f"upper_{side}_rearwindow": (sign * (half_up - PILLAR), rear, z),
            f"{side}_front_light": (sign * (half - 0.26), front - 0.05, nose - 0.15),
            f"{side}_back_trunk": (sign * (half - 0.1), back, belt if bed else deck - 0.05),
        }
    return Draft(parts, marks)


def _post(cabin: Cabin, rise: float) -> float:
    """Where the middle post stands."""
    front, back, _, _ = cabin.at(rise)
    return front + 0.5 * (back - front)


def _front(body: Coach, nose: float, half: float, rugged: bool) -> list[Part]:
    """Headlights, grille, bumper, plate."""
    tall = 0.16 if rugged else 0.12
    z = nose - 0.1
    return [
        *both(body.face("light", z - tall, z, 0.46 * half, 0.79 * half, proud=0.04)),
        body.face("dark", z - tall - (0.12 if rugged else 0.02), z - 0.01, -0.43 * half, 0.43 * half, proud=0.03),
        body.face("metal", z - 0.07, z - 0.04, -0.41 * half, 0.41 * half, proud=0.05),
        body.face("dark", body.low + 0.07, body.low + 0.2, -0.74 * half, 0.74 * half, proud=0.05),
        body.face("light", body.low + 0.21, body.low + 0.31, -0.24, 0.24, proud=0.05),
        *both(body.face("light", body.low + 0.1, body.low + 0.17, 0.55 * half, 0.68 * half, proud=0.07)),
    ]


def _back(body: Coach, deck: float, half: float, bed: bool) -> list[Part]:
    """Tail lights, plate, bumper."""
    z = deck - 0.12
    lamps = body.face(
        "tail", z - (0.34 if bed else 0.14), z, (0.7 if bed else 0.5) * half, 0.84 * half, back=True, proud=0.04
    )
    return [
        *both(lamps),
        body.face("light", z - 0.2, z - 0.09, -0.25, 0.25, back=True),
        body.face("dark", body.low + 0.06, body.low + 0.2, -0.78 * half, 0.78 * half, back=True, proud=0.05),
        *both(cylinder("metal", 0.035, 0.12, (half - 0.4, body.back + 0.03, body.low + 0.04), "y", sides=10)),
    ]


def _flanks(body: Coach, cabin: Cabin, post: float, belt: float, half: float) -> list[Part]:
    """Mirrors, door handles, the lines between doors, sills."""
    y = cabin.front + 0.42
    gap = slab(
        "dark",
        patch(
            [
                (half, post, 0.42),
                (half, post + 0.012, 0.42),
                (half, post + 0.012, belt - 0.1),
                (half, post, belt - 0.1),
            ]
        ),
        0.006,
    )
    return both(
        ellipsoid("paint", (0.12, 0.07, 0.075), (half + 0.1, y, belt + 0.1), sides=12, rows=6),
        box("dark", (0.16, 0.05, 0.04), (half, y, belt + 0.04)),
        box("metal", (0.03, 0.17, 0.028), (half + 0.005, post - 0.16, belt - 0.14), edge=0.01),
        box("metal", (0.03, 0.17, 0.028), (half + 0.005, post + 0.72, belt - 0.14), edge=0.01),
        gap,
        box("dark", (0.06, 1.3, 0.06), (half - 0.02, (body.front + body.back) / 2, body.low + 0.05), edge=0.02),
    )


def _cladding(y: float, radius: float, half: float) -> list[Part]:
    """A dark lip around a wheel arch."""
    turn = np.radians(np.linspace(-5, 185, 13))
    rings = []
    for a in turn:
        c, s = np.cos(a), np.sin(a)
        corners = [
            (x, y + r * c, radius + r * s)
            for x, r in (
                (half - 0.1, radius + 0.05),
                (half + 0.02, radius + 0.05),
                (half + 0.02, radius + 0.11),
                (half - 0.1, radius + 0.11),
            )
        ]
        rings.append(corners)
    return both(loft("dark", rings))


def _bed(start: float, end: float, half: float, floor: float, top: float) -> list[Part]:
    """Walls and tailgate of an open bed, dark inside."""
    middle, long = (start + end) / 2, end - start
    x = half * 0.96
    return [
        *both(box("paint", (0.08, long, top - floor + 0.04), (x - 0.04, middle, (top + floor) / 2), edge=0.03)),
        *both(box("dark", (0.1, long, 0.03), (x - 0.04, middle, top + 0.02), edge=0.01)),
        box("paint", (2 * x - 0.1, 0.07, top - floor + 0.04), (0.0, end - 0.03, (top + floor) / 2), edge=0.03),
        box("paint", (2 * x - 0.1, 0.07, top - floor + 0.1), (0.0, start + 0.03, (top + floor) / 2 - 0.02)),
        box("dark", (2 * x - 0.12, long - 0.1, 0.06), (0.0, middle, floor + 0.02)),
    ]


def _split(a: Floats, b: Floats, many: int) -> Floats:
    """A side of a loop in several steps where it is long, without its end."""
    steps = many if np.linalg.norm(b - a) > 0.5 else 1
    return np.asarray(a + (np.arange(steps) / steps)[:, None] * (b - a))
