"""Pairs to learn from, made of the annotated tables of a dataset, with numbers that cues make from pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.exams.relations.pairs import PairTable
from sightline.models.relations.objects import ObjectCues
from sightline.scenes.types import View
from sightline.training.relations.examples import Floats, PairExamples


def examples_of(
    tables: Sequence[PairTable], cues: ObjectCues | None = None, views: Mapping[str, View] | None = None
) -> PairExamples:
    """Collect the labelled pairs of tables; a pair whose raters found no majority is kept with its votes.

    Args:
        tables: Annotated pairs, within an image or across two.
        cues: What makes further numbers of objects; None for boxes and classes alone.
        views: The pictures by scene, which `cues` look at.

    Raises:
        ConfigError: No pair at all.
        DataError: A picture that is looked at is not there.
    """
    if not sum(map(len, tables)):
        raise ConfigError("there is no labelled pair to learn from")
    names = tuple(sorted({name for table in tables for name in table.categories}))
    place = {name: i + 1 for i, name in enumerate(names)}
    starts = np.cumsum([0, *(len(table.boxes) for table in tables)])
    parts: dict[str, list[Any]] = {}
    for start, table in zip(starts, tables, strict=False):
        codes = np.array([place[name] for name in table.categories], dtype=np.int64)
        across = table.setting == "across_images"
        columns = {
            "boxes": table.boxes.astype(np.float32),
            "category": codes[table.category],
            "numbers": _numbers(table, cues, views or {}),
            "first": table.first.astype(np.int64) + start,
            "second": table.second.astype(np.int64) + start,
            "across": np.full(len(table), across),
            "depth": _shares(table.depth_votes, table.depth),
            "occlusion": _shares(table.occlusion_votes, table.occlusion) * (not across),
            "depth_label": table.depth.astype(np.int64),
            "occlusion_label": np.where(across, -1, table.occlusion).astype(np.int64),
        }
        for name, column in columns.items():
            parts.setdefault(name, []).append(column)
    return PairExamples(names, **{name: np.concatenate(columns) for name, columns in parts.items()})


def _shares(votes: NDArray[np.int16], label: NDArray[np.int8]) -> Floats:
    """(n, 4) share of the votes for each code; where nobody voted (a truth that was computed) the label alone."""
    cast = votes.sum(axis=1, keepdims=True)
    alone = (label[:, None] == np.arange(4)).astype(np.float32)
    shares: Floats = np.where(cast > 0, votes / np.maximum(cast, 1), alone).astype(np.float32)
    return shares


def _numbers(table: PairTable, cues: ObjectCues | None, views: Mapping[str, View]) -> Floats:
    """(m, F) further numbers of the objects of a table; 0 for those that stand in no pair."""
    if cues is None:
        return np.zeros((len(table.boxes), 0), dtype=np.float32)
    numbers = np.zeros((len(table.boxes), cues.size), dtype=np.float32)
    used = np.union1d(table.first, table.second)
    for scene in np.unique(table.object_scene[used]):
        rows = used[table.object_scene[used] == scene]
        name = str(table.scenes[scene])
        if name not in views or views[name].image_ref is None:
            raise DataError("a picture to learn from is not there: cues d and a look at it", row=name)
        numbers[rows] = cues.numbers(views[name], table.boxes[rows])
    return numbers


def scenes_of(tables: Sequence[PairTable]) -> tuple[NDArray[np.int64], list[str]]:
    """(m,) number of the scene of each object, in the order of `examples_of`, and the ids of those scenes.

    A scene that stands in two tables is one; those whose objects stand in no pair are left out, with number −1.
    """
    names = np.concatenate([table.scenes[table.object_scene] for table in tables]).astype(str)
    starts = np.cumsum([0, *(len(table.boxes) for table in tables)])
    used = np.concatenate(
        [np.union1d(table.first, table.second) + start for start, table in zip(starts, tables, strict=False)]
    )
    scenes, number = np.unique(names[used], return_inverse=True)
    numbers = np.full(len(names), -1, dtype=np.int64)
    numbers[used] = number
    return numbers, scenes.tolist()
