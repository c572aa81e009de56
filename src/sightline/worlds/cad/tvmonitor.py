"""Screens: flat and CRT television sets, computer monitors, all-in-one computers."""

from __future__ import annotations

import numpy as np

from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import (
    Part,
    both,
    box,
    cushion,
    cylinder,
    loft,
    post,
    rounded,
    slab,
    smooth,
    superellipse,
    tube,
)
from sightline.worlds.solids import Floats, Triple


def flat(rng: np.random.Generator) -> Draft:
    """A flat television set on a foot or two, with a box of electronics behind."""
    x, thick, edge = rng.uniform(0.45, 0.7), rng.uniform(0.03, 0.06), rng.uniform(0.008, 0.03)
    z, low = x * 9 / 16 + edge / 2, rng.uniform(0.05, 0.11)
    chin = edge * rng.uniform(1.0, 2.5)
    middle, back = low + z, thick / 2
    parts = _front(x, z, middle, -back, edge, chin)
    parts += [
        _pane("paint", (2 * x, 2 * z, thick), 0.0, middle, corner=0.015),
        _pane("dark", (1.3 * x, 1.1 * z, 0.05), back + 0.015, low + 0.75 * z, corner=0.05, edge=0.02),
        *_slots(0.5 * x, back + 0.042, low + 0.75 * z, 6, 0.07 * z),
        box("light", (0.012, 0.004, 0.006), (0.0, -back, low + chin * 0.4)),
    ]
    if rng.random() < 0.5:
        wide, deep = rng.uniform(0.5, 0.9) * x, rng.uniform(0.11, 0.15)
        parts.append(_pane("dark", (0.3 * x, 2 * low, 0.03), back * 0.5, low + 0.02, corner=0.01))
        parts.append(
            cushion("dark", (wide, 2 * deep, 0.02), (0.0, 0.0, 0.01), edge=0.008, corner=rng.uniform(0.02, deep))
        )
    else:
        at, reach = x * rng.uniform(0.6, 0.85), rng.uniform(0.1, 0.14)
        foot = [
            (at, -reach, 0.012),
            (at, -0.3 * reach, low * 0.8),
            (at, 0.3 * reach, low * 0.8),
            (at, reach, 0.012),
        ]
        parts += both(
            tube("metal", smooth(foot, 4), 0.012, sides=8), box("metal", (0.02, 0.02, low), (at, 0.0, low * 0.6))
        )
    return Draft(parts, _landmarks((x, -back, low, low + 2 * z), (x, back, low, low + 2 * z)))


def crt(rng: np.random.Generator) -> Draft:
    """A television set with a tube: a bulging 4:3 screen, a deep body that narrows behind, some with an aerial."""
    x, ratio, deep = rng.uniform(0.26, 0.38), rng.uniform(1.15, 1.3), rng.uniform(0.4, 0.5)
    z, foot = x / ratio, rng.uniform(0.015, 0.04)
    side = rng.random() < 0.35  # controls beside the screen, not below
    small, rise = rng.uniform(0.5, 0.65), rng.uniform(0.0, 0.1)
    front, middle, radius = -deep / 2, foot + z, rng.uniform(0.015, 0.04)
    body = [(0.0, 0.97, 0.97), (0.015, 1.0, 1.0), (0.09, 1.0, 1.0), (0.11, 0.96, 0.96), (0.3, 0.93, 0.92)]
    body += [
        (0.62, 0.7 + 0.2 * small, 0.74),
        (0.66, small + 0.1, small + 0.06),
        (0.97, small, small),
        (1.0, small - 0.03, small - 0.03),
    ]
    rings = []
    for along, wide, high in body:
        loop = rounded(x * wide - radius, z * high - radius, radius, 4)
        level = middle - (1.0 - high) * z * (1.0 - 2.0 * rise)  # the underside stays nearly level
        rings.append(np.column_stack((loop[:, 0], np.full(len(loop), front + along * deep), level + loop[:, 1])))
    sx, sz = (0.74 * x, 0.86 * z) if side else (0.9 * x, 0.76 * z)
    cx, cz = (-0.2 * x, middle) if side else (0.0, middle + 0.15 * z)
    parts = [
        loft("paint", rings, crease=40.0),
        _tube_face("dark", sx, sz, front + 0.004, 0.0).moved(cx, 0.0, cz),
        _tube_face("screen", sx * 0.95, sz * 0.94, front, 0.018).moved(cx, 0.0, cz),
        *_slots(0.8 * x * small, front + deep * 1.0, middle - 0.1 * z, 5, 0.08 * z),
    ]
    if side:
        parts.append(box("dark", (0.28 * x, 0.02, 1.6 * z), (0.76 * x, front, middle), edge=0.006))
        parts += [
            cylinder("metal", 0.05 * z, 0.03, (0.76 * x, front - 0.01, middle + h * z), "y", sides=16)
            for h in (0.6, 0.3)
        ]
        parts += [
            box("second", (0.2 * x, 0.008, 0.012), (0.76 * x, front - 0.011, middle - h * z))
            for h in (0.1, 0.25, 0.4, 0.55)
        ]
    else:
        parts += both(box("dark", (0.5 * x, 0.012, 0.16 * z), (0.6 * x, front, foot + 0.2 * z), edge=0.004))
        parts += [
            box("metal", (0.05 * x, 0.014, 0.03 * z), (u * x, front, foot + 0.2 * z))
            for u in (-0.2, -0.07, 0.07, 0.2)
        ]
    parts += [
        box("dark", (0.06, 0.06, 2 * foot), (u * x, v * deep, foot), edge=0.004)
        for u in (-0.7, 0.7)
        for v in (-0.35, 0.0)
    ]
    if rng.random() < 0.5:
        top = middle + 0.9 * z
        reach = rng.uniform(0.8, 1.3) * z
        parts.append(cushion("dark", (0.14, 0.08, 0.03), (0.0, front + 0.25 * deep, top), edge=0.012, corner=0.03))
        aerial = [(0.02, front + 0.25 * deep, top), (0.75 * reach, front + 0.25 * deep, top + reach)]
        parts += both(tube("metal", aerial, [0.005, 0.003], sides=6))
    back = (x * small, front + deep, rings[-1][:, 2].min(), rings[-1][:, 2].max())
    return Draft(parts, _landmarks((x, front, foot, foot + 2 * z), back), mirror=not side)


