"""Replies ↔ records: one row a question of a stream, the ambiguous ones too, though nobody was asked those."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from sightline.errors import DataError
from sightline.exams.run import RECORDS, ItemRecords, Run
from sightline.exams.turing.conversation import REPLIES
from sightline.exams.turing.scores import KINDS, TuringScores, scores
from sightline.exams.turing.stream.steps import Step
from sightline.exams.turing.vocabulary.questions import Truth

AMBIGUOUS: Final = Truth.AMBIGUOUS.value

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
    "reply": pl.String,
    "right": pl.Boolean,
    "seconds": pl.Float64,
}
"""Columns that scores, monitor and report look at."""

_STREAM: Final = {"item": pl.String, "cluster_id": pl.String, "stream": pl.Int64, "halted": pl.String}


@dataclass(frozen=True, slots=True)
class Replied:
    """One step of a stream and what became of it.

    Attributes:
        step: The step.
        question: Its structured form, as JSON text. `text`: in English.
        reply: One of `REPLIES`; empty for an ambiguous one, which is never asked.
        said: The beginning of a reply nobody could read, else empty.
        seconds: How long the model took; of a late one how long was waited.
    """

    step: Step
    question: str
    text: str
    reply: str = ""
    said: str = ""
    seconds: float = 0.0

    @property
    def right(self) -> bool:
        """Whether the reply is the truth."""
        return self.reply == self.step.truth.value


def mark(replied: Sequence[Replied], *, number: int, halted: str) -> ItemRecords:
    """Records of one stream."""
    steps = [one.step for one in replied]
    columns: dict[str, list[Any]] = {
        "step": [step.number for step in steps],
        "type": [step.question.kind for step in steps],
        "story": [step.story for step in steps],
        "question": [one.question for one in replied],
        "text": [one.text for one in replied],
        "p_yes": [None if math.isnan(step.p_yes) else float(step.p_yes) for step in steps],
        "support": [int(step.support) for step in steps],
        "among": [int(step.among) for step in steps],
        "label": [str(step.label) if step.label else "" for step in steps],
        "object_id": [step.object_id or "" for step in steps],
        "truth": [step.truth.value for step in steps],
        "reply": [one.reply for one in replied],
        "said": [one.said for one in replied],
        "right": [one.right for one in replied],
        "seconds": [round(one.seconds, 6) for one in replied],
    }
    return ItemRecords({"stream": number, "halted": halted}, columns)


def asked_of(records: pl.DataFrame) -> pl.DataFrame:
    """The records of questions that were asked, with the right column types.

    Raises:
        DataError: These are not records of this exam.
    """
    if not len(records):
        return pl.DataFrame(schema={"item": pl.String, **COLUMNS})
    for name in COLUMNS:
        if name not in records.columns:
            raise DataError("not records of the turing exam", field=name, expected=", ".join(COLUMNS))
    try:
        typed = records.with_columns(pl.col(name).cast(kind) for name, kind in COLUMNS.items())
    except pl.exceptions.PolarsError as cause:
        raise DataError(f"damaged records: {cause}") from cause
    asked = typed.filter(pl.col("truth") != AMBIGUOUS)
    for name, words in (("truth", ("yes", "no")), ("reply", REPLIES), ("type", KINDS)):
        strange = asked.filter(~pl.col(name).is_in(words) | pl.col(name).is_null())[name]
        if len(strange):
            raise DataError(f"not a {name}", field=name, expected=" or ".join(words), found=strange[0] or "nothing")
    return asked


def streams_of(run: Run) -> pl.DataFrame:
    """One row a stream of a run: item, cluster_id, stream, halted, length (questions asked) and ambiguous.

    Streams without a single question are here too, which records cannot show.
    """
    path = run.folder / RECORDS
    data = path.read_bytes() if path.exists() else b""
    lines = data[: data.rfind(b"\n") + 1]
    if not lines:
        return pl.DataFrame(schema=_STREAM | {"length": pl.Int64, "ambiguous": pl.Int64})
    try:
        frame = pl.read_ndjson(lines, infer_schema_length=None)
        truth = pl.col("records").struct.field("truth").cast(pl.List(pl.String))
        ambiguous = truth.list.count_matches(AMBIGUOUS).cast(pl.Int64)
        return frame.select(
            *(pl.col(name).cast(kind) for name, kind in _STREAM.items()),
            length=truth.list.len().cast(pl.Int64) - ambiguous,
            ambiguous=ambiguous,
        )
    except pl.exceptions.PolarsError as cause:
        raise DataError(f"damaged records: {cause}", file=path) from cause


def score_run(run: Run, *, resamples: int = 2000, seed: int = 0) -> TuringScores:
    """The scores of a run, from its records."""
    return scores(asked_of(run.records()), streams_of(run), resamples=resamples, seed=seed)
