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

from sightline.worlds.shapes.prisms import Indices, Mesh, cap, ring
from sightline.worlds.shapes.surfaces import crease_normals, polygon, unit
from sightline.worlds.solids import Cavity, Floats, Outline, Solid

ROUND: Final = 48
"""Corners of an ellipse; a multiple of four touches the bounding box."""

Profile = Sequence[tuple[float, float]]
"""(height, factor on the outline) from the base up; heights never fall."""

Sides = Literal["box", "ellipse"] | int
"""``box``, ``ellipse``, or the number of corners of a polygon."""

GRIP: Final = (0.8, 0.3)
BELOW_LID: Final = 0.6
"""Where a handle begins and ends, as shares of the height up to which the body is so wide, against its widest."""

BENDS: Final = 11
BAR: Final = 8
THICK: Final = 0.13
"""Places along a handle, corners of its round bar, and half the bar's thickness to the handle's height."""

CARRIES: Final = 0.85
"""A top at least so wide, against the widest place below it, is one that things can stand on."""


class Form(NamedTuple):
    """A shape in medium size, in model units.

    Attributes:
        sides: Of the outline, `x` and `y` wide.
        profile: (height, factor on the outline) from the base up.
        hollow: Sides, x, y and depth of the cavity; as deep as the shape is high, it is a bore and holds nothing.
        handles: How far each handle reaches out: the first along x, a second one opposite.
    """

    sides: Sides
    x: float
    y: float
    profile: Profile
    hollow: tuple[Sides, float, float, float] | None = None
    handles: tuple[float, ...] = ()


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
    # vessels: open ones of all proportions, some with handles
    "crucible": Form("ellipse", 1.7, 1.7, _upright(1.15), ("ellipse", 1.4, 1.4, 1.0)),
    "flute": Form("ellipse", 1.0, 1.0, ((0.0, 0.6), (2.4, 1.0)), ("ellipse", 0.5, 0.5, 2.0)),
    "oval_cup": Form("ellipse", 1.7, 1.2, _upright(1.5), ("ellipse", 1.45, 0.95, 1.35)),
    "caddy": Form("box", 1.7, 1.1, _upright(1.5), ("box", 1.5, 0.9, 1.3)),
    "hexa_tumbler": Form(6, 1.2, 1.2, ((0.0, 0.86), (2.7, 1.0)), ("ellipse", 0.8, 0.8, 2.4)),
    "octa_pail": Form(8, 2.2, 2.2, ((0.0, 0.7), (1.7, 1.0)), ("ellipse", 1.35, 1.35, 1.5)),
    "basin": Form("ellipse", 3.4, 3.4, ((0.0, 0.72), (0.9, 1.0)), ("ellipse", 2.3, 2.3, 0.75)),
    "mortar": Form("ellipse", 1.9, 1.9, ((0.0, 0.5), (1.5, 1.0)), ("ellipse", 0.95, 0.95, 1.25)),
    "peg": Form("ellipse", 0.8, 0.8, ((0.0, 0.8), (0.9, 0.8), (0.9, 1.0), (1.8, 1.0))),
    "goblet": Form(
        "ellipse",
        1.7,
        1.7,
        ((0.0, 0.75), (0.12, 0.75), (0.3, 0.22), (1.0, 0.22), (1.3, 0.9), (2.2, 1.0)),
        ("ellipse", 1.35, 1.35, 0.85),
    ),
    "vase": Form(
        "ellipse",
        1.9,
        1.9,
        ((0.0, 0.5), (0.6, 0.95), (1.1, 1.0), (1.7, 0.7), (2.1, 0.66), (2.5, 0.88)),
        ("ellipse", 1.0, 1.0, 1.6),
    ),
    "churn": Form("ellipse", 1.8, 1.8, ((0.0, 1.0), (1.0, 0.62), (2.0, 0.9)), ("ellipse", 1.0, 1.0, 1.4)),
    "tankard": Form(8, 1.5, 1.5, _upright(2.2), ("ellipse", 1.2, 1.2, 2.0), (0.7,)),
    "dipper": Form("ellipse", 1.6, 1.6, _upright(0.9), ("ellipse", 1.35, 1.35, 0.75), (1.5,)),
    "stein": Form("ellipse", 1.5, 1.5, ((0.0, 1.0), (2.6, 0.88)), ("ellipse", 1.05, 1.05, 2.3), (0.6,)),
    "box_cup": Form("box", 1.4, 1.4, _upright(1.2), ("box", 1.15, 1.15, 1.05), (0.8,)),
    "saucepan": Form("ellipse", 2.6, 2.6, _upright(1.0), ("ellipse", 2.3, 2.3, 0.85), (1.6,)),
    "stockpot": Form("ellipse", 2.2, 2.2, _upright(1.6), ("ellipse", 1.95, 1.95, 1.45), (0.5, 0.5)),
    "trophy": Form(
        "ellipse",
        1.5,
        1.5,
        ((0.0, 0.8), (0.4, 0.3), (1.0, 0.9), (2.3, 1.0)),
        ("ellipse", 1.15, 1.15, 1.2),
        (0.6, 0.6),
    ),
    # the same ones closed, and others that are round or pointed at the top and carry nothing
    "oval_drum": Form("ellipse", 1.7, 1.2, _upright(1.5)),
    "caddy_block": Form("box", 1.7, 1.1, _upright(1.5)),
    "hexa_drum": Form(6, 1.2, 1.2, ((0.0, 0.86), (2.7, 1.0))),
    "tankard_block": Form(8, 1.5, 1.5, _upright(2.2), None, (0.7,)),
    "lidded_pot": Form(
        "ellipse", 2.2, 2.2, ((0.0, 1.0), (1.3, 1.0), (1.6, 0.45), (1.6, 0.18), (2.0, 0.24)), None, (0.5, 0.5)
    ),
    "lidded_pan": Form("box", 3.2, 2.2, ((0.0, 0.9), (0.9, 1.0), (1.2, 0.3), (1.5, 0.3)), None, (0.7, 0.7)),
    "jug": Form("ellipse", 1.8, 1.8, ((0.0, 0.7), (0.8, 1.0), (1.6, 0.6), (2.4, 0.7)), None, (0.8,)),
    "flask": Form("ellipse", 2.1, 2.1, ((0.0, 0.9), (0.4, 1.0), (1.0, 0.9), (1.7, 0.3), (2.7, 0.28))),
    "skittle": Form(
        "ellipse", 1.1, 1.1, ((0.0, 0.7), (0.8, 1.0), (1.7, 0.45), (2.1, 0.4), (2.6, 0.6), (2.9, 0.4), (3.0, 0.1))
    ),
    "vial": Form("ellipse", 0.9, 0.9, ((0.0, 1.0), (1.6, 1.0), (1.9, 0.5), (2.3, 0.5), (2.3, 0.66), (2.6, 0.66))),
    "gourd": Form(
        "ellipse", 2.0, 2.0, (*_bulging(1.5, 0.5, 0.5)[:-1], (1.6, 0.45), (2.0, 0.62), (2.4, 0.45), (2.6, 0.1))
    ),
    "obelisk": Form("box", 1.2, 1.2, ((0.0, 1.0), (2.6, 0.75), (3.3, 0.05))),
    "hut": Form("box", 2.6, 1.7, ((0.0, 1.0), (1.0, 1.0), (1.8, 0.08))),
    "hexa_hut": Form(6, 1.7, 1.7, ((0.0, 1.0), (0.9, 1.0), (2.1, 0.08))),
    "mound": Form("ellipse", 3.4, 2.2, tuple((0.8 * math.sin(a), math.cos(a)) for a in np.linspace(0, 1.45, 8))),
    "quoit": Form("ellipse", 2.7, 2.7, _bulging(0.5, 0.8, 0.8), ("ellipse", 1.6, 1.6, 0.5)),
    "tyre": Form("ellipse", 2.0, 2.0, _bulging(1.1, 0.72, 0.72), ("ellipse", 0.8, 0.8, 1.1)),
    "oval_ring": Form("ellipse", 2.2, 1.5, _bulging(0.7, 0.8, 0.8), ("ellipse", 0.8, 0.5, 0.7)),
    # thin and wide, on which much can stand
    "platter": Form("ellipse", 4.8, 3.2, ((0.0, 0.6), (0.4, 1.0), (0.5, 1.0))),
    "board": Form("box", 4.4, 3.4, ((0.0, 0.8), (0.35, 1.0), (0.45, 1.0))),
    "octa_dish": Form(8, 4.4, 3.6, ((0.0, 0.55), (0.6, 1.0), (0.8, 1.0))),
    "cake_stand": Form(
        "ellipse", 3.0, 3.0, ((0.0, 0.5), (0.12, 0.5), (0.25, 0.15), (1.1, 0.15), (1.2, 1.0), (1.35, 1.0))
    ),
}
"""By name."""

