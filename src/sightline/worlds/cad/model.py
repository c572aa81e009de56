"""CAD models: parts, landmarks and symmetry of one thing, brought to PASCAL3D+'s frame and made a solid."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import Final

import numpy as np

from sightline.errors import ConfigError
from sightline.hints import hint
from sightline.worlds.cad import SUBTYPES
from sightline.worlds.cad.parts import Part
from sightline.worlds.looks import MATERIALS, Material, linear
from sightline.worlds.shapes.meshes import standing
from sightline.worlds.shapes.prisms import Mesh
from sightline.worlds.shapes.surfaces import Surface, crease_normals, polygon
from sightline.worlds.solids import SEGMENTS, Floats, Outline, Slot, Solid, Triple

Rgb = tuple[int, int, int]

_MATTE, _SEMI = Material(0.0, 0.8, 0.02), Material(0.0, 0.45, 0.04)
_LACQUER, _MIRROR = Material(0.0, 0.12, 0.06), Material(0.0, 0.05, 0.12)

LOOKS: Final[dict[str, tuple[Material, tuple[Rgb, ...]]]] = {
    "second": (_LACQUER, ((235, 235, 232), (30, 32, 36), (150, 155, 160), (25, 50, 110), (150, 25, 30))),
    "glass": (_MIRROR, ((18, 22, 26), (30, 38, 44), (24, 34, 40), (40, 46, 50))),
    "clear": (MATERIALS["glass"], ((225, 235, 232), (190, 215, 205))),
    "tyre": (_MATTE, ((20, 20, 21), (28, 28, 29))),
    "dark": (_SEMI, ((24, 24, 26), (40, 41, 44))),
    "metal": (MATERIALS["metal"], ((200, 202, 206), (160, 163, 168))),
    "light": (_MIRROR, ((250, 248, 235), (235, 240, 250))),
    "tail": (_MIRROR, ((170, 12, 14), (200, 30, 20))),
    "white": (_SEMI, ((240, 240, 236), (226, 229, 232), (238, 230, 210))),
    "wood": (_SEMI, ((150, 100, 58), (110, 66, 36), (190, 146, 96), (82, 50, 32))),
    "fabric": (_MATTE, ((96, 98, 104), (150, 130, 105), (60, 72, 92), (130, 60, 52), (70, 90, 74))),
    "leather": (_SEMI, ((38, 30, 27), (92, 56, 36), (30, 30, 32), (120, 84, 56))),
    "screen": (_MIRROR, ((12, 13, 16), (30, 60, 110), (60, 66, 74))),
    "label": (_SEMI, ((240, 236, 220), (222, 200, 120), (200, 40, 40), (40, 90, 60))),
}
"""Slots by name: material, and the sRGB colours that a variant draws one of. ``paint`` is the object's own look."""

NAME: Final = re.compile(r"cad/(?P<category>[a-z]+)/(?P<subtype>[a-z_]+)(?:#(?P<variant>[0-9]{1,9}))?")


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """One thing as its category draws it, in any unit and place; z up, the front towards −y.

    Attributes:
        parts: Closed parts in at most eight slots.
        landmarks: PASCAL3D+'s names of its category, each near the surface; left is −x, where a viewer of the front
            has it.
        symmetry: As `Solid.symmetry` counts turns.
        mirror: Whether it is its own image on the other side of x = 0, slots included.
    """

    parts: Sequence[Part]
    landmarks: Mapping[str, Triple]
    symmetry: int = 1
    mirror: bool = True


Maker = Callable[[np.random.Generator], Draft]


def maker(category: str, subtype: str) -> Maker:
    """Find the function that draws a sub-type."""
    if category not in SUBTYPES:
        raise ConfigError(f"unknown category {category!r}{hint(category, SUBTYPES)}")
    if subtype not in SUBTYPES[category]:
        raise ConfigError(f"unknown sub-type {subtype!r} of {category}{hint(subtype, SUBTYPES[category])}")
    made: Maker = getattr(import_module(f"sightline.worlds.cad.{category}"), subtype)
    return made


def parse_name(name: str) -> tuple[str, str, int]:
    """Split the name of a CAD model: category, sub-type, variant.

    >>> parse_name("cad/car/sedan#17"), parse_name("cad/car/sedan")
    (('car', 'sedan', 17), ('car', 'sedan', 0))
    """
    match = NAME.fullmatch(name)
    if match is None:
        raise ConfigError(f"no name of a CAD model: {name!r}; expected cad/CATEGORY/SUBTYPE or …#VARIANT")
    return match["category"], match["subtype"], int(match["variant"] or 0)


