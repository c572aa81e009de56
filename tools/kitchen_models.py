"""Model the kitchen nine: lathes, sweeps and booleans in model units. `bake_kitchen` turns them into arrays.

A cavity's wall is upright and its edges are sharp, so its one outline holds at every depth, and what does not fit
into it rests on the rim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lofts import Pair, bezier, combine, hull, lathe, loft, rounded, shaded, sweep
from sightline.worlds.shapes.prisms import Mesh
from sightline.worlds.shapes.surfaces import Surface
from sightline.worlds.solids import Floats

ROUND: Final = 64
"""Corners of a circle where nothing asks for others."""


class Model(NamedTuple):
    """A modelled shape.

    Attributes:
        mesh: Anywhere in space; baking moves it to its place.
        carries: Whether it ends in a flat top (with the cavity) that things can stand on.
        hollow: Corners of the cavity, (n, 2), and the height of its floor.
    """

    mesh: Mesh
    carries: bool
    hollow: tuple[Floats, float] | None = None


def bottle() -> Model:
    """A wine bottle with a label set in and a capsule over the neck."""
    foot = rounded([(0, 0, 0), (0.685, 0, 0.10), (0.685, 0.62, 0)])
    label = np.array([(0.668, 0.65), (0.668, 2.42), (0.685, 2.45)])
    shoulder = bezier((0.685, 3.05), (0.685, 3.78), (0.25, 3.62), (0.225, 4.42), 12)
    capsule = [(0.222, 4.5), (0.25, 4.52), (0.235, 5.28)]
    cork = rounded([(0.235, 5.28, 0), (0.275, 5.30, 0.02), (0.275, 5.61, 0.05), (0, 5.61, 0)], 3)[1:]
    return Model(shaded(lathe(np.concatenate((foot, label, shoulder, capsule, cork)), ROUND)), carries=False)


def can() -> Model:
    """A tin with beaded walls, a seam at both ends and a groove between seam and lid."""
    low = [(0, 0), (0.55, 0), (0.57, 0.02), (0.57, 0.08), (0.545, 0.11), (0.545, 0.55)]
    z = np.linspace(0.55, 1.43, 25)[1:]
    beads = np.column_stack((0.545 - 0.008 * (1.0 - np.cos(2.0 * np.pi * (z - 0.55) / 0.22)), z))
    high = [(0.545, 1.87), (0.57, 1.90), (0.57, 1.96), (0.55, 1.98), (0.515, 1.98)]
    lid = [(0.505, 1.91), (0.475, 1.91), (0.465, 1.98), (0, 1.98)]
    return Model(shaded(lathe(np.concatenate((low, beads, high, lid)), 56)), carries=True)


def donut() -> Model:
    """A ring of dough, flat below, under icing with a wavy edge."""
    turn = 2.0 * np.pi * np.arange(84) / 84
    wave = 0.15 * np.sin(8 * turn) + 0.08 * np.sin(3 * turn + 1.0)
    outer, inner, back = 0.72 + wave, np.pi - 0.35 + 0.5 * wave[::-1], 2.0 * np.pi * np.ones(84)
    icing = _between(outer, inner, 14)
    # A row of dough runs along the widest circle, which fixes the bounding box.
    dough = np.concatenate((_between(inner + 0.05, back, 11), _between(back, outer + 2.0 * np.pi - 0.05, 4)[1:]))
    angle = np.concatenate((icing, dough))
    swell = np.concatenate((np.full(14, 0.03), np.zeros(14)))[:, None]
    swell[[0, 13]] = 0.024
    across = 0.53 + (0.31 + swell) * np.cos(angle)
    up = np.maximum((0.35 + swell) * np.sin(angle), -0.31)
    ring = loft(np.stack((across * np.cos(turn), across * np.sin(turn), up), axis=2))
    return Model(shaded(ring), carries=False)


def _between(start: Floats, end: Floats, rows: int) -> Floats:
    return start + np.linspace(0.0, 1.0, rows)[:, None] * (end - start)


def glass() -> Model:
    """A heavy tumbler, fluted outside."""
    radius, floor, n = 0.63, 0.34, 96
    foot = rounded([(0, 0, 0), (0.575, 0, 0.04), (0.60, 0.09, 0)], 3)
    body = bezier((0.602, 0.10), (0.67, 0.20), (0.685, 0.60), (0.70, 1.30), 10)
    rim = rounded([(0.705, 1.50, 0), (0.705, 1.73, 0.025), (0, 1.73, 0)], 3)

    def flutes(turn: Floats, z: Floats) -> NDArray[Any]:
        fade = np.minimum((1.3 - z) / 0.12, (z - 0.10) / 0.12).clip(0.0, 1.0)
        return 1.0 - 0.026 * fade * (np.cos(24 * turn) < -0.5)

    whole = lathe(np.concatenate((foot, body, rim)), n, flutes)
    mesh = combine([whole], [_inside(radius, floor, n)])
    return Model(mesh, carries=True, hollow=(_circle(radius), floor))


def milk_carton() -> Model:
    """A gable-top carton: the ends folded in under the ridge, a fin along it, a screw cap on one slope."""
    x, y, r = 0.85, 0.845, 0.035
    walls = [(sx * (x - r), sy * (y - r), z) for sx in (-1, 1) for sy in (-1, 1) for z in (r, 1.92)]
    ridge = [(sx * (x - r), 0.0, 2.50) for sx in (-1, 1)]
    fin = [(sx * (x - 0.02), sy * 0.035, z) for sx in (-1, 1) for sy in (-1, 1) for z in (2.40, 2.84)]
    fold = np.array([(0.95, 0.70, 1.99), (0.95, -0.70, 1.99), (0.95, 0.0, 2.42), (0.40, 0.0, 2.39)])
    parts = [hull(_balls(walls + ridge, r)), hull(_balls(fin, 0.02)), _screw_cap()]
    return Model(combine(parts, [hull(fold), hull(fold * (-1, 1, 1))]), carries=False)


def _screw_cap() -> Surface:
    """A knurled cap standing on the slope towards +y."""
    profile = rounded([(0, -0.1, 0), (0.27, -0.1, 0), (0.27, 0.17, 0.03), (0, 0.17, 0)], 3)
    cap = lathe(profile, 112, lambda turn, z: 1.0 - 0.03 * (np.cos(28 * turn) < 0.5) * (z < 0.13))
    turned = np.array([(1.0, 0.0, 0.0), (0.0, 0.82, -0.57), (0.0, 0.57, 0.82)])
    return Surface(cap.vertices @ turned + (0.0, 0.44, 2.235), cap.faces)


def mug() -> Model:
    """A straight mug on a foot, with an ear."""
    radius, floor = 0.62, 0.12
    outside = rounded(
        [(0, 0, 0), (0.56, 0, 0.02), (0.575, 0.07, 0), (0.70, 0.10, 0.09), (0.70, 1.67, 0.03), (0, 1.67, 0)]
    )
    ear = _path(
        ((0.64, 1.33), (0.90, 1.37), (1.145, 1.38), (1.145, 0.98)),
        ((1.145, 0.98), (1.145, 0.62), (0.94, 0.46), (0.64, 0.42)),
    )
    t = np.abs(np.linspace(-1.0, 1.0, len(ear)))[:, None]
    across = (0.085, 0.13) + t**6 * (0.02, 0.04)
    mesh = combine([lathe(outside, ROUND), sweep(ear, across, 20)], [_inside(radius, floor, ROUND)])
    return Model(mesh, carries=True, hollow=(_circle(radius), floor))


def pill_bottle() -> Model:
    """A medicine jar with a label set in and a ribbed child-proof cap."""
    foot = rounded([(0, 0, 0), (0.59, 0, 0.07), (0.59, 0.24, 0)])
    label = [(0.577, 0.26), (0.577, 1.30), (0.59, 1.32)]
    shoulder = bezier((0.59, 1.42), (0.59, 1.55), (0.52, 1.52), (0.50, 1.62), 6)
    jar = lathe(np.concatenate((foot, label, shoulder, [(0.50, 1.9), (0, 1.9)])), 56)
    ring = [(0, 1.64), (0.615, 1.64), (0.63, 1.655), (0.63, 1.755), (0.59, 1.77), (0.59, 1.80)]
    crown = rounded([(0.63, 1.81, 0), (0.63, 2.20, 0), (0.63, 2.22, 0), (0.605, 2.32, 0.05), (0, 2.32, 0)], 3)

    def ribs(turn: Floats, z: Floats) -> NDArray[Any]:
        return 1.0 - 0.05 * (np.cos(28 * turn - np.pi / 4) < 0.0) * ((z > 1.805) & (z < 2.21))

    return Model(combine([jar, lathe(np.concatenate((ring, crown)), 112, ribs)]), carries=True)


def plate() -> Model:
    """A flat plate on a foot: a soft groove parts rim and middle, and both carry at full height."""
    foot = [(0, 0.07), (1.22, 0.07), (1.25, 0), (1.40, 0), (1.44, 0.08)]
    below = bezier((1.55, 0.11), (1.85, 0.18), (1.80, 0.38), (2.31, 0.475), 8)
    edge = rounded([(2.31, 0.475, 0), (2.365, 0.49, 0.03), (2.365, 0.56, 0.03), (2.0, 0.56, 0)])[1:-1]
    t = np.linspace(0.0, 2.0 * np.pi, 10)
    groove = np.column_stack((1.80 - 0.13 * t / np.pi, 0.56 - 0.045 * (1.0 - np.cos(t))))
    return Model(shaded(lathe(np.concatenate((foot, below, edge, groove, [(0, 0.56)])), 72)), carries=True)


def teapot() -> Model:
    """A squat pot with a lid and knob, a swan-neck spout and an ear."""
    pot = np.concatenate(
        (
            rounded([(0, 0, 0), (0.98, 0, 0.03), (1.00, 0.09, 0), (1.06, 0.12, 0)], 2),
            bezier((1.12, 0.15), (1.55, 0.34), (1.69, 0.66), (1.69, 0.90), 6),
            bezier((1.69, 0.90), (1.69, 1.35), (1.34, 1.70), (1.10, 1.90), 6)[1:],
            [(1.10, 1.955), (1.06, 1.985), (1.015, 1.985), (1.0, 1.94), (0.97, 1.95)],
            bezier((0.95, 2.00), (0.75, 2.13), (0.40, 2.16), (0.17, 2.24), 5),
            bezier((0.13, 2.29), (0.13, 2.36), (0.27, 2.37), (0.27, 2.47), 3),
            bezier((0.27, 2.47), (0.27, 2.57), (0.17, 2.62), (0.0, 2.62), 4)[1:],
        )
    )
    spout = _path(
        ((1.20, 0.80), (1.96, 0.76), (1.99, 1.20), (2.25, 1.62)),
        ((2.25, 1.62), (2.34, 1.76), (2.46, 1.85), (2.66, 1.92)),
    )
    t = np.linspace(0.0, 1.0, len(spout))[:, None]
    mouth = spout[-1] + np.outer((-1.2, -0.4, 0.4), spout[-1] - spout[-2])
    ear = _path(
        ((-1.10, 1.60), (-1.75, 1.95), (-2.40, 1.86), (-2.375, 1.30)),
        ((-2.375, 1.30), (-2.35, 0.85), (-1.85, 0.66), (-1.45, 0.54)),
    )
    u = np.abs(np.linspace(-1.0, 1.0, len(ear)))[:, None]
    parts = [
        lathe(pot, 48),
        sweep(spout, (0.155, 0.135) + (1.0 - t) ** 1.6 * (0.30, 0.24), 18),
        sweep(ear, (0.11, 0.16) + u**4 * (0.05, 0.06), 14),
    ]
    hole = sweep(mouth, np.array([(0.08, 0.065), (0.10, 0.085), (0.11, 0.095)]), 18)
    return Model(combine(parts, [hole]), carries=False)


def _path(*curves: tuple[Pair, Pair, Pair, Pair]) -> Floats:
    """Curves end to end, ten steps each."""
    runs = [bezier(*curve, 10) for curve in curves]
    return np.concatenate([runs[0], *(run[1:] for run in runs[1:])])


def _inside(radius: float, floor: float, segments: int) -> Surface:
    """What a cavity takes away: its polygon lies around the circle, so that whatever fits the circle is clear."""
    out = radius / np.cos(np.pi / segments)
    return lathe(np.array([(0, floor), (out, floor), (out, 2.0), (0, 2.0)]), segments)


def _circle(radius: float) -> Floats:
    turn = 2.0 * np.pi * np.arange(96) / 96
    return radius * np.column_stack((np.cos(turn), np.sin(turn)))


def _balls(centres: list[tuple[float, float, float]], radius: float) -> Floats:
    """Points on small balls: their hull is a polyhedron with round edges."""
    up = np.linspace(-np.pi / 2, np.pi / 2, 9)[:, None]
    turn = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)[None]
    ball = np.stack(np.broadcast_arrays(np.cos(up) * np.cos(turn), np.cos(up) * np.sin(turn), np.sin(up)), axis=2)
    return (np.array(centres)[:, None] + radius * ball.reshape(-1, 3)).reshape(-1, 3)


DIMENSIONS: Final[dict[str, tuple[float, float, float]]] = {
    "bottle": (1.37, 1.37, 5.61),
    "can": (1.14, 1.14, 1.98),
    "donut": (1.68, 1.68, 0.69),
    "glass": (1.41, 1.41, 1.73),
    "milk_carton": (1.70, 1.69, 2.86),
    "mug": (1.93, 1.40, 1.67),
    "pill_bottle": (1.26, 1.26, 2.32),
    "plate": (4.73, 4.73, 0.56),
    "teapot": (5.20, 3.38, 2.62),
}
"""Medium size in model units: x, y, height."""

MODELS: Final[dict[str, Callable[[], Model]]] = {
    "bottle": bottle,
    "can": can,
    "donut": donut,
    "glass": glass,
    "milk_carton": milk_carton,
    "mug": mug,
    "pill_bottle": pill_bottle,
    "plate": plate,
    "teapot": teapot,
}
