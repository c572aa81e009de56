"""Records of the predicates exam, one row per scene, ordered pair and predicate, and what is counted from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.base import Measures, Name
from sightline.exams.predicates.counts import KINDS, NAMES, Counts, features, statistics, tally_flat
from sightline.exams.predicates.items import HOW, Facts
from sightline.exams.run import ItemRecords
from sightline.exams.run_schema import RecordColumn
from sightline.scenes.labels import PREDICATES
from sightline.skills import UNKNOWN, Verdicts

ANSWERS: Final = {"no": 0, "yes": 1, "unknown": UNKNOWN}
"""Words of answers in records, and their codes."""

COLUMNS: Final = ("scene_id", "predicate", "truth", "answer", "n_objects", "hidden", "subject_how", "object_how")
"""Columns that scores and slices look at."""

RECORDS: Final = {
    **dict.fromkeys(("subject", "object"), RecordColumn(pl.String)),
    "predicate": RecordColumn(pl.String, words=PREDICATES),
    "truth": RecordColumn(pl.Boolean),
    "answer": RecordColumn(pl.String, words=tuple(ANSWERS)),
    "right": RecordColumn(pl.Boolean),
    "n_objects": RecordColumn(pl.Int64),
    "views": RecordColumn(pl.String),
    "hidden": RecordColumn(pl.Float64, empty=True),
    **dict.fromkeys(("subject_how", "object_how"), RecordColumn(pl.String)),
    "said": RecordColumn(pl.String, always=False),
    "confidence": RecordColumn(pl.Float64, empty=True, always=False),
}
"""Columns of the records, as they are checked when a run is read."""

HIDDEN: Final = {"0–0.25": 0.0, "0.25–0.5": 0.25, "0.5–0.75": 0.5, "0.75–<1": 0.75, "1": 1.0}
"""Parts of the hidden share and where each begins; the last is wholly hidden."""

AXES: Final = ("n_objects", "hidden", "subject_how", "object_how")
"""Axes of the slices: objects in the scene; hidden share, in the first view, of the more hidden object of the pair;
whether the subject, or the object, stands in something, on something, or by itself."""

OUTSIDE: Final = -1
"""Part of a judgement that is in none: the hidden share is not known."""

_WORDS: Final = {code: word for word, code in ANSWERS.items()}
_TABLES: Final = {
    "scene_accuracy": "scene accuracy (mean over scenes)",
    "scene_all_by": "scene-all accuracy (scenes without a mistake)",
    "f1": "F1 (all judgements together)",
    "unknown": "unknown (share of judgements)",
}
_COMPARED: Final = {"scene_accuracy": "scene accuracy", "scene_all_by": "scene-all accuracy", "f1": "F1"}
_GROUPS: Final = NAMES[: -len(PREDICATES)]


def item_records(facts: Facts, verdicts: Verdicts, views: Sequence[str]) -> ItemRecords:
    """Records of one scene: every ordered pair of distinct objects, by subject, object and predicate."""
    n, k = len(facts.objects), len(PREDICATES)
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    hidden = np.maximum(facts.hidden[first], facts.hidden[second])  # NaN where either is unknown
    truth, answer = (values[first, second].reshape(-1) for values in (facts.truth, verdicts.answers))

    def each(values: Sequence[Any]) -> list[Any]:
        return [value for value in values for _ in range(k)]

    columns = {
        "subject": each([facts.objects[i] for i in first]),
        "object": each([facts.objects[i] for i in second]),
        "predicate": [*PREDICATES] * len(first),
        "truth": truth.tolist(),
        "answer": [_WORDS[code] for code in answer.tolist()],
        "right": (truth == answer).tolist(),
        "hidden": each([None if np.isnan(share) else share for share in hidden.tolist()]),
        "subject_how": each([facts.how[i] for i in first]),
        "object_how": each([facts.how[i] for i in second]),
    }
    if verdicts.said:
        places = zip(each(first.tolist()), each(second.tolist()), [*range(k)] * len(first), strict=True)
        columns["said"] = [verdicts.said.get(place, "") for place in places]
    if verdicts.probabilities is not None:
        chance = verdicts.probabilities[first, second].reshape(-1)
        given = np.where(answer == 1, chance, 1 - chance)
        columns["confidence"] = [
            None if code == UNKNOWN or np.isnan(p) else round(p, 6)
            for code, p in zip(answer.tolist(), given.tolist(), strict=True)
        ]
    if verdicts.asked != PREDICATES:
        asked = [name in verdicts.asked for name in columns["predicate"]]
        columns = {name: list(compress(values, asked)) for name, values in columns.items()}
    return ItemRecords({"n_objects": n, "views": ",".join(views)}, columns)


@dataclass(frozen=True)
class CodedRecords:
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


def coded(records: pl.DataFrame) -> CodedRecords:
    """The records as codes; DataError where these are not records of this exam.

    >>> judged = {"predicate": ["left", "right"], "truth": [True, False], "answer": ["yes", "unknown"]}
    >>> rest = {"n_objects": 2, "hidden": 0.0, "subject_how": "supported", "object_how": "contained"}
    >>> coded(pl.DataFrame({"scene_id": "s"} | judged | rest)).counts()[0, :2].tolist()
    [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    """
    if not records.height:
        none = np.zeros(0, dtype=np.int8)
        return CodedRecords((), none.astype(np.int64), none, none.astype(np.bool_), none)
    missing = [name for name in COLUMNS if name not in records.columns]
    if missing:
        raise DataError("these are not records of the predicates exam", field=missing[0])
    scenes = records["scene_id"].unique(maintain_order=True)
    places = pl.DataFrame({"scene_id": scenes, "place": np.arange(len(scenes))})
    aligned = records.select("scene_id").join(places, on="scene_id", how="left", maintain_order="left")
    words = {word: code for code, word in enumerate(PREDICATES)}
    predicate, answer = _codes(records["predicate"], words), _codes(records["answer"], ANSWERS)
    truth = records["truth"]
    if truth.dtype != pl.Boolean or truth.null_count():
        raise DataError("not a truth value", field="truth", expected="true or false")
    return CodedRecords(tuple(scenes), aligned["place"].to_numpy(), predicate, truth.to_numpy(), answer)


def predicate_measures(records: pl.DataFrame) -> Iterator[Measures]:
    """Everything that is counted: all records, then as details the parts of every axis.

    Units are scenes in the order of the records.
    """
    judged = coded(records)
    yield _measures(judged, judged.counts(), (), compared=True)
    for axis in AXES if records.height else ():
        names, part = parts_of(records, axis)
        for i in range(len(names)):
            if (part == i).any():
                yield _measures(judged, judged.counts(part == i), ("slices", axis, names[i]), compared=False)


def _measures(judged: CodedRecords, counts: Counts, path: tuple[str, ...], *, compared: bool) -> Measures:
    some = counts.sum(axis=(1, 2)) > 0
    facts: dict[str, Any] = {"n_scenes": int(some.sum()), "n_judgements": int(counts.sum())}
    for key in reversed(path):
        facts = {key: facts}
    units = tuple(scene for scene, any_judged in zip(judged.scenes, some, strict=True) if any_judged)
    names = tuple(_names(path, bool(counts[..., -2:].any()), compared))
    return Measures(units, features(counts[some]), _statistic, names, facts, detail=bool(path))


def _names(path: tuple[str, ...], unknowns: bool, compared: bool) -> Iterator[Name]:
    for rank, kind in enumerate(KINDS):
        for name in NAMES:
            group, title = name in _GROUPS, "" if path else _TABLES.get(kind, "")
            shown = title if kind != "unknown" or unknowns else ""
            shown = shown if group or kind != "scene_all_by" else ""
            spoken = f"{_COMPARED.get(kind)}{'' if name == 'all' else f', {name}'}" if group else f"  {name}"
            main = kind == "scene_accuracy" and not path
            yield Name(
                (*path, kind, name),
                name,
                table=shown,
                family=("" if group else kind) if compared and kind in _COMPARED else None,
                compared=spoken,
                rank=rank,
                headline=int(main and name == "all"),
                part=main and not group,
                percent=kind != "f1",
            )
    yield Name((*path, "scene_all_accuracy"), "scene-all accuracy")


def _statistic(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """`statistics`, then scene-all accuracy of all predicates once more, for its own place in the JSON."""
    values = statistics(totals)
    return np.hstack([values, values[:, len(NAMES) : len(NAMES) + 1]])


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


def _codes(column: pl.Series, codes: dict[str, int]) -> NDArray[np.int8]:
    words = column.cast(pl.String)
    known = words.replace_strict(codes, default=None, return_dtype=pl.Int8)
    if known.null_count():
        foreign = words.filter(known.is_null())[0]
        article = "an" if column.name == "answer" else "a"
        raise DataError(
            f"not {article} {column.name}",
            field=column.name,
            expected=" or ".join(codes),
            found=foreign or "nothing",
        )
    return known.to_numpy()
