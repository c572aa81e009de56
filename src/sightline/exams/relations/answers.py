"""A model's answers on given boxes, lined up with the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.words import answer_codes


@dataclass(frozen=True)
class Answers:
    """What a model said of every ordered pair.

    Attributes:
        table: All 2n ordered pairs (`PairTable.ordered`).
        depth: (2n,) codes of `Depth`, or `SILENT`.
        occlusion: (2n,) codes of `Occlusion`, or `SILENT`; across images all `SILENT`.
    """

    table: PairTable
    depth: NDArray[np.int8]
    occlusion: NDArray[np.int8]


def answers_from_records(records: pl.DataFrame, table: PairTable) -> Answers:
    """Line the records of a run on given boxes up with the annotated pairs.

    Pairs of which one direction has no record (the run was limited or killed) are left out, not counted as silence.

    Args:
        records: `Run.records` of a run with ``boxes="truth"``.
        table: The annotated pairs the run was made on, one direction each.
    """
    ordered = table.ordered()
    scenes = table.scenes[ordered.object_scene]
    keys = pl.DataFrame(
        {
            "scene_id": scenes[ordered.first].astype(str),
            "other_scene": scenes[ordered.second].astype(str),
            "subject": ordered.object_ids[ordered.first].astype(str),
            "object": ordered.object_ids[ordered.second].astype(str),
        }
    )
    on = keys.columns
    missing = sorted({*on, "item", "setting", "aspect", "answer"} - set(records.columns))
    if missing:
        raise DataError("these are not records of the relations exam", field=missing[0])
    mine = records.filter(pl.col("setting") == table.setting)
    foreign = mine.join(keys, on=on, how="anti")
    if foreign.height:
        raise DataError("record of a pair that the dataset does not have", row=foreign["item"][0])
    said = {aspect: _codes_of(mine, keys, on, aspect) for aspect in ("depth", "occlusion")}
    recorded = keys.join(mine.select(on).unique(), on=on, how="left", maintain_order="left", coalesce=False)
    there, back = np.split(recorded["subject_right"].is_not_null().to_numpy(), 2)
    asked = np.tile(there & back, 2)
    part = ordered.take(asked)
    used, cluster = np.unique(part.cluster, return_inverse=True)  # nobody was asked about the other clusters
    part = replace(part, clusters=part.clusters[used], cluster=cluster.astype(np.int32))
    return Answers(part, said["depth"][asked], said["occlusion"][asked])


def _codes_of(records: pl.DataFrame, keys: pl.DataFrame, on: list[str], aspect: str) -> NDArray[np.int8]:
    given = records.filter(pl.col("aspect") == aspect).select(*on, "answer")
    lined = keys.join(given, on=on, how="left", maintain_order="left")
    return answer_codes(aspect, lined["answer"])
