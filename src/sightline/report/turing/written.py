"""The pictures of a written test, where the data they came from is not at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sightline.exams.run import Run
from sightline.exams.turing.stream.written import read_test
from sightline.store import Dataset


def pictures_of(folder: Path, runs: Sequence[Run]) -> Dataset:
    """The images of a test as scenes without objects, in the order the exam has them.

    Args:
        folder: The test.
        runs: Of it; they also name images whose every question was ambiguous, which the test does not.
    """
    scenes = (scene for run in runs for scene in run.records()["scene_id"].unique(maintain_order=True))
    return read_test(folder).pictures(scenes)