INVENTED: Final = tuple(RECIPES)


def build(shape: str, name: str, scale: float) -> Solid:
    """The shape with `scale` metres to the model unit."""
    form = RECIPES[shape]
    body = _outline(form.sides, form.x, form.y, scale)
    profile = [(height * scale, factor) for height, factor in form.profile]
    height, hollow = profile[-1][0], None
    if form.hollow is not None:
        sides, x, y, depth = form.hollow
        hollow = Cavity(_outline(sides, x, y, scale), depth * scale)
    mesh = stack(body, profile, hollow)
    cavity = None if hollow is None or hollow.depth >= height else hollow
    factors = [factor for _, factor in profile]
    widest = max(factors)
    top = body.scaled(factors[-1]) if factors[-1] >= CARRIES * widest else None
    outline, base = body.scaled(widest), body.scaled(factors[0])
    if form.handles:
        mesh, aside = _with_handles(mesh, profile, body.half[0], [reach * scale for reach in form.handles])
        outline = polygon(mesh.vertices[:, :2])
        if aside:  # the middle of the bounding box is no longer the body's
            base = _moved(base, aside)
            top = None if top is None else _moved(top, aside)
            cavity = None if cavity is None else Cavity(_moved(cavity.outline, aside), cavity.depth)
    return mesh.solid(name, outline=outline, base=base, top=top, height=height, cavity=cavity)


