"""Patterned surfaces: colour as a function of the position, averaged over what a pixel covers. Device functions.

A pattern stands in a row of `env`, from the column `PATTERN_KIND` on. Positions, and the widths over which is
averaged, are metres in the surface's own axes. Joints and checks are averaged exactly; what is random fades to its
mean where it is finer than the width. Everything random comes from `_hash`: whole numbers in, the same on CPU and
GPU.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from sightline.render.fast import columns as col
from sightline.render.fast.jit import device, small
from sightline.render.fast.rays import HALF, ONE, TWO, ZERO
from sightline.worlds.surroundings import PATTERNS, PLANK, Pattern, mean_colour

TILES, PLANKS, ASPHALT, GRASS, CLOTH, NOISE = (
    PATTERNS.index(kind) for kind in ("tiles", "planks", "asphalt", "grass", "cloth", "noise")
)
_PLANK = np.float32(PLANK)
_GRAIN = np.float32(12.0)  # lines of grain in the width of a plank
_THREADS = np.float32(16.0)  # threads in a check of cloth
_PATCH = np.float32(1.0 / 24.0)  # asphalt and grass have patches so many grains or tufts large
_THREE, _QUARTER = np.float32(3.0), np.float32(0.25)
_SHARP = np.float32(1e-3)
_LOW = 0xFFFFFFFF


@small
def _floor(t):
    """The whole number below, as an integer on CPU and GPU alike."""
    return int(math.floor(t))  # noqa: RUF046 - CUDA's floor is a float


@small
def _hash(i, j, seed):
    """A number in [0, 1) for a cell of a lattice: whole-number arithmetic modulo 2³²."""
    h = (i * 374761393 + j * 668265263 + seed * 1274126177) & _LOW
    h = ((h ^ (h >> 15)) * 739982445) & _LOW
    h = ((h ^ (h >> 12)) * 695872825) & _LOW
    return np.float32((h ^ (h >> 15)) >> 8) * np.float32(1.0 / 16777216.0)


@small
def _fade(f):
    """Weight of what varies from cell to cell, averaged over f cells: 1 up to half a cell, 0 from 1½ on."""
    return min(max(np.float32(1.5) - f, ZERO), ONE)


@device
def _waves(u, v, f, seed):
    """Smooth noise around 0, within ±1, between the points of a lattice; faded where f cells are averaged over."""
    keep = _fade(f)
    if keep <= ZERO:
        return ZERO
    i, j = _floor(u), _floor(v)
    a, b = np.float32(u - i), np.float32(v - j)
    a, b = a * a * (np.float32(3.0) - TWO * a), b * b * (np.float32(3.0) - TWO * b)
    low = _hash(i, j, seed) * (ONE - a) + _hash(i + 1, j, seed) * a
    high = _hash(i, j + 1, seed) * (ONE - a) + _hash(i + 1, j + 1, seed) * a
    return keep * (TWO * (low * (ONE - b) + high * b) - ONE)


@small
def _stripe(t, share, f):
    """Share of [t − f/2, t + f/2] within stripes that are `share` wide and centred on the whole numbers."""
    t += HALF * share
    if f < _SHARP:
        return ONE if np.float32(t - _floor(t)) < share else ZERO
    low, high = t - HALF * f, t + HALF * f
    i, j = _floor(low), _floor(high)
    inside = np.float32(j - i) * share + min(np.float32(high - j), share) - min(np.float32(low - i), share)
    return inside / f


@device
def pattern_at(kind, seed, scale, joint, contrast, x, y, fx, fy):
    """A pattern at a position: (share of the second colour, factor on the brightness of the first)."""
    u, v, fu, fv, j = x / scale, y / scale, fx / scale, fy / scale, joint / scale
    f = max(fu, fv)
    if kind == TILES:
        gaps = ONE - (ONE - _stripe(u, j, fu)) * (ONE - _stripe(v, j, fv))
        return gaps, ONE + contrast * _fade(f) * (TWO * _hash(_floor(u), _floor(v), seed) - ONE)
    if kind == PLANKS:
        row = _floor(v)
        s = u / _PLANK + _hash(row, 0, seed)
        gaps = ONE - (ONE - _stripe(v, j, fv)) * (ONE - _stripe(s, j / _PLANK, fu / _PLANK))
        lone = _fade(f) * (TWO * _hash(_floor(s), row, seed + 1) - ONE)
        grain = _waves(HALF * u, v * _GRAIN, max(HALF * fu, fv * _GRAIN), seed + 2)
        return gaps, ONE + contrast * (np.float32(0.7) * lone + np.float32(0.3) * grain)
    if kind == CLOTH:
        over = (_floor(u * _THREADS) + _floor(v * _THREADS)) & 1
        # Even threads beat with the pixels long before a random cell does.
        relief = _fade(ONE + HALF * (f * _THREADS - HALF) * np.float32(4.0)) * (HALF - np.float32(over))
        return HALF * (_stripe(u, HALF, fu) + _stripe(v, HALF, fv)), ONE + contrast * relief
    if kind == NOISE:
        n = np.float32(4.0) * _waves(u, v, f, seed) + TWO * _waves(TWO * u, TWO * v, TWO * f, seed + 1)
        n += _waves(np.float32(4.0) * u, np.float32(4.0) * v, np.float32(4.0) * f, seed + 2)
        return HALF + HALF * contrast * n / np.float32(7.0), ONE
    if kind != ASPHALT and kind != GRASS:
        return ZERO, ONE
    patches = ONE + contrast * _waves(u * _PATCH, v * _PATCH, f * _PATCH, seed)
    tufts, fine = _waves(u, v, f, seed + 1), _waves(_THREE * u, _THREE * v, _THREE * f, seed + 2)
    if kind == GRASS:
        return HALF + np.float32(0.25) * (tufts + fine), patches
    worn = _waves(_QUARTER * u, _QUARTER * v, _QUARTER * f, seed + 3)
    mixed = np.float32(0.3) * worn + np.float32(0.3) * tufts + np.float32(0.4) * fine
    return (ONE + mixed) / _THREE, patches


@small
def pattern_colour(env, row, x, y, fx, fy):
    """Albedo of a pattern at a position: (r, g, b)."""
    share, shade = pattern_at(
        int(env[row, col.PATTERN_KIND]),
        int(env[row, col.PATTERN_SEED]),
        env[row, col.PATTERN_SCALE],
        env[row, col.PATTERN_JOINT],
        env[row, col.PATTERN_CONTRAST],
        x,
        y,
        fx,
        fy,
    )
    first = (ONE - share) * shade
    return (
        min(first * env[row, col.FIRST_RED] + share * env[row, col.SECOND_RED], ONE),
        min(first * env[row, col.FIRST_GREEN] + share * env[row, col.SECOND_GREEN], ONE),
        min(first * env[row, col.FIRST_BLUE] + share * env[row, col.SECOND_BLUE], ONE),
    )


def pattern_columns(pattern: Pattern) -> tuple[float, ...]:
    """The pattern as the columns of a row from `PATTERN_KIND` on, its mean colour last."""
    numbers = (pattern.seed, pattern.scale, pattern.joint, pattern.contrast)
    return (PATTERNS.index(pattern.kind), *numbers, *pattern.color, *pattern.second, *mean_colour(pattern))
