"""Chairs: dining, arm, office and bar."""

from __future__ import annotations

import math

import numpy as np

from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import Part, both, box, cushion, cylinder, lathe, loft, post, slab, smooth, tube
from sightline.worlds.solids import Floats, Triple

_LOOKS = (("wood", "paint"), ("paint", "fabric"), ("dark", "paint"), ("paint", "leather"))
"""Slots of frame and upholstery, one of them the object's own."""


def dining(rng: np.random.Generator) -> Draft:
    """A dining chair: four legs, the rear ones running up into a ladder, spindle or upholstered back."""
    wide, deep, seat = rng.uniform(0.42, 0.5), rng.uniform(0.4, 0.46), rng.uniform(0.44, 0.48)
    top, lean, thick = rng.uniform(0.84, 1.04), rng.uniform(0.05, 0.12), rng.uniform(0.03, 0.044)
    narrow, bow, pad = rng.uniform(0.82, 0.98), rng.uniform(0.005, 0.03), rng.uniform(0.03, 0.055)
    frame, soft = _LOOKS[int(rng.integers(4))]
    front, back, x = -deep / 2 + thick, deep / 2 - thick / 2, wide / 2 - thick * 0.8
    rear, under, low = x * narrow, seat - 0.04, seat + rng.uniform(0.1, 0.17)

    def line(z: float) -> float:
        """Place of the rear posts along y."""
        above, below = max(z - seat, 0.0) / (top - seat), max(seat - z, 0.0) / seat
        return float(back + lean * above**1.4 + 0.05 * below**2)

    def pane(slot: str, z0: float, z1: float, depth: float, half: float = rear) -> Part:
        heights = np.linspace(z0, z1, 4)
        return slab(slot, [[place(u * half / rear, z) for z in heights] for u in np.linspace(-1, 1, 9)], depth)

    def place(u: float, z: float) -> Triple:
        return (u * rear, line(z) + bow * (1 - u * u), z)

    def taper(points: Floats) -> Floats:
        points[:, 0] *= 1.0 - (1.0 - narrow) * np.clip((points[:, 1] - front) / (back - front), 0.0, 1.0)
        return points

    heights = np.concatenate((np.linspace(0.0, seat, 5), np.linspace(seat, top, 7)[1:]))
    wider = [(0.7 + 0.3 * min(1, z / seat), 0.75 + 0.4 * math.exp(-3 * abs(z - seat))) for z in heights]
    parts = both(
        post(frame, [(rear, line(z), z) for z in heights], thick * np.array(wider), edge=0.006),
        _leg(frame, [(x, front, 0.0), (x, front, seat - 0.015)], thick * 0.62, thick),
        _rail(frame, (x, front, under), (rear, line(seat) - 0.01, under), 0.06),
    )
    parts.append(box(frame, (2 * x, 0.02, 0.06), (0.0, front, under)))
    parts.append(box(frame, (2 * rear, 0.02, 0.06), (0.0, back, under)))
    if rng.random() < 0.5:
        z = seat * rng.uniform(0.35, 0.5)
        parts += both(_rail(frame, (x, front, z), (rear, line(z), z), 0.025))
        parts.append(box(frame, (x * (1 + narrow), 0.018, 0.025), (0.0, 0.0, z)))
    whole = cushion(soft, (wide, deep, pad), (0.0, -0.012, seat), edge=pad * 0.48, corner=0.04, puff=0.008)
    parts.append(whole.bent(taper))
    style = int(rng.integers(3))
    if style == 0:
        many = int(rng.integers(3, 5))
        step = (top - low) / many
        parts += [pane(frame, low + i * step, low + (i + 0.6) * step, 0.016) for i in range(many - 1)]
        parts.append(pane(frame, top - 0.65 * step, top - 0.005, 0.022))
    elif style == 1:
        parts += [pane(frame, top - 0.07, top + 0.004, 0.024), pane(frame, low, low + 0.035, 0.02)]
        for u in np.linspace(-1, 1, int(rng.integers(5, 9)))[1:-1]:
            path = [place(u, z) for z in np.linspace(low, top - 0.03, 5)]
            parts.append(post(frame, path, (0.02, 0.014), edge=0.004))
    else:
        parts.append(pane(frame, low - 0.01, top - 0.01, 0.02))
        parts.append(pane(soft, low + 0.01, top - 0.04, 0.05, rear - 0.02).moved(y=-0.012))
    seat_marks = (wide / 2 * narrow, back, seat), (wide / 2, -deep / 2, seat)
    return Draft(parts, _landmarks((rear, line(top), top), *seat_marks, (rear, line(0), 0.0), (x, front, 0.0)))


