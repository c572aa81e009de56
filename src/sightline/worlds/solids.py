"""A solid: the shape of a thing as plain arrays, with what placement and predicates need to know of it.

Everything is in metres of the scene, z up, the front towards −y, the base at z = 0, x and y centred on the bounding
box. Outlines are convex and seen from above.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.worlds.looks import Material

Floats = NDArray[np.float64]
Triple = tuple[float, float, float]

SEGMENTS = 96
"""Corners of an ellipse wherever it becomes a polygon: the gap to the curve is 0.05 % of its radius."""

MOST_SLOTS: Final = 8
"""Painted parts of a solid at most: the renderers keep so many looks of an object."""

CONTINUOUS: Final = 0
"""`Solid.symmetry` of a shape that looks the same after any turn."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A convex region of the plane, centred on the origin of its solid.

    Attributes:
        kind: ``box`` and ``ellipse`` are axis-parallel and exact; ``polygon`` is given by its corners.
        half: Half extents along x and y, metres.
        points: Corners of a polygon, counter-clockwise; empty for the other kinds.
    """

    kind: Literal["box", "ellipse", "polygon"]
    half: tuple[float, float]
    points: tuple[tuple[float, float], ...] = ()

    def polygon(self, segments: int = SEGMENTS) -> Floats:
        """Corners, counter-clockwise, (n, 2) float64; those of an ellipse lie on it.

        >>> Outline("box", (1.0, 0.5)).polygon()
        array([[-1. , -0.5], [ 1. , -0.5], [ 1. ,  0.5], [-1. ,  0.5]])
        """
        a, b = self.half
        if self.kind == "polygon":
            return np.array(self.points, dtype=np.float64)
        if self.kind == "box":
            return np.array([(-a, -b), (a, -b), (a, b), (-a, b)], dtype=np.float64)
        turn = 2.0 * np.pi * np.arange(segments) / segments
        return np.column_stack((a * np.cos(turn), b * np.sin(turn)))

    @property
    def turns(self) -> int:
        """Turns that leave it the same, as `Solid.symmetry` counts them; of a polygon no more than half turns.

        >>> [Outline(kind, (x, 1.0)).turns for kind in ("box", "ellipse") for x in (1.0, 2.0)]
        [4, 2, 0, 2]
        """
        if self.kind == "polygon":
            corners = np.array(self.points)
            away = np.linalg.norm(corners[:, None] + corners, axis=2).min(axis=1)
            return 2 if (away < 1e-5 * max(self.half)).all() else 1
        if abs(self.half[0] - self.half[1]) > 1e-9 * max(self.half):
            return 2
        return 4 if self.kind == "box" else CONTINUOUS

    def scaled(self, factor: float) -> Outline:
        """The outline grown about the origin.

        >>> Outline("ellipse", (1.0, 0.5)).scaled(0.5).half
        (0.5, 0.25)
        """
        points = tuple((x * factor, y * factor) for x, y in self.points)
        return Outline(self.kind, (self.half[0] * factor, self.half[1] * factor), points)


@dataclass(frozen=True, slots=True)
class Cavity:
    """A hollow open at the top: `outline` of its opening, `depth` from rim to floor in metres."""

    outline: Outline
    depth: float


@dataclass(frozen=True, slots=True)
class Slot:
    """A painted part of a solid: windows, tyres, a screen.

    Attributes:
        name: ``glass``.
        color: Linear RGB, the mean of the texture where there is one; None: the object's own colour.
        material: None: the object's own.
        texture: (h, w, 3) uint8 sRGB, the first row on top; None: one colour all over.
    """

    name: str
    color: Triple | None = None
    material: Material | None = None
    texture: NDArray[np.uint8] | None = field(default=None, repr=False, compare=False)

    def look(self, color: Triple, material: Material) -> tuple[Triple, Material]:
        """Linear RGB and material that it has on an object of that colour and material."""
        return (color if self.color is None else self.color), (material if self.material is None else self.material)


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """One shape in one size.

    Attributes:
        name: ``cube_container:medium``.
        vertices: (V, 3) float32.
        faces: (F, 3) int32, counter-clockwise seen from outside.
        normals: (F, 3, 3) float32, a unit normal per corner: smooth where the surface is.
        outline: Silhouette from above (its convex hull).
        base: What touches the table (its convex hull).
        top: Flat part at the full height that carries things (its convex hull, with the cavity); None without one.
        height: Metres.
        cavity: The hollow, if it has one.
        slots: Its painted parts, at most `MOST_SLOTS`; by default all of it has the object's colour and material.
        paint: (F,) uint8, the slot of every face; all of the first one where not given.
        uv: (F, 3, 2) float32, where in its slot's texture every corner lies: 0 … 1 to the right and down, beyond
            that the texture repeats; None without textures.
        landmarks: Named points of the surface, such as PASCAL3D+'s.
        symmetry: Turns about z, in equal steps over a full one, that leave it the same: 1 only the full turn, 2
            half a turn too, 4 quarters; `CONTINUOUS` any. `surfaces.symmetry` computes it from the mesh.
        closed: Whether the mesh is watertight and encloses matter; if not, it is drawn from both sides.
        front: Whether −y is a front, from which viewpoints count: so it is of CAD models and of own meshes.
    """

    name: str
    vertices: NDArray[np.float32] = field(repr=False)
    faces: NDArray[np.int32] = field(repr=False)
    normals: NDArray[np.float32] = field(repr=False)
    outline: Outline
    base: Outline
    top: Outline | None
    height: float
    cavity: Cavity | None = None
    slots: tuple[Slot, ...] = (Slot("body"),)
    paint: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8), repr=False)
    uv: NDArray[np.float32] | None = field(default=None, repr=False)
    landmarks: Mapping[str, Triple] = field(default_factory=dict)
    symmetry: int = 1
    closed: bool = True
    front: bool = False

    def __post_init__(self) -> None:
        if not self.paint.size:
            object.__setattr__(self, "paint", np.zeros(len(self.faces), np.uint8))
        if not 1 <= len(self.slots) <= MOST_SLOTS:
            raise DataError("wrong number of slots", expected=f"1 … {MOST_SLOTS}", found=len(self.slots))
        if self.paint.shape != (len(self.faces),) or (self.paint >= len(self.slots)).any():
            raise DataError("paint does not fit the solid", expected="a slot for every face", found=self.name)


def scaled(solid: Solid, name: str, factor: float) -> Solid:
    """The solid grown about the middle of its base, under another name."""
    cavity = solid.cavity
    return replace(
        solid,
        name=name,
        vertices=solid.vertices * np.float32(factor),
        outline=solid.outline.scaled(factor),
        base=solid.base.scaled(factor),
        top=None if solid.top is None else solid.top.scaled(factor),
        height=solid.height * factor,
        cavity=None if cavity is None else Cavity(cavity.outline.scaled(factor), cavity.depth * factor),
        landmarks={name: (x * factor, y * factor, z * factor) for name, (x, y, z) in solid.landmarks.items()},
    )
