"""Boats: motor, sailing, rowing and ships."""

from __future__ import annotations

import math

import numpy as np

from sightline.worlds.cad.hulls import Hull, belt
from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import Part, both, box, cushion, cylinder, ellipsoid, post, slab, tube
from sightline.worlds.solids import Floats, Triple


def motor(rng: np.random.Generator) -> Draft:
    """A motor boat: a high bow with a rail, a cabin with a raked windscreen, an open cockpit."""
    long = rng.uniform(6.0, 10.0)
    hull = Hull(
        length=long,
        beam=long * rng.uniform(0.3, 0.36),
        side=long * rng.uniform(0.11, 0.13),
        bow=long * rng.uniform(0.04, 0.07),
        stern=0.0,
        transom=rng.uniform(0.86, 0.94),
        rake=long * rng.uniform(0.1, 0.16),
        bilge=0.7,
    )
    bulk = rng.uniform(0.55, 0.66)
    sole, floor = hull.side * 0.55, hull.side * 0.45
    y0, y1 = long * (rng.uniform(0.2, 0.28) - 0.5), long * (bulk - 0.5)
    high, rake = long * rng.uniform(0.1, 0.14), long * rng.uniform(0.08, 0.15)
    foot, deep = hull.sheer(0.45) - 0.1, y1 - y0
    wide = hull.beam * rng.uniform(0.6, 0.7)
    cabin = np.array(
        [((y0 + y1) / 2, foot, wide, deep), ((y0 + y1 + rake) / 2, foot + high, wide * 0.86, deep - rake)]
    )
    roof = cabin[1]
    cover = (roof[2] * 1.06, roof[3] + 0.05 * long, 0.03 * long)
    lid = cushion("white", cover, (0.0, roof[0] + 0.01 * long, roof[1]), edge=0.015 * long, corner=0.25)
    parts = [
        hull.body("paint", wall=0.05),
        hull.body("paint", start=0.985),
        hull.deck("white", 0.01, bulk, 0.02, 0.05),
        hull.deck("wood", bulk - 0.02, 0.99, sole, 0.05),
        box("white", (hull.half(bulk) * 1.85, 0.05, sole), (0.0, y1, floor + sole / 2)),
        *hull.band("second", 0.0, 0.995, 0.78, 0.86, 0.03),
        *hull.band("dark", 0.02, 0.995, 0.0, 0.42, 0.02),
        *hull.rail("metal", 0.0, bulk, 0.045 * long, 0.012 + 0.001 * long, 6),
        *_cabin(cabin, 0.3, 0.86, 0.08),
        lid,
        _bench(hull, 0.93, floor, long),
        *both(_seat(wide * 0.3, y1 + 0.09 * long, floor, long)),
    ]
    if long < 8.0:
        parts += _outboard(long / 2, hull.side, long)
    else:
        back, y, z = hull.side * 0.35, roof[0], roof[1]
        parts += [
            box("wood", (hull.beam * 0.75, 0.07 * long, 0.05), (0.0, long * 0.53, back), edge=0.02),
            tube("metal", [(0.0, y, z), (0.0, y + 0.02 * long, z + 0.09 * long)], 0.02, sides=6),
            cushion("second", (0.5, 0.16, 0.1), (0.0, y + 0.05 * long, z + 0.05 * long), edge=0.045),
        ]
    return Draft(parts, hull.landmarks())


