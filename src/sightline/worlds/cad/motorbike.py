"""Motorbikes: sport, cruiser, scooter and off-road."""

from __future__ import annotations

import numpy as np

from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.motorbike_parts import (
    bars,
    chassis,
    engine,
    fender,
    fork,
    knobs,
    marks,
    mirrors,
    plate,
    seat,
    sheet,
    swingarm,
    tank,
    v_twin,
    wheels,
)
from sightline.worlds.cad.parts import both, box, cylinder, ellipsoid, patch, pod, slab, smooth, tube, wire_wheel


def sport(rng: np.random.Generator) -> Draft:
    """A racing machine in a full fairing: low bars, high tail."""
    base, radius = rng.uniform(1.36, 1.44), rng.uniform(0.3, 0.315)
    c = chassis(base, radius, radius, rng.uniform(23, 26), 0.86, ((-0.02, 0.8), (0.56, 0.9)))
    f, b = c.front[0], c.back[0]
    wide = rng.uniform(0.22, 0.26)
    nose = [(f - 0.02, 0.8, 0.02, 0.02), (f + 0.02, 0.8, 0.1, 0.08), (f + 0.16, 0.81, wide - 0.03, 0.16)]
    nose += [(f + 0.34, 0.74, wide, 0.24), (f + 0.5, 0.68, wide - 0.02, 0.22), (f + 0.66, 0.68, 0.15, 0.16)]
    belly = [
        (f + 0.36, 0.42, 0.04, 0.06),
        (f + 0.42, 0.42, 0.16, 0.18),
        (f + 0.62, 0.36, 0.18, 0.2),
        (b - 0.5, 0.3, 0.16, 0.13),
        (b - 0.34, 0.28, 0.06, 0.06),
    ]
    tail = [
        (0.1, 0.76, 0.1, 0.06),
        (0.3, 0.8, 0.13, 0.08),
        (b - 0.1, 0.88, 0.1, 0.075),
        (b + 0.16, 0.97, 0.06, 0.05),
        (b + 0.22, 0.99, 0.02, 0.02),
    ]
    parts = [
        *wheels(c, 0.12, 0.18, rng),
        *fork(c, 0.09, 0.026, "metal"),
        pod("paint", nose),
        pod("paint", belly, power=3.0),
    ]
    parts += [
        tank(c, 0.15, 0.12, 0.87),
        pod("paint", tail),
        *seat([(-0.03, 0.83, 0.08, 0.03), (0.12, 0.81, 0.12, 0.035), (0.3, 0.86, 0.1, 0.03)]),
    ]
    parts += seat([(0.36, 0.9, 0.08, 0.03), (0.5, 0.94, 0.08, 0.03), (0.58, 0.98, 0.05, 0.02)])
    parts += [*engine(0.02, 0.42, 0.15, 0.17), *swingarm(c)]
    glass = [(f + 0.06, 0.86), (f + 0.14, 0.98), (f + 0.27, 1.06)]
    parts.append(
        slab(
            "glass",
            [
                [(x * (0.13 - 0.02 * i), y + 0.1 * x * x, z - 0.05 * x * x) for x in (-1, -0.5, 0, 0.5, 1)]
                for i, (y, z) in enumerate(glass)
            ],
            0.01,
        )
    )
    parts += both(
        ellipsoid("light", (0.055, 0.05, 0.035), (0.09, f + 0.06, 0.79), sides=12, rows=6).turned(
            "z", -20, (0.09, f, 0.79)
        )
    )
    parts += [
        box("tail", (0.1, 0.03, 0.035), (0.0, b + 0.21, 0.985), edge=0.008),
        *plate(b + 0.25, 0.74),
        *fender(c.front, radius, 0.07, 15, 150),
    ]
    parts.append(
        tube(
            "metal",
            [(-0.16, 0.1, 0.32), (-0.19, b - 0.35, 0.36), (-0.2, b - 0.2, 0.46), (-0.2, b + 0.12, 0.64)],
            [0.03, 0.035, 0.055, 0.06],
            sides=10,
        )
    )
    handle = (0.3, c.head[0] + 0.02, 0.88)
    parts += bars([(0.05, c.head[0] - 0.02, 0.88), (0.2, c.head[0] - 0.01, 0.9), handle], 0.014)
    parts += mirrors([(0.14, f + 0.25, 0.95), (0.28, f + 0.2, 1.02)])
    return Draft(parts, marks(c, handle, (0.0, f - 0.02, 0.8), 0.06, 0.09), mirror=False)


