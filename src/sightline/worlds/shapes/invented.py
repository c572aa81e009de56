"""Shapes of nobody's making, to learn from: none is one of GeoSpa's or of the kitchen, nor close to one.

A network that has seen seven shapes takes an eighth for one of the seven. These vary what those hold fixed: the
number of sides, how a body narrows or bulges on its way up, what hollow it has; a test measures how far each keeps
from the shapes that a split holds out. Each is a *stack*: an outline drawn up through the heights of a profile,
massive or hollowed from the top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from sightline.worlds.shapes.prisms import Mesh, cap, ring
from sightline.worlds.shapes.surfaces import crease_normals, polygon
from sightline.worlds.solids import Cavity, Floats, Outline, Solid

ROUND: Final = 48
"""Corners of an ellipse; a multiple of four touches the bounding box."""

Profile = Sequence[tuple[float, float]]
"""(height, factor on the outline) from the base up; heights never fall."""

Sides = Literal["box", "ellipse"] | int
"""``box``, ``ellipse``, or the number of corners of a polygon."""

CARRIES: Final = 0.85
"""A top at least so wide, against the widest place below it, is one that things can stand on."""


class Form(NamedTuple):
    """A shape in medium size, in model units.

    Attributes:
        sides: Of the outline, `x` and `y` wide.
        profile: (height, factor on the outline) from the base up.
        hollow: Sides, x, y and depth of the cavity.
    """

    sides: Sides
    x: float
    y: float
    profile: Profile
    hollow: tuple[Sides, float, float, float] | None = None


def _upright(height: float) -> Profile:
    return ((0.0, 1.0), (height, 1.0))


def _bulging(height: float, low: float, high: float, middle: float = 0.5, levels: int = 7) -> Profile:
    """From `low` at the base through 1 at `middle` of the height to `high` at the top, in a round line."""
    shares = [i / (levels - 1) for i in range(levels)]
    return tuple((height * t, _swell(t, middle, low, high)) for t in shares)


def _swell(t: float, middle: float, low: float, high: float) -> float:
    reach = t / middle if t < middle else (1.0 - t) / (1.0 - middle)
    end = low if t < middle else high
    return end + (1.0 - end) * math.sin(math.pi / 2.0 * reach)


def _waisted(height: float, waist: float, high: float = 1.0, levels: int = 7) -> Profile:
    """From 1 at the base through a waist in the middle to `high` at the top."""
    shares = [i / (levels - 1) for i in range(levels)]
    wide = [1.0 if t < 0.5 else high for t in shares]
    return tuple(
        (height * t, waist + (w - waist) * (1.0 - math.sin(math.pi * t))) for t, w in zip(shares, wide, strict=True)
    )


RECIPES: Final[dict[str, Form]] = {
    # upright, without a hollow
    "slab": Form("box", 3.4, 2.6, _upright(0.6)),
    "plank": Form("box", 4.6, 1.2, _upright(0.9)),
    "pillar": Form("box", 1.1, 1.1, _upright(3.4)),
    "panel": Form("box", 2.8, 0.7, _upright(2.8)),
    "pole": Form("ellipse", 0.9, 0.9, _upright(3.6)),
    "disc": Form("ellipse", 3.2, 3.2, _upright(0.45)),
    "lozenge": Form("ellipse", 4.4, 1.5, _upright(1.2)),
    "tri_prism": Form(3, 2.4, 2.2, _upright(1.9)),
    "tri_slab": Form(3, 3.6, 3.0, _upright(0.7)),
    "tri_tower": Form(3, 1.5, 1.5, _upright(3.0)),
    "penta_slab": Form(5, 2.8, 2.8, _upright(0.75)),
    "hexa_tower": Form(6, 1.1, 1.1, _upright(3.3)),
    "hexa_bar": Form(6, 4.0, 1.6, _upright(1.3)),
    "octa_slab": Form(8, 3.0, 2.4, _upright(0.55)),
    # narrowing, widening, bulging
    "pyramid_stump": Form("box", 2.6, 2.6, ((0.0, 1.0), (1.9, 0.4))),
    "wedge_block": Form("box", 3.6, 1.8, ((0.0, 1.0), (1.6, 0.55))),
    "anvil": Form("box", 2.8, 1.8, ((0.0, 0.55), (0.8, 0.55), (1.5, 1.0), (2.0, 1.0))),
    "steps": Form("box", 2.8, 2.8, ((0.0, 1.0), (0.7, 1.0), (0.7, 0.66), (1.4, 0.66), (1.4, 0.33), (2.1, 0.33))),
    "column": Form("box", 1.9, 1.9, ((0.0, 1.0), (0.4, 1.0), (0.4, 0.6), (2.2, 0.6), (2.2, 0.95), (2.6, 0.95))),
    "cone_stump": Form("ellipse", 2.4, 2.4, ((0.0, 1.0), (2.2, 0.25))),
    "funnel": Form("ellipse", 2.5, 2.5, ((0.0, 0.35), (1.9, 1.0), (2.2, 1.0))),
    "dome": Form("ellipse", 2.6, 2.6, tuple((1.3 * math.sin(a), math.cos(a)) for a in np.linspace(0, 1.45, 8))),
    "barrel": Form("ellipse", 2.4, 2.4, _bulging(2.4, 0.45, 0.45)),
    "spool": Form("ellipse", 2.0, 2.0, _waisted(2.2, 0.45)),
    "pawn": Form("ellipse", 1.7, 1.7, (*_waisted(1.8, 0.35, 0.4), (2.0, 0.62), (2.4, 0.72), (2.8, 0.5))),
    "tri_stump": Form(3, 3.0, 2.7, ((0.0, 1.0), (2.0, 0.45))),
    "hexa_bulge": Form(6, 2.8, 2.4, _bulging(1.9, 0.35, 0.35)),
    "octa_waist": Form(8, 2.3, 2.0, _waisted(2.0, 0.6)),
    # with a hollow
    "tray": Form("box", 4.2, 3.0, _upright(0.7), ("box", 3.8, 2.6, 0.5)),
    "trough": Form("box", 4.8, 1.9, _upright(1.4), ("box", 4.3, 1.4, 1.2)),
    "shaft": Form("box", 1.6, 1.6, _upright(3.0), ("box", 1.3, 1.3, 2.7)),
    "block_slot": Form("box", 2.6, 2.6, _upright(1.6), ("box", 1.9, 0.9, 1.2)),
    "block_bore": Form("box", 3.0, 3.0, _upright(1.3), ("ellipse", 1.6, 1.6, 1.1)),
    "hexa_cup": Form(6, 3.0, 3.0, _upright(1.0), ("ellipse", 2.0, 2.0, 0.8)),
    "hexa_box": Form(6, 3.6, 2.8, _upright(1.9), ("box", 1.9, 1.7, 1.7)),
    "tri_pot": Form(3, 3.6, 3.3, _upright(1.7), ("ellipse", 1.2, 1.2, 1.5)),
    "octa_pan": Form(8, 3.8, 3.2, _upright(0.8), ("box", 2.4, 2.0, 0.6)),
    "hod": Form("box", 3.0, 2.4, ((0.0, 0.7), (2.0, 1.0)), ("box", 1.9, 1.5, 1.8)),
    "kiln": Form("box", 2.6, 2.6, ((0.0, 1.0), (2.1, 0.86)), ("ellipse", 1.5, 1.5, 1.9)),
    "urn": Form("ellipse", 2.6, 2.6, _bulging(2.9, 0.25, 0.86, 0.7), ("box", 1.1, 1.1, 1.6)),
    "planter": Form("ellipse", 3.2, 2.4, ((0.0, 0.6), (1.6, 1.0)), ("box", 1.3, 1.0, 1.2)),
    "penta_pot": Form(5, 3.0, 3.0, ((0.0, 0.7), (1.8, 1.0)), ("ellipse", 1.4, 1.4, 1.6)),
    # look-alikes: the same outside, with and without a hollow, or with another one
    "low_drum": Form("ellipse", 2.6, 2.6, _upright(0.9)),
    "low_pot": Form("ellipse", 2.6, 2.6, _upright(0.9), ("ellipse", 2.2, 2.2, 0.75)),
    "low_socket": Form("ellipse", 2.6, 2.6, _upright(0.9), ("box", 1.3, 1.3, 0.75)),
    "pipe": Form("ellipse", 0.9, 0.9, _upright(3.6), ("ellipse", 0.65, 0.65, 3.2)),
    "lozenge_pot": Form("ellipse", 4.4, 1.5, _upright(1.2), ("ellipse", 3.9, 1.2, 1.0)),
    "lozenge_slot": Form("ellipse", 4.4, 1.5, _upright(1.2), ("box", 2.4, 0.9, 1.0)),
    "block": Form("box", 2.6, 2.6, _upright(1.6)),
    "block_well": Form("box", 2.6, 2.6, _upright(1.6), ("ellipse", 1.9, 1.9, 1.2)),
    "beam_bore": Form("box", 4.8, 1.9, _upright(1.4), ("ellipse", 3.0, 1.3, 1.2)),
    "beam": Form("box", 4.8, 1.9, _upright(1.4)),
    "low_box": Form("box", 2.4, 2.4, _upright(0.9)),
    "low_crate": Form("box", 2.4, 2.4, _upright(0.9), ("box", 2.0, 2.0, 0.75)),
    "hexa_slab": Form(6, 3.0, 3.0, _upright(1.0)),
    "hexa_tray": Form(6, 3.0, 3.0, _upright(1.0), ("box", 1.8, 1.5, 0.8)),
    "tri_block": Form(3, 3.6, 3.3, _upright(1.7)),
}
"""By name."""

INVENTED: Final = tuple(RECIPES)


def build(shape: str, name: str, scale: float) -> Solid:
    """The shape with `scale` metres to the model unit."""
    form = RECIPES[shape]
    outline = _outline(form.sides, form.x, form.y, scale)
    profile = [(height * scale, factor) for height, factor in form.profile]
    cavity = None
    if form.hollow is not None:
        sides, x, y, depth = form.hollow
        cavity = Cavity(_outline(sides, x, y, scale), depth * scale)
    mesh = stack(outline, profile, cavity)
    factors = [factor for _, factor in profile]
    widest = max(factors)
    return mesh.solid(
        name,
        outline=outline.scaled(widest),
        base=outline.scaled(factors[0]),
        top=outline.scaled(factors[-1]) if factors[-1] >= CARRIES * widest else None,
        height=profile[-1][0],
        cavity=cavity,
    )


def _outline(sides: Sides, x: float, y: float, scale: float) -> Outline:
    half = (x * scale / 2.0, y * scale / 2.0)
    if sides == "box" or sides == "ellipse":
        return Outline(sides, half)
    turn = 2.0 * np.pi * (np.arange(sides) + 0.5) / sides
    corners = np.column_stack((np.cos(turn), np.sin(turn)))
    low, high = corners.min(axis=0), corners.max(axis=0)
    return polygon((corners - (low + high) / 2.0) / (high - low) * 2.0 * half)


def stack(outline: Outline, profile: Profile, cavity: Cavity | None = None) -> Mesh:
    """The closed surface, standing on z = 0; a cavity's walls are upright, and its opening lies in the top.

    >>> mesh = stack(Outline("box", (1.0, 1.0)), [(0.0, 1.0), (1.0, 0.5)])
    >>> mesh.vertices.shape, mesh.faces.shape
    ((8, 3), (12, 3))
    """
    loop = outline.polygon(segments=ROUND)
    n, levels = len(loop), len(profile)
    rings = [np.column_stack((factor * loop, np.full(n, height))) for height, factor in profile]
    ids = np.arange(levels * n).reshape(levels, n)
    low, high = ids[:-1], ids[1:]
    ahead, above = np.roll(low, -1, axis=1), np.roll(high, -1, axis=1)
    faces = [np.stack((low, ahead, above, low, above, high), axis=2).reshape(-1, 3), cap(ids[0])[:, ::-1]]
    if cavity is None:
        faces.append(cap(ids[-1]))
    else:
        top = profile[-1][0]
        hole = opening(cavity.outline)
        m, first = len(hole), levels * n
        rings += [np.column_stack((hole, np.full(m, z))) for z in (top - cavity.depth, top)]
        floor, rim = np.arange(first, first + m), np.arange(first + m, first + 2 * m)
        floor_next, rim_next = np.roll(floor, -1), np.roll(rim, -1)
        walls = np.stack((floor, rim_next, floor_next, floor, rim, rim_next), axis=1).reshape(-1, 3)
        faces += [walls, cap(floor), ring(rings[levels - 1][:, :2], hole, ids[-1], rim)]
    vertices, joined = np.concatenate(rings), np.concatenate(faces)
    return Mesh(vertices, joined, crease_normals(vertices, joined))


def opening(outline: Outline) -> Floats:
    """Corners of a cavity; they lie around an ellipse, not in it, so that whatever fits the ellipse is clear."""
    hole = outline.polygon(segments=ROUND)
    return hole / np.cos(np.pi / ROUND) if outline.kind == "ellipse" else hole
