"""What one scene says in the words of a vocabulary, fact by fact: the slow side of annotating."""

from __future__ import annotations

import math

import numpy as np

from sightline.exams.turing.annotations.columns import Annotation
from sightline.exams.turing.vocabulary.vocabulary import AttributeSource, RelationType, Vocabulary
from sightline.scenes import Object, Relation, Scene, Sighting, View

OPPOSITE = {"closer": "farther", "farther": "closer", "occludes": "occluded", "occluded": "occludes"}
ENOUGH_PIXELS, MARGIN_PIXELS, MARGIN_SHARE = 30, 2, 0.004
ONE_ANSWER = {
    "depth": {"closer", "farther", "same", "unsure"},
    "occlusion": {"none", "occludes", "occluded", "mutual"},
}


def annotation(scene: Scene, words: Vocabulary, view_id: str | None, closed: bool) -> Annotation:
    view = scene.views[0] if view_id is None else scene.view(view_id)
    sightings = {s.object_id: s for s in reversed(scene.seen_in(view.id))}
    told = [r for r in both_ways(scene) if r.view in (None, view.id)]
    types = {c: t for t, kind in enumerate(words.types) for c in kind.categories}
    kept = []
    for thing in scene.objects:
        if thing.category in types and thing.id in sightings and "hidden" not in sightings[thing.id].flags:
            seen = [overlaps(scene, view, sightings[thing.id], words, w.box) for w in words.regions]
            if seen[0] != "no":
                kept.append((thing, sightings[thing.id], seen))
    faint = {thing.id for thing, _, seen in kept if seen[0] == "hardly"}
    visible = {i for i, s in sightings.items() if "hidden" not in s.flags} - faint
    n, width = len(kept), max(len(kind.attributes) for kind in words.types)
    known = np.full((n, width), None, dtype=object)
    for i, (thing, seen_there, _) in enumerate(kept):
        kind = words.types[types[thing.category]]
        for k, attribute in enumerate(kind.attributes):
            known[i, k] = has(scene, thing, seen_there, told, attribute.source, closed, visible)
            covers = attribute.source.covered
            if any(r.subject == thing.id and r.predicate in covers for r in told):
                known[i, k] = None
        for k, attribute in enumerate(kind.attributes):
            same = [j for j, other in enumerate(kind.attributes) if other.group == attribute.group and j != k]
            if attribute.group in kind.exclusive and known[i, k] is not True and any(known[i, same] == True):  # noqa: E712
                known[i, k] = False
    related = np.full((n, n, len(words.links)), None, dtype=object)
    for i, (a, box_a, _) in enumerate(kept):
        for j, (b, box_b, _) in enumerate(kept):
            ends = [words.types[types[thing.category]].name for thing in (a, b)]
            for k, link in enumerate(words.links):
                fits = link.joins(*ends) or (not link.ordered and link.joins(*ends[::-1]))
                if i != j and fits:
                    unit = MARGIN_SHARE if view.units == "normalised" else MARGIN_PIXELS
                    related[i, j, k] = stands(a, b, box_a, box_b, told, link, closed, unit)
    return Annotation(
        scene.id,
        tuple(thing.id for thing, _, _ in kept),
        np.array([types[thing.category] for thing, _, _ in kept], dtype=np.int16),
        np.array([bool(s.flags & {"group", "crowd"}) for _, s, _ in kept], dtype=bool),
        known == True,  # noqa: E712
        known == False,  # noqa: E712
        np.array([[s == "yes" for s in seen] for _, _, seen in kept], dtype=bool).reshape(n, len(words.regions)),
        related == True,  # noqa: E712
        related == False,  # noqa: E712
        np.array([[s == "hardly" for s in seen] for _, _, seen in kept], dtype=bool).reshape(n, len(words.regions)),
    )


def both_ways(scene: Scene) -> list[Relation]:
    """Relations within the scene; those with one answer, and the disputed ones, also told of (object, subject)."""
    told = []
    for r in scene.relations:
        if r.object_scene in (None, scene.id):
            told.append(r)
            if r.aspect in ONE_ANSWER or r.predicate is None:
                word = OPPOSITE.get(r.predicate, r.predicate) if r.predicate else None
                told.append(Relation(r.object, r.subject, r.aspect, word, view=r.view))
    return told


def overlaps(scene: Scene, view: View, seen: Sighting, words: Vocabulary, region: tuple[float, ...]) -> str:
    """``yes``, ``no``, or ``hardly``: fewer than 30 pixels of the mask, or by less than 2 pixels of the box."""
    if seen.visible_mask is None and view.units == "normalised":
        width, height = 1.0, 1.0
    elif words.extent == "boxes" and view.units == "pixels" and view.size is None:
        width = max(0.0, *(s.box[2] for s in scene.seen_in(view.id)))
        height = max(0.0, *(s.box[3] for s in scene.seen_in(view.id)))
    else:
        width, height = view.require_size()
    x0, y0, x1, y1 = (round(f * side, 9) for f, side in zip(region, (width, height) * 2, strict=True))
    if seen.visible_mask is None:
        boxes = [seen.box]
    else:
        columns, rows = view.require_size()
        boxes = [(x, y, x + 1, y + 1) for x, y in painted(seen.visible_mask, rows, columns)]
    inside = [box for box in boxes if max(box[0], x0) < min(box[2], x1) and max(box[1], y0) < min(box[3], y1)]
    if not inside:
        return "no"
    if seen.visible_mask is not None:
        return "yes" if len(inside) >= ENOUGH_PIXELS else "hardly"
    margin = MARGIN_SHARE if view.units == "normalised" else MARGIN_PIXELS
    a, b, c, d = seen.box
    wide, high = min(c, x1) - max(a, x0), min(d, y1) - max(b, y0)
    return "yes" if wide >= min(margin, c - a) and high >= min(margin, d - b) else "hardly"