def cruiser(rng: np.random.Generator) -> Draft:
    """A long low machine: raked fork, teardrop tank, V engine, pulled-back bars, broad mudguards."""
    base, front, back = rng.uniform(1.6, 1.72), rng.uniform(0.33, 0.36), rng.uniform(0.32, 0.33)
    c = chassis(base, front, back, rng.uniform(31, 35), 0.96, ((0.1, 0.66), (0.66, 0.68)))
    b = c.back[0]
    parts = [*wheels(c, 0.11, 0.18, rng), *fork(c, 0.1, 0.03, "metal"), tank(c, 0.17, 0.13, 0.8, 0.06)]
    parts += seat(
        [(0.08, 0.66, 0.1, 0.03), (0.2, 0.63, 0.17, 0.045), (0.36, 0.69, 0.17, 0.05), (0.42, 0.75, 0.13, 0.03)]
    )
    parts += seat([(0.43, 0.75, 0.1, 0.03), (0.56, 0.74, 0.11, 0.03), (0.68, 0.72, 0.08, 0.02)])
    parts += [
        *v_twin(-0.02, 0.34),
        *swingarm(c),
        tube(
            "paint",
            smooth([(0.0, c.head[0] + 0.05, 0.84), (0.0, -0.1, 0.62), (0.0, 0.3, 0.55), (0.0, b, back + 0.1)], 3),
            0.03,
        ),
    ]
    parts += [*fender(c.front, front, 0.08, -15, 130), *fender(c.back, back, 0.12, -20, 150)]
    lamp = c.fork(0.86, 0.0, 0.13)
    parts += [
        cylinder("metal", 0.09, 0.12, lamp, "y", sides=18, edge=0.03),
        cylinder("light", 0.08, 0.03, (0.0, lamp[1] - 0.06, lamp[2]), "y", sides=18),
    ]
    parts += [
        box("tail", (0.1, 0.05, 0.06), (0.0, b + back + 0.1, back + 0.12), edge=0.015),
        *plate(b + back + 0.11, back - 0.02),
    ]
    handle = (rng.uniform(0.36, 0.42), c.head[0] + 0.26, rng.uniform(0.98, 1.08))
    bar = [
        (0.04, c.head[0], 0.98),
        (0.12, c.head[0] + 0.02, handle[2] + 0.04),
        (0.3, c.head[0] + 0.06, handle[2] + 0.05),
        handle,
    ]
    parts += [
        *bars(smooth(bar, 3).tolist(), 0.013),
        *mirrors([(0.3, bar[2][1], bar[2][2]), (0.36, bar[2][1] - 0.05, bar[2][2] + 0.16)]),
    ]
    for z in (0.2, 0.27):
        pipe = smooth([(-0.12, -0.1, 0.42), (-0.19, -0.06, z + 0.02), (-0.2, 0.2, z), (-0.2, b + 0.25, z)], 3)
        parts.append(tube("metal", pipe, np.linspace(0.025, 0.042, len(pipe)).tolist(), sides=10))
    parts += [
        *both(box("dark", (0.12, 0.26, 0.02), (0.22, c.front[0] + 0.62, 0.26))),
        *both(box("paint", (0.05, 0.26, 0.18), (0.16, 0.36, 0.5), edge=0.03)),
    ]
    return Draft(parts, marks(c, handle, (0.0, lamp[1] - 0.07, lamp[2]), 0.055, 0.09), mirror=False)


