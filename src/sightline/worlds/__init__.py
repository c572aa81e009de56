"""Inventing scenes: shapes, placement, predicates, cameras, bias. Runs with numpy, numba and yaml alone.

>>> from sightline.worlds import arrange, load_world, relations
>>> layout = arrange(load_world("geospa/train"), seed=0, index=0)
>>> {predicate for _, predicate, _ in relations(layout)} >= {"left", "right", "front", "behind"}
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `x as x` says to a type checker that the name is meant for users
    from sightline.worlds.arrangement import arrange as arrange
    from sightline.worlds.files import presets as presets
    from sightline.worlds.fits import can_contain as can_contain
    from sightline.worlds.fits import can_support as can_support
    from sightline.worlds.labels import PREDICATES as PREDICATES
    from sightline.worlds.labels import relations as relations
    from sightline.worlds.layout import Layout as Layout
    from sightline.worlds.layout import Light as Light
    from sightline.worlds.layout import Placed as Placed
    from sightline.worlds.layout import Shot as Shot
    from sightline.worlds.shapes import SHAPES as SHAPES
    from sightline.worlds.shapes import SIZES as SIZES
    from sightline.worlds.shapes import solid as solid
    from sightline.worlds.solids import Solid as Solid
    from sightline.worlds.spec import World as World
    from sightline.worlds.spec import load_world as load_world
    from sightline.worlds.spec import world_from as world_from

_LAZY = {
    "arrangement": "arrange",
    "files": "presets",
    "fits": "can_contain can_support",
    "labels": "PREDICATES relations",
    "layout": "Layout Light Placed Shot",
    "shapes": "SHAPES SIZES solid",
    "solids": "Solid",
    "spec": "World load_world world_from",
}
"""Module → its public names."""

_HOME = {name: module for module, names in _LAZY.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