def painted(mask: bytes, rows: int, columns: int) -> list[tuple[int, int]]:
    """Pixels of a mask in COCO's compressed run lengths: down each column, nothing and something in turn.

    A run is written in groups of five bits, the lowest first, as characters from "0" on; 32 is added to all but the
    last group, whose fifth bit is the sign. From the fourth run on it is the difference to the run before the last.
    """
    runs: list[int] = []
    number, bits = 0, 0
    for character in mask:
        group = character - ord("0")
        number += (group % 32) * 2**bits
        bits += 5
        if group < 32:
            if group >= 16:
                number -= 2**bits
            runs.append(number + (runs[-2] if len(runs) > 2 else 0))
            number, bits = 0, 0
    inside = [i % 2 == 1 for i, run in enumerate(runs) for _ in range(run)]
    assert len(inside) == rows * columns
    return [(i // rows, i % rows) for i, something in enumerate(inside) if something]


def has(
    scene: Scene,
    thing: Object,
    seen: Sighting,
    told: list[Relation],
    source: AttributeSource,
    closed: bool,
    visible: set[str],
) -> bool | None:
    silence = False if closed or source.absent == "no" else None
    if source.kind == "attribute":
        return thing.attributes[source.key] in source.values if source.key in thing.attributes else silence
    if source.kind == "category":
        if thing.category in source.values:
            return True
        return False if not source.others or thing.category in source.others else silence
    if source.kind == "flag":
        if source.key in seen.flags:
            return True
        return None if f"{source.key}_unknown" in seen.flags else silence
    if source.kind == "occluded":
        return silence if seen.occluded_fraction is None else seen.occluded_fraction > source.above
    counts = [partner(thing, other, told, source) for other in scene.objects if other.id != thing.id]
    others = [other.id for other in scene.objects if other.id != thing.id]
    counts = [None if c and other not in visible else c for c, other in zip(counts, others, strict=True)]
    least, most = counts.count(True), math.inf if silence is None else len(counts) - counts.count(False)
    if source.exactly is None:
        return True if least else False if most == 0 else None
    if least == most == source.exactly:
        return True
    return False if least > source.exactly or most < source.exactly else None


def partner(thing: Object, other: Object, told: list[Relation], source: AttributeSource) -> bool | None:
    """Whether the other is a partner; False where nothing says so."""
    if source.others and other.category not in source.others:
        return False
    pair = (thing.id, other.id) if source.role == "subject" else (other.id, thing.id)
    return said(told, source.key, *pair, source.values, source.reverse) or (
        None if disputed(told, source.key, *pair, (*source.values, *source.reverse)) else False
    )


def said(
    told: list[Relation], aspect: str, a: str, b: str, values: tuple[str, ...], reverse: tuple[str, ...]
) -> bool:
    return any(
        aspect in ("", r.aspect)
        and (
            ((r.subject, r.object) == (a, b) and r.predicate in values)
            or ((r.subject, r.object) == (b, a) and r.predicate in reverse)
        )
        for r in told
    )


def disputed(told: list[Relation], aspect: str, a: str, b: str, words: tuple[str, ...]) -> bool:
    return any(
        (r.subject, r.object) == (a, b)
        and aspect in ("", r.aspect)
        and (r.predicate is None or (r.aspect in ONE_ANSWER and r.predicate == "unsure"))
        and (r.aspect not in ONE_ANSWER or ONE_ANSWER[r.aspect] & set(words))
        for r in told
    )


def stands(
    a: Object,
    b: Object,
    seen_a: Sighting,
    seen_b: Sighting,
    told: list[Relation],
    link: RelationType,
    closed: bool,
    margin: float,
) -> bool | None:
    if link.aspect == "box":
        first, second = (measure(s.box, link.values[0]) for s in (seen_a, seen_b))
        least_first, least_second = (measure(s.box, link.values[0], margin) for s in (seen_a, seen_b))
        if least_first > second * (1 + link.margin):
            return True
        return False if least_second > first * (1 + link.margin) else None
    orders = [(a.id, b.id)] if link.ordered else [(a.id, b.id), (b.id, a.id)]
    words = (*link.values, *link.reverse)
    if any(said(told, link.aspect, *order, link.values, link.reverse) for order in orders):
        return True
    if link.order == "strict":
        return False if said(told, link.aspect, b.id, a.id, link.values, link.reverse) else None
    if disputed(told, link.aspect, a.id, b.id, words):
        return None
    if closed or link.absent == "no":
        return False
    answered = any(
        (r.subject, r.object) == (a.id, b.id)
        and link.aspect in ("", r.aspect)
        and r.aspect in ONE_ANSWER
        and ONE_ANSWER[r.aspect] & set(words)
        and r.predicate not in (None, "unsure")
        for r in told
    )
    return False if answered else None


def measure(box: tuple[float, ...], what: str, less: float = 0.0) -> float:
    """Height or area of a box, drawn so much narrower and lower."""
    x0, y0, x1, y1 = box
    wide, high = max(0.0, x1 - x0 - less), max(0.0, y1 - y0 - less)
    return high if what == "taller" else wide * high
