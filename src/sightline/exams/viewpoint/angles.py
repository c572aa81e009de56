"""Angles between viewpoints: which answers are right, by section of the azimuth, by azimuth or by rotation.

Viewpoints are rows (azimuth, elevation, theta) in degrees; NaN where unknown. A symmetry is the number of turns
about the vertical axis, each of 360° / n, after which an object looks the same: 1 for none, 0 for any turn at all.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FLIP: Final = 30.0
"""Degrees: an answer is flipped where it is wrong, and right to this angle once it is turned by 180°."""


def azimuth_bins(azimuths: NDArray[Any], views: int) -> NDArray[np.int64]:
    """Number the sections of azimuths in degrees, 0 … views − 1; section 0 is centred on azimuth 0.

    >>> azimuth_bins(np.array([0.0, 44.9, 45.0, 350.0]), 4).tolist()
    [0, 0, 1, 0]
    """
    width = 360.0 / views
    return np.floor((np.asarray(azimuths, dtype=np.float64) + width / 2) / width).astype(np.int64) % views


def same_section(truth: Floats, answer: Floats, symmetry: NDArray[np.int64], views: int) -> Flags:
    """(N,) whether azimuths in degrees lie in one of `views` equal sections, up to the symmetry; False for NaN.

    >>> same_section(np.array([10.0, 10.0]), np.array([350.0, 190.0]), np.array([1, 2]), 4).tolist()
    [True, True]
    """
    known = np.isfinite(truth) & np.isfinite(answer)
    right: Flags = known & (symmetry == 0)
    said = azimuth_bins(np.where(known, answer, 0.0), views)
    for turns in np.unique(symmetry[symmetry > 0]).tolist():
        of = known & (symmetry == turns)
        for k in range(turns):
            right |= of & (azimuth_bins(np.where(known, truth, 0.0) + 360.0 * k / turns, views) == said)
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


def rotations(angles: Floats) -> Floats:
    """(N, 3, 3) rotations object → camera of viewpoints (N, 3) in degrees, as the camera of PASCAL3D+ turns."""
    azimuth, elevation, theta = np.deg2rad(np.asarray(angles, dtype=np.float64)).T
    tilt = elevation - np.pi / 2
    return _turn(theta, 2) @ _turn(tilt, 0) @ _turn(-azimuth, 2)


def rotation_gap(truth: Floats, answer: Floats, symmetry: NDArray[np.int64]) -> Floats:
    """(N,) geodesic angle between viewpoints (N, 3), 0 … 180 degrees, up to the symmetry; NaN where unknown.

    >>> pair = np.array([[0.0, 20, 0]]), np.array([[180.0, 20, 0]])
    >>> [rotation_gap(*pair, np.array([n])).round(6).item() for n in (1, 2, 0)]
    [180.0, 0.0, 0.0]
    """
    between = np.swapaxes(rotations(answer), 1, 2) @ rotations(truth)
    along, across = between[:, 0, 0] + between[:, 1, 1], between[:, 1, 0] - between[:, 0, 1]
    # The trace after a turn of the object by an angle; the best of all turns, or of those that look the same.
    trace = np.hypot(along, across)
    for turns in np.unique(symmetry[symmetry > 0]).tolist():
        angles = 2 * np.pi * np.arange(turns) / turns
        best = (along[:, None] * np.cos(angles) - across[:, None] * np.sin(angles)).max(axis=1)
        trace = np.where(symmetry == turns, best, trace)
    return np.rad2deg(np.arccos(np.clip((trace + between[:, 2, 2] - 1) / 2, -1.0, 1.0)))


def flipped(truth: Floats, answer: Floats, symmetry: NDArray[np.int64]) -> Flags:
    """(N,) whether an answer takes front for back: wrong by more than `FLIP`, and right once turned by 180°."""
    turned = answer + np.array([180.0, 0.0, 0.0])
    return (rotation_gap(truth, answer, symmetry) > FLIP) & (rotation_gap(truth, turned, symmetry) <= FLIP)


def _turn(angles: Floats, axis: int) -> Floats:
    """(N, 3, 3) rotations about one axis, radians."""
    one, two = (axis + 1) % 3, (axis + 2) % 3
    matrices = np.zeros((len(angles), 3, 3))
    matrices[:, axis, axis] = 1.0
    matrices[:, one, one] = matrices[:, two, two] = np.cos(angles)
    matrices[:, two, one] = np.sin(angles)
    matrices[:, one, two] = -np.sin(angles)
    return matrices
