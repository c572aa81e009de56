"""Transcripts from streams and from a run's records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sightline.errors import DataError
from sightline.exams.turing.ask import AskedImage
from sightline.exams.turing.hues import Box
from sightline.exams.turing.stream.steps import Stream, steps_to_json
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.report.turing.drawing import save_picture, transcript_picture
from sightline.report.turing.stage import stage
from sightline.report.turing.transcript import Line, Transcript

_WANTED = ("item", "scene_id", "stream", "halted", "step", "type", "text", "p_yes", "support", "truth")


def transcript_of(stream: Stream, vocabulary: Vocabulary) -> Transcript:
    """A stream as people read it."""
    lines = [
        Line(
            number=row["step"],
            kind=row["type"],
            text=row["text"],
            region=None if row["region"] is None else tuple(row["region"]),
            p_yes=row["p_yes"],
            support=row["support"],
            truth=row["answer"] or "ambiguous",
            label=row["label"],
            object_id=row["object_id"],
            story=row["story"],
        )
        for row in steps_to_json(stream, vocabulary)
    ]
    return Transcript.of(stream.scene_id, lines, stream=stream.number, halted=stream.halted)


def save_asked(asked: AskedImage, path: Path) -> None:
    """Draw the picture and the questions of a stream into a PNG."""
    transcript = transcript_of(asked.stream, asked.vocabulary)
    save_picture(transcript_picture(stage(asked.scene, asked.view), transcript), path)


def transcripts(records: pl.DataFrame) -> list[Transcript]:
    """One a stream that has a question, in written order.

    Raises:
        DataError: These are not records of this exam.
    """
    if not len(records):
        return []
    for name in _WANTED:
        if name not in records.columns:
            raise DataError("not records of the turing exam", field=name, expected=", ".join(_WANTED))
    found = []
    for rows in records.partition_by("item", maintain_order=True):
        told = rows.to_dicts()
        lines = [_line(row) for row in told]
        first = told[0]
        found.append(
            Transcript.of(str(first["scene_id"]), lines, stream=int(first["stream"]), halted=str(first["halted"]))
        )
    return found


def _line(row: Mapping[str, Any]) -> Line:
    return Line(
        number=int(row["step"]),
        kind=str(row["type"]),
        text=str(row["text"]),
        region=_region(row),
        p_yes=row["p_yes"],
        support=row["support"],
        truth=str(row["truth"]),
        label=row.get("label") or None,
        object_id=row.get("object_id") or None,
        story=int(row.get("story") or 1),
        reply=row.get("answer") or None,
    )


def _region(row: Mapping[str, Any]) -> Box | None:
    """The designated region; the whole image is None."""
    box = json.loads(row["question"]).get("box")
    if box is None:
        return None
    return float(box[0]), float(box[1]), float(box[2]), float(box[3])
