"""Datasets from worlds: scenes arranged, rendered and stored with their truth, or with an object taken away.

Opening a dataset must not cost the import of a renderer, so the names are imported when they are first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.generate.canonical import canonical_of
    from sightline.generate.open import open_any
    from sightline.generate.run import generate
    from sightline.generate.scene import scene_from

_LAZY = {"canonical_of": "canonical", "generate": "run", "open_any": "open", "scene_from": "scene"}

__all__ = ["canonical_of", "generate", "open_any", "scene_from"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)


class _Callable(ModuleType):
    """This package, called like its function: ``sightline.generate`` is both, whichever was imported first."""

    def __call__(self, *given: Any, **options: Any) -> Any:
        from sightline.generate.run import generate

        return generate(*given, **options)


sys.modules[__name__].__class__ = _Callable
