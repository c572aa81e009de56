"""Marked judgements, sub-task by sub-task: what every score, slice and comparison is counted from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.relations.answers import Answers
from sightline.exams.relations.protocols import Aspect, Protocol, rules
from sightline.exams.relations.tally import Counts, tally
from sightline.exams.relations.words import answer_codes, truth_codes
from sightline.scenes import Depth
from sightline.skills import SILENT, Setting

Subtask = tuple[Setting, Aspect]

SUBTASKS: Final[tuple[Subtask, ...]] = (
    ("within_image", "depth"),
    ("within_image", "occlusion"),
    ("across_images", "depth"),
)
"""The three sub-tasks whose mean F1 is the exam's headline."""


@dataclass(frozen=True)
class Sheet:
    """n judgements of one sub-task.

    Attributes:
        setting: Within one image or across two; `aspect`: what was asked.
        clusters: (c,) ids of the independent units.
        images: (c, 2) the image each cluster stands on, twice, or the two images; without the setting's name, so
            that the same photo has the same name in both settings.
        cluster: (n,) index into `clusters`.
        truth: (n,) label codes, −1 no majority, `ABSENT` −2 no such pair.
        answer: (n,) label codes, `SILENT` −1.
        reverse: (n,) True where the pair is the reverse of the annotated one.
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
    aligned: Sheet | None = None

    @property
    def judgements(self) -> int:
        """How many ordered pairs were judged."""
        return len((self.aligned or self).truth)

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
        kept, unit = self._units(part, parts)
        counted = tally(
            self.truth[kept],
            answer[kept],
            unit,
            len(self.clusters) * parts,
            protocol=protocol,
            aspect=self.aspect,
            setting=self.setting,
        )
        return counted.reshape(len(self.clusters), parts, 4, 3)

    def clear_counts(self, *, part: NDArray[Any] | None = None, parts: int = 1) -> Counts:
        """(c, parts, 2) right answers and judgements, over those with a clear depth order.

        Anything but the right order, silence included, is a wrong answer. This is a matter of pairs, not of
        protocols: it is counted pair by pair even where matching has lined up the answers anew.
        """
        if self.aligned is not None:
            return self.aligned.clear_counts(part=part, parts=parts)
        kept, unit = self._units(part, parts)
        truth, answer = self.truth[kept], self.answer[kept]
        clear = (truth == Depth.CLOSER) | (truth == Depth.FARTHER)
        size = len(self.clusters) * parts
        right = np.bincount(unit[clear & (answer == truth)], minlength=size)
        return np.stack([right, np.bincount(unit[clear], minlength=size)], axis=-1).reshape(-1, parts, 2)

    def _units(self, part: NDArray[Any] | None, parts: int) -> tuple[Any, NDArray[np.int64]]:
        """The judgements that count, and the number of each one's cluster and slice."""
        if part is None:
            return slice(None), self.cluster.astype(np.int64) * parts
        kept = part >= 0
        return kept, self.cluster[kept].astype(np.int64) * parts + part[kept]


def sheet_of(answers: Answers, aspect: Aspect) -> Sheet:
    """One aspect of a model's answers on given boxes; rows are those of ``answers.table``."""
    table = answers.table
    names = np.array([image_name(scene, table.setting) for scene in table.scenes], dtype=object)
    images = np.full((len(table.clusters), 2), "", dtype=object)
    for column, end in enumerate((table.first, table.second)):
        images[table.cluster, column] = names[table.object_scene[end]]
    return Sheet(
        setting=table.setting,
        aspect=aspect,
        clusters=table.clusters,
        images=images,
        cluster=table.cluster,
        truth=getattr(table, aspect),
        answer=getattr(answers, aspect),
        reverse=np.arange(len(table)) >= len(table) // 2,
    )


def sheets_of(answers: Mapping[Setting, Answers]) -> dict[Subtask, Sheet]:
    """All sub-tasks there are answers for."""
    return {(s, a): sheet_of(answers[s], a) for s, a in SUBTASKS if s in answers and a in answers[s].table.aspects}


def sheets(records: pl.DataFrame) -> dict[Subtask, Sheet]:
    """The sub-tasks that have records, from `Run.records` of a relations run on given or detected boxes.

    Clusters are sorted, so two runs over the same items number them alike. An image pair of which only one
    direction was asked, as a run cut short leaves it, is left out.
    """
    needed = {"scene_id", "cluster_id", "setting", "other_scene", "aspect", "truth", "answer", "reverse"}
    missing = sorted(needed - set(records.columns))
    if records.height and missing:
        raise DataError("these are not records of the relations exam", field=missing[0])
    found: dict[Subtask, Sheet] = {}
    for setting, aspect in SUBTASKS if records.height else ():
        rows = records.filter((pl.col("setting") == setting) & (pl.col("aspect") == aspect))
        if setting == "across_images":
            rows = rows.filter(pl.col("scene_id").n_unique().over("cluster_id") == 2)
        if rows.height:
            found[setting, aspect] = _sheet(setting, aspect, rows)
    return found


def _sheet(setting: Setting, aspect: Aspect, rows: pl.DataFrame) -> Sheet:
    ends = ["scene_id", "other_scene"]
    units = (
        rows.unique("cluster_id", keep="first", maintain_order=True).select("cluster_id", *ends).sort("cluster_id")
    )
    numbered = units.select("cluster_id").with_row_index("number")
    cluster = rows.select("cluster_id").join(numbered, on="cluster_id", how="left", maintain_order="left")
    images = [[image_name(scene, setting) for scene in units[end]] for end in ends]
    return Sheet(
        setting=setting,
        aspect=aspect,
        clusters=units["cluster_id"].to_numpy().astype(object),
        images=np.array(images, dtype=object).T,
        cluster=cluster["number"].to_numpy().astype(np.int32),
        truth=truth_codes(aspect, rows["truth"]),
        answer=answer_codes(aspect, rows["answer"]),
        reverse=rows["reverse"].to_numpy(),
    )


def image_name(scene_id: str, setting: Setting) -> str:
    """A scene's image: scenes that differ only in a leading ``<setting>/`` show the same one.

    >>> image_name("within_image/test/0a1b", "within_image")
    'test/0a1b'
    """
    return scene_id.removeprefix(f"{setting}/")
