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
    from sightline.worlds.arrangement import arrange
    from sightline.worlds.files import presets
    from sightline.worlds.fits import can_contain, can_support
    from sightline.worlds.labels import PREDICATES, relations
    from sightline.worlds.layout import Layout, Light, Placed, Shot
    from sightline.worlds.shapes import SHAPES, SIZES, solid
    from sightline.worlds.solids import Solid
    from sightline.worlds.spec import World, load_world, world_from

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


_LAZY = {
    "arrangement": ("arrange",),
    "files": ("presets",),
    "fits": ("can_contain", "can_support"),
    "labels": ("PREDICATES", "relations"),
    "layout": ("Layout", "Light", "Placed", "Shot"),
    "shapes": ("SHAPES", "SIZES", "solid"),
    "solids": ("Solid",),
    "spec": ("World", "load_world", "world_from"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
