"""Marked judgements of the relations exam: a run's records as arrays, sub-task by sub-task.

`mark_pairs` is the one way from records to judgements. Every score, slice and comparison is counted from its
`MarkedPairs`; `joint_counts` counts several sub-tasks over units that share no image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.exams.relations.pairs import SETTINGS, PairTable
from sightline.exams.relations.protocols import ABSENT, Aspect, Counts, Floats, Protocol, rates, rules, tally
from sightline.exams.run_schema import RecordColumn
from sightline.scenes import ASPECTS, NO_MAJORITY, Depth, words
from sightline.skills import SILENT, Judgements, Setting

if TYPE_CHECKING:
    from sightline.exams.relations.boxed import BoxedPairs

Subtask = tuple[Setting, Aspect]

SUBTASKS: Final[tuple[Subtask, ...]] = (
    ("within_image", "depth"),
    ("within_image", "occlusion"),
    ("across_images", "depth"),
)
"""The three sub-tasks whose mean F1 is the exam's headline."""

_ASKED: Final = ("scene_id", "cluster_id", "setting", "other_scene", "aspect", "truth", "reverse")
"""Columns of the records that marks need beside the answers."""
RECORDS: Final = {
    "setting": RecordColumn(pl.String, words=SETTINGS),
    "other_scene": RecordColumn(pl.String),
    **dict.fromkeys(("subject", "object"), RecordColumn(pl.String, empty=True)),  # of no pair that was annotated
    "reverse": RecordColumn(pl.Boolean),
    "aspect": RecordColumn(pl.String, words=tuple(ASPECTS)),
    "truth": RecordColumn(pl.String),
    "answer": RecordColumn(pl.String, empty=True),
    "right": RecordColumn(pl.Boolean, empty=True),
    "outcome": RecordColumn(pl.String, always=False),
    "said": RecordColumn(pl.String, empty=True, always=False),
    "confidence": RecordColumn(pl.Float64, empty=True, always=False),
}
"""Columns of the records, as they are checked when a run is read."""
_UNDECIDED: Final = "no_majority"
_PAIR: Final = ("scene_id", "other_scene", "subject", "object")


