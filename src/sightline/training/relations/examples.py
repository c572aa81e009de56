"""Labelled pairs to learn from: boxes, classes, further numbers of the objects and targets, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
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
        all_rows = np.arange(len(examples))
        self.examples, self._batch, self._seed, self._facts = examples, batch, seed, dict(facts)
        self._rows = list(rows) if rows is not None else [all_rows] * members
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
