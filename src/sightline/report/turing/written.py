"""The pictures of a written test, where the data they came from is not at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sightline.exams.run import Run
from sightline.exams.turing.asking.written import read_test
from sightline.store import Dataset, Tables


def pictures_of(folder: Path, runs: Sequence[Run]) -> Dataset:
    """The images of a test as scenes without objects, in the order the exam has them.

    Args:
        folder: The test.
        runs: Of it; they also name images whose every question was ambiguous, which the test does not.
    """
    pictures = {question.scene_id: question.picture for question in read_test(folder).questions}
    for run in runs:
        for scene in run.records()["scene_id"].unique(maintain_order=True):
            pictures.setdefault(scene, None)
    views = pl.DataFrame(
        {"scene_id": list(pictures), "view_id": "0", "image": list(pictures.values())},
        schema={"scene_id": pl.String, "view_id": pl.String, "image": pl.String},
    )
    return Dataset.from_tables(Tables.build(views=views), path=folder)