def monitor(rng: np.random.Generator) -> Draft:
    """A computer monitor on a stem and a foot."""
    x, ratio = rng.uniform(0.23, 0.32), float(rng.choice([16 / 9, 16 / 10, 4 / 3, 21 / 9]))
    edge, thick, z = rng.uniform(0.006, 0.02), rng.uniform(0.018, 0.04), x / ratio
    low, tilt = rng.uniform(0.08, 0.16), rng.uniform(0.0, 8.0)
    chin = edge * rng.uniform(1.0, 2.2)
    middle, back, stem = low + z, thick / 2, rng.uniform(0.05, 0.09)
    head = _front(x, z, middle, -back, edge, chin)
    head += [
        _pane("paint", (2 * x, 2 * z, thick), 0.0, middle, corner=0.01),
        _pane("paint", (1.2 * x, 1.1 * z, 0.03), back + 0.008, middle, corner=0.03, edge=0.014),
        _pane("dark", (0.12, 0.12, 0.02), back + 0.025, middle, corner=0.01),
        *_slots(0.45 * x, back + 0.023, middle + 0.38 * z, 3, 0.06 * z),
        *both(
            *(box("dark", (0.01, 0.006, 0.004), (0.55 * x + 0.016 * i, -back, low + chin * 0.4)) for i in range(2))
        ),
    ]
    parts = [part.turned("x", -tilt, (0.0, 0.0, middle)) for part in head]
    y = back + 0.05
    parts.append(
        post(
            "dark", [(0.0, y + 0.02, 0.01), (0.0, y, middle + 0.04)], [(stem * 1.3, 0.04), (stem, 0.03)], edge=0.01
        )
    )
    parts.append(cylinder("dark", 0.02, 0.06, (0.0, back + 0.03, middle), "y", sides=16))
    wide, deep = rng.uniform(0.22, 0.3), rng.uniform(0.17, 0.22)
    shape = rng.uniform(0.02, deep / 2)
    parts.append(cushion("dark", (wide, deep, 0.016), (0.0, y - deep * 0.25, 0.008), edge=0.006, corner=shape))
    corners = [_pane("dark", (2 * x, 2 * z, thick), 0.0, middle).turned("x", -tilt, (0.0, 0.0, middle)).vertices]
    top, bottom = corners[0][:, 2].max(), corners[0][:, 2].min()
    lean = np.sin(np.radians(tilt)) * z
    marks = _landmarks((x, -back, bottom, top), (x, back, bottom, top))
    moved = {key: (u, v + (lean if "top" in key else -lean), w) for key, (u, v, w) in marks.items()}
    return Draft(parts, moved)


