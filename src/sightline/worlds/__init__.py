"""Inventing scenes: shapes, placement, predicates, cameras, bias. Runs with numpy, numba and yaml alone.

>>> from sightline.worlds import arrange, load_world, relations
>>> layout = arrange(load_world("geospa/train"), seed=0, index=0)
>>> {predicate for _, predicate, _ in relations(layout)} >= {"left", "right", "front", "behind"}
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.worlds.arranging import arrange
    from sightline.worlds.files import presets
    from sightline.worlds.fits import can_contain, can_support
    from sightline.worlds.labels import PREDICATES, relations
    from sightline.worlds.layout import Layout, Light, Placed, Shot
    from sightline.worlds.shapes import SHAPES, SIZES, solid
    from sightline.worlds.solids import Solid
    from sightline.worlds.spec import World, load_world, world_from

_HOMES = {
    "arrange": "arranging",
    "presets": "files",
    "can_contain": "fits",
    "can_support": "fits",
    "PREDICATES": "labels",
    "relations": "labels",
    "Layout": "layout",
    "Light": "layout",
    "Placed": "layout",
    "Shot": "layout",
    "SHAPES": "shapes",
    "SIZES": "shapes",
    "solid": "shapes",
    "Solid": "solids",
    "World": "spec",
    "load_world": "spec",
    "world_from": "spec",
}

__all__ = [
    "PREDICATES",
    "SHAPES",
    "SIZES",
    "Layout",
    "Light",
    "Placed",
    "Shot",
    "Solid",
    "World",
    "arrange",
    "can_contain",
    "can_support",
    "load_world",
    "presets",
    "relations",
    "solid",
    "world_from",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sightline.worlds' has no attribute {name!r}")
    return getattr(import_module(f"sightline.worlds.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
