"""Angles between viewpoints: which answers are right, by section of the azimuth, by azimuth or by rotation.

Viewpoints are rows (azimuth, elevation, theta) in degrees; NaN where unknown. A symmetry is the number of turns
about the vertical axis, each of 360° / n, after which an object looks the same: 1 for none, 0 for any turn at all.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.geometry import azimuth_bins, geodesic, rotations

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FLIP: Final = 30.0
"""Degrees: an answer is flipped where it is wrong, and right to this angle once it is turned by 180°."""


def same_section(truth: Floats, answer: Floats, symmetry: NDArray[np.int64], views: int) -> Flags:
    """(N,) whether azimuths in degrees lie in one of `views` equal sections, up to the symmetry; False for NaN.

    >>> same_section(np.array([10.0, 10.0]), np.array([350.0, 190.0]), np.array([1, 2]), 4).tolist()
    [True, True]
    """
    said = azimuth_bins(answer, views)
    known = np.isfinite(truth) & (said >= 0)
    right: Flags = known & (symmetry == 0)
    for turns in np.unique(symmetry[symmetry > 0]).tolist():
        for k in range(turns):
            right |= known & (symmetry == turns) & (azimuth_bins(truth + 360.0 * k / turns, views) == said)
    return right


def azimuth_gap(truth: Floats, answer: Floats, symmetry: NDArray[np.int64]) -> Floats:
    """(N,) degrees between azimuths, 0 … 180, up to the symmetry; NaN where one is unknown.

    >>> azimuth_gap(np.array([350.0, 0.0]), np.array([20.0, 170.0]), np.array([1, 2])).tolist()
    [30.0, 10.0]
    """
    period = 360.0 / np.maximum(symmetry, 1)
    gap = np.mod(answer - truth, period)
    gap = np.minimum(gap, period - gap)
    return np.where(symmetry == 0, 0.0 * gap, gap)


def rotation_gap(truth: Floats, answer: Floats, symmetry: NDArray[np.int64]) -> Floats:
    """(N,) geodesic angle between viewpoints (N, 3), 0 … 180 degrees, up to the symmetry; NaN where unknown.

    >>> pair = np.array([[0.0, 20, 0]]), np.array([[180.0, 20, 0]])
    >>> [rotation_gap(*pair, np.array([n])).round(6).item() for n in (1, 2, 0)]
    [180.0, 0.0, 0.0]
    """
    there, said = rotations(*truth.T), rotations(*answer.T)
    between = np.swapaxes(said, 1, 2) @ there
    # The trace of what is between them, after a turn of the object, is greatest for this one.
    best = np.arctan2(between[:, 0, 1] - between[:, 1, 0], between[:, 0, 0] + between[:, 1, 1])
    gap = geodesic(rotations(truth[:, 0] - np.where(symmetry == 0, np.degrees(best), 0.0), *truth.T[1:]), said)
    for turns in np.unique(symmetry[symmetry > 1]).tolist():
        alike = [rotations(truth[:, 0] + 360.0 * k / turns, *truth.T[1:]) for k in range(turns)]
        gap = np.where(symmetry == turns, np.min([geodesic(one, said) for one in alike], axis=0), gap)
    return gap


def flipped(truth: Floats, answer: Floats, symmetry: NDArray[np.int64]) -> Flags:
    """(N,) whether an answer takes front for back: wrong by more than `FLIP`, and right once turned by 180°."""
    turned = answer + np.array([180.0, 0.0, 0.0])
    return (rotation_gap(truth, answer, symmetry) > FLIP) & (rotation_gap(truth, turned, symmetry) <= FLIP)
