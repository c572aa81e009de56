"""The questions of the relations exam: every ordered pair of an image, or of two images, with truth and votes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.relations.marks import truth_words
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import Aspect
from sightline.scenes import View
from sightline.skills import Pairs
from sightline.store import Dataset, Tables, scenes_from_tables


@dataclass(frozen=True)
class RelationsItem:
    """All ordered pairs whose subjects stand in one image and whose objects stand in one (the same or another).

    Across images the two directions are two items of one cluster, since the model is shown (A, B) and then (B, A).

    Attributes:
        id: ``<scene>`` within an image, ``<subject's scene>><object's scene>`` across.
        scene_id: Scene of the subjects; `other_scene` of the objects.
        cluster_id: The scene, or the unordered pair of scenes.
        pairs: What the model sees.
        table: The same n ordered pairs with labels and votes.
        reverse: (n,) True where the pair is the reverse of the annotated one.
        truth_boxes_a: (m, 4) every annotated box of the first image, also of objects in no pair; `truth_boxes_b`.
    """

    id: str
    scene_id: str
    other_scene: str
    cluster_id: str
    pairs: Pairs
    table: PairTable
    reverse: NDArray[np.bool_]
    truth_boxes_a: NDArray[np.float64]
    truth_boxes_b: NDArray[np.float64]

    @cached_property
    def asked(self) -> dict[str, list[Any]]:
        """Columns that its records have whoever answers: subject, object, reverse, aspect and truth."""
        rows, subjects, objects = self.rows, self.subjects, self.objects
        return {
            "subject": [subjects[row] for of in rows.values() for row in of],
            "object": [objects[row] for of in rows.values() for row in of],
            "reverse": [turned for of in rows.values() for turned in self.reverse[of].tolist()],
            "aspect": [aspect for aspect, of in rows.items() for _ in of],
            "truth": [
                w for aspect, of in rows.items() for w in truth_words(aspect, getattr(self.table, aspect)[of])
            ],
        }

    @cached_property
    def rows(self) -> dict[Aspect, NDArray[np.intp]]:
        """The pairs that are asked about, by what is asked: depth, occlusion, or both."""
        return {aspect: np.flatnonzero(self.table.asked_of(aspect)) for aspect in self.table.aspects}

    @property
    def subjects(self) -> list[str]:
        """(n,) object ids of the first objects."""
        return list(self.table.object_ids[self.table.first])

    @property
    def objects(self) -> list[str]:
        """(n,) object ids of the second ones."""
        return list(self.table.object_ids[self.table.second])


def relations_items(table: PairTable, views: Mapping[str, View]) -> list[RelationsItem]:
    """One item per (subject's scene, object's scene), in order of first appearance of either direction.

    Args:
        table: Annotated pairs, one direction each; both directions are asked.
        views: The view of every scene that stands in a pair.
    """
    ordered = table.ordered()
    scene_a = ordered.object_scene[ordered.first].astype(np.int64)
    scene_b = ordered.object_scene[ordered.second].astype(np.int64)
    _, first_row, group = np.unique(scene_a * len(table.scenes) + scene_b, return_index=True, return_inverse=True)
    by_scene = _rows_by(ordered.object_scene, len(table.scenes))
    groups = _rows_by(group, len(first_row))
    # The two directions of an image pair side by side, so that a run cut short has whole pairs.
    annotated = first_row % len(table)
    return [_item(ordered, groups[g], views, by_scene) for g in np.lexsort((first_row, annotated))]


def _item(
    table: PairTable, rows: NDArray[np.int64], views: Mapping[str, View], by_scene: list[NDArray[np.int64]]
) -> RelationsItem:
    part = table.take(rows)
    a, b = int(part.object_scene[part.first[0]]), int(part.object_scene[part.second[0]])
    scene, other = str(table.scenes[a]), str(table.scenes[b])
    cluster = str(table.clusters[part.cluster[0]])
    names = table.categories
    pairs = Pairs(
        cluster_id=cluster,
        setting=table.setting,
        view_a=views[scene],
        view_b=views[other],
        boxes_a=part.boxes_a,
        boxes_b=part.boxes_b,
        categories_a=tuple(names[c] for c in part.category[part.first]),
        categories_b=tuple(names[c] for c in part.category[part.second]),
    )
    return RelationsItem(
        id=scene if scene == other else f"{scene}>{other}",
        scene_id=scene,
        other_scene=other,
        cluster_id=cluster,
        pairs=pairs,
        table=part,
        reverse=rows >= len(table) // 2,
        truth_boxes_a=table.boxes[by_scene[a]],
        truth_boxes_b=table.boxes[by_scene[b]],
    )


def _rows_by(codes: NDArray[Any], n: int) -> list[NDArray[np.int64]]:
    """For each code, the rows that carry it."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=n))[:-1])


def views_of(data: Dataset, table: PairTable) -> dict[str, View]:
    """The first view of every scene of the table, as a model may see it and named by its scene.

    View ids are unique only within a scene; a model that looks up files of its own needs to know which image it is.
    """
    frame = data.scan("views").filter(pl.col("scene_id").is_in(table.scenes.tolist())).collect()
    scenes = scenes_from_tables(Tables.build(views=frame), blobs=data.blobs)
    return {scene.id: replace(scene.views[0].without_truth(), id=scene.id) for scene in scenes}
