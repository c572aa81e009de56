"""How much work the fast back end puts into a picture. One place, for speed and quality alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError

F32 = NDArray[np.float32]

PATTERN = 3
"""Mirror rays differ from pixel to pixel in squares of this side and are averaged over nearly twice that."""

MOST_SAMPLES = 31
"""Samples of a pixel are told apart by the bits of a number."""

_LATTICE = 16  # places along a side of a lamp from which further points are chosen
_MOST_CHOSEN = 200  # points of a lamp up to which they are chosen
_EDGES = 24  # directions of the edges by which they are chosen, and as many distances


@dataclass(frozen=True, slots=True)
class Settings:
    """Numbers of rays and tolerances.

    Attributes:
        shadow_first: Rays from the table to a lamp before its share is believed where they agree; `shadow_most`
            where they do not, if the lamp gives half of the light there or more. Other lamps get fewer, in
            proportion to what they give, but at least 8: so light falls off in steps about as high for all of them.
        objects_first: The same from an object; `objects_most`.
        table_first: The same for the lit map of the table; `table_most` where they do not agree.
        dome: Directions of indirect light on an object; `table_dome` on the table.
        mirror_rays: Mirror rays a pixel; those of the pixels around it count too.
        mirror_depth: Mirrors in a row.
        glint_rays: Shadow rays for the image of a lamp in metal, and four times as many where they disagree.
        glint_side: Points along a side of a lamp that make up its image.
        lattice: Pixels between the points where light is always worked out; a power of two.
        tolerance: Relative difference up to which light between such points is interpolated.
        edge_samples: Samples of a pixel on an edge, 31 at most; half of them where those agree and mirror nothing.
        map_cells: Cells along a side of the lit map of the table; `map_half` its half side, metres.
    """

    shadow_first: int = 5
    shadow_most: int = 24
    objects_first: int = 3
    objects_most: int = 24
    table_first: int = 5
    table_most: int = 12
    dome: int = 10
    table_dome: int = 12
    mirror_rays: int = 2
    mirror_depth: int = 4
    glint_rays: int = 4
    glint_side: int = 5
    lattice: int = 4
    tolerance: float = 0.15
    edge_samples: int = 12
    map_cells: int = 40
    map_half: float = 4.5

    def __post_init__(self) -> None:
        if not 1 <= self.edge_samples <= MOST_SAMPLES:
            raise ConfigError(f"edge_samples: expected 1 to {MOST_SAMPLES}, found {self.edge_samples}")

    def plan(self) -> RenderPlan:
        """The fixed directions and points of all rays."""
        count = PATTERN * PATTERN * self.mirror_rays
        # The points of one pixel must be spread as well as those of the square: deal them out in turn.
        lobe = _spread(count).reshape(self.mirror_rays, PATTERN * PATTERN, 2).swapaxes(0, 1).reshape(count, 2)
        shadows = (self.shadow_first, self.shadow_most, self.table_first, self.table_most)
        metal = (self.mirror_rays, self.mirror_depth, self.glint_rays, self.lattice, self.glint_side)
        points = _corners_first(2.0 * _lamp_points(max(self.table_most, 5)) - 1.0)
        points = _with_further(points, max(len(points), self.shadow_most, self.objects_most))
        return RenderPlan(
            points=points.astype(np.float32),
            dome=_dome(_spread(self.dome)).astype(np.float32),
            wide=_dome(_spread(self.table_dome)).astype(np.float32),
            lobe=np.ascontiguousarray(lobe, dtype=np.float32),
            inside=_spread(self.edge_samples).astype(np.float32),
            numbers=np.array((*shadows, *metal, self.objects_first, self.objects_most), np.int32),
            tolerance=np.array((self.tolerance,), np.float32),
        )


class RenderPlan(NamedTuple):
    """Settings as arrays.

    Attributes:
        points: (n, 2) float32 in [−1, 1]: points of a lamp, well spread also in their first few.
        dome: (n, 3) float32: directions over a surface, z its normal, dense as the cosine; `wide` over the table.
        lobe: (n, 2) float32 in [0, 1): numbers for mirror rays, PATTERN² groups.
        inside: (n, 2) float32 in [0, 1): samples of a pixel.
        numbers: the integers of the settings; `tolerance`: the floats.
    """

    points: F32
    dome: F32
    wide: F32
    lobe: F32
    inside: F32
    numbers: NDArray[np.int32]
    tolerance: F32


def _spread(count: int) -> NDArray[np.float64]:
    """Evenly spread points of the unit square, also every first few of them (Roberts's R2 sequence).

    It begins where the middle of the first 4, 6, 12 and 16 points lies within 0.04 of the square's; from 0.5 on it
    is off by up to 0.2, which moves edges, shadows and highlights.
    """
    plastic = 1.32471795724474602596
    return _multiples(count, (0.85, 0.54), (1 / plastic, 1 / plastic**2))


def _lamp_points(count: int) -> NDArray[np.float64]:
    """Points of the unit square as `_spread`, whose rows and columns are spread evenly too.

    Those of R2 lie in four columns, which showed as four bands in the shadow of an upright edge.
    """
    return _multiples(count, (0.26, 0.42), (0.585527, 0.367483))


def _multiples(count: int, start: tuple[float, float], step: tuple[float, float]) -> NDArray[np.float64]:
    return np.asarray((np.array(start) + np.arange(1, count + 1)[:, None] * np.array(step)) % 1.0)


def _with_further(points: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Add points of a lamp up to so many, one by one: (count, 2) in [−1, 1].

    Each is the one of a lattice that brings the shares which straight edges leave of the points nearest to those
    they leave of the lamp: so every first few of them serve soft shadows about as well as so many can.
    """
    if count > _MOST_CHOSEN:  # so many are even in any order
        return np.concatenate((points, 2.0 * _lamp_points(count)[len(points) :] - 1.0))
    side = np.linspace(-1.0, 1.0, _LATTICE + 1)[:-1] + 1.0 / _LATTICE
    places = np.array([(x, y) for x in side for y in side])
    seen = _beside_edges(places)
    whole, hidden = len(places), seen.sum(axis=0)  # on one side of each edge
    counted = _beside_edges(points).sum(axis=0)
    chosen: list[int] = []
    for n in range(len(points) + 1, count + 1):
        # Whole numbers, so that every machine chooses the same ones.
        errors = (((counted + seen) * whole - n * hidden) ** 2).sum(axis=1)
        errors[chosen] = np.iinfo(np.int64).max
        chosen.append(int(errors.argmin()))
        counted = counted + seen[chosen[-1]]
    return np.concatenate((points, places[chosen]))


def _beside_edges(places: NDArray[np.float64]) -> NDArray[np.int64]:
    """On which side of each of many straight edges across the square of [−1, 1] places lie: (n, edges), 0 or 1."""
    turns = (np.arange(_EDGES) + 0.5) * math.pi / _EDGES
    away = (np.arange(_EDGES) + 0.5) * 2.8 / _EDGES - 1.4
    along = places[:, :1] * np.cos(turns) + places[:, 1:] * np.sin(turns)
    return (along[:, :, None] < away).reshape(len(places), -1).astype(np.int64)


def _corners_first(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put the points nearest to the four corners and the middle first: if those agree, the others hardly differ."""
    rest = list(range(len(points)))
    order = []
    for place in ((-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (0.0, 0.0)):
        if rest:
            order.append(min(rest, key=lambda i: float(((points[i] - place) ** 2).sum())))
            rest.remove(order[-1])
    return points[order + rest]


def _dome(points: NDArray[np.float64]) -> NDArray[np.float64]:
    radius, turn = np.sqrt(points[:, 0]), 2.0 * math.pi * points[:, 1]
    return np.column_stack((radius * np.cos(turn), radius * np.sin(turn), np.sqrt(1.0 - points[:, 0])))
