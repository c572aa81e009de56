"""Shapes as solids: GeoSpa's fourteen, a kitchen set of nine, invented ones, and meshes of your own."""

from __future__ import annotations

from typing import Final

from sightline.worlds.looks import SIZES, split_name
from sightline.worlds.shapes.baked import load_solids, save_solids
from sightline.worlds.shapes.catalogue import GEOSPA, INVENTED, KITCHEN, SCENE_SCALE, SHAPES, Catalogue
from sightline.worlds.solids import Solid

__all__ = [
    "BUILT_IN",
    "GEOSPA",
    "INVENTED",
    "KITCHEN",
    "SCENE_SCALE",
    "SHAPES",
    "SIZES",
    "Catalogue",
    "load_solids",
    "register",
    "save_solids",
    "solid",
    "split_name",
]

BUILT_IN: Final = Catalogue()
"""What `solid` looks in."""


def solid(name: str) -> Solid:
    """The solid of that name, built once: ``cube_container:large``; without a size, medium.

    >>> solid("cube") is solid("cube:medium")
    True
    >>> solid("cub:small")
    Traceback (most recent call last):
    sightline.errors.ConfigError: unknown shape 'cub', did you mean 'cube'?
    """
    return BUILT_IN.solid(name)


def register(own: Solid) -> None:
    """Make a solid of your own, in medium size, known to `solid` for the rest of the process."""
    BUILT_IN.add(own)