def scooter(rng: np.random.Generator) -> Draft:
    """A step-through: leg shield, flat floor, engine hidden behind panels, small wheels."""
    base, radius = rng.uniform(1.24, 1.34), rng.uniform(0.21, 0.25)
    c = chassis(base, radius, radius, rng.uniform(25, 28), 0.98, ((0.05, 0.78), (0.72, 0.82)))
    f, b = c.front[0], c.back[0]
    parts = [*wheels(c, 0.1, 0.11, rng), *fork(c, 0.06, 0.022, "dark")]
    shield = [
        (f + 0.26, 0.32, 0.17),
        (f + 0.22, 0.5, 0.22),
        (f + 0.24, 0.7, 0.22),
        (f + 0.33, 0.88, 0.14),
        (f + 0.36, 0.94, 0.07),
    ]
    grid = [[(x * w, y + 0.14 * x * x, z) for x in np.linspace(-1, 1, 7)] for y, z, w in shield]
    parts.append(slab("paint", grid, 0.05, crease=60.0))
    parts += [
        pod(
            "paint",
            [
                (f + 0.0, 0.62, 0.04, 0.06),
                (f + 0.1, 0.62, 0.1, 0.16),
                (f + 0.24, 0.6, 0.13, 0.24),
                (f + 0.32, 0.6, 0.05, 0.2),
            ],
        )
    ]
    parts.append(
        pod(
            "dark",
            [
                (f + 0.26, 0.3, 0.16, 0.05),
                (f + 0.4, 0.28, 0.17, 0.05),
                (0.1, 0.28, 0.17, 0.05),
                (0.2, 0.3, 0.14, 0.05),
            ],
            power=4.0,
        )
    )
    rear = [
        (0.0, 0.5, 0.1, 0.12),
        (0.06, 0.54, 0.15, 0.19),
        (0.3, 0.56, 0.2, 0.19),
        (b, 0.6, 0.2, 0.16),
        (b + 0.2, 0.66, 0.12, 0.1),
        (b + 0.28, 0.7, 0.04, 0.04),
    ]
    parts += [
        pod("paint", rear, power=2.6),
        *seat(
            [
                (0.02, 0.74, 0.1, 0.03),
                (0.2, 0.77, 0.15, 0.05),
                (0.42, 0.79, 0.15, 0.05),
                (0.6, 0.82, 0.13, 0.05),
                (0.74, 0.82, 0.08, 0.03),
            ]
        ),
    ]
    parts += [
        box("dark", (0.22, 0.46, 0.2), (0.0, b - 0.2, 0.32), edge=0.05),
        tube(
            "metal",
            [(-0.14, b - 0.4, 0.24), (-0.17, b - 0.2, 0.26), (-0.17, b + 0.22, 0.3)],
            [0.025, 0.05, 0.05],
            sides=10,
        ),
    ]
    parts += [*fender(c.front, radius, 0.09, -10, 160), *fender(c.back, radius, 0.08, -30, 60)]
    top = c.fork(1.04)
    parts.append(
        pod(
            "paint",
            [
                (top[1] - 0.12, 1.0, 0.05, 0.04),
                (top[1] - 0.08, 1.0, 0.1, 0.08),
                (top[1] + 0.02, 1.0, 0.12, 0.07),
                (top[1] + 0.08, 0.99, 0.08, 0.03),
            ],
        )
    )
    lamp = (0.0, top[1] - 0.12, 1.0)
    parts += [
        ellipsoid("light", (0.075, 0.04, 0.06), lamp, sides=14, rows=8),
        *both(ellipsoid("light", (0.03, 0.03, 0.03), (0.16, f + 0.2, 0.66), sides=10, rows=6)),
    ]
    handle = (0.31, top[1] + 0.07, 1.03)
    parts += [
        *bars([(0.06, top[1] - 0.01, 1.0), (0.2, top[1] + 0.01, 1.03), handle], 0.014),
        *mirrors([(0.2, top[1], 1.04), (0.3, top[1] - 0.02, 1.22)]),
    ]
    parts += [box("tail", (0.16, 0.04, 0.07), (0.0, b + 0.27, 0.7), edge=0.02), *plate(b + 0.28, 0.52)]
    parts += [
        tube(
            "metal",
            [(0.1, b - 0.02, 0.8), (0.1, b + 0.22, 0.86), (-0.1, b + 0.22, 0.86), (-0.1, b - 0.02, 0.8)],
            0.012,
            sides=6,
        )
    ]
    if rng.random() < 0.5:
        parts.append(box("paint", (0.36, 0.3, 0.26), (0.0, b + 0.26, 0.99), edge=0.05))
    return Draft(parts, marks(c, handle, (0.0, lamp[1] - 0.04, 1.0), 0.05, 0.055), mirror=False)


