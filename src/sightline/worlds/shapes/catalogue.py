"""Which shapes there are, by name: ``cube:small``, ``cad/car/sedan#17``; without a size, medium."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Final, Literal

import numpy as np

from sightline.errors import ConfigError
from sightline.hints import hint
from sightline.worlds.cad import CAD, PREFIX
from sightline.worlds.looks import SIZES, split_name
from sightline.worlds.shapes import invented
from sightline.worlds.shapes.baked import load_solids
from sightline.worlds.shapes.prisms import container, prism
from sightline.worlds.solids import Cavity, Outline, Solid, scaled

SCENE_SCALE: Final = 0.5
"""Metres of the scene to GeoSpa's model unit."""

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

GEOSPA: Final[tuple[str, ...]] = tuple(DIMENSIONS)
"""GeoSpa's fourteen, by their published dimensions."""

KITCHEN: Final = ("bottle", "can", "donut", "glass", "milk_carton", "mug", "pill_bottle", "plate", "teapot")
"""The kitchen nine."""

KITCHEN_FILE: Final = Path(__file__).with_name("kitchen.npz")
"""Where they are kept, in medium size."""

INVENTED: Final[tuple[str, ...]] = invented.INVENTED
"""Shapes of our own, to learn from."""

SHAPES: Final[tuple[str, ...]] = GEOSPA + KITCHEN + INVENTED
"""Every built-in shape."""


class Catalogue:
    """The built-in shapes and, beside them, own solids.

    Args:
        own: Solids in medium size; each brings all sizes of its shape.

    Attributes:
        shelf: Folder that is looked in before a solid is built, where `shelve` of this or another process puts
            those that were: CAD models take long to build.

    >>> Catalogue().solid("cube:small").height
    0.45
    """

    def __init__(self, own: Iterable[Solid] = ()) -> None:
        self._own: dict[str, Solid] = {}
        self._made: dict[str, Solid] = {}
        self.shelf: Path | None = None
        for solid in own:
            self.add(solid)

    @property
    def shapes(self) -> tuple[str, ...]:
        """Names of all shapes, the built-in ones first."""
        return SHAPES + tuple(self._own)

    def add(self, solid: Solid) -> None:
        """Take in a solid in medium size; the same one again changes nothing."""
        shape, size = split_name(solid.name)
        if size != "medium":
            raise ConfigError(f"a shape is added in medium size, not as {solid.name!r}")
        if shape in SHAPES:
            raise ConfigError(f"shape {shape!r} is built in; give yours another name")
        if shape in self._own and not _same(self._own[shape], solid):
            raise ConfigError(f"shape {shape!r} is already there and differs; give yours another name")
        self._own[shape] = solid

    def solid(self, name: str) -> Solid:
        """The solid of that name, built once.

        Raises:
            ConfigError: No such shape or size.
        """
        if name not in self._made:
            shape, size = split_name(name)
            full = f"{shape}:{size}"
            if full not in self._made:
                self._made[full] = self._shelved(full) or self._build(shape, full, SIZES[size])
            self._made[name] = self._made[full]
        return self._made[name]

    def _shelved(self, name: str) -> Solid | None:
        if self.shelf is None or not (file := self.shelf / shelf_name(name)).exists():
            return None
        made: Solid = pickle.loads(file.read_bytes())  # noqa: S301 - written by a process of ours
        return made

    def _build(self, shape: str, name: str, factor: float) -> Solid:
        if shape.startswith(PREFIX):
            from sightline.worlds.cad.model import build  # it stands on this package

            return scaled(build(shape), name, factor)
        if shape in self._own:
            return scaled(self._own[shape], name, factor)
        if shape in GEOSPA:
            return _geospa(shape, name, SCENE_SCALE * factor)
        if shape in INVENTED:
            return invented.build(shape, name, SCENE_SCALE * factor)
        if shape in KITCHEN:
            return scaled(_kitchen()[f"{shape}:medium"], name, factor)
        raise ConfigError(f"unknown shape {shape!r}{hint(shape, (*self.shapes, *CAD))}")


def shelf_name(name: str) -> str:
    """File of a solid on a shelf: ``cad/car/sedan#17:medium`` with its slashes and colon replaced."""
    return name.replace("/", "+").replace(":", "@")


def _geospa(shape: str, name: str, scale: float) -> Solid:
    """One of GeoSpa's shapes with `scale` metres to the model unit."""
    (kind, x, y, z), hollow = DIMENSIONS[shape]
    outline, height = Outline(kind, (x * scale / 2, y * scale / 2)), z * scale
    cavity = None
    if hollow is not None:
        kind, x, y, depth = hollow
        cavity = Cavity(Outline(kind, (x * scale / 2, y * scale / 2)), depth * scale)
    mesh = prism(outline, height) if cavity is None else container(outline, height, cavity)
    return mesh.solid(name, outline=outline, base=outline, top=outline, height=height, cavity=cavity)


@functools.cache
def _kitchen() -> dict[str, Solid]:
    return load_solids(KITCHEN_FILE)


def _same(a: Solid, b: Solid) -> bool:
    pairs = [(getattr(a, field.name), getattr(b, field.name)) for field in fields(Solid)]
    pairs += [(x.texture, y.texture) for x, y in zip(a.slots, b.slots, strict=False)]
    return all(np.array_equal(x, y) if isinstance(x, np.ndarray) else x == y for x, y in pairs)