def _with_handles(mesh: Mesh, profile: Profile, half: float, reaches: Sequence[float]) -> tuple[Mesh, float]:
    """The mesh with handles in its wall, centred again, and by how much that moved it along x."""
    heights, factors = zip(*profile, strict=True)
    high = max(z for z, factor in profile if factor >= BELOW_LID * max(factors))
    parts = [mesh]
    for side, reach in zip((1.0, -1.0), reaches, strict=False):
        ends = [(half * float(np.interp(z, heights, factors)), z) for z in (share * high for share in GRIP)]
        parts.append(_handle(ends, reach, side))
    starts = np.cumsum([0] + [len(part.vertices) for part in parts[:-1]])
    vertices = np.concatenate([part.vertices for part in parts])
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=True)])
    aside = -float(vertices[:, 0].min() + vertices[:, 0].max()) / 2.0
    aside = aside if abs(aside) > 1e-9 else 0.0
    return Mesh(
        vertices + np.array((aside, 0.0, 0.0)), faces, np.concatenate([part.normals for part in parts])
    ), aside


def _handle(ends: Sequence[tuple[float, float]], reach: float, side: float) -> Mesh:
    """A round bar bent from one place of a wall, (x, z), to a lower one: half an ellipse in the plane y = 0."""
    (top_x, top), (low_x, low) = ends
    turn = np.linspace(0.0, np.pi, BENDS)
    thick, down = THICK * (top - low), (1.0 - np.cos(turn)) / 2.0
    x = top_x + (low_x - top_x) * down + (reach - thick) * np.sin(turn)
    x[[0, -1]] -= thick / 4.0  # into the wall, and not through it
    middles = np.column_stack((x, np.zeros(BENDS), top + (low - top) * down))
    ahead = unit(np.gradient(middles, axis=0))
    ahead[[0, -1]] = ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
    aside = np.array((0.0, 1.0, 0.0))
    across = np.cross(ahead, aside)
    around = 2.0 * np.pi * np.arange(BAR) / BAR
    rings = middles[:, None] + thick * (np.cos(around)[:, None] * across[:, None] + np.sin(around)[:, None] * aside)
    ids = np.arange(BENDS * BAR).reshape(BENDS, BAR)
    faces = np.concatenate((_wall(ids), cap(ids[0])[:, ::-1], cap(ids[-1])))
    vertices = rings.reshape(-1, 3) * (side, 1.0, 1.0)
    faces = faces[:, ::-1] if side > 0 else faces
    return Mesh(vertices, faces, crease_normals(vertices, faces))


def _moved(outline: Outline, aside: float) -> Outline:
    return polygon(outline.polygon(segments=ROUND) + np.array((aside, 0.0)))


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
    faces = [_wall(ids)]
    bore = cavity is not None and cavity.depth >= profile[-1][0]
    if not bore:
        faces.append(cap(ids[0])[:, ::-1])
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
        below = ring(rings[0][:, :2], hole, ids[0], floor)[:, ::-1] if bore else cap(floor)
        faces += [walls, below, ring(rings[levels - 1][:, :2], hole, ids[-1], rim)]
    vertices, joined = np.concatenate(rings), np.concatenate(faces)
    return Mesh(vertices, joined, crease_normals(vertices, joined))


def _wall(ids: Indices) -> Indices:
    """Faces between loops of vertices, (levels, n) numbers, that look outwards where loops turn left going up."""
    low, high = ids[:-1], ids[1:]
    ahead, above = np.roll(low, -1, axis=1), np.roll(high, -1, axis=1)
    return np.stack((low, ahead, above, low, above, high), axis=2).reshape(-1, 3)


def opening(outline: Outline) -> Floats:
    """Corners of a cavity; they lie around an ellipse, not in it, so that whatever fits the ellipse is clear."""
    hole = outline.polygon(segments=ROUND)
    return hole / np.cos(np.pi / ROUND) if outline.kind == "ellipse" else hole
