"""Is a scene whole? Called once, at the border where scenes enter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import get_args

from sightline.errors import DataError
from sightline.geometry.viewpoints import Viewpoint
from sightline.scenes.labels import ASPECTS, words
from sightline.scenes.types import Landmark, LandmarkState, Relation, Scene, Sighting, View


def validate(scene: Scene, *, file: str | None = None) -> Scene:
    """Return the scene unchanged, or raise a DataError naming what is wrong with it.

    Checks: unique ids; sightings and relations point at things that exist; boxes are finite, not reversed and,
    when normalised, inside [0, 1]; viewpoints and landmarks are of their kind; 2.5D predicates and
    votes are words of their aspect.
    """
    wrong = partial(DataError, file=file, row=scene.id)
    for kind, ids in (("view", [v.id for v in scene.views]), ("object", [o.id for o in scene.objects])):
        doubled = [i for i, times in Counter(ids).items() if times > 1]
        if doubled:
            raise wrong(f"{kind} id stands twice", found=doubled[0])
    views = {v.id: v for v in scene.views}
    objects = {o.id for o in scene.objects}
    for sighting in scene.sightings:
        if sighting.view_id not in views:
            raise wrong("sighting in an unknown view", found=sighting.view_id)
        if sighting.object_id not in objects:
            raise wrong("sighting of an unknown object", found=sighting.object_id)
        _check_box(sighting, views[sighting.view_id], wrong)
        if fault := sighting.viewpoint and viewpoint_fault(sighting.viewpoint):
            raise wrong(fault, field="viewpoint", found=sighting.viewpoint)
        if fault := landmarks_fault(sighting.landmarks):
            raise wrong(fault, field="landmarks", found=sighting.object_id)
    for relation in scene.relations:
        if relation.view is not None and relation.view not in views:
            raise wrong("relation in an unknown view", found=relation.view)
        _check_relation(relation, objects, wrong)
    return scene


def _check_box(sighting: Sighting, view: View, wrong: partial[DataError]) -> None:
    x0, y0, x1, y1 = sighting.box
    if not all(map(math.isfinite, sighting.box)):
        raise wrong("box is not finite", field="box", found=sighting.box)
    if x0 >= x1 or y0 >= y1:
        raise wrong("box is reversed or empty", field="box", found=sighting.box)
    if view.units == "normalised" and not (min(x0, y0) >= 0.0 and max(x1, y1) <= 1.0):
        expected = "within [0, 1]"
        raise wrong("normalised box leaves the image", field="box", expected=expected, found=sighting.box)


def viewpoint_fault(viewpoint: Viewpoint) -> str | None:
    """Say what is wrong with a viewpoint; None if nothing is.

    >>> viewpoint_fault(Viewpoint(10.0, 100.0))
    'elevation is not within −90 … 90°'
    """
    v = viewpoint
    numbers = (v.azimuth, v.elevation, v.distance, v.theta, v.focal, v.viewport, v.error or 0.0)
    pairs = [pair for pair in (v.principal, v.coarse) if pair is not None]
    if not all(map(math.isfinite, numbers)) or not all(map(math.isfinite, (x for pair in pairs for x in pair))):
        return "viewpoint is not finite"
    if any(len(pair) != 2 for pair in pairs):
        return "principal point or coarse angles are not two numbers"
    if not -90.0 <= v.elevation <= 90.0:
        return "elevation is not within −90 … 90°"
    if v.distance < 0.0 or min(v.focal, v.viewport) <= 0.0:
        return "distance is below 0, or focal length or viewport not above it"
    return None


def landmarks_fault(landmarks: Sequence[Landmark]) -> str | None:
    """Say what is wrong with the landmarks of a sighting; None if nothing is.

    >>> landmarks_fault([Landmark("tail", None, None)])
    'visible landmark tail has no place'
    """
    seen: set[str] = set()
    for mark in landmarks:
        if mark.name in seen:
            return f"landmark {mark.name} stands twice"
        seen.add(mark.name)
        if mark.state not in get_args(LandmarkState):
            return f"landmark {mark.name} is {mark.state}, not one of {', '.join(get_args(LandmarkState))}"
        if mark.x is None or mark.y is None:
            if mark.state == "visible":
                return f"visible landmark {mark.name} has no place"
        elif not (math.isfinite(mark.x) and math.isfinite(mark.y)):
            return f"place of landmark {mark.name} is not finite"
    return None


def _check_relation(relation: Relation, objects: set[str], wrong: partial[DataError]) -> None:
    ends = [relation.subject] if relation.object_scene else [relation.subject, relation.object]
    for end in ends:
        if end not in objects:
            raise wrong("relation of an unknown object", found=end)
    if relation.aspect in ASPECTS:
        if relation.object_scene is None and relation.subject == relation.object:
            raise wrong("object related to itself", found=relation.subject)
        allowed = words(relation.aspect)
        for word in (*relation.votes, *([relation.predicate] if relation.predicate else [])):
            if word not in allowed:
                expected = "one of " + ", ".join(allowed)
                raise wrong("label outside its range", field=relation.aspect, expected=expected, found=word)
