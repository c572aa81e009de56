"""Dining tables: rectangular, square, round and trestle."""

from __future__ import annotations

import numpy as np

from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import Part, both, box, cushion, extrude, lathe, post, smooth, tube
from sightline.worlds.solids import CONTINUOUS, Triple

_LOOKS = (("paint", "paint"), ("paint", "dark"), ("wood", "paint"), ("paint", "wood"), ("paint", "metal"))
"""Slots of top and legs."""


def rectangular(rng: np.random.Generator) -> Draft:
    """A long table on four legs."""
    return _four_legs(rng, rng.uniform(1.4, 2.2) / 2, rng.uniform(0.8, 0.98) / 2, 2)


def square(rng: np.random.Generator) -> Draft:
    """A table as wide as long, on four legs."""
    half = rng.uniform(0.75, 1.05) / 2
    return _four_legs(rng, half, half, 4)


def round(rng: np.random.Generator) -> Draft:  # noqa: A001 (the sub-type's name)
    """A round table on a turned pedestal, a tulip foot, a drum, or four splayed legs."""
    radius, high, thick = rng.uniform(0.45, 0.68), rng.uniform(0.72, 0.77), rng.uniform(0.022, 0.045)
    top, leg = _LOOKS[int(rng.integers(5))]
    base, waist = radius * rng.uniform(0.45, 0.62), rng.uniform(0.035, 0.06)
    under, style = high - thick, int(rng.integers(4))
    rim = thick * rng.uniform(0.2, 0.5)
    plate = [(0.0, under), (radius - 1.5 * rim, under), (radius, under + rim), (radius, high - 0.4 * rim)]
    plate += [(radius - 0.4 * rim, high), (0.0, high)]
    parts = [lathe(top, plate, sides=48, crease=30.0)]
    if style == 3:
        low, up, hoop = 0.58 * radius, 0.46 * radius, 0.62 * radius
        legs = [[(sx * r, sy * r, z) for r, z in ((low, 0.0), (up, under))] for sx in (-1, 1) for sy in (-1, 1)]
        parts += [post(leg, line, [(0.035, 0.035), (0.06, 0.06)], edge=0.012) for line in legs]
        apron = [(hoop - 0.02, under - 0.07), (hoop, under - 0.07), (hoop, under), (hoop - 0.02, under)]
        parts.append(lathe(leg, apron, sides=48, closed=True))
    else:
        profile = (
            [
                (base, 0.0),
                (base, 0.02),
                (base * 0.8, 0.045),
                (waist * 2, 0.09),
                (waist, 0.16),
                (waist * 1.7, 0.3),
                (waist * 1.9, 0.38),
                (waist * 1.1, 0.5),
                (waist, 0.6),
                (waist * 1.8, under - 0.05),
            ],
            [
                (base, 0.0),
                (base, 0.012),
                (base * 0.7, 0.03),
                (base * 0.35, 0.07),
                (waist * 1.2, 0.16),
                (waist, 0.3),
                (waist, 0.45),
                (waist * 1.4, 0.58),
                (waist * 3.0, under - 0.05),
                (radius * 0.5, under),
            ],
            [
                (base, 0.0),
                (base * 0.97, 0.1),
                (base * 0.72, 0.3),
                (base * 0.6, 0.42),
                (base * 0.64, 0.55),
                (base * 0.9, under),
            ],
        )[style]
        line = np.array(profile)
        soft = np.concatenate((line[:2], smooth(line[1:], 4)[1:]))
        parts.append(lathe(leg, [(0.0, 0.0), *soft, (soft[-1][0], under), (0.0, under)], sides=40, crease=40.0))
        if style == 0:
            parts.append(
                lathe(leg, [(0.0, under - 0.05), (0.16, under - 0.05), (0.2, under), (0.0, under)], sides=40)
            )
    ways: dict[str, Triple] = {"up": (0, radius, high), "down": (0, -radius, high), "left": (-radius, 0, high)}
    marks = {f"top_{way}": at for way, at in {**ways, "right": (radius, 0.0, high)}.items()}
    return Draft(parts, marks, symmetry=4 if style == 3 else CONTINUOUS)


