"""The camera of PASCAL3D+: an object in its CAD frame, seen from azimuth, elevation and distance, turned by theta.

CAD frame: centred, diagonal of the bounding box 1, z up, front −y. The camera looks at the middle of the object, so
its principal point says where that middle is in the picture; pixels have their origin at the top left, y down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import DataError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Turns = NDArray[np.int64]
"""Turns about the vertical axis, each of 360° / n, after which an object looks the same: 1 for none, 0 for any."""

VIEWPORT: Final = 3000.0
"""Pixels that a focal length of 1 stands for."""

FLIP: Final = 30.0
"""Degrees: an answer is flipped where it is wrong, and right to this angle once it is turned by 180°."""

_POLE: Final = 1e-9
"""Cosine of the elevation below which azimuth and theta turn about the same axis, and theta is taken to be 0."""


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """How an object is seen: where the camera stands, and where the object is in the picture.

    A photo may say less than a pose. With distance 0 there is no continuous pose: azimuth and elevation are those
    an annotator chose by eye (or all that the source gives), they can be scored, and nothing can be projected.

    Attributes:
        azimuth: Degrees; 0 is the front, 90 the right side (+x).
        elevation: Degrees above the object, −90 … 90.
        distance: Diagonals of the object; 0: angles alone.
        theta: Degrees by which what is seen turns counter-clockwise in the picture.
        principal: Pixel (x, y) at which the object's middle is seen; None where unknown.
        focal: Focal length, in viewports.
        viewport: Pixels.
        coarse: Azimuth and elevation that were chosen by eye, degrees, kept beside a continuous pose.
        error: Mean distance in pixels between landmarks and where this camera sees them; None where unknown.
    """

    azimuth: float
    elevation: float
    distance: float = 0.0
    theta: float = 0.0
    principal: tuple[float, float] | None = None
    focal: float = 1.0
    viewport: float = VIEWPORT
    coarse: tuple[float, float] | None = None
    error: float | None = None

    @property
    def continuous(self) -> bool:
        """Whether it is a whole pose, which can be projected with.

        >>> Viewpoint(30, 10).continuous
        False
        """
        return self.distance > 0.0 and self.principal is not None

    def rotation(self) -> Floats:
        """CAD→camera, 3×3, OpenCV axes (x right, y down, z forward)."""
        return rotations(self.azimuth, self.elevation, self.theta)

    def camera(self) -> tuple[Floats, Floats]:
        """K, 3×3 in pixels, and CAD→camera [R | t], 3×4 in diagonals, OpenCV axes; DataError without a pose.

        >>> k, pose = Viewpoint(90, 0, 2, 0, (250, 160)).camera()
        >>> np.round(pose @ (0.0, 0.1, 0.2, 1.0), 9)  # from the right side +y is right and +z up
        array([ 0.1, -0.2,  2. ])
        """
        if self.principal is None or not self.distance > 0.0:
            expected = "distance above 0 and a principal point"
            raise DataError("viewpoint has no continuous pose", field="viewpoint", expected=expected, found=self)
        scale, (x, y) = self.focal * self.viewport, self.principal
        k = np.array([(scale, 0, x), (0, scale, y), (0, 0, 1)], dtype=np.float64)
        return k, np.column_stack((self.rotation(), (0.0, 0.0, self.distance)))

    @classmethod
    def of_camera(cls, k: ArrayLike, cad_to_camera: ArrayLike) -> Viewpoint:
        """Viewpoint of a camera that looks at the origin of the CAD frame; a DataError where it does not.

        Only focal × viewport is seen in K; the focal length is set to 1. See `seen_from` for any other camera.

        >>> Viewpoint.of_camera(*Viewpoint(30, 10, 5, 2, (250, 160)).camera()).principal
        (250.0, 160.0)
        """
        k, pose = np.asarray(k, np.float64).reshape(3, 3), np.asarray(cad_to_camera, np.float64).reshape(3, 4)
        scale, (*aside, distance) = float(k[0, 0]), pose[:, 3].tolist()
        if not np.allclose(k / scale, [(1, 0, k[0, 2] / scale), (0, 1, k[1, 2] / scale), (0, 0, 1 / scale)]):
            raise DataError("not a viewpoint", field="k", expected="square pixels, no skew", found=k.tolist())
        if not (distance > 0.0 and math.hypot(*aside) <= 1e-9 * distance):
            expected = "a camera that looks at the object's middle"
            raise DataError("not a viewpoint", field="cad_to_camera", expected=expected, found=pose[:, 3].tolist())
        azimuth, elevation, theta = angles(pose[:, :3]).tolist()
        principal = float(k[0, 2]), float(k[1, 2])
        return cls(azimuth, elevation, distance, theta, principal, viewport=scale)


def rotations(azimuth: ArrayLike, elevation: ArrayLike, theta: ArrayLike = 0.0) -> Floats:
    """Compute CAD→camera rotations, (…, 3, 3), OpenCV axes, from angles in degrees of any shape.

    >>> np.round(rotations(0, 0)) + 0.0  # from the front: x right, z up, y away
    array([[ 1.,  0.,  0.],
           [ 0.,  0., -1.],
           [ 0.,  1.,  0.]])
    """
    turns = np.broadcast_arrays(*(np.radians(np.asarray(v, np.float64)) for v in (azimuth, elevation, theta)))
    (ca, ce, ct), (sa, se, st) = np.cos(turns), np.sin(turns)
    right, up = (ca, sa, 0.0 * ca), (-se * sa, se * ca, ce)  # of the picture, before it is turned by theta
    rows = (
        [ct * x - st * y for x, y in zip(right, up, strict=True)],
        [-st * x - ct * y for x, y in zip(right, up, strict=True)],
        (-ce * sa, ce * ca, -se),
    )
    return np.moveaxis(np.array(rows, np.float64), (0, 1), (-2, -1))


def angles(rotation: ArrayLike) -> Floats:
    """Compute azimuth, elevation and theta, (…, 3) degrees, of CAD→camera rotations (…, 3, 3): undo `rotations`.

    Azimuth is in [0, 360), theta in (−180, 180]; straight from above or below, where the two are one, theta is 0.

    >>> np.round(angles(rotations(200.0, -30.0, 10.0)), 9)
    array([200., -30.,  10.])
    """
    r = np.asarray(rotation, dtype=np.float64)
    level = np.hypot(r[..., 2, 0], r[..., 2, 1])
    pole = level < _POLE
    azimuth = np.where(pole, np.arctan2(r[..., 0, 1], r[..., 0, 0]), np.arctan2(-r[..., 2, 0], r[..., 2, 1]))
    elevation = np.arctan2(-r[..., 2, 2], level)
    theta = np.where(pole, 0.0, np.arctan2(-r[..., 0, 2], -r[..., 1, 2]))
    out: Floats = np.degrees(np.stack((azimuth, elevation, theta), axis=-1))
    out[..., 0] = wrapped(out[..., 0])
    out[..., 2] = np.where(out[..., 2] <= -180.0, 180.0, out[..., 2])
    out += 0.0
    return out


def wrapped(azimuths: ArrayLike) -> Floats:
    """Wrap azimuths into [0, 360) degrees.

    >>> wrapped([-90.0, 360.0, -1e-20])
    array([270.,   0.,   0.])
    """
    turned = np.mod(np.asarray(azimuths, dtype=np.float64), 360.0)
    return np.where(turned >= 360.0, 0.0, turned)  # the remainder of a tiny negative number rounds to 360


def project(points3d: ArrayLike, viewpoint: Viewpoint) -> Floats:
    """Compute pixels (n, 2) of points of the CAD frame (n, 3); NaN for points at or behind the camera.

    >>> project([(0, 0, 0), (0, 0, 0.5)], Viewpoint(30, 0, 10, 0, (250, 160)))
    array([[250., 160.],
           [250.,  10.]])
    """
    k, pose = viewpoint.camera()
    seen = np.asarray(points3d, dtype=np.float64).reshape(-1, 3) @ pose[:, :3].T + pose[:, 3]
    depth = np.where(seen[:, 2:] > 0.0, seen[:, 2:], np.nan)
    pixels: Floats = seen[:, :2] / depth * k[0, 0] + k[:2, 2]
    return pixels


def unproject(points2d: ArrayLike, depths: ArrayLike, viewpoint: Viewpoint) -> Floats:
    """Compute points of the CAD frame (n, 3) from pixels (n, 2) and depths along the viewing axis, in diagonals.

    >>> eye = Viewpoint(30, 20, 10, 5, (250, 160))
    >>> np.round(unproject(project([(0.1, 0.2, 0.3)], eye), [10.0], eye) @ eye.rotation()[2], 9) + 0.0
    array([0.])
    """
    k, pose = viewpoint.camera()
    z = np.asarray(depths, dtype=np.float64).reshape(-1, 1)
    plane = (np.asarray(points2d, dtype=np.float64).reshape(-1, 2) - k[:2, 2]) / k[0, 0]
    points: Floats = (np.column_stack((plane * z, z)) - pose[:, 3]) @ pose[:, :3]
    return points


def geodesic(a: ArrayLike, b: ArrayLike) -> Floats:
    """Compute the angle of the turn between rotations (…, 3, 3), degrees in [0, 180].

    >>> np.round(geodesic(rotations(350, 0), rotations([10, 170], 0)), 9)
    array([ 20., 180.])
    """
    gap = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    square = np.einsum("...ij,...ij->...", gap, gap)  # 8 sin²(angle / 2): no digits are lost at either end
    angle: Floats = np.degrees(2.0 * np.arctan2(np.sqrt(square), np.sqrt(np.maximum(8.0 - square, 0.0))))
    return angle


def azimuth_bins(azimuths: ArrayLike, views: int) -> NDArray[np.int64]:
    """Number the section of the full circle that azimuths lie in: 0 … views − 1, −1 where NaN.

    Sections are 360 / views degrees wide, the first centred on azimuth 0; a lower edge belongs to its section.

    >>> azimuth_bins([0.0, 350.0, 45.0, 180.0, float("nan")], 4)
    array([ 0,  0,  1,  2, -1])
    """
    turned = wrapped(np.asarray(azimuths, dtype=np.float64) + 180.0 / views) * (views / 360.0)
    return np.minimum(np.nan_to_num(turned, nan=-1.0).astype(np.int64), views - 1)


def same_section(truth: Floats, answer: Floats, symmetry: Turns, views: int) -> Flags:
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


def azimuth_gap(truth: Floats, answer: Floats, symmetry: Turns) -> Floats:
    """(N,) degrees between azimuths, 0 … 180, up to the symmetry; NaN where one is unknown.

    >>> azimuth_gap(np.array([350.0, 0.0]), np.array([20.0, 170.0]), np.array([1, 2])).tolist()
    [30.0, 10.0]
    """
    period = 360.0 / np.maximum(symmetry, 1)
    gap = np.mod(answer - truth, period)
    gap = np.minimum(gap, period - gap)
    return np.where(symmetry == 0, 0.0 * gap, gap)


def rotation_gap(truth: Floats, answer: Floats, symmetry: Turns) -> Floats:
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


def flipped(truth: Floats, answer: Floats, symmetry: Turns) -> Flags:
    """(N,) whether an answer takes front for back: wrong by more than `FLIP`, and right once turned by 180°."""
    turned = answer + np.array([180.0, 0.0, 0.0])
    return (rotation_gap(truth, answer, symmetry) > FLIP) & (rotation_gap(truth, turned, symmetry) <= FLIP)


def seen_from(
    k: ArrayLike, cad_to_camera: ArrayLike, points3d: ArrayLike | None = None, *, viewport: float = VIEWPORT
) -> Viewpoint:
    """Compute the viewpoint of an object from any camera with square pixels, which need not look at its middle.

    Azimuth and elevation say where the camera stands, seen from the object; theta is the camera's roll once it is
    turned, the shortest way, to face the middle; the principal point is where the middle is seen. The distance is
    the middle's depth as a camera of focal length `viewport` would have it for the same size in the picture. So
    what this simpler camera sees differs a little: the mean difference over `points3d` is the error.

    Args:
        k: 3×3, pixels.
        cad_to_camera: [sR | t], 3×4, OpenCV axes: s is the object's diagonal, in the unit of t.
        points3d: (n, 3) in the CAD frame, such as its landmarks; without them there is no error.
        viewport: Focal length of the viewpoint, pixels.
    """
    k, pose = np.asarray(k, np.float64).reshape(3, 3), np.asarray(cad_to_camera, np.float64).reshape(3, 4)
    diagonal = math.cbrt(np.linalg.det(pose[:, :3]))
    rotation, middle = pose[:, :3] / diagonal, pose[:, 3] / diagonal
    if not middle[2] > 0.0:
        expected = "the object's middle in front of the camera"
        raise DataError("object has no viewpoint", field="cad_to_camera", expected=expected, found=middle.tolist())
    azimuth, elevation, theta = angles(_facing(middle) @ rotation).tolist()
    principal = k @ (middle / middle[2])
    distance = float(middle[2] * viewport / k[0, 0])
    truth = Viewpoint(
        azimuth, elevation, distance, theta, (float(principal[0]), float(principal[1])), viewport=viewport
    )
    if points3d is None:
        return truth
    points = np.asarray(points3d, dtype=np.float64).reshape(-1, 3)
    seen = points @ rotation.T + middle
    pixels = (seen / np.where(seen[:, 2:] > 0.0, seen[:, 2:], np.nan)) @ k.T
    gaps = np.linalg.norm(project(points, truth) - pixels[:, :2], axis=1)
    known = gaps[np.isfinite(gaps)]
    return replace(truth, error=float(known.mean()) if len(known) else None)


def _facing(middle: Floats) -> Floats:
    """The shortest turn of a camera, 3×3, after which a point in front of it lies on its axis."""
    x, y, z = (middle / np.linalg.norm(middle)).tolist()
    return np.array(
        [(1 - x * x / (1 + z), -x * y / (1 + z), -x), (-x * y / (1 + z), 1 - y * y / (1 + z), -y), (x, y, z)]
    )
