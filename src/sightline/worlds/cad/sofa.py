"""Sofas: two-seat, three-seat, corner and club."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import Part, arc, both, box, cushion, extrude, loft, post, rounded
from sightline.worlds.solids import Floats, Triple


def two_seat(rng: np.random.Generator) -> Draft:
    """A sofa for two."""
    return _straight(rng, 2, rng.uniform(0.6, 0.75))


def three_seat(rng: np.random.Generator) -> Draft:
    """A sofa for three."""
    return _straight(rng, 3, rng.uniform(0.58, 0.7))


def corner(rng: np.random.Generator) -> Draft:
    """A corner sofa: seats along the back and, on one side, forwards, with a back along both."""
    make = _Couch.drawn(rng)
    seat, many = rng.uniform(0.62, 0.74), int(rng.integers(2, 4))
    half, reach = (many * seat + make.depth + make.arm) / 2, rng.uniform(1.5, 2.0)
    back = make.depth / 2
    inner = half - make.arm  # where the seats along the back end; the other limb is at −x
    bend = make.depth - half
    front, ahead = back - make.depth, back - reach
    high, low = make.seat - make.pad, make.foot
    parts = [
        _block("paint", (-half, front, low), (half, back, high)),
        _block("paint", (-half, ahead, low), (bend, front + 0.1, high)),
        make.armrest(inner + make.arm / 2, back),
        make.backrest(-half, half, back),
        make.backrest(ahead, back, half).turned("z", 90.0),
        *make.seats(bend, inner, many, front, back - make.rest),
        *(part.turned("z", 90.0) for part in make.seats(ahead, front, 1, -bend, half - make.rest)),
        *make.cushions(bend, inner, many, back),
        *(part.turned("z", 90.0) for part in make.cushions(ahead, back - make.rest - 0.12, 2, half)),
        _seat(make, (-half + make.rest, front, high), (bend, back - make.rest, make.seat)),
        *(make.leg(x, y) for x, y in _feet(half, front, back)),
        *(make.leg(x, ahead + 0.09) for x in (-half + 0.09, bend - 0.09)),
        make.pillow(bend + 0.3, back - make.rest - 0.22, 20.0),
    ]
    marks = {
        "front_bottom_left": (-half, ahead, low),
        "front_bottom_right": (half, front, low),
        "seat_bottom_left": (-half + make.rest, ahead, make.seat),
        "seat_bottom_right": (inner, front, make.seat),
        "left_bottom_back": (-half, back, low),
        "right_bottom_back": (half, back, low),
        "top_left_corner": (-half, back, make.high),
        "top_right_corner": (half, back, make.high),
        "seat_top_left": (-half + make.rest, back - make.rest - 0.1, make.seat),
        "seat_top_right": (inner, back - make.rest - 0.1, make.seat),
    }
    if rng.random() < 0.5:
        other = {"left": "right", "right": "left"}
        parts = [part.mirrored() for part in parts]
        swap = {key: key.replace(side, other[side]) for key in marks for side in other if side in key}
        marks = {swap[key]: (-x, y, z) for key, (x, y, z) in marks.items()}
    return Draft(parts, marks, mirror=False)


def club(rng: np.random.Generator) -> Draft:
    """A club chair: one seat in a tub whose arms run round into the back."""
    half, depth, seat = rng.uniform(0.4, 0.48), rng.uniform(0.78, 0.9), rng.uniform(0.4, 0.46)
    arm, high, thick = rng.uniform(0.56, 0.66), rng.uniform(0.72, 0.86), rng.uniform(0.12, 0.18)
    foot, flare, pad = rng.uniform(0.06, 0.14), rng.uniform(0.0, 0.06), rng.uniform(0.14, 0.18)
    a, b, front, bend = half - thick / 2, depth * 0.52, -depth / 2 + 0.05, 0.02
    turn = np.radians(np.linspace(0.0, 180.0, 19))
    power = rng.uniform(2.2, 3.2)
    c, s = np.cos(turn), np.sin(turn)
    reach = (np.abs(c) ** power + np.abs(s) ** power) ** (-1.0 / power)
    round_back = np.column_stack((a * reach * c, bend + (b - thick / 2 - bend) * reach * s))
    path = np.concatenate(([(a, front), (a, front * 0.7)], round_back, [(-a, front * 0.7), (-a, front)]))
    ahead = np.gradient(path, axis=0)
    out = np.column_stack((ahead[:, 1], -ahead[:, 0])) / np.linalg.norm(ahead, axis=1)[:, None]
    behind = np.clip((path[:, 1] - front * 0.3) / (b - front * 0.3), 0.0, 1.0)
    tops = arm + (high - arm) * behind**2 * (3 - 2 * behind)
    section = rounded(0.5 - 0.42, 0.5 - 0.42, 0.42, 4)  # a unit square with round corners
    rings = []
    for place, side, top in zip(path, out, tops, strict=True):
        across, up = section[:, 0] * thick, (section[:, 1] + 0.5) * (top - foot)
        up = np.where(section[:, 1] > 0, (top - foot) - (0.5 - section[:, 1]) * thick, up * 0.2)
        spread = place + side * (across + flare * up)[:, None]
        rings.append(np.column_stack((spread, foot + up)))

    def ahead_of(ring: Floats) -> Floats:
        """A smaller ring before an arm's end, which rounds it."""
        middle = (ring.min(axis=0) + ring.max(axis=0)) / 2
        smaller: Floats = middle + (ring - middle) * (0.75, 1.0, 0.96) - np.array((0.0, 0.03, 0.0))
        return smaller

    rings = [ahead_of(rings[0]), *rings, ahead_of(rings[-1])]
    inside = half - thick * 0.9
    legs = both(
        *(_leg("wood", (x, y), foot, 0.05) for x, y in ((half - 0.1, front + 0.06), (half - 0.16, b - 0.16)))
    )
    whole = [
        loft("paint", rings, crease=50.0),
        _block("paint", (-inside - 0.03, front + 0.02, foot), (inside + 0.03, b - thick, seat - pad)),
        cushion(
            "paint" if rng.random() < 0.6 else "fabric",
            (2 * inside, depth - thick * 0.8, pad),
            (0.0, -0.04, seat - pad / 2),
            edge=0.05,
            corner=0.12,
            puff=0.025,
        ),
        *legs,
    ]
    return Draft(
        whole, _landmarks(half, front, b, foot, inside, seat, b - thick, (half * 0.55, b - thick / 2, high))
    )


