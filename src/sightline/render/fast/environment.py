"""What lies around the objects of a layout as one array: lamps, regions of the ground, sky; see `columns`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sightline.render.fast import columns as col
from sightline.render.fast.patterns import pattern_columns
from sightline.worlds.layout import Layout, Light
from sightline.worlds.surroundings import TABLE, GroundRegion, Surroundings

F32 = NDArray[np.float32]

_FAR = 1e9


def environment(layout: Layout, half: float) -> F32:
    """A header, then a row a lamp and a row a region of the ground: (n, 24) float32.

    Args:
        layout: What is lit.
        half: Half side of the lit map, metres.
    """
    lamps = [_lamp(light) for light in layout.lights]
    rows = _rows(lamps)
    away2 = (rows[:, :3] ** 2).sum(axis=1)
    # A lamp that shines the other way, or from below, gives the table nothing.
    facing = np.maximum(-(rows[:, 9:12] * rows[:, :3]).sum(axis=1), 0.0) * np.maximum(rows[:, col.LAMP_Z], 0.0)
    bare = (rows[:, 12:15] * (rows[:, col.AREA] * facing / away2**2 / math.pi)[:, None]).sum(axis=0)
    around = layout.surroundings
    regions = [_region(region, around) for region in around.ground]
    ends = np.cumsum([1 + len(lamps), len(regions)])
    head = (*layout.table, *layout.ambient, *bare, half, *ends, _table_class(around))
    return _rows([head, *lamps, *regions]).astype(np.float32)


def stuff_environment(around: Surroundings) -> F32:
    """The parts of the array that stuff maps depend on, for where nothing is lit."""
    head = (*(0.0,) * col.LAMPS_END, 1, 1 + len(around.ground), _table_class(around))
    return _rows([head, *(_region(region, around) for region in around.ground)]).astype(np.float32)


def _rows(rows: list[tuple[float, ...]]) -> NDArray[np.float64]:
    whole = np.zeros((len(rows), col.ENV_COLUMNS))
    for row, values in zip(whole, rows, strict=True):
        row[: len(values)] = values
    return whole


def _lamp(light: Light) -> tuple[float, ...]:
    u, v, normal = light.axes()
    half, area = light.size / 2, light.size**2
    radiance = np.array(light.color, np.float64) * light.power / (math.pi * area)
    return (*light.position, *u * half, *v * half, *normal, *radiance, area, half * math.sqrt(2.0))


def _region(region: GroundRegion, around: Surroundings) -> tuple[float, ...]:
    a, b = region.extent
    limits = {
        "everything": (-_FAR, _FAR, _FAR, 0.0),
        "half-plane": (0.0, _FAR, _FAR, 0.0),
        "strip": (-a, a, _FAR, 0.0),
        "rectangle": (-a, a, b, 0.0),
        "disc": (-a, a, a, a),
    }[region.shape]
    axes = (*region.position, math.cos(region.turn), math.sin(region.turn))
    return (*axes, *limits, around.number_of(region.category), *pattern_columns(region.pattern))


def _table_class(around: Surroundings) -> int:
    """The number of the table's class; 0 where a region covers all of it."""
    return around.number_of(TABLE) if TABLE in around.classes else 0
