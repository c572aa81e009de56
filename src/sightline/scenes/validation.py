"""Is a scene whole? Called once, at the border where scenes enter."""

from __future__ import annotations

import math
from collections import Counter

from sightline.errors import DataError
from sightline.scenes.labels import ASPECTS, words
from sightline.scenes.types import Relation, Scene, Sighting, View


def validate(scene: Scene, *, file: str | None = None) -> Scene:
    """Return the scene unchanged, or raise a DataError naming what is wrong with it.

    Checks: unique ids; sightings and relations point at things that exist; boxes are finite, not reversed and,
    when normalised, inside [0, 1]; 2.5D predicates and votes are words of their aspect.
    """
    for kind, ids in (("view", [v.id for v in scene.views]), ("object", [o.id for o in scene.objects])):
        doubled = [i for i, times in Counter(ids).items() if times > 1]
        if doubled:
            raise DataError(f"{kind} id stands twice", file=file, row=scene.id, found=doubled[0])
    views = {v.id: v for v in scene.views}
    objects = {o.id for o in scene.objects}
    for sighting in scene.sightings:
        if sighting.view_id not in views:
            raise DataError("sighting in an unknown view", file=file, row=scene.id, found=sighting.view_id)
        if sighting.object_id not in objects:
            raise DataError("sighting of an unknown object", file=file, row=scene.id, found=sighting.object_id)
        _check_box(scene.id, sighting, views[sighting.view_id], file)
    for relation in scene.relations:
        if relation.view is not None and relation.view not in views:
            raise DataError("relation in an unknown view", file=file, row=scene.id, found=relation.view)
        _check_relation(scene.id, relation, objects, file)
    return scene


def _check_box(scene_id: str, sighting: Sighting, view: View, file: str | None) -> None:
    x0, y0, x1, y1 = sighting.box
    if not all(map(math.isfinite, sighting.box)):
        raise DataError("box is not finite", file=file, row=scene_id, field="box", found=sighting.box)
    if x0 >= x1 or y0 >= y1:
        raise DataError("box is reversed or empty", file=file, row=scene_id, field="box", found=sighting.box)
    if view.units == "normalised" and not (min(x0, y0) >= 0.0 and max(x1, y1) <= 1.0):
        raise DataError(
            "normalised box leaves the image",
            file=file,
            row=scene_id,
            field="box",
            expected="within [0, 1]",
            found=sighting.box,
        )


def _check_relation(scene_id: str, relation: Relation, objects: set[str], file: str | None) -> None:
    ends = [relation.subject] if relation.object_scene else [relation.subject, relation.object]
    for end in ends:
        if end not in objects:
            raise DataError("relation of an unknown object", file=file, row=scene_id, found=end)
    if relation.aspect in ASPECTS:
        if relation.object_scene is None and relation.subject == relation.object:
            raise DataError("object related to itself", file=file, row=scene_id, found=relation.subject)
        allowed = words(relation.aspect)
        for word in (*relation.votes, *([relation.predicate] if relation.predicate else [])):
            if word not in allowed:
                raise DataError(
                    "label outside its range",
                    file=file,
                    row=scene_id,
                    field=relation.aspect,
                    expected="one of " + ", ".join(allowed),
                    found=word,
                )
