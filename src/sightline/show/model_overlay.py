"""A CAD model over a picture from a viewpoint: wash, wireframe, landmarks (PASCAL3D+'s Figures 1, 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.geometry.viewpoints import Floats, Viewpoint, project
from sightline.scenes import Landmark
from sightline.show.drawing import path
from sightline.show.outlines import outlines
from sightline.show.raster import raster
from sightline.show.svg import element

if TYPE_CHECKING:  # numba; who only reads pictures does not need it
    from sightline.render.pose_masks import CadShape

BLUE, RED = "#1668e3", "#e03131"
"""Of a model, and of its landmarks."""
_CREASE: Final = np.cos(np.radians(32.0))
"""Cosine of the angle between faces from which on their edge is drawn."""
_PIECES: Final = 6
"""Parts of an edge, each drawn where it is seen."""
_DEEP: Final = 0.006
"""Diagonals behind the surface from which on an edge is hidden."""


@dataclass(frozen=True)
class DrawnModel:
    """A model as it is drawn over a picture.

    Attributes:
        shape: Name of a shape that `worlds.solid` knows.
        viewpoint: From where it is seen.
        colour: ``#rrggbb``.
        wash: Opacity of the colour over what the model covers.
        wire: Draw its edges.
        landmarks: Points in pixels that are circled; those that are not visible are left out.
    """

    shape: str
    viewpoint: Viewpoint
    colour: str = BLUE
    wash: float = 0.25
    wire: bool = True
    landmarks: tuple[Landmark, ...] = ()


def model_overlay(image: NDArray[np.uint8], models: Sequence[DrawnModel], scale: float = 1.0) -> Image.Image:
    """Draw models over a picture, HWC uint8, and the whole `scale` times as large: RGB."""
    from sightline.render.pose_masks import cad_shape, silhouette

    height, width = image.shape[:2]
    size = round(scale * width), round(scale * height)
    body = []
    for one in models:
        shape = cad_shape(one.shape)
        mask = silhouette(shape, one.viewpoint, (width, height)) > 0
        loops = [scale * loop for loop in outlines(mask)]
        looks = {"fill": one.colour, "fill_opacity": one.wash, "fill_rule": "evenodd", "stroke": one.colour}
        body.append(element("path", d=path(loops), **looks, stroke_width=1.6))
        if one.wire:
            pieces = (scale * visible_edges(shape, one.viewpoint, (width, height))).tolist()
            drawn = "".join(f"M{x0:.1f} {y0:.1f} {x1:.1f} {y1:.1f}" for (x0, y0), (x1, y1) in pieces)
            body.append(element("path", d=drawn, fill="none", stroke=one.colour, stroke_width=0.9))
        for mark in one.landmarks:
            if mark.state == "visible" and mark.x is not None and mark.y is not None:
                spot = {"cx": scale * mark.x, "cy": scale * mark.y, "r": 0.012 * size[0]}
                body.append(element("circle", **spot, fill="none", stroke=RED, stroke_width=2.2))
    picture = Image.fromarray(image).resize(size, Image.Resampling.LANCZOS)
    return raster("".join(body), size, [(picture, (0, 0))])


def visible_edges(shape: CadShape, viewpoint: Viewpoint, size: tuple[int, int]) -> Floats:
    """Find creases, borders and contours of a surface that are seen in a picture: (n, 2, 2) pixels x, y."""
    from sightline.render.pose_masks import silhouette

    points, place = np.unique(np.round(shape.vertices.astype(np.float64), 5), axis=0, return_inverse=True)
    faces = place.reshape(-1)[shape.faces]
    corners = points[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normals, axis=1)
    faces, normals = faces[area > 0], normals[area > 0] / area[area > 0, None]
    pairs = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    of = np.tile(np.arange(len(faces)), 3)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    edges, first, many = np.unique(pairs[order], axis=0, return_index=True, return_counts=True)
    one, other = of[order][first], of[order][np.minimum(first + 1, len(order) - 1)]
    _, pose = viewpoint.camera()
    eye = -pose[:, :3].T @ pose[:, 3]
    facing = np.einsum("ij,ij->i", normals, eye - points[faces[:, 0]]) > 0
    sharp = np.einsum("ij,ij->i", normals[one], normals[other]) < _CREASE
    kept = (many != 2) | sharp | (facing[one] != facing[other])
    ends = points[edges[kept]]
    steps = np.linspace(0.0, 1.0, _PIECES + 1)[:, None, None]
    along = ends[:, 0] * (1 - steps) + ends[:, 1] * steps
    middles = ((along[:-1] + along[1:]) / 2).reshape(-1, 3)
    pieces = np.stack([along[:-1], along[1:]], axis=2).reshape(-1, 3)
    near = _nearest(silhouette(shape, viewpoint, size))
    spots = project(middles, viewpoint)
    depths = middles @ pose[2, :3] + pose[2, 3]
    columns, rows = np.floor(np.nan_to_num(spots, nan=-1.0)).astype(int).T
    inside = (columns >= 0) & (columns < size[0]) & (rows >= 0) & (rows < size[1])
    surface = near[rows.clip(0, size[1] - 1), columns.clip(0, size[0] - 1)]
    seen = inside & (depths <= surface + _DEEP)
    drawn: Floats = project(pieces, viewpoint).reshape(-1, 2, 2)[seen]
    return drawn


def _nearest(inverse: NDArray[np.float32]) -> Floats:
    """Depth of the surface at each pixel, or of the farthest of the pixels around it: contours lie on its rim."""
    with np.errstate(divide="ignore"):
        depth = np.where(inverse > 0, 1.0 / inverse, -np.inf).astype(np.float64)
    padded = np.pad(depth, 1, constant_values=-np.inf)
    high, wide = depth.shape
    farthest: Floats = np.max([padded[y : y + high, x : x + wide] for y in range(3) for x in range(3)], axis=0)
    return farthest
