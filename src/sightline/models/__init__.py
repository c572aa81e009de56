"""Models by name, by file or by Python object."""

from sightline.models.registry import available, candidate, is_blind, load, name_of, needs_training

__all__ = ["available", "candidate", "is_blind", "load", "name_of", "needs_training"]
