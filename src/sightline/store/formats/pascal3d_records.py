"""Objects with viewpoints and landmarks, as the records of PASCAL3D+ and of its successors have them.

The attribute ``symmetry`` of an object is that of its class, where all things of the class have the same: a bottle
looks the same after any turn about the vertical.

Pixels of MATLAB files are counted from 1 and name the middle of a pixel: a box from 1 to 500, both ends included,
is 0 to 500 here, and a point at 1 is at 0.5. With distance 0 (or none) there is no continuous pose: the angles are
then those chosen by eye.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from sightline.geometry.viewpoints import Viewpoint
from sightline.matlab import Struct
from sightline.scenes import Landmark, LandmarkState, Object, Sighting
from sightline.scenes.types import Box
from sightline.store.check import EDGE_TOLERANCE, OUTSIDE_FLAG
from sightline.store.formats.jsonio import is_text
from sightline.store.formats.photos import VIEW

FLAGS: Final = ("truncated", "occluded", "difficult")
STATES: Final[Mapping[int, LandmarkState]] = {
    1: "visible",
    2: "self_occluded",
    3: "occluded",
    4: "truncated",
    5: "unknown",
}
SYMMETRIES: Final[Mapping[str, int]] = {"bottle": 0}
"""Class → turns that look the same, 0 for any; of other classes some things have others (tables), or only one."""
MIDDLE: Final = 0.5
"""Pixels from what MATLAB calls a place to what we call it."""

_LARGEST_SIDE: Final = 2**31 - 1
_LARGEST_ANGLE: Final = 1e6  # in degrees or radians: many turns, though nobody writes more than one
_WORDS: Final = {"subtype": "subtype", "view": "pose"}
_NUMBERS: Final = ("cad_index", "sublabel", "subindex")
_OF_VIEWPOINT: Final = ("num_anchor", "interval_azimuth", "interval_elevation")


def folded(azimuth: float, elevation: float, theta: float) -> tuple[float, float, float]:
    """The same turn with azimuth in [0, 360), elevation in [−90, 90] and theta in (−180, 180], degrees.

    >>> folded(370.0, 350.0, 359.0), folded(10.0, 100.0, 0.0)
    ((10.0, -10.0, -1.0), (190.0, 80.0, 180.0))
    """
    elevation = math.remainder(elevation, 360.0)
    if abs(elevation) > 90.0:
        azimuth, theta = azimuth + 180.0, theta + 180.0
        elevation = math.copysign(180.0, elevation) - elevation
    theta = math.remainder(theta, 360.0)
    azimuth %= 360.0
    return azimuth if azimuth < 360.0 else 0.0, elevation, 180.0 if theta == -180.0 else theta


def symmetry_of(category: str) -> dict[str, str]:
    """The attribute for the symmetry of a class; none where it is not certain.

    >>> symmetry_of("bottle"), symmetry_of("diningtable")
    ({'symmetry': '0'}, {})
    """
    return {"symmetry": str(SYMMETRIES[category])} if category in SYMMETRIES else {}


def object_of(record: Struct, object_id: str) -> Object:
    """The thing of a record: its class, sub-type and CAD model, with what else the record says of it."""
    category = record.text("class")
    attributes = {name: record.text(key) for key, name in _WORDS.items() if _is_word(record, key)}
    attributes |= {name: f"{record.number(name):g}" for name in _NUMBERS if name in record}
    for viewpoint in record.structs("viewpoint"):
        attributes |= {name: f"{viewpoint.number(name):g}" for name in _OF_VIEWPOINT if name in viewpoint}
    attributes |= symmetry_of(category)
    for value in (category, *attributes.values()):
        if not is_text(value):
            record.fail("class", "no control characters")
    model = attributes.get("cad_index", "0")
    shape = None if model == "0" else f"pascal3d/{category}/{model}"
    return Object(object_id, category, attributes, shape=shape)


def _is_word(record: Struct, name: str) -> bool:
    value = record.fields.get(name)
    return name in record and not (isinstance(value, str) and value in ("Unspecified", ""))


def sighting_of(record: Struct, object_id: str, size: tuple[int, int] | None) -> Sighting:
    """The object of a record in its photo; a box that leaves the photo is kept and flagged."""
    x0, y0, x1, y1 = record.numbers("bbox", 4)
    box = (x0 - 1.0, y0 - 1.0, x1, y1)
    if not (box[0] < box[2] and box[1] < box[3]):
        record.fail("bbox", "x1 ≤ x2 and y1 ≤ y2", "box is reversed")
    flags = {name for name in FLAGS if record.flag(name)}
    points = [landmark_of(record, name) for anchors in record.structs("anchors") for name in anchors.fields]
    return Sighting(
        VIEW,
        object_id,
        box,
        flags=frozenset(flags | outside(box, size)),
        landmarks=tuple(points),
        viewpoint=viewpoint_of(record.struct("viewpoint")) if "viewpoint" in record else None,
    )


def outside(box: Box, size: tuple[int, int] | None) -> set[str]:
    """The flag of a box that leaves its photo by more than rounding does; none where it does not."""
    over = max(box[2] - size[0], box[3] - size[1]) if size else 0.0
    return {OUTSIDE_FLAG} if min(box[0], box[1]) < -EDGE_TOLERANCE or over > EDGE_TOLERANCE else set()


def size_of(record: Struct, width: str = "width", height: str = "height") -> tuple[int, int] | None:
    """Width and height of a photo that a record tells, pixels; None where either is missing or 0."""
    sides = []
    for name in (width, height):
        side = record.number(name, 0.0)
        if not 0.0 <= side <= _LARGEST_SIDE or side != int(side):
            record.fail(name, f"a whole number of pixels up to {_LARGEST_SIDE}")
        sides.append(int(side))
    return (sides[0], sides[1]) if min(sides) else None


def landmark_of(record: Struct, name: str) -> Landmark:
    """A landmark with its state; one that is called visible but has no place is unknown."""
    anchor = record.struct("anchors").struct(name)
    status = int(anchor.number("status", 5.0))
    if status not in STATES:
        anchor.fail("status", "1 visible, 2 self-occluded, 3 occluded, 4 truncated or 5 unknown")
    if "location" not in anchor:
        return Landmark(name, None, None, "unknown" if status == 1 else STATES[status])
    x, y = anchor.numbers("location", 2)
    return Landmark(name, x - MIDDLE, y - MIDDLE, STATES[status])


def viewpoint_of(record: Struct, *, degrees: float = 1.0, middle: float = MIDDLE) -> Viewpoint | None:
    """The viewpoint of a record; None where it says no angle at all.

    Args:
        record: With azimuth, elevation, theta, distance, px, py, focal, viewport, or only the coarse angles.
        degrees: What the unit of its angles is.
        middle: Subtracted from px and py.
    """
    distance = record.number("distance", 0.0)
    if distance < 0.0:
        record.fail("distance", "a number ≥ 0")
    coarse = None
    if "azimuth_coarse" in record or "elevation_coarse" in record:
        azimuth, elevation, _ = folded(
            _angle(record, "azimuth_coarse"), _angle(record, "elevation_coarse", 0.0), 0.0
        )
        coarse = azimuth, elevation
    if distance == 0.0 and coarse is not None:
        return Viewpoint(*coarse, coarse=coarse)
    if distance == 0.0 and "azimuth" not in record:
        return None
    angles = (_angle(record, "azimuth"), _angle(record, "elevation"), _angle(record, "theta", 0.0))
    azimuth, elevation, theta = folded(*(degrees * angle for angle in angles))
    if distance == 0.0:
        return Viewpoint(azimuth, elevation, theta=theta)
    return Viewpoint(
        azimuth,
        elevation,
        distance,
        theta,
        (record.number("px") - middle, record.number("py") - middle),
        _positive(record, "focal", 1.0),
        _positive(record, "viewport", 3000.0),
        coarse,
        record.number("error") if "error" in record else None,
    )


def _angle(record: Struct, name: str, default: float | None = None) -> float:
    value = record.number(name, default)
    if abs(value) > _LARGEST_ANGLE:
        record.fail(name, "an angle")
    return value


def _positive(record: Struct, name: str, default: float) -> float:
    value = record.number(name, default)
    if value <= 0.0:
        record.fail(name, "a number > 0")
    return value