@dataclass(frozen=True, slots=True)
class _Couch:
    """Measures of an upholstered seat, metres: heights of seat, arm and back, thickness of arm and back."""

    depth: float
    seat: float
    top: float
    high: float
    foot: float
    arm: float
    rest: float
    pad: float
    style: int
    legs: str
    soft: str

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> _Couch:
        """Draw the measures."""
        style = int(rng.integers(3))
        return cls(
            depth=rng.uniform(0.84, 1.0),
            seat=rng.uniform(0.41, 0.47),
            top=rng.uniform(0.56, 0.66),
            high=rng.uniform(0.76, 0.94),
            foot=rng.uniform(0.05, 0.15),
            arm=(rng.uniform(0.16, 0.26), rng.uniform(0.18, 0.24), rng.uniform(0.08, 0.12))[style],
            rest=rng.uniform(0.15, 0.2),
            pad=rng.uniform(0.14, 0.18),
            style=style,
            legs=("wood", "metal", "dark")[int(rng.integers(3))],
            soft="paint" if rng.random() < 0.75 else "fabric",
        )

    def armrest(self, x: float, back: float) -> Part:
        """An arm about x: a block, a roll on a panel, or a slim panel."""
        front, low = back - self.depth, self.foot
        if self.style == 1:
            radius = self.arm / 2
            roll = arc((0.0, self.top - radius), radius, -50.0, 230.0, 14)
            neck = 0.62 * radius
            profile = np.concatenate((roll, [(-neck, low), (neck, low)]))
            return extrude("paint", profile, front, back - 0.05, "y", edge=0.025).moved(x)
        size = (self.arm, self.depth - 0.02, self.top - low)
        return cushion("paint", size, (x, back - self.depth / 2, (self.top + low) / 2), edge=0.045, puff=0.01)

    def backrest(self, x0: float, x1: float, y: float) -> Part:
        """The back's frame, its rear at y."""
        size = (x1 - x0, self.rest, self.high - self.foot - 0.04)
        return box("paint", size, ((x0 + x1) / 2, y - self.rest / 2, self.foot + size[2] / 2), edge=0.05, steps=3)

    def seats(self, x0: float, x1: float, many: int, y0: float, y1: float) -> list[Part]:
        """Seat cushions side by side."""
        step = (x1 - x0) / many
        corners = [x0 + i * step for i in range(many)]
        return [_seat(self, (x, y0, self.seat - self.pad), (x + step, y1, self.seat)) for x in corners]

    def cushions(self, x0: float, x1: float, many: int, y: float) -> list[Part]:
        """Back cushions side by side, leaning on a back whose rear is at y."""
        step, tall = (x1 - x0) / many, self.high - self.seat + 0.05
        one = cushion(self.soft, (step - 0.012, tall, 0.16), edge=0.06, corner=0.08, puff=0.035)
        one = one.turned("x", 78.0).moved(y=y - self.rest - 0.075, z=self.seat + tall / 2 - 0.02)
        return [one.moved(x0 + (i + 0.5) * step) for i in range(many)]

    def pillow(self, x: float, y: float, turn: float) -> Part:
        """A loose pillow that leans back."""
        one = cushion(
            "leather" if self.soft == "fabric" else "fabric",
            (0.42, 0.42, 0.04),
            edge=0.018,
            corner=0.04,
            puff=0.055,
        )
        return one.turned("x", 66.0).turned("z", turn).moved(x, y, self.seat + 0.2)

    def leg(self, x: float, y: float) -> Part:
        """A short leg under (x, y)."""
        return _leg(self.legs, (x, y), self.foot, 0.05)