def all_in_one(rng: np.random.Generator) -> Draft:
    """A computer in its screen: a broad chin, a swelling back, a bent metal foot."""
    x, thick, edge = rng.uniform(0.25, 0.34), rng.uniform(0.012, 0.025), rng.uniform(0.01, 0.018)
    z, low = x * rng.uniform(0.64, 0.74), rng.uniform(0.08, 0.13)
    chin, swell = rng.uniform(0.16, 0.26) * z, rng.uniform(0.02, 0.05)
    middle, back, wide = low + z, thick / 2, rng.uniform(0.16, 0.22)
    metal = "metal" if rng.random() < 0.6 else "paint"
    y, deep = back + swell * 0.8, rng.uniform(0.16, 0.2)
    bend = smooth([(y - 0.25 * deep - 0.06, 0.006), (y + 0.01, 0.006), (y + 0.035, 0.03), (y, middle - 0.2 * z)], 5)
    bend = np.concatenate(([(-deep * 0.55, 0.006)], bend))
    hump = _pane("paint", (1.6 * x, 1.6 * z, swell), back, middle, corner=0.1, edge=swell * 0.45, puff=swell * 0.6)
    parts = _front(x, z, middle, -back, edge, chin)
    parts += [
        _pane("paint", (2 * x, 2 * z, thick), 0.0, middle, corner=0.02),
        hump.bent(lambda p: np.maximum(p, (-np.inf, 0.0, -np.inf))),
        cylinder("dark", 0.055 * z, 0.004, (0.0, -back, low + chin * 0.45), "y", sides=20),
        box("second", (0.08 * x, 0.004, 0.08 * x), (0.0, back + swell * 1.05, middle + 0.35 * z), edge=0.002),
        *_slots(0.5 * x, back + swell * 0.95, middle - 0.5 * z, 3, 0.05 * z),
        _sheet(metal, bend, wide),
    ]
    return Draft(parts, _landmarks((x, -back, low, low + 2 * z), (x, back, low, low + 2 * z)))


def _front(x: float, z: float, middle: float, y: float, edge: float, chin: float) -> list[Part]:
    """Screen and dark frame on a front at y, its lower rim `chin` high."""
    high, rise = 2 * z - edge - chin, (chin - edge) / 2
    return [
        box("dark", (2 * x - edge, 0.004, high + edge), (0.0, y, middle + rise)),
        box("screen", (2 * x - 2 * edge, 0.008, high), (0.0, y, middle + rise)),
    ]


def _pane(
    slot: str, size: Triple, y: float, z: float, *, corner: float = 0.0, edge: float = 0.004, puff: float = 0.0
) -> Part:
    """An upright plate: width, height and thickness."""
    return cushion(slot, size, edge=edge, corner=corner, puff=puff).turned("x", 90.0).moved(0.0, y, z)


def _sheet(slot: str, path: Floats, wide: float) -> Part:
    """A bent sheet of metal along (y, z) points, tapering upwards."""
    halves = np.linspace(0.5, 0.35, len(path)) * wide
    return slab(slot, [[(-w, y, z), (w, y, z)] for (y, z), w in zip(path, halves, strict=True)], 0.01)


def _slots(half: float, y: float, z: float, many: int, step: float) -> list[Part]:
    """Vents across a back."""
    return [box("dark", (2 * half, 0.006, 0.3 * step), (0.0, y, z + (i - many / 2) * step)) for i in range(many)]


def _tube_face(slot: str, x: float, z: float, y: float, bulge: float) -> Part:
    """A rounded screen that bulges towards −y."""
    loop = superellipse(x, z, 7.0, 32)
    rows = [(1.0, 0.02), (1.0, 0.0), (0.75, -0.44 * bulge), (0.4, -0.84 * bulge), (0.0, -bulge)]
    return loft(slot, [np.column_stack((f * loop[:, 0], np.full(32, y + d), f * loop[:, 1])) for f, d in rows])


def _landmarks(
    front: tuple[float, float, float, float], back: tuple[float, float, float, float]
) -> dict[str, Triple]:
    """Corners of the front and the back, each given as half width, y, bottom, top."""
    marks: dict[str, Triple] = {}
    for end, (x, y, low, high) in (("front", front), ("back", back)):
        for side, sign in (("left", -1.0), ("right", 1.0)):
            marks |= {f"{end}_bottom_{side}": (sign * x, y, low), f"{end}_top_{side}": (sign * x, y, high)}
    return marks
