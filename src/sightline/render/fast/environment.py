"""What lies around the objects of a layout as one array: lamps, ground, walls, sky; see `columns`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sightline.render.fast import columns as col
from sightline.render.fast.patterns import pattern_columns
from sightline.render.sky import lights_of, small_map
from sightline.worlds.layout import Layout, Light
from sightline.worlds.surroundings import TABLE, GroundRegion, Surroundings, mean_colour

F32 = NDArray[np.float32]

_FAR = 1e9
_GRADIENT, _MAP = 1, 2


def environment(layout: Layout, half: float) -> F32:
    """A header, then rows of lamps, regions of the ground, walls and sky: (n, 32) float32.

    Args:
        layout: What is lit.
        half: Half side of the lit map, metres.
    """
    lamps = [_lamp(light) for light in lights_of(layout)]
    rows = _rows(lamps)
    away2 = (rows[:, :3] ** 2).sum(axis=1)
    # A lamp that shines the other way, or from below, gives the table nothing.
    facing = np.maximum(-(rows[:, 9:12] * rows[:, :3]).sum(axis=1), 0.0) * np.maximum(rows[:, col.LAMP_Z], 0.0)
    bare = (rows[:, 12:15] * (rows[:, col.AREA] * facing / away2**2 / math.pi)[:, None]).sum(axis=0)
    around = layout.surroundings
    parts = _parts(around)
    whole = around.ground and around.ground[0].shape == "everything"
    table = mean_colour(around.ground[0].pattern) if whole else layout.table
    ends = (1 + len(lamps), 1 + len(lamps) + len(around.ground), _table_class(around), 1 + len(lamps) + len(parts))
    mean, kind, above = _sky(layout)
    head = (*table, *mean, *bare, half, *ends, kind, *above)
    skies = small_map(around.sky).transpose(0, 2, 1).reshape(-1, col.MAP_COLUMNS) if kind == _MAP else ()
    return _rows([head, *lamps, *parts, *skies]).astype(np.float32)


def stuff_environment(around: Surroundings) -> F32:
    """The parts of the array that stuff maps depend on, for where nothing is lit."""
    parts = _parts(around)
    head = (*(0.0,) * col.LAMPS_END, 1, 1 + len(around.ground), _table_class(around), 1 + len(parts))
    return _rows([head, *parts]).astype(np.float32)


def _parts(around: Surroundings) -> list[tuple[float, ...]]:
    """The rows of regions and walls."""
    walls = ((math.cos(wall.azimuth), math.sin(wall.azimuth), wall.distance, wall.height) for wall in around.walls)
    tails = ((around.number_of(wall.category), *pattern_columns(wall.pattern)) for wall in around.walls)
    rows = [(*wall, *(0.0,) * (col.CLASS - 4), *tail) for wall, tail in zip(walls, tails, strict=True)]
    return [_region(region, around) for region in around.ground] + rows


def _sky(layout: Layout) -> tuple[tuple[float, ...], int, tuple[float, ...]]:
    """Mean radiance of the sky on level ground, its kind, and the radiance of horizon and zenith."""
    sky = layout.surroundings.sky
    if sky.kind == "gradient":
        # Radiance h + (z − h) (1 − (1 − s)²) at the sine s of the elevation, weighted by s over the half sphere.
        mean = tuple(h + (z - h) * 5.0 / 6.0 for h, z in zip(sky.horizon, sky.zenith, strict=True))
        return mean, _GRADIENT, (*sky.horizon, *sky.zenith)
    if sky.kind == "environment":
        rows = np.sin((0.5 - np.arange(col.MAP_ROWS + 1) / col.MAP_ROWS) * math.pi)
        weights = np.maximum(rows[:-1], 0.0) ** 2 - np.maximum(rows[1:], 0.0) ** 2
        mean = tuple((small_map(sky).mean(axis=1) * weights[:, None]).sum(axis=0).tolist())
        return mean, _MAP, ()
    return layout.ambient, 0, ()


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
