"""What is true of a view, read off its frame: how each object is seen, who is closer, who hides whom.

Everything is exact for the pixels drawn: a pixel shows what lies at its centre. The definitions are told in
docs/reference/worlds-truth.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.geometry.masks import Mask, compress, counts_from_mask
from sightline.render.frames import Frame
from sightline.scenes.labels import GEOMETRIC, SPATIAL, Depth, Occlusion
from sightline.scenes.types import Box, Relation, Sighting

DEPTH_TOLERANCE: Final = 0.02
"""Two objects are equally far where their depths differ by at most this share of the smaller one."""

ACROSS_TOLERANCE: Final = 0.05
"""Between two pictures nobody can tell which object is closer where the logarithm of their depths' ratio is at most
this: 5 %."""

LEAST_SEEN: Final = 0.1
"""Nobody can tell how far away an object is of which a smaller share than this is seen."""

LEAST_PIXELS: Final = 4
LEAST_SHARE: Final = 0.01
"""One object hides another from so many pixels on, and from this share of the other's amodal mask on."""

ASPECT_OF: Final = dict.fromkeys(SPATIAL, "spatial") | dict.fromkeys(GEOMETRIC, "geometry")
"""Aspect of each predicate that holds of the scene, whatever the view."""


def sightings(frame: Frame, names: Sequence[str]) -> tuple[Sighting, ...]:
    """How each object is seen; none for an object outside the image.

    The box is the tight box of the visible pixels, and that of the amodal mask where nothing is visible (flag
    ``hidden``). Further flags: ``occluded`` where a part is hidden, ``truncated`` where the amodal mask reaches the
    border of the image.

    Args:
        frame: The view.
        names: Object ids, one for each mask of the frame.
    """
    seen = (_sighting(frame, index, name) for index, name in enumerate(names))
    return tuple(s for s in seen if s is not None)


def _sighting(frame: Frame, index: int, name: str) -> Sighting | None:
    amodal = frame.amodal[index]
    whole = tight_box(amodal)
    if whole is None:
        return None
    visible = frame.ids == index + 1
    box = tight_box(visible)
    area, shown = int(amodal.sum()), int(visible.sum())
    height, width = amodal.shape
    states = {
        "hidden": shown == 0,
        "occluded": shown < area,
        "truncated": whole[0] == 0 or whole[1] == 0 or whole[2] == width or whole[3] == height,
    }
    return Sighting(
        frame.view,
        name,
        box or whole,
        visible_mask=_run_lengths(visible, box),
        amodal_mask=_run_lengths(amodal, whole),
        occluded_fraction=1.0 - shown / area,
        flags=frozenset(flag for flag, holds in states.items() if holds),
    )


def tight_box(mask: Mask) -> Box | None:
    """Tight xyxy box of the pixels set, half-open, in pixels; None for an empty mask.

    >>> tight_box(np.array([[False, True, True], [False, False, True]]))
    (1.0, 0.0, 3.0, 2.0)
    """
    rows = np.flatnonzero(mask.any(axis=1))
    if not rows.size:
        return None
    columns = np.flatnonzero(mask[rows[0] : rows[-1] + 1].any(axis=0))
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)


def _run_lengths(mask: Mask, box: Box | None) -> bytes:
    """The compressed string of a mask, looking only at the columns of its box (they stand in one piece)."""
    height, width = mask.shape
    if box is None:
        return compress([height * width])
    left, right = int(box[0]), int(box[2])
    counts = counts_from_mask(mask[:, left:right])
    counts[0] += left * height
    rest = (width - right) * height
    if counts.size % 2:  # the last run is of 0 already
        counts[-1] += rest
        return compress(counts)
    return compress(np.append(counts, rest) if rest else counts)


def view_relations(
    frame: Frame, names: Sequence[str], *, tolerance: float = DEPTH_TOLERANCE
) -> tuple[Relation, ...]:
    """Depth and occlusion of every pair of objects within the image, the lower index first.

    Depth: by the mean planar depth of each object's own front surface, hidden parts included. Occlusion: one hides
    the other where it is what is seen at `LEAST_PIXELS` or more pixels of the other's amodal mask that are at least
    `LEAST_SHARE` of it.
    """
    inside = np.flatnonzero(np.isfinite(frame.mean_depth))
    hides = hiding(frame)
    relations = []
    for a, b in combinations(inside.tolist(), 2):
        depth = depth_label(float(frame.mean_depth[a]), float(frame.mean_depth[b]), tolerance)
        occlusion = _OCCLUSION[bool(hides[a, b]), bool(hides[b, a])]
        relations += [
            Relation(names[a], names[b], "depth", depth.word, view=frame.view),
            Relation(names[a], names[b], "occlusion", occlusion.word, view=frame.view),
        ]
    return tuple(relations)


