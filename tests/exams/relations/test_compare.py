"""Two runs compared on what both were asked, and on nothing else."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sightline.errors import ConfigError
from sightline.exams.runner import run_exam
from sightline.exams.relations import Protocol, RelationsExam, compare_records, compare_runs, score_sheets, sheets
from sightline.exams.run import Run
from sightline.models import candidate
from sightline.stats import holm
from sightline.store import Dataset, open_dataset

FEW = 200


@pytest.fixture(scope="module")
def data(simulated: Path) -> Dataset:
    return open_dataset(simulated)


@pytest.fixture(scope="module")
def runs(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    folder = tmp_path_factory.mktemp("runs")
    a, b = (run_exam(RelationsExam(), candidate(name), data, folder / name) for name in ("bottom_edge", "size"))
    return a, b


def test_values_are_those_of_the_runs_themselves(runs: tuple[Run, Run]) -> None:
    found = compare_runs(*runs, resamples=FEW)
    rows = {row.name: row for row in found.comparisons}
    for run, side in zip(runs, "ab", strict=True):
        scored = score_sheets(sheets(run.records()), resamples=FEW)
        for task in scored.subtasks:
            value = getattr(rows[f"{task.setting} {task.aspect}"], side)
            assert value == pytest.approx(task.micro["all"].f1.value, abs=0)
        assert scored.average is not None
        assert getattr(rows["average"], side) == pytest.approx(scored.average.value, abs=1e-15)
    assert found.dropped == 0


def test_only_common_items_count_and_a_half_asked_pair_is_dropped_once(runs: tuple[Run, Run]) -> None:
    whole, other = (run.records() for run in runs)
    items = whole["item"].unique(maintain_order=True).to_list()
    forward = next(item for item in items if ">" in item)
    gone = {items[0], forward}  # one photo, and one direction of one image pair
    cut = whole.filter(~pl.col("item").is_in(list(gone)))
    found = compare_records(cut, other, resamples=FEW)
    assert found.dropped == 2
    pair = whole.filter(pl.col("item") == forward)["cluster_id"][0]
    kept = [frame.filter((pl.col("cluster_id") != pair) & (pl.col("item") != items[0])) for frame in (whole, other)]
    expected = compare_records(*kept, resamples=FEW)
    assert found.comparisons.to_dicts() == expected.comparisons.to_dicts()


def test_a_run_against_itself_shows_no_difference(runs: tuple[Run, Run]) -> None:
    for row in compare_runs(runs[0], runs[0], resamples=FEW).comparisons:
        assert row.difference == 0 or row.difference != row.difference
        assert not row.p_value < 1


def test_holm_is_over_the_predicates(runs: tuple[Run, Run]) -> None:
    rows = compare_runs(*runs, resamples=FEW).comparisons
    predicates = [row for row in rows if row.name.startswith("  ")]
    assert len(predicates) == 12  # four labels in each of three sub-tasks
    corrected = holm([row.p_value for row in predicates])
    assert [row.p_holm for row in predicates] == pytest.approx(corrected.tolist(), nan_ok=True)
    assert all(row.p_holm == row.p_value for row in rows if row not in predicates)


def test_the_official_protocol_asks_for_the_boxes(runs: tuple[Run, Run], data: Dataset) -> None:
    with pytest.raises(ConfigError, match="dataset"):
        compare_runs(*runs, protocol=Protocol.OFFICIAL, resamples=FEW)
    tables = RelationsExam().tables(data)
    found = compare_runs(*runs, tables=tables, protocol=Protocol.OFFICIAL, resamples=FEW)
    assert {row.name for row in found.comparisons} >= {"within_image depth", "average"}


def test_runs_of_other_data_or_splits_are_refused(runs: tuple[Run, Run], data: Dataset, tmp_path: Path) -> None:
    other = run_exam(RelationsExam(split="validation", train_split=""), candidate("size"), data, tmp_path)
    with pytest.raises(ConfigError, match="split"):
        compare_runs(runs[0], other)


def test_runs_without_a_common_scene_are_refused(runs: tuple[Run, Run]) -> None:
    records = runs[0].records()
    with pytest.raises(ConfigError, match="no scene in common"):
        compare_records(records.head(0), records)
