"""Records of the Turing exam, a row a question of a stream, and what is counted from them.

Every question counts the same (that is what their unpredictability is for); an abstention, a reply nobody can read
and a late one are not right. Ambiguous questions are recorded too, but were never asked and do not count.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.base import Measures, Name
from sightline.exams.run import ItemRecords, RunRecords
from sightline.exams.run_schema import RecordColumn
from sightline.exams.turing.conversation import REPLIES
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.vocabulary.english import say
from sightline.exams.turing.vocabulary.questions import Truth, question_to_json
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.stats import Interval, intervals

AMBIGUOUS: Final = Truth.AMBIGUOUS.value
KINDS: Final = ("exist", "unique", "attribute", "relation")
STEPS: Final = (1, 6, 11, 21, 31, 51)
"""First step of every bin of steps."""
STORIES: Final = (1, 2, 3, 4, 6, 11)
SUPPORTS: Final = (0, 30, 100, 1000, 10_000)

COLUMNS: Final = {
    "cluster_id": pl.String,
    "step": pl.Int64,
    "type": pl.String,
    "story": pl.Int64,
    "question": pl.String,
    "text": pl.String,
    "p_yes": pl.Float64,
    "support": pl.Int64,
    "truth": pl.String,
    "answer": pl.String,
    "right": pl.Boolean,
    "seconds": pl.Float64,
}
"""Columns that measures, monitor and report look at."""

RECORDS: Final = {
    name: RecordColumn(kind, empty=name in ("p_yes", "answer", "right", "seconds"), always=name != "answer")
    for name, kind in COLUMNS.items()
} | {
    "stream": RecordColumn(pl.Int64),
    "halted": RecordColumn(pl.String),
    "said": RecordColumn(pl.String, empty=True),
    "confidence": RecordColumn(pl.Float64, empty=True, always=False),
}
"""Columns of the records, as they are checked when a run is read."""

_STREAM: Final = {"item": pl.String, "cluster_id": pl.String, "stream": pl.Int64, "halted": pl.String}

Floats = NDArray[np.float64]
Grouping = Mapping[str, NDArray[np.bool_]]
"""Name of a group → which records belong to it."""


def item_records(stream: Stream, vocabulary: Vocabulary) -> ItemRecords:
    """Records of one stream that a model has replied to, the ambiguous questions too."""
    steps = stream.steps
    forms = [question_to_json(step.question, vocabulary) for step in steps]
    columns: dict[str, list[Any]] = {
        "step": [step.number for step in steps],
        "type": [step.question.kind for step in steps],
        "story": [step.story for step in steps],
        "question": [json.dumps(form, ensure_ascii=False, separators=(",", ":")) for form in forms],
        "text": [say(step.question, vocabulary) for step in steps],
        "p_yes": [None if math.isnan(step.p_yes) else float(step.p_yes) for step in steps],
        "support": [int(step.support) for step in steps],
        "among": [int(step.among) for step in steps],
        "label": [str(step.label) if step.label else "" for step in steps],
        "object_id": [step.object_id or "" for step in steps],
        "truth": [step.truth.value if step.truth else "" for step in steps],
        "answer": [step.reply for step in steps],
        "said": [step.said for step in steps],
        "right": [step.right for step in steps],
        "seconds": [round(step.seconds, 6) for step in steps],
    }
    if any(step.confidence is not None for step in steps):
        columns["confidence"] = [step.confidence for step in steps]
    facts: dict[str, Any] = {"stream": stream.number, "halted": stream.halted}
    boxes = {str(step.label): step.box for step in steps if step.label is not None and step.box is not None}
    return ItemRecords(facts | ({"boxes": json.dumps(boxes)} if boxes else {}), columns)


def asked_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """The records of questions that were asked, with the right column types.

    Raises:
        DataError: These are not records of this exam.
    """
    if not rows.height:
        return pl.DataFrame(schema={"item": pl.String, **COLUMNS})
    rows = rows.rename({"reply": "answer"}, strict=False)  # what runs of version 0.1 called it
    for name in COLUMNS:
        if name not in rows.columns:
            raise DataError("not records of the turing exam", field=name, expected=", ".join(COLUMNS))
    try:
        typed = rows.with_columns(pl.col(name).cast(kind) for name, kind in COLUMNS.items())
    except pl.exceptions.PolarsError as cause:
        raise DataError(f"damaged records: {cause}") from cause
    asked = typed.filter(pl.col("truth") != AMBIGUOUS)
    for name, words in (("truth", ("yes", "no")), ("answer", REPLIES), ("type", KINDS)):
        strange = asked.filter(~pl.col(name).is_in(words) | pl.col(name).is_null())[name]
        if len(strange):
            article = "an" if name == "answer" else "a"
            raise DataError(
                f"not {article} {name}", field=name, expected=" or ".join(words), found=strange[0] or "nothing"
            )
    return asked


def stream_rows(records: RunRecords) -> pl.DataFrame:
    """One row a stream: item, cluster_id, stream, halted, length (questions asked) and ambiguous (those not asked).

    Streams without a single question are here too.
    """
    if not records.items.height:
        return pl.DataFrame(schema=_STREAM | {"length": pl.Int64, "ambiguous": pl.Int64})
    try:
        streams = records.items.select(pl.col(name).cast(kind) for name, kind in _STREAM.items())
        if not records.rows.height:
            return streams.with_columns(length=pl.lit(0, pl.Int64), ambiguous=pl.lit(0, pl.Int64))
        ambiguous = (pl.col("truth").cast(pl.String) == AMBIGUOUS).sum().cast(pl.Int64)
        counts = records.rows.group_by("item").agg(drawn=pl.len().cast(pl.Int64), ambiguous=ambiguous)
    except pl.exceptions.PolarsError as cause:
        raise DataError(f"damaged records: {cause}") from cause
    counted_rows = streams.join(counts, on="item", how="left", maintain_order="left").with_columns(
        pl.col("drawn", "ambiguous").fill_null(0)
    )
    return counted_rows.select(*_STREAM, length=pl.col("drawn") - pl.col("ambiguous"), ambiguous="ambiguous")


def turing_measures(records: RunRecords) -> Measures:
    """Count right answers by question type, step, story line and support, and the replies; units are images."""
    asked, streams = asked_rows(records.rows), stream_rows(records)
    figures = list(_figures(asked))
    units, place = places_of(asked["cluster_id"])
    counts = np.stack([counted(place, len(units), hits, {"": inside})[:, 0] for _, hits, inside in figures], axis=1)
    facts = {
        "by_step": {},
        "by_story": {},
        "by_support": {},  # bins without a question are left out
        "n_streams": len(streams),
        "n_images": streams["cluster_id"].n_unique(),
        "n_questions": len(asked),
        "streams": stream_facts(streams),
    }
    return Measures(units, counts, shares, tuple(name for name, _, _ in figures), facts)


def _figures(asked: pl.DataFrame) -> Iterator[tuple[Name, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Every figure with the records that count as hits and those it is a share of."""
    right = asked["right"].cast(pl.Boolean).to_numpy()
    for kind, inside in kinds_of(asked).items():
        if kind == "all":
            name = partial(Name, family="", compared="accuracy", headline=1)
        else:
            name = partial(Name, compared=f"  {kind}", family="types", part=True)
        yield name(("accuracy", kind), kind, table="accuracy by question type", percent=True), right, inside
    bins = {"step": (STEPS, "accuracy by step"), "story": (STORIES, "accuracy by story line")}
    for column, (starts, table) in (bins | {"support": (SUPPORTS, "")}).items():
        for label, inside in binned(asked[column].to_numpy(), starts).items():
            yield Name((f"by_{column}", label), label, table=table, percent=True), right, inside
    answer, everything = asked["answer"].cast(pl.String).to_numpy(), np.ones(len(asked), dtype=bool)
    for word in REPLIES:
        yield Name(("replies", word), word, percent=True), answer == word, everything