@lru_cache(maxsize=256)
def draft(name: str) -> Draft:
    """Draw the model of that name: the same name gives the same one."""
    category, subtype, variant = parse_name(name)
    return maker(category, subtype)(_stream(category, subtype, variant, 0))


def build(name: str) -> Solid:
    """Make the solid of a CAD model, ``cad/car/sedan#17``, in medium size.

    One metre is the diagonal of its bounding box: PASCAL3D+'s CAD frame, moved up to stand on z = 0.
    """
    drawn = draft(name)
    category, subtype, variant = parse_name(name)
    whole = _joined(drawn.parts)
    low, high = whole.vertices.min(axis=0), whole.vertices.max(axis=0)
    size = float(np.linalg.norm(high - low))
    origin = np.array((*(low + high)[:2] / 2.0, low[2]))
    vertices = (whole.vertices - origin) / size
    points = {key: np.asarray(point, np.float64) for key, point in drawn.landmarks.items()}
    on_surface = {key: (nearest(point, whole) - origin) / size for key, point in points.items()}
    slots = list(dict.fromkeys(["paint", *(part.slot for part in drawn.parts)]))
    many = [len(part.faces) for part in drawn.parts]
    normals = crease_normals(vertices, whole.faces, np.repeat([part.crease for part in drawn.parts], many))
    made = standing(f"{name}:medium", Mesh(vertices, whole.faces, normals), name)
    rng = _stream(category, subtype, variant, 1)
    looks = {slot: _slot(slot, rng) for slot in sorted(LOOKS)}
    return replace(
        made,
        outline=_few_corners(made.outline),
        top=None if made.top is None else _few_corners(made.top),
        slots=tuple(looks.get(slot, Slot(slot)) for slot in slots),
        paint=np.repeat([slots.index(part.slot) for part in drawn.parts], many).astype(np.uint8),
        landmarks={key: (float(x), float(y), float(z)) for key, (x, y, z) in on_surface.items()},
        symmetry=drawn.symmetry,
        front=True,
    )


def _few_corners(region: Outline) -> Outline:
    """The outline with at most `SEGMENTS` corners: placement makes room for so many before it builds a model."""
    digits = 4
    while len(region.points) > SEGMENTS:
        region = polygon(np.round(np.array(region.points), digits))
        digits -= 1
    return region


def nearest(point: Floats, surface: Surface) -> Floats:
    """Find the point of a surface that is nearest to a point."""
    corners = surface.vertices[surface.faces]
    middles = corners.mean(axis=1)
    reach = np.sqrt(((corners - middles[:, None]) ** 2).sum(axis=2).max(axis=1))
    away = np.sqrt(((middles - point) ** 2).sum(axis=1))
    a, b, c = corners[away - reach <= (away + reach).min()].transpose(1, 0, 2)
    u, v, w = b - a, c - a, point - a
    uu, uv, vv = (np.einsum("ij,ij->i", p, q) for p, q in ((u, u), (u, v), (v, v)))
    wu, wv = np.einsum("ij,ij->i", w, u), np.einsum("ij,ij->i", w, v)
    area = np.maximum(uu * vv - uv * uv, 1e-300)
    s, t = (vv * wu - uv * wv) / area, (uu * wv - uv * wu) / area
    within = (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0)
    inside = a + s[:, None] * u + t[:, None] * v
    edges = [_on_edge(point, p, q) for p, q in ((a, b), (b, c), (c, a))]
    best = np.concatenate((inside[within], *edges))
    found: Floats = best[np.argmin(((best - point) ** 2).sum(axis=1))]
    return found


def _on_edge(point: Floats, start: Floats, end: Floats) -> Floats:
    along = end - start
    share = np.einsum("ij,ij->i", point - start, along) / np.maximum((along**2).sum(axis=1), 1e-300)
    nearest_one: Floats = start + np.clip(share, 0.0, 1.0)[:, None] * along
    return nearest_one


def _joined(parts: Sequence[Part]) -> Surface:
    first = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = [part.faces + start for part, start in zip(parts, first, strict=False)]
    return Surface(np.concatenate([part.vertices for part in parts]), np.concatenate(faces))


def _slot(name: str, rng: np.random.Generator) -> Slot:
    material, colors = LOOKS[name]
    return Slot(name, linear(colors[int(rng.integers(len(colors)))]), material)


def _stream(category: str, subtype: str, variant: int, use: int) -> np.random.Generator:
    word = int.from_bytes(hashlib.sha256(f"{category}/{subtype}".encode()).digest()[:8], "little")
    return np.random.default_rng([variant, word, use])
