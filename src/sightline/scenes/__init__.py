"""The one data model: Scene, View, Object, Sighting, Relation. No I/O here."""

from sightline.geometry.viewpoints import Viewpoint
from sightline.scenes.labels import ASPECTS, NO_MAJORITY, REVERSE, Depth, Occlusion, words
from sightline.scenes.types import (
    PART,
    STUFF,
    Camera,
    Landmark,
    LandmarkState,
    Object,
    Relation,
    Scene,
    Sighting,
    View,
    occlusion_ratio,
)
from sightline.scenes.validation import landmarks_fault, validate, viewpoint_fault

__all__ = [
    "ASPECTS",
    "NO_MAJORITY",
    "PART",
    "REVERSE",
    "STUFF",
    "Camera",
    "Depth",
    "Landmark",
    "LandmarkState",
    "Object",
    "Occlusion",
    "Relation",
    "Scene",
    "Sighting",
    "View",
    "Viewpoint",
    "landmarks_fault",
    "occlusion_ratio",
    "validate",
    "viewpoint_fault",
    "words",
]
