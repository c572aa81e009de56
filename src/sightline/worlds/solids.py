"""A solid: the shape of a thing as plain arrays, with what placement and predicates need to know of it.

Everything is in metres of the scene, z up, the base at z = 0, x and y centred on the bounding box. Outlines are
convex and seen from above.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEGMENTS = 96
"""Corners of an ellipse wherever it becomes a polygon: the gap to the curve is 0.05 % of its radius."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """One shape in one size.

    Attributes:
        name: ``cube_container:medium``.
        vertices: (V, 3) float32.
        faces: (F, 3) int32, counter-clockwise seen from outside; the mesh is watertight.
        normals: (F, 3, 3) float32, a unit normal per corner: smooth where the surface is.
        outline: Silhouette from above (its convex hull).
        base: What touches the table (its convex hull).
        top: Flat part at the full height that carries things (its convex hull, with the cavity); None without one.
        height: Metres.
        cavity: The hollow, if it has one.
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