def kinds_of(asked: pl.DataFrame) -> dict[str, NDArray[np.bool_]]:
    """All questions, and those of each type."""
    kind = asked["type"].cast(pl.String).to_numpy()
    return {"all": np.ones(len(kind), dtype=bool)} | {name: kind == name for name in KINDS}


def words_of(asked: pl.DataFrame) -> dict[str, NDArray[np.bool_]]:
    """Which questions have each word: a relation, an attribute of a type, or a type asked for without any.

    >>> forms = ['{"type": "attribute", "subject": "car 1", "attributes": ["red", "old"]}']
    >>> list(words_of(pl.DataFrame({"question": forms})))
    ['car: red', 'car: old']
    """
    found: dict[str, list[int]] = {}
    for row, text in enumerate(asked["question"].to_list()):
        form = json.loads(text)
        if form["type"] == "relation":
            words = [form["relation"]]
        else:
            kind = form.get("object_type") or form["subject"].rpartition(" ")[0]
            words = [f"{kind}: {name}" for name in form["attributes"]] or [kind]
        for word in words:
            found.setdefault(word, []).append(row)
    groups = {}
    for word, rows in found.items():
        inside = np.zeros(len(asked), dtype=bool)
        inside[rows] = True
        groups[word] = inside
    return groups


def binned(values: NDArray[Any], starts: Sequence[int]) -> dict[str, NDArray[np.bool_]]:
    """Which values fall into each bin that has any; a bin begins at its start, the last one is open.

    >>> {name: who.tolist() for name, who in binned(np.array([1, 5, 70]), STEPS).items()}
    {'1–5': [True, True, False], '51+': [False, False, True]}
    """
    ends = [*(following - 1 for following in starts[1:]), None]
    groups: dict[str, NDArray[np.bool_]] = {}
    for start, end in zip(starts, ends, strict=True):
        inside = (values >= start) & (True if end is None else values <= end)
        if inside.any():
            name = f"{start}+" if end is None else f"{start}" if end == start else f"{start}–{end}"
            groups[name] = inside
    return groups


