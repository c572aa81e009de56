"""Pure functions on arrays: boxes, masks, cameras, convex footprints. No I/O, no state.

Boxes are xyxy, float, half-open, origin top left; the functions here do not care whether the unit is the
pixel or the whole image, as long as both operands agree.
"""

from sightline.geometry.boxes import area, centre, intersection, iou, iou_matrix

__all__ = ["area", "centre", "intersection", "iou", "iou_matrix"]
