"""Two runs of the predicates exam, scene by scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sightline
from sightline.errors import ConfigError
from sightline.exams import scoring
from sightline.exams.predicates.counts import NAMES, scores
from sightline.exams.predicates.exam import PredicatesExam
from sightline.exams.predicates.measures import coded
from sightline.exams.run import Run, RunRecords
from sightline.exams.runner import run_exam
from sightline.models import candidate
from sightline.plain import plain
from sightline.scenes.labels import PREDICATES
from sightline.stats import Comparisons, holm


def compare_records(a: pl.DataFrame, b: pl.DataFrame, resamples: int = 2000) -> tuple[Comparisons, int]:
    sides = (RunRecords(records, records) for records in (a, b))
    return scoring.compare_records(PredicatesExam(), *sides, no_data, resamples=resamples)


def compare_runs(a: Run, b: Run, resamples: int = 2000) -> scoring.RunComparison:
    return scoring.compare_runs(PredicatesExam(), a, b, no_data, resamples=resamples)


def no_data() -> None:
    raise AssertionError


def names() -> list[str]:
    """Totals with their kind, single predicates set in."""
    kinds = ("scene accuracy", "scene-all accuracy", "F1")
    groups = ("", ", spatial", ", geometric")
    return [n for kind in kinds for n in (*(f"{kind}{g}" for g in groups), *(f"  {p}" for p in PREDICATES))]


def made(seed: int, care: float, scenes: int = 40) -> pl.DataFrame:
    """Records of a model that is right so often; the truth is the same for every seed."""
    rng, truth = np.random.default_rng(seed), np.random.default_rng(0).random((scenes, 6, 8)) < 0.4
    said = np.where(rng.random(truth.shape) < care, truth, ~truth)
    return pl.DataFrame(
        {
            "item": [f"s{s}" for s in range(scenes) for _ in range(48)],
            "cluster_id": [f"s{s}" for s in range(scenes) for _ in range(48)],
            "scene_id": [f"s{s}" for s in range(scenes) for _ in range(48)],
            "predicate": [*PREDICATES] * 6 * scenes,
            "truth": truth.reshape(-1),
            "answer": np.where(said, "yes", "no").reshape(-1),
        }
    ).with_columns(n_objects=3, hidden=0.0, subject_how=pl.lit("independent"), object_how=pl.lit("independent"))


def test_the_rows_are_the_scores_of_both() -> None:
    a, b = made(1, 0.9), made(2, 0.8)
    rows, dropped = compare_records(a, b, resamples=200)
    assert [row.name for row in rows] == names()
    assert dropped == 0
    mine, theirs = (scores(coded(records).counts(), resamples=10) for records in (a, b))
    kinds = ("scene_accuracy", "scene_all_by", "f1")
    for row, (kind, name) in zip(rows, ((k, n) for k in kinds for n in NAMES), strict=True):
        assert row.a == pytest.approx(getattr(mine, kind)[name].value)
        assert row.b == pytest.approx(getattr(theirs, kind)[name].value)
        assert row.difference == pytest.approx(row.a - row.b)
    assert rows[0].p_value < 0.01
    assert rows[0].low > 0


def test_holm_is_over_the_eight_predicates_of_a_kind() -> None:
    rows = compare_records(made(1, 0.9), made(2, 0.85), resamples=300)[0]
    for start in range(0, len(rows), 11):
        totals, family = rows[start : start + 3], rows[start + 3 : start + 11]
        assert all(row.p_holm == row.p_value for row in totals)
        assert [row.p_holm for row in family] == pytest.approx(holm([row.p_value for row in family]).tolist())
        assert max(row.p_holm - row.p_value for row in family) > 0


def test_only_scenes_that_both_have() -> None:
    a, b = made(1, 0.9), made(2, 0.8)
    shuffled = b.sample(fraction=1.0, shuffle=True, seed=3)
    assert plain(compare_records(a, shuffled, resamples=100)) == plain(compare_records(a, b, resamples=100))
    fewer = a.filter(pl.col("scene_id") != "s3")
    rows, dropped = compare_records(fewer, b, resamples=100)
    assert dropped == 1
    same = compare_records(fewer, b.filter(pl.col("scene_id") != "s3"), resamples=100)
    assert plain((rows, 0)) == plain(same)
    with pytest.raises(ConfigError, match="no scene in common"):
        compare_records(a.filter(pl.col("scene_id") == "s3"), b.filter(pl.col("scene_id") == "s4"))


def test_runs_over_other_data_are_not_compared(generated: Path, tmp_path: Path) -> None:
    data = sightline.open(generated)
    a, b = (run_exam(PredicatesExam(), candidate(m), data, tmp_path / m) for m in ("shape_prior", "size_prior"))
    assert compare_runs(a, b, resamples=100).comparisons[0].n == 6
    split = run_exam(PredicatesExam(split=data.splits[0]), candidate("shape_prior"), data, tmp_path / "s")
    with pytest.raises(ConfigError, match="split"):
        compare_runs(a, split)
    b.manifest["identity"]["data_fingerprint"] = "other"
    with pytest.raises(ConfigError, match="data_fingerprint"):
        compare_runs(a, b)