def trestle(rng: np.random.Generator) -> Draft:
    """A plank table on two trestles, in the form of an A, an X or an H, and a bar between them."""
    x, y, high = rng.uniform(1.6, 2.4) / 2, rng.uniform(0.8, 1.0) / 2, rng.uniform(0.72, 0.77)
    thick, bar, inset = rng.uniform(0.035, 0.06), rng.uniform(0.05, 0.08), rng.uniform(0.12, 0.22)
    top, leg = _LOOKS[int(rng.integers(4))]
    many, under, at, foot = int(rng.integers(4, 7)), high - thick, x * (1 - inset), y * rng.uniform(0.78, 0.9)
    step = 2 * y / many
    parts = [
        box(top, (2 * x, step - 0.006, thick), (0.0, -y + (i + 0.5) * step, high - thick / 2), edge=0.006)
        for i in range(many)
    ]
    parts += both(box(leg, (bar, 2 * foot, 0.05), (at, 0.0, under - 0.025), edge=0.008))
    style = int(rng.integers(3))
    if style == 2:
        sole = [(-foot, 0.0), (foot, 0.0), (foot, 0.03), (0.35 * foot, 0.09), (-0.35 * foot, 0.09), (-foot, 0.03)]
        parts += both(extrude(leg, sole, at - bar * 0.6, at + bar * 0.6, "x", edge=0.008))
        parts += both(post(leg, [(at, 0.0, 0.08), (at, 0.0, under)], (bar, 0.4 * foot), edge=0.01))
        beam = 0.45
    else:
        upper = 0.25 * foot if style == 0 else -0.75 * foot
        for sign in (-1.0, 1.0):
            line = [(at, sign * foot, 0.0), (at, sign * upper, under - 0.03)]
            parts += both(post(leg, line, (bar * 0.8, bar), edge=0.01).moved(sign * style * 0.001))
        if style == 0:
            parts += both(box(leg, (0.03, 1.3 * foot, 0.05), (at, 0.0, 0.28), edge=0.006))
        beam = 0.28 if style == 0 else 0.36
    parts.append(box(leg, (2 * at + (0.1 if style != 1 else 0.0), 0.045, 0.08), (0.0, 0.0, beam), edge=0.008))
    return Draft(parts, _corners(x, y, high, (at, foot)), symmetry=2)


def _four_legs(rng: np.random.Generator, x: float, y: float, symmetry: int) -> Draft:
    high, thick, wide = rng.uniform(0.72, 0.77), rng.uniform(0.02, 0.045), rng.uniform(0.05, 0.09)
    top, leg = _LOOKS[int(rng.integers(5))]
    under, apron = high - thick, rng.uniform(0.07, 0.11)
    inset = rng.uniform(0.01, 0.1)
    fx, fy = x - inset - wide / 2, y - inset - wide / 2
    style, splay = int(rng.integers(3)), rng.uniform(0.0, 0.04)
    if style == 0:
        one = post(leg, [(fx, fy, 0.0), (fx, fy, under)], [(wide * 0.55,) * 2, (wide,) * 2], edge=0.008)
    elif style == 1:
        one = _turned(leg, wide, under, apron).moved(fx, fy)
    else:
        one = tube(leg, [(fx + splay, fy + splay, 0.0), (fx, fy, under)], [wide * 0.3, wide * 0.45], sides=16)
    foot = splay if style == 2 else 0.0
    parts = [part.turned("z", turn) for turn in (0.0, 180.0) for part in both(one)]
    parts.append(
        cushion(
            top,
            (2 * x, 2 * y, thick),
            (0.0, 0.0, high - thick / 2),
            edge=thick * 0.3,
            corner=rng.uniform(0.01, 0.06),
        )
    )
    middle = under - apron / 2
    for sign in (-1.0, 1.0):
        parts.append(box(leg, (2 * fx, 0.022, apron), (0.0, sign * fy, middle)))
        parts.append(box(leg, (0.022, 2 * fy, apron), (sign * fx, 0.0, middle)))
    return Draft(parts, _corners(x, y, high, (fx + foot, fy + foot)), symmetry=symmetry)


def _turned(slot: str, wide: float, high: float, block: float) -> Part:
    """A turned leg with beads, thickest below its square head."""
    r = wide / 2
    z = high - block
    line = [(0.0, 0.0), (0.5 * r, 0.0), (0.7 * r, 0.04), (0.45 * r, 0.1), (0.6 * r, 0.3 * z), (0.95 * r, 0.75 * z)]
    line += [(0.6 * r, 0.82 * z), (0.95 * r, 0.87 * z), (0.65 * r, 0.92 * z), (r, 0.97 * z), (r, high), (0.0, high)]
    points = np.array(line)
    curve = smooth(points[1:-2], 3)
    return lathe(slot, [points[0], *curve, *points[-2:]], sides=16, crease=50.0)


def _corners(x: float, y: float, high: float, foot: tuple[float, float]) -> dict[str, Triple]:
    marks: dict[str, Triple] = {}
    for side, sx in (("left", -1.0), ("right", 1.0)):
        for end, sy in (("upper", 1.0), ("lower", -1.0)):
            marks[f"leg_{end}_{side}"] = (sx * foot[0], sy * foot[1], 0.0)
            marks[f"top_{end}_{side}"] = (sx * x, sy * y, high)
    return marks