@dataclass(frozen=True)
class MarkedPairs:
    """n judgements of one sub-task.

    Attributes:
        setting: Within one image or across two; `aspect`: what was asked.
        clusters: (c,) ids of the independent units, sorted.
        images: (c, 2) the image each cluster stands on, twice, or the two images; without the setting's name, so
            that the same photo has the same name in both settings.
        cluster: (n,) index into `clusters`.
        truth: (n,) label codes, −1 no majority, `ABSENT` −2 no such pair.
        answer: (n,) label codes, `SILENT` −1.
        reverse: (n,) True where the pair is the reverse of the annotated one.
        record: (n,) row of each judgement in the records.
        table: The n ordered pairs, with boxes, classes and votes; None on detected boxes, and where `mark_pairs`
            was given no tables.
        aligned: The same answers pair by pair, where `truth` and `answer` were matched by boxes instead.
    """

    setting: Setting
    aspect: Aspect
    clusters: NDArray[np.object_]
    images: NDArray[np.object_]
    cluster: NDArray[np.int32]
    truth: NDArray[np.int8]
    answer: NDArray[np.int8]
    reverse: NDArray[np.bool_]
    record: NDArray[np.int64]
    table: PairTable | None = None
    aligned: MarkedPairs | None = None

    @property
    def judgements(self) -> int:
        """How many ordered pairs were judged."""
        return len((self.aligned or self).truth)

    @property
    def pairs(self) -> PairTable:
        """The ordered pairs behind the judgements; ConfigError where the marks were made without the data."""
        if self.table is None:
            raise ConfigError("boxes and votes of the judged pairs are needed: mark them with the dataset's tables")
        return self.table

    def counts(self, protocol: Protocol, *, part: NDArray[Any] | None = None, parts: int = 1) -> Counts:
        """(c, parts, 4, 3) tp, fp, fn of each label in each cluster and slice.

        Across images the authors' evaluator never looks at a reversed prediction, so neither does the official
        protocol.

        Args:
            protocol: How to count.
            part: (n,) slice of each judgement in [0, parts), −1 to leave it out; None: all in slice 0.
            parts: How many slices there are.
        """
        answer = self.answer
        if rules(protocol).directed_groups and self.setting == "across_images":
            answer = np.where(self.reverse, np.int8(SILENT), answer)
        counted, unit = self._units(part, parts)
        how: dict[str, Any] = {"protocol": protocol, "aspect": self.aspect, "setting": self.setting}
        counts = tally(self.truth[counted], answer[counted], unit, len(self.clusters) * parts, **how)
        return counts.reshape(len(self.clusters), parts, 4, 3)

    def clear_counts(self, *, part: NDArray[Any] | None = None, parts: int = 1) -> Counts:
        """(c, parts, 2) right answers and judgements, over those with a clear depth order.

        Anything but the right order, silence included, is a wrong answer. This is a matter of pairs, not of
        protocols: it is counted pair by pair even where matching has lined up the answers anew.
        """
        if self.aligned is not None:
            return self.aligned.clear_counts(part=part, parts=parts)
        counted, unit = self._units(part, parts)
        truth, answer = self.truth[counted], self.answer[counted]
        clear = (truth == Depth.CLOSER) | (truth == Depth.FARTHER)
        size = len(self.clusters) * parts
        right = np.bincount(unit[clear & (answer == truth)], minlength=size)
        return np.stack([right, np.bincount(unit[clear], minlength=size)], axis=-1).reshape(-1, parts, 2)

    def matched_by_boxes(self) -> MarkedPairs:
        """The same answers as the authors' evaluator counts them: predictions in the order they were asked for.

        It knows boxes, not pairs: true boxes of one image may overlap by more than half, and it takes the first
        fit, so an answer can be matched with a neighbour's truth. Lining answers up with their own pairs differs in
        the third digit.
        """
        from sightline.exams.relations.matching import match_boxed

        table = self.pairs
        asked, written = self._boxed(self.answer), np.flatnonzero(~self.reverse)
        spoken = np.flatnonzero(self.answer != SILENT)
        annotated = self._boxed(self.truth).take(written)
        matched = match_boxed(annotated, asked.take(spoken), Protocol.OFFICIAL, self.aspect)
        asked_row = np.append(spoken, -1)[matched.prediction_row]
        return replace(
            self,
            cluster=table.cluster[np.where(matched.truth_row >= 0, matched.truth_row, asked_row)],
            truth=matched.truth,
            answer=matched.answer,
            reverse=np.zeros(len(matched.truth), dtype=bool),  # what the evaluator does not hear is gone already
            record=np.zeros(0, dtype=np.int64),
            table=None,
            aligned=self,
        )

    def _boxed(self, labels: NDArray[np.int8]) -> BoxedPairs:
        """The pairs by their boxes; the labels stand for either aspect, since one alone is matched."""
        from sightline.exams.relations.boxed import BoxedPairs

        table = self.pairs
        return BoxedPairs(
            images=table.scenes,
            image_a=table.object_scene[table.first],
            image_b=table.object_scene[table.second],
            boxes_a=table.boxes_a,
            boxes_b=table.boxes_b,
            depth=labels,
            occlusion=labels,
        )

    def _units(self, part: NDArray[Any] | None, parts: int) -> tuple[Any, NDArray[np.int64]]:
        """The judgements that count, and the number of each one's cluster and slice."""
        if part is None:
            return slice(None), self.cluster.astype(np.int64) * parts
        counted = part >= 0
        return counted, self.cluster[counted].astype(np.int64) * parts + part[counted]


Marks = Mapping[Subtask, MarkedPairs]


