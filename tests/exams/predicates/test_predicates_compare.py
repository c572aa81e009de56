"""Two runs of the predicates exam, scene by scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sightline
from sightline.errors import ConfigError
from sightline.exams.predicates.compare import compare_records, compare_runs, names
from sightline.exams.predicates.exam import PredicatesExam
from sightline.exams.predicates.records import score_records
from sightline.exams.predicates.scores import NAMES
from sightline.models import candidate
from sightline.scenes.labels import PREDICATES
from sightline.stats import holm


def made(seed: int, care: float, scenes: int = 40) -> pl.DataFrame:
    """Records of a model that is right so often; the truth is the same for every seed."""
    rng, truth = np.random.default_rng(seed), np.random.default_rng(0).random((scenes, 6, 8)) < 0.4
    said = np.where(rng.random(truth.shape) < care, truth, ~truth)
    return pl.DataFrame(
        {
            "scene_id": [f"s{s}" for s in range(scenes) for _ in range(48)],
            "predicate": [*PREDICATES] * 6 * scenes,
            "truth": truth.reshape(-1),
            "answer": np.where(said, "yes", "no").reshape(-1),
        }
    ).with_columns(n_objects=3, hidden=0.0, subject_how=pl.lit("independent"), object_how=pl.lit("independent"))


def test_the_rows_are_the_scores_of_both() -> None:
    a, b = made(1, 0.9), made(2, 0.8)
    found = compare_records(a, b, resamples=200)
    assert [row.name for row in found.comparisons] == names()
    assert found.dropped == 0
    mine, theirs = score_records(a, resamples=10), score_records(b, resamples=10)
    kinds = ("scene_accuracy", "scene_all_by", "f1")
    for row, (kind, name) in zip(found.comparisons, ((k, n) for k in kinds for n in NAMES), strict=True):
        assert row.a == pytest.approx(getattr(mine, kind)[name].value)
        assert row.b == pytest.approx(getattr(theirs, kind)[name].value)
        assert row.difference == pytest.approx(row.a - row.b)
    assert found.comparisons[0].p_value < 0.01
    assert found.comparisons[0].low > 0


def test_holm_is_over_the_eight_predicates_of_a_kind() -> None:
    rows = compare_records(made(1, 0.9), made(2, 0.85), resamples=300).comparisons
    for start in range(0, len(rows), 11):
        totals, family = rows[start : start + 3], rows[start + 3 : start + 11]
        assert all(row.p_holm == row.p_value for row in totals)
        assert [row.p_holm for row in family] == pytest.approx(holm([row.p_value for row in family]).tolist())
        assert max(row.p_holm - row.p_value for row in family) > 0


def test_only_scenes_that_both_have() -> None:
    a, b = made(1, 0.9), made(2, 0.8)
    shuffled = b.sample(fraction=1.0, shuffle=True, seed=3)
    assert compare_records(a, shuffled, resamples=100).to_dict() == compare_records(a, b, resamples=100).to_dict()
    fewer = a.filter(pl.col("scene_id") != "s3")
    found = compare_records(fewer, b, resamples=100)
    assert found.dropped == 1
    same = compare_records(fewer, b.filter(pl.col("scene_id") != "s3"), resamples=100)
    assert found.comparisons.to_dicts() == same.comparisons.to_dicts()
    with pytest.raises(ConfigError, match="no scene in common"):
        compare_records(a.filter(pl.col("scene_id") == "s3"), b.filter(pl.col("scene_id") == "s4"))


def test_runs_over_other_data_are_not_compared(generated: Path, tmp_path: Path) -> None:
    data = sightline.open(generated)
    a, b = (
        sightline.sit(PredicatesExam(), candidate(m), data, tmp_path / m) for m in ("shape_prior", "size_prior")
    )
    assert compare_runs(a, b, resamples=100).comparisons[0].n == 6
    split = sightline.sit(PredicatesExam(split=data.splits[0]), candidate("shape_prior"), data, tmp_path / "s")
    with pytest.raises(ConfigError, match="split"):
        compare_runs(a, split)
    b.manifest["identity"]["data_fingerprint"] = "other"
    with pytest.raises(ConfigError, match="data_fingerprint"):
        compare_runs(a, b)
