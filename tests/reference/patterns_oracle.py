"""Patterns written straight from their description, one position at a time, in Python's own numbers."""

from __future__ import annotations

import math


def random_of(i: int, j: int, seed: int) -> float:
    """The number in [0, 1) that belongs to a cell of a lattice."""
    h = (i * 374761393 + j * 668265263 + seed * 1274126177) % 2**32
    h = ((h ^ (h >> 15)) * 739982445) % 2**32
    h = ((h ^ (h >> 12)) * 695872825) % 2**32
    return ((h ^ (h >> 15)) >> 8) / 2**24


def smooth(u: float, v: float, seed: int) -> float:
    """Noise within ±1: random at whole numbers, eased between them."""
    i, j = math.floor(u), math.floor(v)

    def ease(t: float) -> float:
        return t * t * (3 - 2 * t)

    total = 0.0
    for a, wa in ((i, 1 - ease(u - i)), (i + 1, ease(u - i))):
        for b, wb in ((j, 1 - ease(v - j)), (j + 1, ease(v - j))):
            total += wa * wb * random_of(a, b, seed)
    return 2 * total - 1


def in_stripe(t: float, width: float) -> bool:
    """Whether t lies within half a width of a whole number; the upper border does not belong to it."""
    return bool((t + width / 2) % 1.0 < width)


def pattern_of(
    kind: str, seed: int, scale: float, joint: float, contrast: float, x: float, y: float
) -> tuple[float, float]:
    """Share of the second colour and brightness of the first at one point."""
    u, v, j = x / scale, y / scale, joint / scale
    if kind == "tiles":
        gap = in_stripe(u, j) or in_stripe(v, j)
        return float(gap), 1 + contrast * (2 * random_of(math.floor(u), math.floor(v), seed) - 1)
    if kind == "planks":
        row = math.floor(v)
        along = u / 8 + random_of(row, 0, seed)  # a plank is eight widths long, each row is shifted
        gap = in_stripe(v, j) or in_stripe(along, j / 8)
        own = 2 * random_of(math.floor(along), row, seed + 1) - 1
        return float(gap), 1 + contrast * (0.7 * own + 0.3 * smooth(u / 2, 12 * v, seed + 2))
    if kind == "asphalt":
        grains = 0.3 * smooth(u / 4, v / 4, seed + 3) + 0.3 * smooth(u, v, seed + 1)
        grains += 0.4 * smooth(3 * u, 3 * v, seed + 2)
        return (1 + grains) / 3, 1 + contrast * smooth(u / 24, v / 24, seed)
    if kind == "grass":
        blades = smooth(u, v, seed + 1) + smooth(3 * u, 3 * v, seed + 2)
        return 0.5 + 0.25 * blades, 1 + contrast * smooth(u / 24, v / 24, seed)
    if kind == "cloth":
        over = (math.floor(16 * u) + math.floor(16 * v)) % 2
        return (in_stripe(u, 0.5) + in_stripe(v, 0.5)) / 2, 1 + contrast * (0.5 - over)
    if kind == "noise":
        mixed = 4 * smooth(u, v, seed) + 2 * smooth(2 * u, 2 * v, seed + 1) + smooth(4 * u, 4 * v, seed + 2)
        return 0.5 + contrast * mixed / 14, 1.0
    return 0.0, 1.0


def colour_of(
    pattern: tuple[float, float], first: tuple[float, ...], second: tuple[float, ...]
) -> tuple[float, ...]:
    """Albedo: the first colour, brightened, where the second is not; none above 1."""
    share, bright = pattern
    return tuple(min((1 - share) * bright * a + share * b, 1.0) for a, b in zip(first, second, strict=True))


def in_region(
    shape: str, position: tuple[float, float], turn: float, extent: tuple[float, float], x: float, y: float
) -> bool:
    """Whether a point of the ground lies in a region; `turn` in radians."""
    dx, dy = x - position[0], y - position[1]
    u, v = math.cos(turn) * dx + math.sin(turn) * dy, math.cos(turn) * dy - math.sin(turn) * dx
    return {
        "everything": True,
        "half-plane": u >= 0,
        "strip": abs(u) <= extent[0],
        "rectangle": abs(u) <= extent[0] and abs(v) <= extent[1],
        "disc": math.hypot(u, v) <= extent[0],
    }[shape]