def mark_pairs(
    records: pl.DataFrame,
    tables: Mapping[Setting, PairTable] | None = None,
    *,
    protocol: Protocol = Protocol.DEFAULT,
) -> dict[Subtask, MarkedPairs]:
    """Mark a run's answers: judgements of every sub-task that has records, lined up as the protocol does it.

    Clusters are sorted, so two runs over the same items number them alike. An image pair of which only one
    direction was asked, as a run cut short leaves it, is left out.

    Args:
        records: The rows of a relations run on given or detected boxes, one a judgement.
        tables: The annotated pairs of the split by setting, one direction each. With them judgements on given boxes
            stand in the order of `PairTable.ordered` and know their boxes and votes. Records on detected boxes were
            matched when they were written, so there they are not looked at.
        protocol: How the marks will be counted; the official one matches boxes, hence needs the tables.
    """
    protocol, given_boxes = Protocol(protocol), "outcome" not in records.columns
    if protocol is Protocol.OFFICIAL and given_boxes and tables is None:
        raise ConfigError("the official protocol matches boxes: it needs the dataset the run was made on")
    tables = tables if given_boxes else None
    needed = (*_ASKED, *(_PAIR if tables is not None else ()))
    missing = sorted({*needed, "answer"} - set(records.columns))
    if records.height and missing:
        raise DataError("these are not records of the relations exam", field=missing[0])
    if not records.height:
        return {}
    said = records["answer"]
    marks: dict[Subtask, MarkedPairs] = {
        task: replace(marked, answer=answer_codes(marked.aspect, said.gather(marked.record)))
        for task, marked in _lined_up(records.select(*dict.fromkeys(needed)), tables).items()
    }
    if protocol is Protocol.OFFICIAL and given_boxes:
        return {task: marked.matched_by_boxes() for task, marked in marks.items()}
    return marks


def of_setting(marks: Marks, setting: Setting) -> dict[Aspect, MarkedPairs]:
    """The marks of one setting by aspect."""
    return {aspect: marked for (of, aspect), marked in marks.items() if of == setting}


@dataclass(frozen=True)
class _LinedUp:
    """Marks without answers of what a run was asked, and what they were made from."""

    asked: pl.DataFrame
    tables: Mapping[Setting, PairTable] | None
    marks: Mapping[Subtask, MarkedPairs]

    def serves(self, asked: pl.DataFrame, tables: Mapping[Setting, PairTable] | None) -> bool:
        """Whether other records ask the same in the same order, and are to be lined up with the same tables."""
        if tables is None or self.tables is None:
            return tables is self.tables and asked.equals(self.asked)
        same = tables.keys() == self.tables.keys() and all(tables[s] is self.tables[s] for s in tables)
        return same and asked.equals(self.asked)


_last: dict[bool, _LinedUp] = {}
"""What was lined up last, with tables and without: the models of one exam are asked the same, each in turn."""


def _lined_up(asked: pl.DataFrame, tables: Mapping[Setting, PairTable] | None) -> Mapping[Subtask, MarkedPairs]:
    """Judgements of every sub-task, silent; made once for records that ask the same one after another."""
    known = _last.get(tables is None)
    if known is not None and known.serves(asked, tables):
        return known.marks
    ordered = {setting: table.ordered() for setting, table in (tables or {}).items()}
    marks: dict[Subtask, MarkedPairs] = {}
    numbered = asked.with_row_index("record")
    for setting, aspect in SUBTASKS:
        rows = numbered.filter((pl.col("setting") == setting) & (pl.col("aspect") == aspect))
        if setting == "across_images":
            rows = rows.filter(pl.col("scene_id").n_unique().over("cluster_id") == 2)
        if rows.height:
            marks[setting, aspect] = _silent_marks(setting, aspect, rows, ordered.get(setting))
    _last[tables is None] = _LinedUp(asked, tables, marks)
    return marks


def _silent_marks(setting: Setting, aspect: Aspect, rows: pl.DataFrame, ordered: PairTable | None) -> MarkedPairs:
    if ordered is not None:
        rows = _in_table_order(rows, ordered)
    units = rows.unique("cluster_id", keep="first", maintain_order=True).sort("cluster_id")
    numbered = units.select("cluster_id").with_row_index("number")
    cluster = rows.select("cluster_id").join(numbered, on="cluster_id", how="left", maintain_order="left")
    images = [[image_name(scene, setting) for scene in units[end]] for end in ("scene_id", "other_scene")]
    marked = MarkedPairs(
        setting=setting,
        aspect=aspect,
        clusters=units["cluster_id"].to_numpy().astype(object),
        images=np.array(images, dtype=object).T,
        cluster=cluster["number"].to_numpy().astype(np.int32),
        truth=truth_codes(aspect, rows["truth"]),
        answer=np.full(rows.height, SILENT, dtype=np.int8),
        reverse=rows["reverse"].to_numpy(),
        record=rows["record"].to_numpy().astype(np.int64),
    )
    if ordered is None:
        return marked
    judged = ordered.take(rows["pair"].to_numpy())
    return replace(marked, table=replace(judged, clusters=marked.clusters, cluster=marked.cluster))


