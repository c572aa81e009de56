"""Pure functions on arrays: boxes, masks, cameras, viewpoints, convex footprints. No I/O, no state.

Boxes are xyxy, float, half-open, origin top left; the functions here do not care whether the unit is the
pixel or the whole image, as long as both operands agree.
"""

from typing import TYPE_CHECKING, Any

from sightline.geometry.boxes import area, centre, intersection, iou, iou_matrix
from sightline.geometry.viewpoints import Viewpoint, azimuth_bins, geodesic, project, rotations

if TYPE_CHECKING:
    from sightline.geometry.viewpoint_solver import solve_viewpoint, solve_viewpoints

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
    "solve_viewpoint",
    "solve_viewpoints",
]


def __getattr__(name: str) -> Any:
    """Import the solver when it is first used: it brings numba, which takes a second."""
    if name in ("solve_viewpoint", "solve_viewpoints"):
        from sightline.geometry import viewpoint_solver

        return getattr(viewpoint_solver, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