def arm(rng: np.random.Generator) -> Draft:
    """An easy chair: two thick cushions in an open wooden frame with armrests."""
    wide, deep, seat = rng.uniform(0.62, 0.74), rng.uniform(0.6, 0.7), rng.uniform(0.4, 0.45)
    top, rest, tilt = rng.uniform(0.86, 1.02), rng.uniform(0.58, 0.66), rng.uniform(12, 22)
    pad, splay, thick = rng.uniform(0.11, 0.15), rng.uniform(0.0, 0.05), rng.uniform(0.034, 0.046)
    frame, soft = _LOOKS[int(rng.integers(4))]
    x, front, back, under = wide / 2 - 0.03, -deep / 2 + 0.04, deep / 2 - 0.1, seat - 0.13
    slope = math.tan(math.radians(tilt))

    def line(z: float) -> float:
        """Place of the back's frame along y."""
        return back + (z - seat) * slope

    toe, heel = (x + splay * 0.6, front - splay, 0.0), (x + splay * 0.6, back + 0.06 + splay, 0.0)
    reach = [(line(rest) - 0.05, 0.0), (back * 0.4, 0.012), (front, 0.0), (front - 0.05, -0.008)]
    palm = [0.016, *([0.03] * 3), *([0.036] * 5), *([0.04] * 3), 0.03]
    stile = [(x - 0.04, line(z) + 0.02, z) for z in (seat - 0.1, top - 0.03)]
    parts = both(
        _leg(frame, [toe, (x, front, seat - 0.1), (x, front, rest)], thick * 0.6, thick),
        _leg(frame, [heel, (x, line(seat) + 0.02, seat - 0.1), (x, line(rest) - 0.02, rest)], thick * 0.6, thick),
        tube(frame, smooth([(x, y, rest + z) for y, z in reach], 4), palm, sides=12, flat=0.42),
        _rail(frame, (x, front, under), (x, line(under) + 0.03, under), 0.055),
        post(frame, stile, (0.03, 0.03), edge=0.006),
    )
    parts += [box(frame, (2 * x, 0.025, 0.06), (0.0, y, under)) for y in (front, line(under) + 0.03)]
    for z in np.linspace(seat + 0.06, top - 0.06, int(rng.integers(4, 7))).tolist():
        at = (0.0, line(z) + 0.03, z)
        parts.append(box(frame, (2 * x - 0.08, 0.016, 0.04), at, edge=0.006).turned("x", -tilt, at))
    inner, tall = x - thick * 0.6, (top - seat) / math.cos(math.radians(tilt)) + 0.03
    base = cushion(soft, (2 * inner, deep - 0.06, pad), (0.0, -0.04, -pad / 2), edge=0.045, corner=0.06, puff=0.02)
    rear = cushion(soft, (2 * inner, tall, pad * 0.9), (0.0, tall / 2, 0.0), edge=0.05, corner=0.07, puff=0.025)
    parts.append(base.turned("x", -3.0).moved(z=seat))
    parts.append(rear.turned("x", 90 - tilt).moved(y=back - pad * 0.45, z=seat - 0.03))
    seat_marks = (inner, back - 0.08, seat), (inner, -deep / 2, seat)
    return Draft(parts, _landmarks((inner, line(top), top), *seat_marks, heel, toe))


