"""Viewpoints from landmarks: the pose whose camera sees an object's landmarks closest to where they are marked.

Minimised is the sum of distances in the picture, not squared, over the landmarks that are given (equation 1 of
PASCAL3D+); `viewpoint_search` does it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import DataError
from sightline.geometry.viewpoint_search import GRID, search
from sightline.geometry.viewpoints import VIEWPORT, Floats, Viewpoint, angles, rotations

STARTS: Final = 3
"""Directions that are refined, the best of the grid first."""


@dataclass(frozen=True, slots=True)
class ViewpointFit:
    """A viewpoint found from landmarks.

    Attributes:
        viewpoint: With distance 0 and the coarse angles where there were fewer than two landmarks, or all of them
            at one place of the object.
        error: Mean distance in pixels between the landmarks and where this viewpoint sees them; NaN with the coarse
            angles.
        landmarks: Number of landmarks it was found from.
    """

    viewpoint: Viewpoint
    error: float
    landmarks: int


@dataclass(frozen=True, slots=True, eq=False)
class ViewpointFits:
    """Viewpoints of many problems; ``fits[i]`` is one of them, with NaN angles where nothing was known.

    Attributes:
        angles: Azimuth, elevation and theta, (B, 3) degrees.
        distance: (B,) diagonals; 0 where the angles are the coarse ones.
        principal: (B, 2) pixels; NaN where unknown.
        error: (B,) mean distance in pixels.
        landmarks: (B,) landmarks used.
        coarse: (B, 2) angles that were given, degrees; NaN where none.
        focal: In viewports; `viewport` in pixels.
    """

    angles: Floats
    distance: Floats
    principal: Floats
    error: Floats
    landmarks: NDArray[np.int64]
    coarse: Floats
    focal: float
    viewport: float

    def __len__(self) -> int:
        return len(self.distance)

    def __getitem__(self, index: int) -> ViewpointFit:
        a, e, t = self.angles[index].tolist()
        x, y = self.principal[index].tolist()
        by_eye, error = self.coarse[index].tolist(), float(self.error[index])
        viewpoint = Viewpoint(
            a,
            e,
            float(self.distance[index]),
            t,
            None if math.isnan(x) else (x, y),
            self.focal,
            self.viewport,
            None if math.isnan(by_eye[0]) else (by_eye[0], by_eye[1]),
            None if math.isnan(error) else error,
        )
        return ViewpointFit(viewpoint, error, int(self.landmarks[index]))


def solve_viewpoint(
    points3d: ArrayLike,
    points2d: ArrayLike,
    principal: tuple[float, float] | None = None,
    *,
    coarse: tuple[float, float] | None = None,
    robust: float | None = None,
    squares: bool = False,
    focal: float = 1.0,
    viewport: float = VIEWPORT,
    starts: int = STARTS,
) -> ViewpointFit:
    """Find the viewpoint that an object is seen from, from landmarks; see `solve_viewpoints`.

    A DataError where fewer than two landmarks, or all at one place of the object, come without coarse angles.

    >>> from sightline.geometry.viewpoints import project
    >>> corners = [(0.3, 0.1, 0), (-0.2, 0.3, 0.1), (0, -0.3, 0.2), (0.1, 0.1, -0.3), (-0.3, 0, -0.1)]
    >>> eye = Viewpoint(200, 15, 6, 3, (250, 160))
    >>> fit = solve_viewpoint(corners, project(corners, eye), (250, 160))
    >>> round(fit.viewpoint.azimuth, 6), round(fit.viewpoint.distance, 6), round(fit.error, 6)
    (200.0, 6.0, 0.0)
    """
    fits = solve_viewpoints(
        np.asarray(points3d, dtype=np.float64).reshape(1, -1, 3),
        np.asarray(points2d, dtype=np.float64).reshape(1, -1, 2),
        principal,
        coarse=coarse,
        robust=robust,
        squares=squares,
        focal=focal,
        viewport=viewport,
        starts=starts,
    )
    if np.isnan(fits.angles).any():
        count = int(fits.landmarks[0])
        problem = "too few landmarks for a viewpoint" if count < 2 else "all landmarks are at one place"
        raise DataError(problem, expected="two landmarks at different places, or coarse angles", found=count)
    return fits[0]


def solve_viewpoints(
    points3d: ArrayLike,
    points2d: ArrayLike,
    principal: ArrayLike | None = None,
    *,
    coarse: ArrayLike | None = None,
    robust: float | None = None,
    squares: bool = False,
    focal: float = 1.0,
    viewport: float = VIEWPORT,
    starts: int = STARTS,
) -> ViewpointFits:
    """Find the viewpoints of many objects from their landmarks.

    Args:
        points3d: (B, N, 3) in the CAD frame, or (N, 3) of one model; NaN for a landmark that is not on it.
        points2d: (B, N, 2) pixels; NaN for a landmark that is not seen.
        principal: Where the middles of the objects are in the picture, (2,) or (B, 2); None: estimated too.
        coarse: Azimuth and elevation chosen by eye, (2,) or (B, 2) degrees, NaN where none: one more start, which
            another must beat by a tenth; and the answer where there are fewer than two landmarks, or all of them
            at one place of the object.
        robust: Pixels beyond which a landmark is taken to be misplaced: larger distances hardly count.
        squares: Minimise the sum of squares instead, the better choice where errors are known to be Gaussian.
        focal: In viewports.
        viewport: Pixels.
        starts: Directions to refine, beside the coarse one.
    """
    pixels = np.array(points2d, dtype=np.float64, order="C")
    if pixels.ndim != 3 or pixels.shape[2] != 2:
        raise DataError("landmarks are not (B, N, 2)", field="points2d", found=pixels.shape)
    b, n = pixels.shape[:2]
    points = _spread(points3d, (b, n, 3), "points3d")
    middle = _spread(np.full(2, np.nan) if principal is None else principal, (b, 2), "principal")
    by_eye = _spread(np.full(2, np.nan) if coarse is None else coarse, (b, 2), "coarse")
    if not (focal * viewport > 0.0 and starts >= 1 and (robust is None or robust > 0.0)):
        raise DataError("focal length, viewport, starts and robust must be above 0", field="solve_viewpoints")
    seeds = np.nan_to_num(rotations(by_eye[:, 0], by_eye[:, 1]))
    seeded, cap = ~np.isnan(by_eye[:, 0]), math.inf if robust is None else float(robust)
    scale = float(focal * viewport)
    poses, errors, used = search(points, pixels, middle, seeds, seeded, GRID, scale, cap, squares, starts)
    few = np.isnan(errors)
    found = angles(poses[:, :9].reshape(-1, 3, 3))
    found[few] = np.column_stack((by_eye, np.where(np.isnan(by_eye[:, 0]), np.nan, 0.0)))[few]
    distance, centre = np.where(few, 0.0, poses[:, 9]), np.where(few[:, None], middle, poses[:, 10:])
    return ViewpointFits(found, distance, centre, np.where(few, np.nan, errors), used, by_eye, focal, viewport)


def _spread(values: ArrayLike, shape: tuple[int, ...], field: str) -> Floats:
    try:
        return np.array(np.broadcast_to(np.asarray(values, dtype=np.float64), shape), order="C")
    except ValueError as error:
        found = np.shape(values)
        raise DataError("arrays do not fit together", field=field, expected=shape, found=found) from error
