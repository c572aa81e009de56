"""GeoSpa's fourteen shapes, by their published dimensions."""

from __future__ import annotations

from typing import Final, Literal

from sightline.worlds.shapes.prisms import container, prism
from sightline.worlds.solids import Cavity, Outline, Solid

Kind = Literal["box", "ellipse"]
Part = tuple[Kind, float, float, float]

DIMENSIONS: Final[dict[str, tuple[Part, Part | None]]] = {
    "cube": (("box", 1.8, 1.8, 1.8), None),
    "cylinder": (("ellipse", 1.8, 1.8, 1.8), None),
    "short_cylinder": (("ellipse", 1.8, 1.8, 0.9), None),
    "long_cylinder": (("ellipse", 3.0, 2.0, 2.0), None),
    "rectangle": (("box", 4.0, 2.0, 2.0), None),
    "thin_rectangle": (("box", 2.0, 1.0, 2.0), None),
    "cube_container": (("box", 2.0, 2.0, 2.0), ("box", 1.8, 1.8, 1.9)),
    "cube_cylinder": (("box", 2.0, 2.0, 2.0), ("ellipse", 1.8, 1.8, 1.9)),
    "cylinder_container": (("ellipse", 2.0, 2.0, 2.0), ("ellipse", 1.8, 1.8, 1.9)),
    "cylinder_rect_cont": (("ellipse", 2.0, 2.0, 2.2), ("box", 1.0, 1.0, 2.1)),
    "ellipse_container": (("ellipse", 3.2, 2.2, 2.2), ("ellipse", 2.88, 1.98, 2.09)),
    "ellipse_rect_cont": (("ellipse", 3.2, 2.2, 2.2), ("box", 2.0, 1.0, 2.1)),
    "rectangle_cont": (("box", 4.4, 2.4, 2.2), ("box", 4.19, 2.18, 2.1)),
    "rectangle_cylinder": (("box", 4.4, 2.4, 2.2), ("ellipse", 3.0, 2.0, 2.1)),
}
"""Medium size in model units: outside (kind, x, y, height) and cavity (kind, x, y, depth)."""


def build(shape: str, name: str, scale: float) -> Solid:
    """The shape with `scale` metres to the model unit."""
    (kind, x, y, z), hollow = DIMENSIONS[shape]
    outline, height = Outline(kind, (x * scale / 2, y * scale / 2)), z * scale
    cavity = None
    if hollow is not None:
        kind, x, y, depth = hollow
        cavity = Cavity(Outline(kind, (x * scale / 2, y * scale / 2)), depth * scale)
    mesh = prism(outline, height) if cavity is None else container(outline, height, cavity)
    return Solid(
        name,
        mesh.vertices.astype("float32"),
        mesh.faces.astype("int32"),
        mesh.normals.astype("float32"),
        outline=outline,
        base=outline,
        top=outline,
        height=height,
        cavity=cavity,
    )
