"""An exam in one file: how many objects does a model find? Installed by the tests as another package's exam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sightline.exams.base import Exam, Measures, Name, option
from sightline.exams.hooks import model_call
from sightline.exams.run import ItemRecords, RunRecords
from sightline.scenes import View
from sightline.show.page import Example
from sightline.skills import Detections
from sightline.store import Dataset


@dataclass(frozen=True)
class CountItem:
    """One scene: its first view, and how many objects it has."""

    scene_id: str
    view: View
    objects: int

    @property
    def id(self) -> str:
        return self.scene_id

    @property
    def cluster_id(self) -> str:
        return self.scene_id


@dataclass(frozen=True)
class CountingExam(Exam[CountItem]):
    """How many objects are in a scene?"""

    slack: int = option(0, "How far off a count may be and still be right.", minimum=0)

    name: ClassVar[str] = "counting"
    title: ClassVar[str] = "Counting"
    baselines: ClassVar[dict[str, str]] = {"three": f"{__file__}:Three"}
    skills: ClassVar[tuple[tuple[str, ...], ...]] = (("detect",),)

    def items(self, data: Dataset) -> list[CountItem]:
        return [CountItem(s.id, s.views[0].without_truth(), len(s.objects)) for s in data]

    def ask(self, model: Any, item: CountItem) -> ItemRecords:
        with model_call(model, "detect"):
            count = len(model.detect(item.view).boxes)
        right = abs(count - item.objects) <= self.slack
        return ItemRecords({}, {"truth": [item.objects], "answer": [count], "right": [right]})

    def measures(self, records: RunRecords, data: Callable[[], Dataset]) -> Sequence[Measures]:
        rows = records.rows
        truth = rows["truth"].to_numpy()
        crowded = truth > np.median(truth)
        right = rows["right"].to_numpy()
        groups = [np.ones(len(rows), dtype=bool), ~crowded, crowded]
        counts = np.stack([np.column_stack([right & g, g]) for g in groups], axis=1)
        table = "scenes counted right"
        names = (
            Name(("accuracy", "all"), "all", table, family="", compared="accuracy", headline=1, percent=True),
            Name(("accuracy", "sparse"), "sparse", table, family="kind", part=True, percent=True),
            Name(("accuracy", "crowded"), "crowded", table, family="kind", part=True, percent=True),
        )
        facts = {"n_scenes": len(rows)}
        return [Measures(tuple(rows["cluster_id"]), counts, lambda t: t[..., 0] / t[..., 1], names, facts)]

    def examples(self, card: Any, result: Any) -> list[Example]:
        rows = {row["item"]: row for row in result.records.rows.iter_rows(named=True)}
        return [
            Example(
                self.name,
                result.name,
                kind,
                item,
                item,
                "<p>a scene</p>",
                f"{rows[item]['truth']} objects, {rows[item]['answer']} found.",
                {"answer": rows[item]["answer"]},
            )
            for kind, ids in card.chosen(result).items()
            for item in ids
        ]


class Three:
    """Always finds three objects."""

    number = 3

    def detect(self, view: View) -> Detections:
        n = self.number
        return Detections(np.tile([0.1, 0.1, 0.5, 0.5], (n, 1)), np.ones(n), ("thing",) * n)


class Five(Three):
    """Always finds five objects."""

    number = 5


def install(folder: Path) -> None:
    """Install this file as another package would be: with an entry point of the group ``sightline.exams``."""
    (folder / "counting_exam.py").write_text(Path(__file__).read_text())
    info = folder / "counting_exam-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counting-exam\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sightline.exams]\ncounting = counting_exam:CountingExam\n")
