"""Labelled pairs to learn from: boxes, classes, further numbers of the objects and targets, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.exams.relations.pairs import PairTable
from sightline.models.relations.objects import ObjectCues
from sightline.scenes.types import View
from sightline.training.batches import shuffled

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class PairExamples:
    """n labelled pairs of m objects.

    Attributes:
        classes: Class names; place 0 of `category` is for a class that is withheld or not known.
        boxes: (m, 4) xyxy, fractions of the image.
        category: (m,) places of the classes.
        numbers: (m, F) further numbers of each object, for cues d and a.
        first: (n,) the subject's object; `second` the other's.
        across: (n,) whether the two stand in two images.
        depth: (n, 4) share of the raters that gave each code; `occlusion` likewise, all 0 where nobody was asked.
        depth_label: (n,) the majority's code, −1 for none; `occlusion_label` likewise.
    """

    classes: tuple[str, ...]
    boxes: Floats
    category: NDArray[np.int64]
    numbers: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    across: NDArray[np.bool_]
    depth: Floats
    occlusion: Floats
    depth_label: NDArray[np.int64]
    occlusion_label: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)


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


class RelationSource:
    """Batches of pairs: (members, batch) rows for every step, each member in an order of its own.

    Args:
        examples: The pairs.
        batch: Pairs of a step, for each member.
        members: How many networks learn side by side.
        seed: Of the orders.
        facts: Where the pairs come from, as JSON values.
        rows: Rows that each member may learn from; by default all.
    """

    def __init__(
        self,
        examples: PairExamples,
        *,
        batch: int,
        members: int,
        seed: int,
        facts: Mapping[str, Any],
        rows: Sequence[NDArray[np.int64]] | None = None,
    ) -> None:
        everything = np.arange(len(examples))
        self.examples, self._batch, self._seed, self._facts = examples, batch, seed, dict(facts)
        self._rows = list(rows) if rows is not None else [everything] * members
        if len(self._rows) != members or not all(map(len, self._rows)):
            raise ConfigError(f"{members} members need rows each, found {[len(part) for part in self._rows]}")

    def loader(self, start: int, stop: int) -> Iterator[NDArray[np.int64]]:
        """Rows of the batches start … stop − 1."""
        for number in range(start, stop):
            yield np.stack(
                [
                    rows[shuffled(number, self._batch, len(rows), self._seed * 1_000 + member)]
                    for member, rows in enumerate(self._rows)
                ]
            )

    def facts(self) -> dict[str, Any]:
        """Where the pairs come from."""
        return {**self._facts, "pairs": len(self.examples), "classes": len(self.examples.classes)}
