"""Where a model knows the predicates and where it does not: by crowd, by what is hidden, by how things stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.predicates.records import judgements
from sightline.exams.predicates.scores import PredicateScores, scores
from sightline.exams.predicates.truth import HOW

HIDDEN: Final = {"0–0.25": 0.0, "0.25–0.5": 0.25, "0.5–0.75": 0.5, "0.75–<1": 0.75, "1": 1.0}
"""Parts of the hidden share and where each begins; the last is wholly hidden."""

AXES: Final = ("n_objects", "hidden", "subject_how", "object_how")

OUTSIDE: Final = -1
"""Part of a judgement that is in none: the hidden share is not known."""


@dataclass(frozen=True)
class Slices:
    """Scores of parts of the judgements.

    Attributes:
        by: Axis → part → scores of the judgements in it. The axes: ``n_objects`` in the scene; ``hidden``: hidden
            share of the more hidden object of the pair in the first view; ``subject_how`` and ``object_how``:
            whether the subject, or the object, stands in something, on something, or by itself. A scene's accuracy
            is that of its judgements in the part; parts without a judgement are left out.
    """

    by: Mapping[str, Mapping[str, PredicateScores]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {axis: {part: s.to_dict() for part, s in parts.items()} for axis, parts in self.by.items()}


def slices(records: pl.DataFrame, *, resamples: int = 2000, seed: int = 0) -> Slices:
    """The scores of every part of every axis, from the records of a run; intervals by scene."""
    judged = judgements(records)
    found: dict[str, dict[str, PredicateScores]] = {}
    for axis in AXES if records.height else ():
        names, part = parts_of(records, axis)
        there = [i for i in range(len(names)) if (part == i).any()]
        found[axis] = {names[i]: scores(judged.counts(part == i), resamples=resamples, seed=seed) for i in there}
    return Slices(found)


def parts_of(records: pl.DataFrame, axis: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of an axis' parts in their order, and the part of every record (`OUTSIDE` for none).

    >>> parts_of(pl.DataFrame({"hidden": [0.2, 0.25, 1.0, None]}), "hidden")[1].tolist()
    [0, 1, 4, -1]
    """
    column = records[axis]
    if axis == "hidden":
        share = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        part = np.searchsorted(list(HIDDEN.values()), share, side="right") - 1
        return tuple(HIDDEN), np.where(np.isnan(share), OUTSIDE, part)
    if axis == "n_objects":
        sizes, part = np.unique(column.to_numpy(), return_inverse=True)
        return tuple(str(size) for size in sizes), part.astype(np.int64)
    words = {word: code for code, word in enumerate(HOW)}
    return HOW, column.replace_strict(words, default=OUTSIDE, return_dtype=pl.Int64).to_numpy()
