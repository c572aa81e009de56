"""Pure functions on arrays: boxes, masks, cameras, viewpoints, convex footprints. No I/O, no state.

Boxes are xyxy, float, half-open, origin top left; the functions here do not care whether the unit is the
pixel or the whole image, as long as both operands agree.
"""

from sightline.geometry.boxes import area, centre, intersection, iou, iou_matrix
from sightline.geometry.viewpoints import Viewpoint, azimuth_bins, geodesic, project, rotations

__all__ = [
    "Viewpoint",
    "area",
    "azimuth_bins",
    "centre",
    "geodesic",
    "intersection",
    "iou",
    "iou_matrix",
    "project",
    "rotations",
]