def sailing(rng: np.random.Generator) -> Draft:
    """A sloop: a slim hull, a low cabin, mast, boom, and two sails that the wind fills."""
    long = rng.uniform(7.0, 12.0)
    hull = Hull(
        length=long,
        beam=long * rng.uniform(0.27, 0.33),
        side=long * rng.uniform(0.085, 0.1),
        bow=long * rng.uniform(0.025, 0.045),
        stern=long * 0.008,
        transom=rng.uniform(0.55, 0.75),
        rake=long * rng.uniform(0.08, 0.14),
        overhang=long * rng.uniform(0.0, 0.06),
        bilge=0.75,
        fine=1.05,
    )
    mast_y, mast = long * (rng.uniform(0.38, 0.44) - 0.5), long * rng.uniform(1.1, 1.35)
    deck, tilt = hull.sheer(0.45), 0.015
    head, tack = deck + mast * 0.97, deck + long * rng.uniform(0.11, 0.14)
    clew, belly = long * rng.uniform(0.34, 0.42), long * rng.uniform(0.025, 0.045)
    boom = mast_y + clew
    wide, low = hull.beam * 0.5, long * 0.045
    trunk = np.array([(-0.02 * long, deck - 0.05, wide, 0.36 * long), (0.0, deck + low, wide * 0.84, 0.3 * long)])
    radius = 0.007 * long
    stem = (0.0, *hull.at(0.0, 1.0)[1:])
    top = (0.0, mast_y + tilt * mast, deck + mast)
    sheet = hull.at(0.98, 1.0)
    shroud = hull.at(0.42, 1.0)
    jib_foot = rng.uniform(0.02, 0.05) * long
    parts = [
        hull.body("paint", camber=0.05),
        hull.deck("wood", 0.015, 0.985, -0.015, 0.03, 0.9),
        *hull.band("second", 0.0, 0.99, 0.8, 0.88, 0.025),
        *hull.band("dark", 0.02, 0.99, 0.0, 0.4, 0.02),
        *_cabin(trunk, 0.3, 0.75, 0.05),
        box("dark", (wide * 0.7, 0.2 * long, 0.08), (0.0, 0.29 * long, deck + 0.03), edge=0.03),
        *both(box("second", (0.06, 0.24 * long, 0.16), (wide * 0.42, 0.29 * long, deck + 0.06), edge=0.02)),
        tube("metal", [(0.0, mast_y, deck - 0.05), top], [radius, radius * 0.6], sides=10),
        tube("metal", [(0.0, mast_y, tack), (0.0, boom + 0.02 * long, tack - 0.01 * long)], radius * 0.7, sides=8),
        _sail((0.0, mast_y + 0.03, tack + 0.04), (0.0, boom, tack), (0.0, top[1], head), belly, 0.05 * long),
        _sail(
            (0.0, stem[1] + 0.3, stem[2] + jib_foot),
            (0.0, mast_y - 0.02 * long, deck + 0.06 * long),
            (0.0, mast_y - 0.12 * mast * 0.12, deck + mast * rng.uniform(0.75, 0.9)),
            belly,
            0.0,
        ),
        tube("metal", [stem, top], 0.012, sides=4),
        tube("metal", [(0.0, sheet[1], sheet[2]), top], 0.012, sides=4),
        *both(tube("metal", [shroud, (0.0, top[1] * 0.9 + mast_y * 0.1, deck + 0.85 * mast)], 0.012, sides=4)),
        *hull.rail("metal", 0.0, 0.98, 0.055 * long, 0.014, 9),
        tube("wood", [(0.0, 0.47 * long, deck + 0.12), (0.0, 0.36 * long, deck + 0.3)], 0.02, sides=6),
        box("wood", (0.05, 0.05 * long, hull.side * 1.15), (0.0, long * 0.51, hull.side * 0.62), edge=0.015),
    ]
    return Draft(parts, hull.landmarks(), mirror=False)


def rowing(rng: np.random.Generator) -> Draft:
    """A rowing boat: an open hull with thwarts, ribs and a pair of oars."""
    long = rng.uniform(3.2, 4.6)
    hull = Hull(
        length=long,
        beam=long * rng.uniform(0.3, 0.38),
        side=rng.uniform(0.45, 0.55),
        bow=rng.uniform(0.15, 0.28),
        stern=rng.uniform(0.04, 0.12),
        transom=rng.uniform(0.55, 0.75),
        rake=rng.uniform(0.25, 0.5),
        overhang=rng.uniform(0.05, 0.15),
        bilge=rng.uniform(0.55, 0.75),
    )
    inside = "wood" if rng.random() < 0.6 else "second"
    parts = [hull.body("paint", wall=0.03), hull.body("paint", start=0.985)]
    parts += [hull.deck(inside, 0.12, 0.98, hull.side * 0.82, 0.03), hull.deck(inside, 0.015, 0.13, 0.03, 0.03)]
    seats = [0.3, 0.55, 0.88] if rng.random() < 0.7 else [0.4, 0.68, 0.9]
    parts += [hull.deck(inside, s - 0.032, s + 0.032, 0.16, 0.03, 0.97) for s in seats]
    parts += [*hull.band(inside, 0.0, 0.998, 0.93, 1.0, 0.05), *hull.band("second", 0.01, 0.99, 0.74, 0.8, 0.02)]
    for s in np.linspace(0.2, 0.92, 8).tolist():
        rib = [hull.at(s, t, 0.04) for t in np.linspace(0.1, 0.97, 7)]
        parts += both(tube(inside, rib, 0.014, sides=4))
    lock, angle, reach = (
        hull.at(seats[1] - 0.1, 1.0),
        math.radians(rng.uniform(20, 40)),
        long * rng.uniform(0.55, 0.65),
    )
    x, y, z = lock[0], lock[1], lock[2] + 0.06
    along = np.array((math.sin(angle), math.cos(angle), -0.12))
    hand, tip = np.array((x, y, z)) - 0.3 * reach * along, np.array((x, y, z)) + 0.7 * reach * along
    neck = tip - 0.28 * reach * along
    parts += both(
        tube("wood", [hand, neck], [0.016, 0.02], sides=8),
        tube("wood", [neck, tip - 0.2 * reach * along, tip], [0.02, 0.075, 0.07], sides=8, flat=0.25),
        tube("metal", [(x, y, z - 0.08), (x, y, z + 0.03)], 0.014, sides=6),
    )
    return Draft(parts, hull.landmarks())