def office(rng: np.random.Generator) -> Draft:
    """An office chair: five casters, a gas lift, a curved back on a spine, most with armrests."""
    wide, deep, seat = rng.uniform(0.46, 0.52), rng.uniform(0.44, 0.5), rng.uniform(0.45, 0.54)
    tall, reach, pad = rng.uniform(0.46, 0.68), rng.uniform(0.28, 0.34), rng.uniform(0.06, 0.09)
    back, hollow, upper = deep / 2 + 0.02, rng.uniform(0.03, 0.07), rng.uniform(0.78, 0.95)
    start, under = seat + rng.uniform(0.06, 0.12), seat - pad - 0.04
    shell, high = "metal" if rng.random() < 0.4 else "dark", start + tall

    def waterfall(points: Floats) -> Floats:
        """Let the seat's front hang and its sides rise."""
        x, y, _ = points.T
        points[:, 2] += 0.02 * (2 * x / wide) ** 2 - 0.035 * np.clip((-y / deep - 0.2) / 0.3, 0.0, 1.0) ** 2
        return points

    def hug(points: Floats) -> Floats:
        """Curve a flat back round the sitter and into the loins."""
        x, y, z = points.T
        up = (z - start) / tall
        points[:, 1] = y - hollow * (2 * x / wide) ** 2 - 0.03 * np.exp(-(((up - 0.22) / 0.22) ** 2))
        points[:, 1] += 0.1 * np.maximum(up, 0.0) ** 1.5
        points[:, 0] = x * (1.0 - (1.0 - upper) * up)
        return points

    def upright(slot: str, size: Triple, y: float, z: float, edge: float, corner: float) -> Part:
        return cushion(slot, size, edge=edge, corner=corner, puff=edge / 3).turned("x", 90.0).moved(0.0, y, z)

    spine = [
        (0.06, under),
        (back + 0.07, under + 0.02),
        (back + 0.07, start + 0.05),
        (back + 0.06, start + 0.45 * tall),
    ]
    seat_pad = cushion("paint", (wide, deep, pad), (0, 0, seat - pad / 2), edge=pad * 0.45, corner=0.1, puff=0.012)
    parts = [
        *(part for i in range(5) for part in _caster(shell, reach, 90.0 + 72.0 * i)),
        lathe(shell, [(0.0, 0.06), (0.045, 0.06), (0.05, 0.1), (0.032, 0.14), (0.0, 0.14)], sides=16),
        cylinder("dark", 0.026, 0.16, (0.0, 0.0, 0.2), sides=16),
        cylinder("metal", 0.015, seat - 0.3, (0.0, 0.0, (seat + 0.2) / 2), sides=12),
        box("dark", (0.2, 0.24, 0.05), (0.0, 0.02, under), edge=0.015),
        box("dark", (wide, 0.02, 0.012), (0.0, -0.03, under)),
        seat_pad.bent(waterfall),
        upright("paint", (wide * 0.94, tall, 0.05), back, start + tall / 2, 0.024, 0.08).bent(hug),
        upright("dark", (wide * 0.86, tall * 0.9, 0.024), back + 0.03, start + tall / 2, 0.01, 0.07).bent(hug),
        tube("dark", smooth([(0.0, y, z) for y, z in spine], 4), 0.028, sides=10, flat=0.5),
    ]
    if rng.random() < 0.8:
        z, x = seat + rng.uniform(0.18, 0.24), wide / 2 + 0.035
        bracket = [
            (wide * 0.3, 0.04, seat - pad),
            (x, 0.04, seat - pad + 0.01),
            (x, 0.06, seat + 0.08),
            (x, 0.03, z),
        ]
        parts += both(tube(shell, smooth(bracket, 3), 0.016, sides=8))
        parts += both(cushion("dark", (0.075, 0.25, 0.03), (x - 0.005, 0.0, z), edge=0.012, corner=0.03))
    if rng.random() < 0.35:
        parts.append(upright("paint", (wide * 0.55, 0.14, 0.055), back + 0.1, high + 0.11, 0.026, 0.05))
        parts.append(
            tube("dark", [(0.0, back + 0.11, high - 0.08), (0.0, back + 0.12, high + 0.1)], 0.014, sides=8)
        )
    x, y, _ = hug(np.array([(wide * 0.47, back, high - 0.03)]))[0].tolist()
    return Draft(
        parts, _landmarks((x, y, high), (wide / 2, deep / 2 - 0.04, seat), (wide / 2, 0.03 - deep / 2, seat))
    )


