"""Scores of the Turing exam against counting by hand, and two runs compared."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turing_records_made import KINDS, records, streams

from sightline.errors import ConfigError, DataError
from sightline.exams.turing.compare import compare_records
from sightline.exams.turing.records import asked_of
from sightline.exams.turing.scores import STEPS, binned, scores, stream_facts


def _word(rng: np.random.Generator, truth: bool) -> str:
    return str(rng.choice(["yes", "no", "abstain", "unparsed", "late"], p=[0.4, 0.3, 0.1, 0.1, 0.1]))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(1, 25), st.integers(0, 99))
def test_values_are_plain_counts(images: int, questions: int, seed: int) -> None:
    asked = records(images, questions, reply=_word, seed=seed)
    found = scores(asked, streams(asked, empty=2), resamples=100)
    rows = asked.rows(named=True)
    for kind in ("all", *KINDS):
        mine = [row["right"] for row in rows if kind in ("all", row["type"])]
        if mine:
            assert found.accuracy[kind].value == pytest.approx(sum(mine) / len(mine))
        else:
            assert np.isnan(found.accuracy[kind].value)
    said = Counter(row["reply"] for row in rows)
    assert {w: found.replies[w].value for w in found.replies} == pytest.approx(
        {w: said[w] / len(rows) for w in ("yes", "no", "abstain", "unparsed", "late")}
    )
    early = [row["right"] for row in rows if row["step"] <= 5]
    assert found.by_step["1–5"].value == pytest.approx(sum(early) / len(early))
    assert (found.n_streams, found.n_images, found.n_questions) == (images + 2, images + 2, len(rows))
    assert sum(found.streams["halted"].values()) == images + 2


def test_intervals_are_by_image() -> None:
    """All questions of an image go together: ten images a thousand times each say no more than ten."""
    asked = records(10, 1).with_columns(right=pl.Series([i % 2 == 0 for i in range(10)]))
    many = pl.concat([asked] * 1000)
    few, lots = (scores(frame, streams(asked), resamples=100).accuracy["all"] for frame in (asked, many))
    assert lots.high - lots.low == pytest.approx(few.high - few.low, rel=0.01)
    assert few.n == lots.n == 10


def test_bins_cover_every_step_once() -> None:
    steps = np.arange(1, 80)
    bins = binned(steps, STEPS)
    assert np.sum(list(bins.values()), axis=0).tolist() == [1] * len(steps)
    assert list(bins) == ["1–5", "6–10", "11–20", "21–30", "31–50", "51+"]


def test_no_stream_has_a_question() -> None:
    nobody = asked_of(pl.DataFrame(schema={"item": pl.String, "scene_id": pl.String, "cluster_id": pl.String}))
    bare = streams(records(1, 1), empty=3).filter(pl.col("length") == 0)
    told = scores(nobody, bare).to_dict()
    assert told["accuracy"]["all"]["value"] is None
    assert (told["n_streams"], told["n_questions"], told["streams"]["empty"]) == (3, 0, 3)
    assert told["by_step"] == {}
    assert stream_facts(bare.clear())["mean"] is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"reply": pl.lit("perhaps")}, "not a reply"),  # a word nobody writes
        ({"truth": pl.lit("maybe")}, "not a truth"),
        ({"type": pl.lit("count")}, "not a type"),
        ({"step": pl.lit("first")}, "damaged records"),  # not a number
    ],
)
def test_damaged_records(change: dict[str, pl.Expr], says: str) -> None:
    with pytest.raises(DataError, match=says):
        asked_of(records(2, 2).with_columns(**change))
    with pytest.raises(DataError, match="not records of the turing exam"):
        asked_of(records(2, 2).drop("p_yes"))


def test_ambiguous_questions_do_not_count() -> None:
    told = records(2, 4).with_columns(
        truth=pl.when(pl.col("step") == 1).then(pl.lit("ambiguous")).otherwise("truth")
    )
    assert asked_of(told)["step"].unique().sort().to_list() == [2, 3, 4]


def test_a_better_model_is_found_better() -> None:
    good = records(60, 20, reply=lambda rng, truth: ("yes" if truth else "no") if rng.random() < 0.9 else "late")
    poor = good.with_columns(reply=pl.lit("abstain"), right=pl.lit(False))
    found = compare_records(good, poor, resamples=300)
    assert [row.name for row in found.comparisons] == ["accuracy", *(f"  {kind}" for kind in KINDS)]
    assert found.comparisons[0].difference == pytest.approx(good["right"].mean())
    assert found.comparisons[0].low > 0.8
    assert found.comparisons[0].p_value < 0.01
    assert found.dropped == 0
    same = compare_records(good, good, resamples=300)
    assert same.comparisons[0].difference == 0


def test_only_images_asked_the_same_are_compared() -> None:
    a = records(10, 5)
    b = a.with_columns(
        question=pl.when(pl.col("scene_id") == "s3").then(pl.lit("another")).otherwise("question")
    ).filter(pl.col("scene_id") != "s4")
    assert compare_records(a, b, resamples=100).dropped == 2
    with pytest.raises(ConfigError, match="no image in common"):
        compare_records(a, a.with_columns(cluster_id=pl.lit("elsewhere")), resamples=100)
