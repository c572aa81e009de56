"""Datasets from worlds: scenes arranged, rendered and stored with their truth, or with an object taken away.

Opening a dataset must not cost the import of a renderer, so the names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.generation.canonical import canonical_of
    from sightline.generation.open import open_any
    from sightline.generation.run import generate
    from sightline.generation.scene import scene_from

_LAZY = {"canonical_of": "canonical", "generate": "run", "open_any": "open", "scene_from": "scene"}

__all__ = ["canonical_of", "generate", "open_any", "scene_from"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