def _in_table_order(rows: pl.DataFrame, ordered: PairTable) -> pl.DataFrame:
    """The records with their row of the table as ``pair``, sorted by it; DataError for a pair that it has not."""
    scenes = ordered.scenes[ordered.object_scene]
    ends = [names[end] for names in (scenes, ordered.object_ids) for end in (ordered.first, ordered.second)]
    keys = pl.DataFrame({name: end.astype(str) for name, end in zip(_PAIR, ends, strict=True)})
    lined = rows.join(keys.with_row_index("pair"), on=_PAIR, how="left", maintain_order="left")
    foreign = lined.filter(pl.col("pair").is_null())
    if foreign.height:
        raise DataError(
            "record of a pair that the dataset does not have", row=" ".join(foreign.select(_PAIR).row(0))
        )
    return lined.sort("pair")


def image_name(scene_id: str, setting: Setting) -> str:
    """A scene's image: scenes that differ only in a leading ``<setting>/`` show the same one.

    >>> image_name("within_image/test/0a1b", "within_image")
    'test/0a1b'
    """
    return scene_id.removeprefix(f"{setting}/")


@dataclass(frozen=True)
class JointCounts:
    """Counts of several sub-tasks over common independent units.

    Attributes:
        subtasks: The s sub-tasks there are answers for.
        units: (u,) the units, each by one of its images.
        counts: (u, s, parts, 4, 3).
        protocol: How they were counted.
    """

    subtasks: tuple[Subtask, ...]
    units: tuple[str, ...]
    counts: Counts
    protocol: Protocol

    def f1(self, totals: Floats) -> Floats:
        """(B, s, parts) F1 over all labels, from totals (B, s, parts, 4, 3)."""
        per_task = [
            rates(totals[:, i], protocol=self.protocol, aspect=aspect, setting=setting)[..., -1, 2]
            for i, (setting, aspect) in enumerate(self.subtasks)
        ]
        return np.stack(per_task, axis=1)


def joint_counts(
    marks: Marks, protocol: Protocol, *, part: Mapping[Subtask, NDArray[Any]] | None = None, parts: int = 1
) -> JointCounts:
    """Count all sub-tasks over units that share no image.

    An image pair is resampled together with the within-image questions of its two images, since both see the same
    photos.

    Args:
        marks: Judgements by sub-task.
        protocol: How to count.
        part: Slice of each judgement (see `MarkedPairs.counts`).
        parts: How many slices there are.
    """
    unit, units = joint_units({task: marked.images for task, marked in marks.items()})
    subtasks = tuple(task for task in SUBTASKS if task in marks)
    counts = np.zeros((len(units), len(subtasks), parts, 4, 3), dtype=np.int64)
    for i, task in enumerate(subtasks):
        slices = None if part is None else part[task]
        np.add.at(counts[:, i], unit[task], marks[task].counts(protocol, part=slices, parts=parts))
    return JointCounts(subtasks, units, counts, protocol)


def joint_units(
    images: Mapping[Subtask, NDArray[np.object_]],
) -> tuple[dict[Subtask, NDArray[np.int64]], tuple[str, ...]]:
    """Number of the independent unit of every cluster, by sub-task, and the first image of every unit.

    Images joined by a pair, directly or through others, are one unit.

    Args:
        images: (c, 2) the two images of every cluster, or one image twice.
    """
    sizes = np.cumsum([0, *(len(ends) for ends in images.values())])
    names = np.concatenate([np.empty((0, 2), dtype=object), *images.values()])
    number: dict[str, int] = {}
    codes = [number.setdefault(name, len(number)) for name in names.ravel()]
    edges = np.array(codes, dtype=np.int64).reshape(-1, 2)
    root = components(edges[:, 0], edges[:, 1], len(number))
    distinct, unit = np.unique(root[edges[:, 0]], return_inverse=True)
    distinct_names = np.array(list(number), dtype=object)[distinct]
    unit_of = {task: unit[low:high] for task, low, high in zip(images, sizes, sizes[1:], strict=False)}
    return unit_of, tuple(distinct_names)


