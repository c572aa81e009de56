"""Judgements ↔ records: one row per scene, ordered pair and predicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.predicates.scores import PredicateScores, scores
from sightline.exams.predicates.tally import Counts, tally_flat
from sightline.exams.predicates.truth import Facts
from sightline.exams.run import ItemRecords
from sightline.scenes.labels import PREDICATES
from sightline.skills import UNKNOWN, Verdicts

ANSWERS: Final = {"no": 0, "yes": 1, "unknown": UNKNOWN}
"""Words of answers in records, and their codes."""

COLUMNS: Final = ("scene_id", "predicate", "truth", "answer", "n_objects", "hidden", "subject_how", "object_how")
"""Columns that scores and slices look at."""

_WORDS = {code: word for word, code in ANSWERS.items()}


@dataclass(frozen=True)
class SceneCounts:
    """Counts of every scene in some records.

    Attributes:
        scenes: Scene ids, in the order of the records.
        counts: (S, 8, 6), see `tally`.
    """

    scenes: tuple[str, ...]
    counts: Counts


@dataclass(frozen=True)
class Judgements:
    """Records as codes.

    Attributes:
        scenes: Scene ids, in the order of the records.
        scene: (m,) place of each record's scene there.
        predicate: (m,) codes.
        truth: (m,) bool.
        answer: (m,) 1, 0 or −1.
    """

    scenes: tuple[str, ...]
    scene: NDArray[np.int64]
    predicate: NDArray[np.int8]
    truth: NDArray[np.bool_]
    answer: NDArray[np.int8]

    def counts(self, part: NDArray[np.bool_] | None = None) -> Counts:
        """(S, 8, 6) counts of every scene, of all records or of some."""
        rows = slice(None) if part is None else part
        return tally_flat(
            self.scene[rows], self.predicate[rows], self.truth[rows], self.answer[rows], len(self.scenes)
        )


def mark(facts: Facts, said: Verdicts, views: Sequence[str]) -> ItemRecords:
    """Records of one scene: every ordered pair of distinct objects, by subject, object and predicate."""
    n, k = len(facts.objects), len(PREDICATES)
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    hidden = np.maximum(facts.hidden[first], facts.hidden[second])  # NaN where either is unknown

    def each(values: Sequence[Any]) -> list[Any]:
        return [value for value in values for _ in range(k)]

    columns = {
        "subject": each([facts.objects[i] for i in first]),
        "object": each([facts.objects[i] for i in second]),
        "predicate": [*PREDICATES] * len(first),
        "truth": facts.truth[first, second].reshape(-1).tolist(),
        "answer": [_WORDS[code] for code in said.answers[first, second].reshape(-1).tolist()],
        "hidden": each([None if np.isnan(share) else share for share in hidden.tolist()]),
        "subject_how": each([facts.how[i] for i in first]),
        "object_how": each([facts.how[i] for i in second]),
    }
    return ItemRecords({"n_objects": n, "views": ",".join(views)}, columns)


def counts_of(records: pl.DataFrame) -> SceneCounts:
    """Counts of every scene; DataError where these are not records of this exam.

    >>> told = {"predicate": ["left", "right"], "truth": [True, False], "answer": ["yes", "unknown"]}
    >>> rest = {"n_objects": 2, "hidden": 0.0, "subject_how": "supported", "object_how": "contained"}
    >>> counts_of(pl.DataFrame({"scene_id": "s"} | told | rest)).counts[0, :2].tolist()
    [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    """
    judged = judgements(records)
    return SceneCounts(judged.scenes, judged.counts())


def judgements(records: pl.DataFrame) -> Judgements:
    """The records as codes; DataError where these are not records of this exam."""
    if not records.height:
        none = np.zeros(0, dtype=np.int8)
        return Judgements((), none.astype(np.int64), none, none.astype(np.bool_), none)
    missing = [name for name in COLUMNS if name not in records.columns]
    if missing:
        raise DataError("these are not records of the predicates exam", field=missing[0])
    scenes = records["scene_id"].unique(maintain_order=True)
    place = pl.DataFrame({"scene_id": scenes, "place": np.arange(len(scenes))})
    lined = records.select("scene_id").join(place, on="scene_id", how="left", maintain_order="left")
    words = {word: code for code, word in enumerate(PREDICATES)}
    predicate, answer = _codes(records["predicate"], words), _codes(records["answer"], ANSWERS)
    truth = records["truth"]
    if truth.dtype != pl.Boolean or truth.null_count():
        raise DataError("not a truth value", field="truth", expected="true or false")
    return Judgements(tuple(scenes), lined["place"].to_numpy(), predicate, truth.to_numpy(), answer)


def score_records(records: pl.DataFrame, *, resamples: int = 2000, seed: int = 0) -> PredicateScores:
    """The scores of a run, from its records (`Run.records`)."""
    return scores(counts_of(records).counts, resamples=resamples, seed=seed)


def _codes(column: pl.Series, codes: dict[str, int]) -> NDArray[np.int8]:
    found = column.cast(pl.String)
    known = found.replace_strict(codes, default=None, return_dtype=pl.Int8)
    if known.null_count():
        foreign = found.filter(known.is_null())[0]
        raise DataError(
            f"not a{'n' if column.name == 'answer' else ''} {column.name}",
            field=column.name,
            expected=" or ".join(codes),
            found=foreign or "nothing",
        )
    return known.to_numpy()