def off_road(rng: np.random.Generator) -> Draft:
    """A tall light machine: wire wheels, high front mudguard, long flat seat, wide bars."""
    base, front, back = rng.uniform(1.42, 1.5), rng.uniform(0.35, 0.37), rng.uniform(0.325, 0.345)
    c = chassis(base, front, back, rng.uniform(26, 28), 1.08, ((-0.12, 0.95), (0.66, 0.96)))
    f, b = c.front[0], c.back[0]
    parts = [
        *wire_wheel(front, 0.042, (0.0, *c.front), spokes=18, hub=0.05),
        *wire_wheel(back, 0.055, (0.0, *c.back), spokes=18, hub=0.06),
    ]
    parts += [*knobs(c.front, front, 0.05), *knobs(c.back, back, 0.065), *fork(c, 0.095, 0.026, "metal")]
    parts += both(tube("second", [c.fork(-0.02, 0.095), c.fork(0.42, 0.095)], 0.034, sides=10))
    parts += seat(
        [
            (-0.14, 0.98, 0.07, 0.03),
            (0.1, 0.93, 0.09, 0.04),
            (0.4, 0.94, 0.09, 0.04),
            (0.62, 0.97, 0.07, 0.03),
            (0.68, 0.98, 0.04, 0.015),
        ]
    )
    parts += [
        pod(
            "paint",
            [
                (c.head[0] + 0.02, 0.9, 0.04, 0.06),
                (c.head[0] + 0.12, 0.88, 0.13, 0.12),
                (-0.12, 0.88, 0.11, 0.11),
                (0.05, 0.86, 0.05, 0.06),
            ],
        )
    ]
    shroud = [
        (c.head[0] - 0.06, 0.98),
        (0.02, 0.9),
        (-0.08, 0.72),
        (c.head[0] + 0.05, 0.66),
        (c.head[0] - 0.1, 0.8),
    ]
    parts += both(
        sheet("paint", shroud, 0.12, 0.19),
        sheet("paint", [(0.05, 0.88), (0.52, 0.93), (0.4, 0.72), (0.1, 0.66)], 0.1, 0.15),
    )
    beak = [(f - 0.26, 0.86), (f - 0.1, 0.9), (f + 0.1, 0.92), (f + 0.34, 0.86)]
    parts.append(
        slab(
            "paint",
            [
                [(x * w, y, z - 0.03 * x * x) for x in (-1, -0.5, 0, 0.5, 1)]
                for (y, z), w in zip(beak, (0.04, 0.09, 0.09, 0.05), strict=True)
            ],
            0.012,
            crease=60.0,
        )
    )
    tail = [(0.5, 0.93), (0.7, 0.97), (b + 0.3, 1.02), (b + 0.4, 1.02)]
    parts.append(
        slab(
            "paint",
            [
                [(x * w, y, z - 0.03 * x * x) for x in (-1, -0.5, 0, 0.5, 1)]
                for (y, z), w in zip(tail, (0.07, 0.09, 0.08, 0.05), strict=True)
            ],
            0.012,
            crease=60.0,
        )
    )
    lamp = c.fork(0.93, 0.0, 0.1)
    parts += [
        sheet(
            "second",
            [
                (lamp[1] - 0.02, lamp[2] + 0.12),
                (lamp[1] + 0.02, lamp[2] + 0.12),
                (lamp[1] + 0.06, lamp[2] - 0.1),
                (lamp[1] + 0.02, lamp[2] - 0.1),
            ],
            -0.1,
            0.1,
        )
    ]
    parts += [
        ellipsoid("light", (0.065, 0.03, 0.05), (0.0, lamp[1] - 0.005, lamp[2]), sides=14, rows=6),
        box("tail", (0.07, 0.03, 0.04), (0.0, b + 0.36, 0.99), edge=0.008),
    ]
    parts += [
        *engine(-0.02, 0.48, 0.12, 0.15),
        *swingarm(c),
        box("dark", (0.06, 0.08, 0.24), (0.0, -0.06, 0.7), edge=0.02),
    ]
    parts += [
        tube(
            "paint",
            smooth(
                [
                    (0.0, c.head[0], 1.0),
                    (0.0, c.head[0] + 0.1, 0.6),
                    (0.0, -0.12, 0.34),
                    (0.0, 0.16, 0.33),
                    (0.0, 0.22, 0.6),
                    (0.0, 0.2, 0.88),
                ],
                3,
            ),
            0.022,
        )
    ]
    pipe = smooth(
        [
            (-0.06, -0.12, 0.66),
            (-0.12, -0.2, 0.5),
            (-0.13, 0.05, 0.6),
            (-0.14, 0.34, 0.72),
            (-0.15, b + 0.05, 0.84),
        ],
        3,
    )
    parts.append(
        tube("metal", pipe, np.concatenate((np.full(len(pipe) - 4, 0.022), np.full(4, 0.05))).tolist(), sides=10)
    )
    handle = (rng.uniform(0.37, 0.41), c.head[0] + 0.12, 1.17)
    parts += bars(
        smooth(
            [(0.04, c.head[0] + 0.0, 1.1), (0.14, c.head[0] + 0.02, 1.16), (0.26, c.head[0] + 0.06, 1.18), handle],
            3,
        ).tolist(),
        0.014,
    )
    parts += both(
        slab(
            "dark",
            patch(
                [
                    (0.2, handle[1] - 0.16, 1.12),
                    (0.36, handle[1] - 0.16, 1.12),
                    (0.36, handle[1] - 0.14, 1.2),
                    (0.2, handle[1] - 0.14, 1.2),
                ],
                4,
                2,
            ),
            0.02,
        )
    )
    return Draft(parts, marks(c, handle, (0.0, lamp[1] - 0.03, lamp[2]), 0.05, 0.06), mirror=False)