def components(a: NDArray[np.int64], b: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Lowest node of the connected component of each of n nodes, given edges a[i] – b[i].

    >>> components(np.array([0, 3]), np.array([2, 2]), 5)
    array([0, 1, 0, 0, 4])
    """
    root = np.arange(n)
    while True:
        low = np.minimum(root[a], root[b])
        lower = root.copy()
        for end in (a, b, root[a], root[b]):
            np.minimum.at(lower, end, low)
        lower = lower[lower]
        if (lower == root).all():
            return root
        root = lower


def truth_words(aspect: str, codes: NDArray[Any]) -> list[str]:
    """Words of truth codes: a label, ``no_majority``, or ``absent`` for a pair that is not there.

    >>> truth_words("depth", np.array([1, -1, -2]))
    ['closer', 'no_majority', 'absent']
    """
    vocabulary = _truth_vocabulary(aspect)
    return [vocabulary[code] for code in codes.tolist()]


def answer_words(aspect: str, codes: NDArray[Any]) -> list[str | None]:
    """Words of answer codes; None for silence.

    >>> answer_words("depth", np.array([3, -1]))
    ['same', None]
    """
    vocabulary = words(aspect)
    return [None if code == SILENT else vocabulary[code] for code in codes.tolist()]


def confidences(judgements: Judgements, aspect: str, rows: NDArray[np.intp]) -> list[float | None]:
    """How sure a model is of its labels of one aspect, row by row; None where it does not say, or row is −1.

    >>> said = Judgements(np.zeros(1), np.zeros(1), confidence={"depth": np.array([0.75])})
    >>> confidences(said, "depth", np.array([0, -1]))
    [0.75, None]
    >>> none = Judgements(np.zeros(0), np.zeros(0), confidence={"depth": np.zeros(0)})  # nothing was found
    >>> confidences(none, "depth", np.array([-1]))
    [None]
    """
    given = judgements.confidence.get(aspect)
    if given is None:
        return [None] * len(rows)
    chosen = np.full(len(rows), np.nan)
    chosen[rows >= 0] = given[rows[rows >= 0]]
    return [None if sure != sure else sure for sure in chosen.round(4).tolist()]


def rightness(truth: Sequence[str], answer: Sequence[str | None]) -> list[bool | None]:
    """Whether each answer is the true label; None where the raters found no majority, so nobody can be right.

    Silence is not right, nor is any answer about a pair that is not there.

    >>> rightness(["closer", "closer", "closer", "no_majority", "absent"], ["closer", "same", None, "same", "same"])
    [True, False, False, None, False]
    """
    return [None if label == _UNDECIDED else label == word for label, word in zip(truth, answer, strict=True)]


def truth_codes(aspect: str, column: pl.Series) -> NDArray[np.int8]:
    """Codes of truth words, no majority for null; a word that is none of them is a DataError.

    >>> truth_codes("depth", pl.Series(["closer", "absent"])).tolist()
    [1, -2]
    """
    mapping = {word: code for code, word in _truth_vocabulary(aspect).items()}
    return _codes(column, mapping).fill_null(NO_MAJORITY).to_numpy().astype(np.int8)


def answer_codes(aspect: str, column: pl.Series) -> NDArray[np.int8]:
    """Codes of answer words, `SILENT` for null.

    >>> answer_codes("occlusion", pl.Series(["none", None])).tolist()
    [0, -1]
    """
    mapping = {word: code for code, word in enumerate(words(aspect))}
    return _codes(column, mapping).fill_null(SILENT).to_numpy().astype(np.int8)


def _codes(column: pl.Series, mapping: Mapping[str, int]) -> pl.Series:
    """Codes of words, null for null."""
    given = column.cast(pl.String)
    codes = given.replace_strict(mapping, default=None, return_dtype=pl.Int8)
    foreign = given.filter(codes.is_null() & given.is_not_null())
    if len(foreign):
        raise DataError("not a label", field=column.name, expected=" or ".join(mapping), found=foreign[0])
    return codes


def _truth_vocabulary(aspect: str) -> dict[int, str]:
    return dict(enumerate(words(aspect))) | {NO_MAJORITY: _UNDECIDED, ABSENT: "absent"}
