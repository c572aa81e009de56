"""Models by name, by file or by Python object. Networks (`models.nets`) import without what the registry needs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.models.identity import note_asked
    from sightline.models.manifest import available, exams_of
    from sightline.models.registry import candidate, check_spec, load, name_of
    from sightline.models.specs import canonical, is_blind, needs_training

_MODULES = {
    "available": "manifest",
    "candidate": "registry",
    "canonical": "specs",
    "check_spec": "registry",
    "exams_of": "manifest",
    "is_blind": "specs",
    "load": "registry",
    "name_of": "registry",
    "needs_training": "specs",
    "note_asked": "identity",
}
"""Public name → its module."""

__all__ = [
    "available",
    "candidate",
    "canonical",
    "check_spec",
    "exams_of",
    "is_blind",
    "load",
    "name_of",
    "needs_training",
    "note_asked",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'sightline.models' has no attribute {name!r}")
    return getattr(import_module(f"sightline.models.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