def _straight(rng: np.random.Generator, many: int, seat: float) -> Draft:
    make = _Couch.drawn(rng)
    inner = many * seat / 2
    half, back, front = inner + make.arm, make.depth / 2, -make.depth / 2
    single = many == 2 and rng.random() < 0.25
    parts = [
        _block("paint", (-half + 0.02, front + 0.03, make.foot), (half - 0.02, back - 0.02, make.seat - make.pad)),
        *both(make.armrest(inner + make.arm / 2, back)),
        make.backrest(-half + 0.01, half - 0.01, back),
        *make.seats(-inner, inner, 1 if single else many, front, back - make.rest),
        *make.cushions(-inner, inner, many, back),
        *(make.leg(x, y) for x, y in _feet(half, front, back)),
    ]
    if rng.random() < 0.5:
        parts += both(make.pillow(inner - 0.2, back - make.rest - 0.24, -25.0))
    top = (half - 0.03, back - 0.03, make.high - 0.04)
    return Draft(parts, _landmarks(half, front, back, make.foot, inner, make.seat, back - make.rest - 0.12, top))


def _seat(make: _Couch, low: Triple, high: Triple) -> Part:
    (x0, y0, z0), (x1, y1, z1) = low, high
    size = (x1 - x0 - 0.01, y1 - y0 + 0.02, z1 - z0)
    middle = ((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2)
    return cushion(make.soft, size, middle, edge=0.05, corner=0.06, puff=0.022)


def _block(slot: str, low: Triple, high: Triple) -> Part:
    (x0, y0, z0), (x1, y1, z1) = low, high
    return box(slot, (x1 - x0, y1 - y0, z1 - z0), ((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2), edge=0.02)


def _feet(half: float, front: float, back: float) -> list[tuple[float, float]]:
    return [(x, y) for x in (-half + 0.09, half - 0.09) for y in (front + 0.1, back - 0.09)]


def _leg(slot: str, at: tuple[float, float], high: float, wide: float) -> Part:
    x, y = at
    return post(slot, [(x, y, 0.0), (x, y, high + 0.02)], [(wide * 0.6,) * 2, (wide,) * 2], edge=0.01)


def _landmarks(
    half: float, front: float, back: float, foot: float, inner: float, seat: float, deep: float, top: Triple
) -> dict[str, Triple]:
    """Landmarks of a sofa whose sides are alike: its box, its seat from `front` to `deep`, its back's top."""
    marks: dict[str, Triple] = {}
    for side, sign in (("left", -1.0), ("right", 1.0)):
        marks |= {
            f"front_bottom_{side}": (sign * half, front, foot),
            f"seat_bottom_{side}": (sign * inner, front, seat),
            f"{side}_bottom_back": (sign * half, back, foot),
            f"top_{side}_corner": (sign * top[0], top[1], top[2]),
            f"seat_top_{side}": (sign * inner, deep, seat),
        }
    return marks
