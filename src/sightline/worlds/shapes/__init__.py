"""Shapes as solids: GeoSpa's fourteen, a kitchen set of nine, invented ones, and meshes of your own."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sightline.errors import ConfigError
from sightline.files import atomic_write
from sightline.worlds.looks import SIZES, split_name
from sightline.worlds.shapes.baked import load_solids, save_solids
from sightline.worlds.shapes.catalogue import GEOSPA, INVENTED, KITCHEN, SCENE_SCALE, SHAPES, Catalogue, shelf_name
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
    "is_known",
    "load_solids",
    "register",
    "save_solids",
    "shelve",
    "solid",
    "split_name",
    "use_shelf",
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


def use_shelf(folder: str | Path) -> None:
    """Let `solid` look in a folder for solids that were built before (see `shelve`)."""
    BUILT_IN.shelf = Path(folder)


def shelve(names: Iterable[str], folder: str | Path) -> None:
    """Build solids and put each on the shelf, a folder of one run that other processes of it read."""
    for name in names:
        file = Path(folder) / shelf_name(name)
        if not file.exists():
            atomic_write(file, pickle.dumps(solid(name), protocol=pickle.HIGHEST_PROTOCOL), sync=False)


def is_known(name: str) -> bool:
    """Whether `solid` has a shape of that name."""
    try:
        return bool(BUILT_IN.solid(name))
    except ConfigError:
        return False


def register(own: Solid) -> None:
    """Make a solid of your own, in medium size, known to `solid` for the rest of the process."""
    BUILT_IN.add(own)