def rates_by_image(
    images: pl.Series, *, resamples: int = 2000, seed: int = 0
) -> Callable[[NDArray[np.bool_], Grouping], dict[str, Interval]]:
    """A function of (which records count as hits, groups of records) that gives each group's share of hits.

    Args:
        images: Image of each record; images are resampled as a whole.
        resamples: Bootstrap resamples.
        seed: Of the resampling.

    >>> rate = rates_by_image(pl.Series(["a", "a", "b"]))
    >>> rate(np.array([True, False, True]), {"all": np.ones(3, dtype=bool)})["all"].value
    0.6666666666666666
    """
    units, place = places_of(images)

    def rate(hits: NDArray[np.bool_], groups: Grouping) -> dict[str, Interval]:
        if not groups:
            return {}
        counts = counted(place, len(units), hits, groups)
        return dict(zip(groups, intervals(counts, shares, resamples=resamples, seed=seed), strict=True))

    return rate


def places_of(images: pl.Series) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The different images, sorted, and the place of each record's among them."""
    units, place = np.unique(images.cast(pl.String).to_numpy().astype(object), return_inverse=True)
    return tuple(units.tolist()), place.astype(np.int64)


def counted(place: NDArray[np.int64], n: int, hits: NDArray[np.bool_], groups: Grouping) -> Floats:
    """(n, G, 2) hits and records of every image in each group."""
    counts = np.zeros((n, len(groups), 2))
    for column, inside in enumerate(groups.values()):
        counts[:, column, 0] = np.bincount(place[inside & hits], minlength=n)
        counts[:, column, 1] = np.bincount(place[inside], minlength=n)
    return counts


def shares(totals: Floats) -> Floats:
    """(B, G) hits over records of totals (B, G, 2): a `stats.Statistic`."""
    return np.asarray(totals[..., 0] / totals[..., 1])


def stream_facts(streams: pl.DataFrame) -> dict[str, Any]:
    """How long streams are, why they ended, and how many of their questions were ambiguous.

    >>> rows = {"cluster_id": ["a", "b"], "length": [10, 30], "ambiguous": [0, 10], "halted": ["limit", "end"]}
    >>> facts = stream_facts(pl.DataFrame(rows))
    >>> facts["mean"], facts["halted"], facts["ambiguous"]
    (20.0, {'end': 1, 'limit': 1}, 0.2)
    """
    length = streams["length"].cast(pl.Int64).to_numpy()
    ambiguous = int(streams["ambiguous"].sum())
    drawn = int(length.sum()) + ambiguous
    halted = streams["halted"].value_counts(sort=False).sort("halted")
    facts: dict[str, Any] = dict.fromkeys(("mean", "min", "q25", "median", "q75", "max"))
    if len(length):
        q25, median, q75 = np.quantile(length, [0.25, 0.5, 0.75]).tolist()
        facts = {"mean": float(length.mean()), "min": int(length.min()), "q25": q25, "median": median, "q75": q75}
        facts["max"] = int(length.max())
    return facts | {
        "empty": int((length == 0).sum()),
        "halted": dict(halted.iter_rows()),
        "ambiguous": ambiguous / drawn if drawn else None,
    }


def same_questions(a: RunRecords, b: RunRecords) -> tuple[RunRecords, RunRecords]:
    """Restrict two runs to the images that were asked the same questions, with the same truth, in both."""
    first, second = _questions(a), _questions(b)
    both = [image for image in first.keys() & second.keys() if first[image] == second[image]]
    wanted = pl.col("cluster_id").is_in(both)
    of_both = [RunRecords(run.rows.filter(wanted), run.items.filter(wanted), run.file) for run in (a, b)]
    return of_both[0], of_both[1]


def _questions(records: RunRecords) -> dict[str, list[Any]]:
    """What was asked about each image: item, step, question and truth."""
    asked = asked_rows(records.rows).select(
        "cluster_id", pl.struct("item", "step", "question", "truth").alias("asked")
    )
    grouped = asked.group_by("cluster_id", maintain_order=True).agg("asked")
    return {image: sorted(rows, key=lambda row: (row["item"], row["step"])) for image, rows in grouped.iter_rows()}
