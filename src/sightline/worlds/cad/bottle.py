"""Bottles: wine, beer, water and vacuum flasks; all the same from every side."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sightline.worlds.cad.model import Draft
from sightline.worlds.cad.parts import Part, lathe, smooth
from sightline.worlds.solids import CONTINUOUS, Triple

SIDES = 32


def wine(rng: np.random.Generator) -> Draft:
    """A wine bottle with high or sloping shoulders, a label and a capsule over the cork."""
    high, radius, neck = rng.uniform(0.29, 0.33), rng.uniform(0.036, 0.042), rng.uniform(0.0135, 0.0155)
    sloping = rng.random() < 0.5
    shoulder = high * (rng.uniform(0.42, 0.5) if sloping else rng.uniform(0.58, 0.63))
    start = high * (rng.uniform(0.74, 0.78) if sloping else rng.uniform(0.72, 0.76))
    span = start - shoulder
    round_line = [
        (radius, shoulder),
        (0.93 * radius, shoulder + 0.3 * span),
        (0.6 * radius, shoulder + 0.68 * span),
    ]
    glass = [
        *_foot(radius, 0.018),
        *smooth([*round_line, (neck * 1.02, start), (neck, start + 0.02), (neck, high - 0.012)], 5),
    ]
    lip = [(neck * 1.2, high - 0.011), (neck * 1.2, high - 0.003), (neck * 1.05, high), (0.0, high)]
    low, up = shoulder * rng.uniform(0.12, 0.22), shoulder * rng.uniform(0.78, 0.93)
    parts = [_turned("paint", [*glass, *lip]), _band("label", radius, low, up)]
    parts.append(_band("second", radius, low + 0.2 * (up - low), low + rng.uniform(0.28, 0.4) * (up - low), 0.0008))
    skin = np.array([(r + 0.0007, z) for r, z in [*glass, *lip] if z > start - 0.005 and r > 0.0])
    parts.append(_turned("second", [(0.0, skin[0][1]), *skin, (0.0, high + 0.0007)]))
    return _bottle(parts, radius, shoulder, neck * 1.1, high)


def beer(rng: np.random.Generator) -> Draft:
    """A beer bottle with a long or a short neck, a crown cap, and labels on body and neck."""
    radius, neck = rng.uniform(0.03, 0.034), rng.uniform(0.0125, 0.0135)
    long = rng.random() < 0.6
    high = rng.uniform(0.225, 0.26) if long else rng.uniform(0.175, 0.2)
    shoulder, start = high * (0.53 if long else 0.6), high * (0.74 if long else 0.82)
    span, top = start - shoulder, high - 0.006
    line = [(radius, shoulder), (0.9 * radius, shoulder + 0.3 * span), (0.62 * radius, shoulder + 0.65 * span)]
    glass = [*_foot(radius, 0.004), *smooth([*line, (neck * 1.25, start), (neck, top - 0.012)], 5)]
    ring = [(neck * 1.12, top - 0.011), (neck * 1.12, top - 0.004), (neck, top - 0.003), (0.0, top - 0.003)]
    crown = [(0.0, top - 0.006), (neck * 1.25, top - 0.006), (neck * 1.2, top - 0.003), (neck * 1.04, high - 0.001)]
    low, up = shoulder * rng.uniform(0.15, 0.25), shoulder * rng.uniform(0.8, 0.92)
    parts = [_turned("paint", [*glass, *ring]), _turned("metal", [*crown, (neck * 0.9, high), (0.0, high)])]
    parts += [_band("label", radius, low, up), _band("second", radius, up - 0.012, up - 0.004, 0.0008)]
    if rng.random() < 0.7:
        skin = np.array([(r + 0.0006, z) for r, z in glass if start - 0.004 < z < start + 0.025])
        if len(skin) > 1:
            parts.append(_turned("label", [(0.0, skin[0][1]), *skin, (0.0, skin[-1][1])]))
    return _bottle(parts, radius, shoulder, neck * 1.05, high)


def water(rng: np.random.Generator) -> Draft:
    """A plastic water bottle: ribs, a waist, a band of paper and a screw cap."""
    high, radius, neck = rng.uniform(0.2, 0.33), rng.uniform(0.031, 0.044), rng.uniform(0.0125, 0.015)
    shoulder, cap = high * rng.uniform(0.66, 0.74), rng.uniform(0.014, 0.02)
    start, low, up = high - cap - 0.008, high * rng.uniform(0.36, 0.42), high * rng.uniform(0.55, 0.62)
    ribs = int(rng.integers(3, 6))
    line = [*_foot(radius, 0.006)]
    step = (low - 0.03) / ribs
    for i in range(ribs):
        z = 0.022 + i * step
        line += [(radius, z), (radius, z + 0.5 * step), (radius * 0.94, z + 0.72 * step)]
    line += [(radius, low - 0.004), (radius * 0.975, low), (radius * 0.975, up), (radius, up + 0.004)]
    dome = [(radius, shoulder), (0.9 * radius, shoulder + 0.3 * (start - shoulder)), (1.3 * neck, start - 0.006)]
    line += [*smooth([*dome, (neck, start)], 4)]
    line += [(neck * 1.3, start + 0.001), (neck * 1.3, start + 0.004), (neck, start + 0.005), (neck, start + 0.012)]
    lid = [(0.0, high - cap), (neck * 1.12, high - cap), (neck * 1.12, high - 0.002), (neck, high), (0.0, high)]
    parts = [_turned("paint", [*line, (0.0, start + 0.012)]), _turned("second", lid)]
    parts += [_band("label", radius * 0.975, low + 0.002, up - 0.002)]
    parts.append(_band("tail", radius * 0.975, low + 0.3 * (up - low), low + 0.5 * (up - low), 0.0012))
    return _bottle(parts, radius, shoulder, neck * 1.1, high)


def flask(rng: np.random.Generator) -> Draft:
    """A vacuum flask: a straight body, a shoulder ring, and a cup for a lid."""
    high, radius = rng.uniform(0.24, 0.33), rng.uniform(0.034, 0.044)
    body, cup = high * rng.uniform(0.68, 0.76), radius * rng.uniform(0.72, 0.86)
    shell, trim = [("paint", "metal"), ("paint", "dark"), ("metal", "paint")][int(rng.integers(3))]
    start = body + rng.uniform(0.012, 0.022)
    dome = smooth([(radius, body - 0.004), (radius * 0.97, body + 0.004), (cup * 1.03, start)], 4)
    case = [*_foot(radius, 0.0)[1:], (radius, 0.5 * body), *dome, (0.0, start)]
    slim = cup * rng.uniform(0.84, 0.94)
    lid = [(0.0, start), (cup, start), (cup, start + 0.008), (cup * 0.97, start + 0.01), (slim, high - 0.006)]
    parts = [_turned(shell, [(0.0, 0.0), *case]), _turned(trim, [*lid, (slim - 0.005, high), (0.0, high)])]
    parts += [_band("dark", radius, 0.003, 0.018, 0.0014), _band(trim, radius, body - 0.012, body - 0.004, 0.0012)]
    if rng.random() < 0.6:
        low = body * rng.uniform(0.3, 0.5)
        parts.append(_band("second", radius, low, low + rng.uniform(0.01, 0.06), 0.0006))
    return _bottle(parts, radius, body - 0.01, slim, high)


def _foot(radius: float, punt: float) -> list[tuple[float, float]]:
    """The outline of a bottom: a hollow as deep as `punt`, a rim to stand on, a round edge."""
    return [
        (0.0, punt),
        (0.5 * radius, 0.6 * punt),
        (0.82 * radius, 0.0),
        (0.93 * radius, 0.0),
        (radius, 0.05 * radius + 0.002),
    ]


def _turned(slot: str, profile: ArrayLike) -> Part:
    return lathe(slot, profile, sides=SIDES, crease=38.0)


def _band(slot: str, radius: float, low: float, high: float, proud: float = 0.0005) -> Part:
    """A band of paper or metal round a body."""
    out = radius + proud
    return lathe(
        slot, [(radius * 0.97, low), (out, low), (out, high), (radius * 0.97, high)], sides=SIDES, closed=True
    )


def _bottle(parts: list[Part], radius: float, shoulder: float, mouth: float, high: float) -> Draft:
    marks: dict[str, Triple] = {"mouth": (0.0, -mouth, high)}
    for name, z in (("body", shoulder), ("bottom", 0.05 * radius)):
        marks |= {name: (0.0, -radius, z), f"{name}_left": (-radius, 0.0, z), f"{name}_right": (radius, 0.0, z)}
    return Draft(parts, marks, symmetry=CONTINUOUS)