def ship(rng: np.random.Generator) -> Draft:
    """A ship: freighter with containers before its bridge, or a passenger ship with rows of windows; a funnel."""
    long = rng.uniform(90.0, 130.0)
    liner = rng.random() < 0.45
    hull = Hull(
        length=long,
        beam=long * rng.uniform(0.14, 0.17),
        side=long * rng.uniform(0.06, 0.075),
        bow=long * rng.uniform(0.02, 0.035),
        stern=long * 0.006,
        transom=rng.uniform(0.7, 0.85),
        rake=long * rng.uniform(0.03, 0.07),
        overhang=long * 0.03,
        bilge=0.3,
        fine=0.55,
    )
    deck = hull.side
    parts = [
        hull.body("paint"),
        *hull.band("tail", 0.005, 0.995, 0.0, 0.45, 0.3),
        *hull.band("second", 0.0, 0.995, 0.94, 1.0, 0.35),
        hull.deck("dark", 0.01, 0.99, -0.15, 0.3, 0.93),
        *hull.rail("metal", 0.0, 0.16, 0.012 * long, 0.15, 6),
        tube("metal", [(0.0, -0.44 * long, deck), (0.0, -0.44 * long, deck + 0.09 * long)], [0.5, 0.25], sides=8),
        *both(ellipsoid("dark", (0.4, 1.2, 1.4), hull.at(0.06, 0.8), sides=8, rows=6)),
    ]
    parts += _passengers(rng, hull) if liner else _freight(rng, hull)
    return Draft(parts, hull.landmarks())