def bar(rng: np.random.Generator) -> Draft:
    """A bar chair: high splayed legs with a footrest, a small seat and a low curved back."""
    half, seat, pad = rng.uniform(0.18, 0.22), rng.uniform(0.68, 0.8), rng.uniform(0.04, 0.06)
    top, splay, thick = seat + rng.uniform(0.2, 0.34), rng.uniform(0.03, 0.08), rng.uniform(0.03, 0.038)
    frame, soft = _LOOKS[int(rng.integers(4))]
    corner = float(rng.choice([0.05, 0.1, half]))
    x = half * (0.72 if corner == half else 0.83)
    foot, reach, low = x + splay, rng.uniform(0.05, 0.09), top - (top - seat) * rng.uniform(0.45, 0.7)

    def curve(u: float, z: float) -> Triple:
        """Points of the back, u from −1 to 1 across."""
        return (u * half, half - 0.04 + reach * (1.0 - u * u) + 0.15 * (z - seat), z - (0.03 * u**6) * (z == top))

    parts = [
        _leg(frame, [(sx * foot, sy * foot, 0.0), (sx * x, sy * x, seat - pad * 0.3)], thick * 0.75, thick)
        for sx in (-1.0, 1.0)
        for sy in (-1.0, 1.0)
    ]
    for z, bars in ((rng.uniform(0.22, 0.3), "metal"), (seat - pad / 2 - 0.01, frame)):
        r = x + splay * (1.0 - z / seat)
        side = box(bars, (2 * r, 0.02, 0.028), (0.0, -r, z), edge=0.006)
        parts += [side.turned("z", turn) for turn in (0, 90, 180, 270)]
    parts.append(cushion(soft, (2 * half, 2 * half, pad), (0, 0, seat), edge=pad * 0.48, corner=corner, puff=0.012))
    grid = [[curve(u, z) for z in np.linspace(low, top, 4)] for u in np.linspace(-1, 1, 15)]
    stay = rng.uniform(0.55, 0.7)
    path = [
        (stay * half, half - 0.06, seat),
        (stay * half, half - 0.02, 0.6 * seat + 0.4 * top),
        curve(stay, low + 0.04),
    ]
    parts += [slab(soft, grid, 0.035), *both(post(frame, smooth(path, 4), (0.024, 0.018), edge=0.006))]
    seat_marks = (half, half, seat), (half, -half, seat)
    return Draft(parts, _landmarks(curve(1.0, top), *seat_marks, (foot, foot, 0.0), (foot, -foot, 0.0)))


def _leg(slot: str, path: list[Triple], foot: float, thick: float) -> Part:
    """A leg that tapers towards its foot."""
    return post(slot, path, [(foot, foot), *[(thick, thick)] * (len(path) - 1)], edge=0.008)


def _rail(slot: str, start: Triple, end: Triple, high: float) -> Part:
    """An upright board between two points, one behind the other."""
    ring = np.array([(-0.01, 0, -high / 2), (0.01, 0, -high / 2), (0.01, 0, high / 2), (-0.01, 0, high / 2)])
    return loft(slot, [ring + np.array(start), ring + np.array(end)])


def _caster(slot: str, reach: float, angle: float) -> list[Part]:
    """One arm of a five-star base, with the twin wheels at its end."""
    line = [(0.02, 0, 0.105), (reach * 0.6, 0, 0.095), (reach, 0, 0.075)]
    parts = [tube(slot, line, [0.03, 0.025, 0.018], sides=8, flat=0.8)]
    parts.append(box("dark", (0.04, 0.02, 0.045), (reach, 0.0, 0.045)))
    at = ((reach, side, 0.028) for side in (-0.017, 0.017))
    parts += [cylinder("dark", 0.028, 0.018, place, "y", sides=12, edge=0.005) for place in at]
    return [part.turned("z", angle) for part in parts]


def _landmarks(
    back: Triple, rear: Triple, front: Triple, heel: Triple | None = None, toe: Triple | None = None
) -> dict[str, Triple]:
    """Landmarks from those of the right side: top of the back, seat behind and before, feet behind and before."""
    right = {"back_upper": back, "seat_upper": rear, "seat_lower": front, "leg_upper": heel, "leg_lower": toe}
    sides = (("left", -1.0), ("right", 1.0))
    return {f"{name}_{side}": (sign * p[0], p[1], p[2]) for name, p in right.items() if p for side, sign in sides}