_OCCLUSION: Final = {
    (False, False): Occlusion.NONE,
    (True, False): Occlusion.OCCLUDES,
    (False, True): Occlusion.OCCLUDED,
    (True, True): Occlusion.MUTUAL,
}


def depth_label(first: float, second: float, tolerance: float = DEPTH_TOLERANCE) -> Depth:
    """The label of two depths in metres.

    >>> depth_label(10.0, 10.2).word, depth_label(10.0, 10.3).word, depth_label(10.3, 10.0).word
    ('same', 'closer', 'farther')
    """
    if abs(first - second) <= tolerance * min(first, second):
        return Depth.SAME
    return Depth.CLOSER if first < second else Depth.FARTHER


def across_relations(
    frame: Frame, focal: float, names: Sequence[str], other: Frame, other_focal: float, other_scene: str
) -> tuple[Relation, ...]:
    """Depth of every pair of objects seen in two pictures: which one is closer to the camera that took it.

    Args:
        frame: The view of the scene that holds the relations; `names` are its object ids.
        focal: Its focal length, in widths of the picture.
        names: Ids of the objects of the scene.
        other: The view of the other scene, whose object ids are ``0``, ``1``…
        other_focal: Its focal length.
        other_scene: Id of the other scene.
    """
    relations = []
    for a, a_seen in _shares_seen(frame):
        for b, b_seen in _shares_seen(other):
            label = across_label(float(frame.mean_depth[a]), focal, float(other.mean_depth[b]), other_focal)
            told = label if min(a_seen, b_seen) >= LEAST_SEEN else Depth.UNSURE
            relations.append(
                Relation(names[a], str(b), "depth", told.word, object_scene=other_scene, view=frame.view)
            )
    return tuple(relations)


def across_label(first: float, first_focal: float, second: float, second_focal: float) -> Depth:
    """The label of depths in two pictures, metres, with the focal lengths of their lenses, in any one unit.

    Who looks at a picture does not know its lens: through one twice as long a thing seems half as far away. So an
    order counts as told only where it is the same, by more than `ACROSS_TOLERANCE`, for the depths themselves and
    for the depths as they seem if both lenses are taken to be alike. Otherwise it is unsure; nothing is *same*.

    >>> across_label(10.0, 1.8, 11.0, 1.8).word, across_label(10.0, 1.8, 10.4, 1.8).word
    ('closer', 'unsure')
    >>> across_label(10.0, 1.0, 15.0, 2.0).word  # the second is farther, but seems to be nearer
    'unsure'
    """
    ratio = math.log(second / first)
    seeming = ratio - math.log(second_focal / first_focal)
    if min(ratio, seeming) > ACROSS_TOLERANCE:
        return Depth.CLOSER
    return Depth.FARTHER if max(ratio, seeming) < -ACROSS_TOLERANCE else Depth.UNSURE


def _shares_seen(frame: Frame) -> list[tuple[int, float]]:
    """Index and visible share of each object of which anything is seen."""
    shown = np.bincount(frame.ids.ravel(), minlength=len(frame.amodal) + 1)[1:]
    area = frame.amodal.sum(axis=(1, 2))
    return [(i, float(shown[i] / area[i])) for i in np.flatnonzero(shown).tolist()]


def hiding(frame: Frame) -> NDArray[np.bool_]:
    """(n, n): whether the row's object hides a part worth counting of the column's."""
    n = len(frame.amodal)
    over = np.zeros((n, n), dtype=np.int64)
    for b, amodal in enumerate(frame.amodal):
        over[:, b] = np.bincount(frame.ids[amodal], minlength=n + 1)[1:]
    np.fill_diagonal(over, 0)
    area = frame.amodal.sum(axis=(1, 2))
    hides: NDArray[np.bool_] = (over >= LEAST_PIXELS) & (over >= LEAST_SHARE * area)
    return hides


def scene_relations(facts: Iterable[tuple[int, str, int]], names: Sequence[str]) -> tuple[Relation, ...]:
    """Facts of the scene, (subject, predicate, object) by index, as relations: one row for each true fact.

    >>> scene_relations([(0, "left", 1)], "ab")[0].aspect
    'spatial'
    """
    return tuple(Relation(names[a], names[b], ASPECT_OF[word], word) for a, word, b in facts)