def _freight(rng: np.random.Generator, hull: Hull) -> list[Part]:
    """Bridge and funnel aft; stacks of containers before them."""
    long, deck, beam = hull.length, hull.side, hull.beam
    y, levels = long * rng.uniform(0.3, 0.36), int(rng.integers(4, 6))
    step = 0.022 * long
    parts = _tower(y, 0.09 * long, beam * 0.8, deck, levels, step)
    top = deck + levels * step
    parts.append(
        box("white", (beam * 1.02, 0.03 * long, 0.6 * step), (0.0, y - 0.02 * long, top - 0.5 * step), edge=0.3)
    )
    parts += _funnel(0.0, y + 0.08 * long, deck, top - deck + 0.02 * long, 0.035 * long)
    parts.append(tube("metal", [(0.0, y, top), (0.0, y, top + 0.06 * long)], [0.4, 0.2], sides=6))
    rows, across = int(rng.integers(4, 6)), 4
    first, last = -0.34 * long, y - 0.07 * long
    size = ((last - first) / rows * 0.88, beam * 0.86 / across, 0.024 * long)
    colors = ("paint", "second", "tail", "label", "metal")
    for i in range(rows):
        for j in range(across // 2):
            for k in range(int(rng.integers(1, 4))):
                at = ((j + 0.5) * size[1], first + (i + 0.5) * (last - first) / rows, deck + (k + 0.55) * size[2])
                one = box(colors[int(rng.integers(5))], (size[1] * 0.94, size[0], size[2] * 0.95), at)
                parts += both(one)
    return parts


def _passengers(rng: np.random.Generator, hull: Hull) -> list[Part]:
    """Decks one on another, each shorter, with rows of windows and boats along the sides."""
    long, deck, beam = hull.length, hull.side, hull.beam
    levels, step = int(rng.integers(3, 6)), 0.024 * long
    y0, y1 = -0.3 * long, 0.42 * long
    parts: list[Part] = []
    for k in range(levels):
        front, back = y0 + k * 0.035 * long, y1 - k * rng.uniform(0.02, 0.05) * long
        wide = beam * (0.9 - 0.05 * k)
        middle, z = (front + back) / 2, deck + (k + 0.5) * step
        parts.append(box("white", (wide, back - front, step), (0.0, middle, z), edge=0.8))
        many = int((back - front) / (0.03 * long))
        pane = (back - front - 0.04 * long) / many
        parts += [
            p
            for i in range(many)
            for p in both(
                box("glass", (0.2, 0.7 * pane, 0.42 * step), (wide / 2, front + 0.02 * long + (i + 0.5) * pane, z))
            )
        ]
        parts.append(box("glass", (wide * 0.8, 0.3, 0.4 * step), (0.0, front, z)))
    top = deck + levels * step
    middle = (y0 + y1) / 2
    parts += _funnel(0.0, middle + 0.08 * long, top - 1.0, 0.07 * long, 0.045 * long)
    parts.append(
        tube(
            "metal", [(0.0, y0 + 0.18 * long, top), (0.0, y0 + 0.19 * long, top + 0.08 * long)], [0.4, 0.2], sides=6
        )
    )
    for i in range(4):
        at = (beam * 0.46, middle + (i - 1.5) * 0.08 * long, deck + 1.9 * step)
        parts += both(ellipsoid("tail", (0.7, 0.026 * long, 0.9), at, sides=10, rows=6))
    return parts


def _tower(y: float, deep: float, wide: float, deck: float, levels: int, step: float) -> list[Part]:
    """Decks of cabins, windows to all sides."""
    parts = []
    for k in range(levels):
        z, w = deck + (k + 0.5) * step, wide * (1.0 if k < levels - 1 else 0.9)
        parts.append(box("white", (w, deep, step * 0.98), (0.0, y, z), edge=0.25))
        parts.append(box("glass", (w * 0.86, deep + 0.2, step * 0.34), (0.0, y, z + 0.12 * step)))
        parts.append(box("glass", (w + 0.2, deep * 0.8, step * 0.34), (0.0, y, z + 0.12 * step)))
    return parts


def _funnel(x: float, y: float, z: float, high: float, deep: float) -> list[Part]:
    path = [(x, y, z), (x, y + 0.2 * deep, z + high)]
    crown = [(x, y + 0.14 * deep, z + 0.7 * high), (x, y + 0.18 * deep, z + 0.9 * high)]
    sizes, over = [(0.7 * deep, deep), (0.55 * deep, 0.8 * deep)], (0.62 * deep, 0.9 * deep)
    return [
        post("paint", path, sizes, edge=0.3 * deep, steps=4),
        post("dark", crown, over, edge=0.3 * deep, steps=4),
    ]


def _cabin(ends: Floats, low: float, high: float, edge: float) -> list[Part]:
    """A cabin with windows all round; `ends` as `belt` takes them."""
    path, sizes = belt(ends, 0.0, 1.0)
    panes, over = belt(ends, low, high, 0.03)
    corner = max(edge, 0.18 * float(sizes[:, 0].min()))
    return [post("paint", path, sizes, edge=corner, steps=3), post("glass", panes, over, edge=corner, steps=3)]


def _sail(tack: Triple, clew: Triple, head: Triple, belly: float, roach: float) -> Part:
    """A three-cornered sail blown towards +x; its after edge is `roach` rounder than straight."""
    a, b, c = (np.asarray(p, np.float64) for p in (tack, clew, head))
    rows = []
    for v in np.linspace(0.0, 0.985, 13).tolist():
        luff, leech = a + v * (c - a), b + v * (c - b)
        leech[1] += roach * 4.0 * v * (1.0 - v)
        depth = belly * (1.0 - v) ** 0.6 * (0.35 + 2.6 * v * (1.0 - v))
        rows.append(
            [
                luff + u * (leech - luff) + (depth * 4.0 * u * (1.0 - u) * (1.2 - 0.4 * u), 0.0, 0.0)
                for u in np.linspace(0, 1, 8)
            ]
        )
    return slab("white", rows, 0.03)


def _bench(hull: Hull, s: float, floor: float, long: float) -> Part:
    size = (hull.half(s) * 1.5, 0.07 * long, 0.06 * long)
    return cushion("leather", size, (0.0, long * (s - 0.5), floor + size[2] / 2), edge=0.02 * long)


def _seat(x: float, y: float, floor: float, long: float) -> Part:
    size = 0.065 * long
    return cushion("leather", (size, size, size * 1.5), (x, y, floor + size * 0.75), edge=0.02 * long)


def _outboard(y: float, side: float, long: float) -> list[Part]:
    """An engine on the transom: cowl, leg, propeller."""
    size = 0.06 * long
    return [
        cushion(
            "dark",
            (size * 0.9, size * 1.4, size * 1.3),
            (0.0, y + size * 0.7, side + size * 0.7),
            edge=size * 0.35,
            puff=size * 0.1,
        ),
        post(
            "dark",
            [(0.0, y + size * 0.7, side * 0.1), (0.0, y + size * 0.7, side + size * 0.3)],
            (size * 0.35, size * 0.7),
            edge=size * 0.15,
        ),
        box("metal", (size * 0.5, size * 0.8, side * 0.5), (0.0, y + size * 0.1, side * 0.8), edge=size * 0.1),
        cylinder("metal", size * 0.5, size * 0.15, (0.0, y + size * 1.15, side * 0.2), "y", sides=12),
    ]
