"""The one data model: Scene, View, Object, Sighting, Relation. No I/O here."""

from sightline.scenes.labels import ASPECTS, NO_MAJORITY, REVERSE, Depth, Occlusion, words
from sightline.scenes.types import Camera, Landmark, Object, Relation, Scene, Sighting, View, Viewpoint
from sightline.scenes.validation import validate

__all__ = [
    "ASPECTS",
    "NO_MAJORITY",
    "REVERSE",
    "Camera",
    "Depth",
    "Landmark",
    "Object",
    "Occlusion",
    "Relation",
    "Scene",
    "Sighting",
    "View",
    "Viewpoint",
    "validate",
    "words",
]
