"""Is a scene whole? Called once, at the border where scenes enter."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial

from sightline.errors import DataError
from sightline.scenes.labels import ASPECTS, words
from sightline.scenes.types import Relation, Scene, Sighting, View


def validate(scene: Scene, *, file: str | None = None) -> Scene:
    """Return the scene unchanged, or raise a DataError naming what is wrong with it.

    Checks: unique ids; sightings and relations point at things that exist; boxes are finite, not reversed and,
    when normalised, inside [0, 1]; 2.5D predicates and votes are words of their aspect.
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
