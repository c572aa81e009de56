"""Aeroplanes: airliner, fighter, propeller and biplane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import Part, both, box, cylinder, ellipsoid, foil, lathe, patch, pod, slab, tube
from sightline.worlds.solids import Triple

Row = tuple[float, float, float, float, float]


def airliner(rng: np.random.Generator) -> Draft:
    """A jet with swept low wings, two or four engines below them, rows of windows and a tall fin."""
    length, r = rng.uniform(34.0, 46.0), rng.uniform(1.9, 2.3)
    f, b, span = -length / 2, length / 2, rng.uniform(15.5, 19.5)
    hull = [(f, -0.5, 0.05, 0.05), (f + 0.6, -0.35, 0.75, 0.7), (f + 2.2, -0.1, 1.5, 1.5), (f + 5.0, 0.0, r, r)]
    hull += [(0.0, 0.0, r, r), (b - 13.0, 0.0, r, r), (b - 6.0, 0.65, 0.66 * r, 0.64 * r), (b, 1.2, 0.22, 0.3)]
    root, sweep = -0.07 * length, rng.uniform(0.42, 0.55)
    tip: Row = (span, root + sweep * span, 1.3 * span / 17.0 - 0.9, 1.5, 0.16)
    wing: list[Row] = [(0.6, root - 0.5, -1.1, 7.2, 0.95), (r, root + 0.3, -1.0, 6.6, 0.8)]
    wing += [(0.36 * span, root + 0.36 * sweep * span, -0.55, 4.4, 0.5), tip]
    fin: list[Row] = [
        (0.0, b - 9.2, 1.4, 7.6, 0.5),
        (0.0, b - 6.2, 3.0, 5.2, 0.45),
        (0.0, b - 2.4, r + 5.6, 2.2, 0.2),
    ]
    rear: list[Row] = [(0.2, b - 5.2, 1.0, 3.9, 0.4), (6.2, b - 1.9, 1.7, 1.4, 0.14)]
    parts = [
        pod("paint", hull, points=24, per=4),
        *both(foil("metal", wing), foil("paint", rear)),
        foil("second", fin, upright=True),
    ]
    if rng.random() < 0.6:
        parts += both(
            foil(
                "second",
                [(span, tip[1] + 0.2, tip[2], 1.3, 0.12), (span + 0.35, tip[1] + 1.2, tip[2] + 1.7, 0.6, 0.08)],
                upright=True,
            )
        )
    places = [0.3, 0.55] if rng.random() < 0.35 else [0.32]
    for share in places:
        x, y = share * span, root + sweep * share * span
        parts += both(
            *_nacelle((x, y - 1.4, -2.15), rng.uniform(0.98, 1.2)),
            foil("metal", [(x, y - 1.2, -1.4, 3.6, 0.3), (x, y + 0.6, -0.75, 2.4, 0.3)], upright=True),
        )
    many = int(rng.integers(26, 34))
    for y in np.linspace(f + 5.5, b - 9.0, many):
        if abs(y - (f + 5.5)) > 0.5:
            parts += both(box("dark", (0.1, 0.34, 0.44), (r * 0.985, y, 0.36)))
    parts += _windscreen(f + 1.15, 0.55, 1.0)
    parts += both(
        box("dark", (0.08, 0.06, 1.9), (r * 0.99, f + 4.2, 0.0)),
        box("dark", (0.08, 0.06, 1.9), (r * 0.99, f + 5.1, 0.0)),
    )
    if rng.random() < 0.7:
        parts += [
            *_gear((0.0, f + 4.4, -r - 1.5), 0.55, 0.3, 2.0),
            *both(*_gear((2.6, root + 4.6, -r - 1.5), 0.68, 0.45, 2.6)),
        ]
    marks = _marks((span, tip[1] + 0.75, tip[2]), (6.2, b - 1.2, 1.7), (0.0, f, -0.5), fin, (0.0, b, 1.2))
    return Draft(parts, marks)


def fighter(rng: np.random.Generator) -> Draft:
    """A jet fighter: pointed nose, bubble canopy, swept short wings, nozzle, missiles."""
    length, span = rng.uniform(14.5, 18.0), rng.uniform(4.6, 6.0)
    f, b = -length / 2, length / 2
    hull = [(f, 0.0, 0.03, 0.03), (f + 1.2, 0.0, 0.3, 0.3), (f + 3.2, 0.05, 0.55, 0.58), (f + 5.5, 0.0, 0.85, 0.72)]
    hull += [(0.0, -0.05, 1.2, 0.75), (b - 3.5, 0.0, 1.15, 0.7), (b - 0.9, 0.0, 0.72, 0.66)]
    root, delta = rng.uniform(-1.6, -0.6), rng.random() < 0.5
    chord = 6.6 if delta else 4.6
    sweep = 0.95 if delta else rng.uniform(0.65, 0.8)
    wing: list[Row] = [(0.6, root, 0.0, chord, 0.34), (span, root + sweep * span, 0.0, 1.2, 0.08)]
    fin: list[Row] = [(0.0, b - 5.0, 0.5, 4.2, 0.26), (0.0, b - 1.7, 3.2, 1.5, 0.1)]
    rear: list[Row] = [(0.6, b - 2.6, -0.05, 2.5, 0.2), (2.9, b - 0.6, -0.1, 1.0, 0.07)]
    parts = [
        pod("paint", hull, points=20),
        *both(foil("paint", wing), foil("paint", rear)),
        foil("paint", fin, upright=True),
    ]
    parts += both(foil("paint", [(0.4, f + 3.8, 0.1, root - f - 2.4, 0.2), (1.2, root - 0.4, 0.05, 1.4, 0.1)]))
    parts.append(
        pod(
            "glass",
            [
                (f + 2.6, 0.5, 0.1, 0.08),
                (f + 3.1, 0.6, 0.36, 0.3),
                (f + 4.1, 0.72, 0.46, 0.46),
                (f + 5.4, 0.66, 0.4, 0.34),
                (f + 6.2, 0.6, 0.15, 0.1),
            ],
        )
    )
    nozzle = [(0.4, 0.0), (0.62, 0.0), (0.7, -0.6), (0.72, -1.3), (0.6, -1.4), (0.46, -0.6)]
    parts.append(lathe("metal", [(p, -h) for p, h in nozzle], (0.0, b - 1.35, 0.0), "y", sides=20, closed=True))
    parts.append(cylinder("dark", 0.55, 0.3, (0.0, b - 0.8, 0.0), "y", sides=20))
    if rng.random() < 0.5:
        parts.append(
            pod(
                "paint",
                [
                    (f + 4.4, -0.75, 0.5, 0.32),
                    (f + 6.0, -0.8, 0.6, 0.42),
                    (0.5, -0.6, 0.6, 0.4),
                    (3.0, -0.4, 0.3, 0.3),
                ],
                power=3.5,
            )
        )
        parts.append(box("dark", (0.85, 0.2, 0.46), (0.0, f + 4.34, -0.75), edge=0.08))
    else:
        parts += both(
            box("paint", (0.7, 5.5, 1.0), (0.95, f + 8.0, 0.0), edge=0.2),
            box("dark", (0.55, 0.2, 0.8), (0.95, f + 5.22, 0.0), edge=0.1),
        )
    for share in (0.55, 0.98):
        x, y = 0.6 + share * (span - 0.6), root + sweep * share * span
        missile = [(0.0, -1.6), (0.09, -1.3), (0.1, 1.2), (0.0, 1.3)]
        fins = [
            box("second", (0.5, 0.3, 0.02), (x, y + 1.7, -0.02 if share > 0.9 else -0.3)),
            box("second", (0.02, 0.3, 0.5), (x, y + 1.7, -0.02 if share > 0.9 else -0.3)),
        ]
        parts += both(lathe("second", missile, (x, y + 0.6, -0.02 if share > 0.9 else -0.3), "y", sides=10), *fins)
    parts += both(foil("paint", [(0.5, b - 3.4, -0.4, 1.6, 0.08), (0.75, b - 2.7, -1.1, 0.8, 0.05)], upright=True))
    if rng.random() < 0.6:
        parts += [*_gear((0.0, f + 5.0, -1.75), 0.26, 0.16, 1.3), *both(*_gear((1.2, 1.2, -1.75), 0.36, 0.22, 1.5))]
    return Draft(
        parts,
        _marks((span, root + sweep * span + 0.6, 0.0), (2.9, b - 0.1, -0.1), (0.0, f, 0.0), fin, (0.0, b, 0.0)),
    )


def propeller(rng: np.random.Generator) -> Draft:
    """A light high-wing aeroplane with one propeller, struts and a fixed undercarriage."""
    length, span = rng.uniform(7.4, 8.6), rng.uniform(5.0, 5.7)
    f, b = -length / 2, length / 2
    hull = [
        (f + 0.25, 0.0, 0.3, 0.32),
        (f + 0.4, 0.0, 0.46, 0.44),
        (f + 1.5, 0.02, 0.54, 0.52),
        (f + 2.2, 0.1, 0.56, 0.62),
    ]
    hull += [
        (f + 3.6, 0.12, 0.55, 0.62),
        (f + 4.8, 0.15, 0.38, 0.42),
        (b - 0.3, 0.25, 0.1, 0.16),
        (b, 0.27, 0.03, 0.08),
    ]
    root, chord = f + 1.95, rng.uniform(1.45, 1.65)
    wing: list[Row] = [
        (0.0, root, 0.82, chord, 0.2),
        (0.5 * span, root, 0.86, chord, 0.2),
        (span, root + 0.15, 0.94, 1.1, 0.12),
    ]
    fin: list[Row] = [
        (0.0, b - 1.7, 0.3, 1.55, 0.14),
        (0.0, b - 1.1, 0.6, 1.1, 0.13),
        (0.0, b - 0.6, 1.6, 0.75, 0.08),
    ]
    rear: list[Row] = [(0.05, b - 1.05, 0.25, 1.0, 0.12), (1.7, b - 0.85, 0.25, 0.65, 0.08)]
    parts = [
        pod("paint", hull, power=4.0, points=24),
        *both(foil("paint", wing), foil("paint", rear)),
        foil("paint", fin, upright=True),
    ]
    parts += both(tube("metal", [(0.5, root + 0.55, -0.2), (0.52 * span, root + 0.5, 0.8)], 0.045, sides=6))
    parts += _pane(
        [(-0.46, f + 1.55, 0.5), (0.46, f + 1.55, 0.5), (0.42, f + 2.0, 0.82), (-0.42, f + 2.0, 0.82)], 0.06
    )
    for y0, y1, top0, top1 in ((f + 1.75, f + 2.65, f + 2.1, f + 2.65), (f + 2.75, f + 3.55, f + 2.75, f + 3.4)):
        parts += both(*_pane([(0.545, y0, 0.24), (0.555, y1, 0.24), (0.5, top1, 0.6), (0.5, top0, 0.6)], 0.07))
    parts += [
        *_propeller(f + 0.18, 0.0, rng.uniform(0.92, 1.05), int(rng.integers(2, 4))),
        *both(cylinder("dark", 0.12, 0.06, (0.24, f + 0.26, 0.12), "y", sides=12)),
    ]
    parts += both(
        tube("paint", [(0.3, f + 2.6, -0.4), (1.15, f + 2.9, -1.0)], 0.05, sides=8), *_spat((1.2, f + 2.95, -1.1))
    )
    parts += [
        tube("metal", [(0.0, f + 0.9, -0.4), (0.0, f + 0.75, -1.1)], 0.045, sides=8),
        *_spat((0.0, f + 0.75, -1.12)),
    ]
    parts += both(box("second", (0.06, 2.6, 0.12), (0.545, f + 1.9, -0.08), edge=0.02))
    marks = _marks((span, root + 0.7, 0.94), (1.7, b - 0.5, 0.25), (0.0, f, 0.0), fin, (0.0, b, 0.27))
    return Draft(parts, marks)


def biplane(rng: np.random.Generator) -> Draft:
    """Two wings with struts and wires, a radial engine, an open cockpit, and a skid below the tail."""
    length, span = rng.uniform(6.6, 7.8), rng.uniform(4.2, 5.0)
    f, b = -length / 2, length / 2
    hull = [
        (f + 0.7, 0.0, 0.46, 0.48),
        (f + 1.2, 0.0, 0.48, 0.52),
        (f + 2.8, 0.0, 0.46, 0.52),
        (b - 1.5, 0.08, 0.2, 0.26),
        (b, 0.12, 0.04, 0.1),
    ]
    root, chord, stagger = f + 1.15, rng.uniform(1.15, 1.4), rng.uniform(0.1, 0.35)
    gap = rng.uniform(1.35, 1.6)
    low, high = -0.38, -0.38 + gap
    upper: list[Row] = [
        (0.0, root - stagger, high, chord, 0.14),
        (0.85 * span, root - stagger, high + 0.08, chord, 0.14),
    ]
    upper.append((span, root - stagger + 0.3, high + 0.1, 0.6 * chord, 0.06))
    lower: list[Row] = [
        (0.3, root, low, chord, 0.14),
        (0.8 * span, root, low + 0.12, chord, 0.14),
        (0.94 * span, root + 0.3, low + 0.14, 0.6 * chord, 0.06),
    ]
    fin: list[Row] = [
        (0.0, b - 0.95, 0.1, 1.15, 0.1),
        (0.0, b - 0.75, 0.5, 1.05, 0.1),
        (0.0, b - 0.45, 0.98, 0.6, 0.06),
    ]
    rear: list[Row] = [
        (0.0, b - 1.1, 0.16, 1.1, 0.1),
        (1.0, b - 1.0, 0.16, 0.95, 0.1),
        (1.45, b - 0.7, 0.16, 0.4, 0.05),
    ]
    parts = [
        pod("paint", hull, power=2.6, points=18),
        *both(foil("second", upper), foil("second", lower), foil("second", rear)),
        foil("paint", fin, upright=True),
    ]
    for share in (0.72,) if rng.random() < 0.5 else (0.42, 0.8):
        x = share * span
        for y in (root + 0.2, root + chord - 0.3):
            parts += both(tube("wood", [(x, y, low + 0.1), (x, y - stagger, high + 0.06)], 0.035, sides=6))
        parts += both(
            tube("dark", [(0.45, root + 0.4, low + 0.02), (x, root + 0.3 - stagger, high + 0.06)], 0.012, sides=4)
        )
        parts += both(tube("dark", [(x, root + 0.3, low + 0.1), (0.4, root + 0.4 - stagger, high)], 0.012, sides=4))
    for y in (root + 0.15, root + chord - 0.35):
        parts += both(tube("wood", [(0.36, y, 0.4), (0.4, y - stagger, high)], 0.03, sides=6))
    parts += [
        cylinder("metal", 0.5, 0.3, (0.0, f + 0.6, 0.0), "y", sides=20, edge=0.06),
        cylinder("dark", 0.3, 0.2, (0.0, f + 0.46, 0.0), "y", sides=16),
    ]
    for i in range(7):
        parts.append(
            cylinder("dark", 0.1, 0.34, (0.0, f + 0.52, 0.42), sides=10).turned(
                "y", 360.0 / 7 * i, (0.0, f + 0.52, 0.0)
            )
        )
    parts += _propeller(f + 0.3, 0.0, rng.uniform(1.1, 1.25), 2, "wood")
    seat = f + rng.uniform(2.9, 3.2)
    parts += [
        ellipsoid("dark", (0.3, 0.42, 0.14), (0.0, seat, 0.48)),
        *_pane(
            [(-0.24, seat - 0.5, 0.5), (0.24, seat - 0.5, 0.5), (0.2, seat - 0.4, 0.78), (-0.2, seat - 0.4, 0.78)],
            0.03,
        ),
    ]
    parts.append(
        pod(
            "paint", [(seat + 0.4, 0.4, 0.08, 0.1), (seat + 0.55, 0.45, 0.16, 0.16), (seat + 1.2, 0.36, 0.06, 0.06)]
        )
    )
    r = rng.uniform(0.34, 0.42)
    for y in (root - 0.1, root + 0.55):
        parts += both(tube("dark", [(0.4, y, low), (0.72, root + 0.1, -1.15)], 0.035, sides=6))
    parts += [
        tube("dark", [(-0.85, root + 0.1, -1.15), (0.85, root + 0.1, -1.15)], 0.035, sides=6),
        *both(*_tyre((0.84, root + 0.1, -1.15), r, 0.14)),
    ]
    parts.append(tube("dark", [(0.0, b - 0.8, -0.05), (0.0, b - 0.35, -0.42)], 0.04, sides=6))
    marks = _marks(
        (span, root - stagger + 0.6, high + 0.1),
        (1.45, b - 0.5, 0.16),
        (0.0, f + 0.1, 0.0),
        fin,
        (0.0, b + 0.1, 0.2),
    )
    return Draft(parts, marks)


def _nacelle(at: Triple, r: float) -> list[Part]:
    """A jet engine: a hollow cowl, a fan, a cone behind."""
    x, y, z = at
    cowl = [
        (0.86 * r, -1.1 * r),
        (0.98 * r, -1.25 * r),
        (1.08 * r, -0.8 * r),
        (1.05 * r, 0.6 * r),
        (0.78 * r, 1.5 * r),
        (0.66 * r, 1.5 * r),
        (0.8 * r, 0.2 * r),
    ]
    return [
        lathe("paint", cowl, at, "y", sides=18, closed=True, crease=50.0),
        cylinder("dark", 0.86 * r, 0.3 * r, (x, y - 0.3 * r, z), "y", sides=18),
        lathe("metal", [(0.0, -0.95 * r), (0.28 * r, -0.45 * r), (0.28 * r, -0.3 * r)], at, "y", sides=12),
        lathe("metal", [(0.55 * r, 0.6 * r), (0.55 * r, 1.6 * r), (0.0, 2.3 * r)], at, "y", sides=14),
    ]


def _windscreen(y: float, z: float, size: float) -> list[Part]:
    """Cockpit windows around the nose of an airliner."""
    panes = []
    for turn in (12, 42, 68):
        pane = box("glass", (0.5 * size, 0.7 * size, 0.46 * size), (0.0, -0.62, 0.16), edge=0.06)
        panes += both(pane.turned("x", 30).moved(0.0, -0.35, 0.0).turned("z", turn).moved(0.0, y + 1.05, z))
    return panes


def _pane(corners: Sequence[Triple], thick: float, slot: str = "glass") -> list[Part]:
    return [slab(slot, patch(corners, 4, 2), thick)]


def _propeller(y: float, z: float, reach: float, blades: int, slot: str = "dark") -> list[Part]:
    """Spinner and blades in the plane of x and z; two stand upright, of three one points up."""
    parts = [lathe("metal", [(0.0, -0.2), (0.1, -0.12), (0.17, 0.02), (0.17, 0.12)], (0.0, y, z), "y", sides=14)]
    for i in range(blades):
        blade = pod(
            slot,
            [
                (0.0, 0.0, 0.05, 0.02),
                (0.3 * reach, 0.0, 0.09, 0.025),
                (0.8 * reach, 0.0, 0.08, 0.018),
                (reach, 0.0, 0.02, 0.01),
            ],
            points=8,
            per=2,
        )
        parts.append(blade.turned("x", 90).turned("y", 360.0 / blades * i).moved(0.0, y, z))
    return parts


def _tyre(at: Triple, r: float, wide: float) -> list[Part]:
    return [
        cylinder("tyre", r, wide, at, "x", sides=20, edge=0.3 * wide),
        cylinder("metal", 0.5 * r, 1.1 * wide, at, "x", sides=14),
    ]


def _gear(at: Triple, r: float, wide: float, strut: float) -> list[Part]:
    """A strut with two wheels; `at` is the axle."""
    x, y, z = at
    pair = [p for d in (-0.55, 0.55) for p in _tyre((x + d * (r + wide), y, z), r, wide)]
    return [
        *pair,
        tube("metal", [(x, y, z), (x, y, z + strut)], 0.22 * r, sides=8),
        tube("metal", [(x - r, y, z), (x + r, y, z)], 0.15 * r, sides=6),
    ]


def _spat(at: Triple) -> list[Part]:
    """A wheel in its fairing."""
    x, y, z = at
    cover = pod(
        "paint",
        [
            (y - 0.4, 0.08, 0.02, 0.03),
            (y - 0.2, 0.08, 0.12, 0.15),
            (y + 0.1, 0.1, 0.12, 0.15),
            (y + 0.55, 0.12, 0.02, 0.03),
        ],
        points=12,
    )
    return [cover.moved(x, 0.0, z), *_tyre((x, y, z - 0.02), 0.22, 0.12)]


def _marks(wing: Triple, elevator: Triple, nose: Triple, fin: list[Row], tail: Triple) -> dict[str, Triple]:
    """Landmarks: tips of wing and elevator at +x, nose, fin, tail."""
    first, last = fin[0], fin[-1]
    marks: dict[str, Triple] = {
        "noselanding": nose,
        "tail": tail,
        "rudder_lower": (0.0, first[1] + 0.1 * first[3], first[2] + 0.15 * (last[2] - first[2])),
        "rudder_upper": (0.0, last[1] + last[3], last[2]),
    }
    for side, sign in (("left", -1.0), ("right", 1.0)):
        marks |= {
            f"{side}_wing": (sign * wing[0], *wing[1:]),
            f"{side}_elevator": (sign * elevator[0], *elevator[1:]),
        }
    return marks
