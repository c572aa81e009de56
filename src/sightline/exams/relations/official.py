"""Answers on given boxes as the authors' evaluator would count them.

It knows boxes, not pairs: true boxes of one image may overlap by more than half, and it takes the first fit, so an
answer can be matched with a neighbour's truth. Lining answers up with their own pairs differs in the third digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from sightline.errors import ConfigError
from sightline.exams.relations.answers import Answers, answers_from_records
from sightline.exams.relations.boxed import BoxedPairs
from sightline.exams.relations.matching import match_boxed
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import Aspect, Protocol
from sightline.exams.relations.sheets import SUBTASKS, Sheet, Subtask, sheet_of, sheets, sheets_of
from sightline.skills import SILENT, Setting


def sheets_by(answers: Mapping[Setting, Answers], protocol: Protocol) -> dict[Subtask, Sheet]:
    """All sub-tasks there are answers for, lined up as the protocol does it."""
    if protocol != Protocol.OFFICIAL:
        return sheets_of(answers)
    asked = [(s, a) for s, a in SUBTASKS if s in answers and a in answers[s].table.aspects]
    return {(s, aspect): official_sheet(answers[s], aspect) for s, aspect in asked}


def sheets_of_records(
    records: pl.DataFrame, protocol: Protocol, tables: Mapping[Setting, PairTable] | None
) -> dict[Subtask, Sheet]:
    """The sub-tasks of a run's records, lined up as the protocol does it.

    Args:
        records: `Run.records` of a run on given or detected boxes.
        protocol: How they will be counted.
        tables: The annotated pairs of the split, which the official protocol needs for their boxes; records on
            detected boxes were matched when they were written, so there it needs none.
    """
    if protocol != Protocol.OFFICIAL or "outcome" in records.columns:
        return sheets(records)
    if tables is None:
        raise ConfigError("the official protocol matches boxes: it needs the dataset the run was made on")
    found = {setting: answers_from_records(records, table) for setting, table in tables.items()}
    return sheets_by({setting: own for setting, own in found.items() if len(own.table)}, protocol)


def official_sheet(answers: Answers, aspect: Aspect) -> Sheet:
    """One aspect, matched greedily by boxes, the answers being predictions in the order they were asked for."""
    table = answers.table
    asked = BoxedPairs(
        images=table.scenes,
        image_a=table.object_scene[table.first],
        image_b=table.object_scene[table.second],
        boxes_a=table.boxes_a,
        boxes_b=table.boxes_b,
        depth=answers.depth,
        occlusion=answers.occlusion,
    )
    written = np.arange(len(table) // 2)
    truth = replace(asked.take(written), depth=table.depth[written], occlusion=table.occlusion[written])
    spoken = np.flatnonzero(asked.labels(aspect) != SILENT)
    matched = match_boxed(truth, asked.take(spoken), Protocol.OFFICIAL, aspect)
    own = np.append(spoken, -1)[matched.prediction_row]
    aligned = sheet_of(answers, aspect)
    return replace(
        aligned,
        cluster=table.cluster[np.where(matched.truth_row >= 0, matched.truth_row, own)],
        truth=matched.truth,
        answer=matched.answer,
        reverse=np.zeros(len(matched.truth), dtype=bool),  # what the evaluator does not hear is gone already
        aligned=aligned,
    )
