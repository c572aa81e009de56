"""Scores of the Turing exam against counting by hand, and two runs compared."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turing_records_made import KINDS, records, run_records

from sightline.errors import ConfigError, DataError
from sightline.exams.run import RunRecords
from sightline.exams.scoring import Scores, compare_records, score_records
from sightline.exams.turing.exam import TuringExam
from sightline.exams.turing.measures import STEPS, asked_rows, binned, stream_facts, stream_rows
from sightline.stats import Comparisons
from sightline.store import Dataset


def scores(rows: pl.DataFrame, *, empty: int = 0) -> Scores:
    return score_records(TuringExam(), run_records(rows, empty=empty), _no_data, resamples=100)


def _no_data() -> Dataset:
    raise AssertionError("scores need no data")


def _word(rng: np.random.Generator, truth: bool) -> str:
    return str(rng.choice(["yes", "no", "abstain", "unparsed", "late"], p=[0.4, 0.3, 0.1, 0.1, 0.1]))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(1, 25), st.integers(0, 99))
def test_values_are_plain_counts(images: int, questions: int, seed: int) -> None:
    asked = records(images, questions, reply=_word, seed=seed)
    found = scores(asked, empty=2)
    rows = asked.rows(named=True)
    for kind in ("all", *KINDS):
        mine = [row["right"] for row in rows if kind in ("all", row["type"])]
        if mine:
            assert found.at("accuracy", kind).value == pytest.approx(sum(mine) / len(mine))
        else:
            assert np.isnan(found.at("accuracy", kind).value)
    said = Counter(row["answer"] for row in rows)
    assert {word: share.value for word, share in found.below("replies").items()} == pytest.approx(
        {w: said[w] / len(rows) for w in ("yes", "no", "abstain", "unparsed", "late")}
    )
    early = [row["right"] for row in rows if row["step"] <= 5]
    assert found.at("by_step", "1–5").value == pytest.approx(sum(early) / len(early))
    facts = found.facts
    assert (facts["n_streams"], facts["n_images"], facts["n_questions"]) == (images + 2, images + 2, len(rows))
    assert sum(facts["streams"]["halted"].values()) == images + 2


def test_intervals_are_by_image() -> None:
    """All questions of an image go together: ten images a thousand times each say no more than ten."""
    asked = records(10, 1).with_columns(right=pl.Series([i % 2 == 0 for i in range(10)]))
    many = pl.concat([asked] * 1000)
    few, lots = (scores(frame).at("accuracy", "all") for frame in (asked, many))
    assert lots.high - lots.low == pytest.approx(few.high - few.low, rel=0.01)
    assert few.n == lots.n == 10


def test_bins_cover_every_step_once() -> None:
    steps = np.arange(1, 80)
    bins = binned(steps, STEPS)
    assert np.sum(list(bins.values()), axis=0).tolist() == [1] * len(steps)
    assert list(bins) == ["1–5", "6–10", "11–20", "21–30", "31–50", "51+"]


def test_no_stream_has_a_question() -> None:
    nobody = pl.DataFrame(schema={"item": pl.String, "scene_id": pl.String, "cluster_id": pl.String})
    bare = run_records(records(1, 1), empty=3).of({f"e{i}#0" for i in range(3)})
    told = score_records(TuringExam(), RunRecords(nobody, bare.items), _no_data).to_dict()
    assert told["accuracy"]["all"]["value"] is None
    assert (told["n_streams"], told["n_questions"], told["streams"]["empty"]) == (3, 0, 3)
    assert told["by_step"] == {}
    assert stream_facts(stream_rows(RunRecords(nobody, nobody)))["mean"] is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"answer": pl.lit("perhaps")}, "not an answer"),  # a word nobody writes
        ({"truth": pl.lit("maybe")}, "not a truth"),
        ({"type": pl.lit("count")}, "not a type"),
        ({"step": pl.lit("first")}, "damaged records"),  # not a number
    ],
)
def test_damaged_records(change: dict[str, pl.Expr], says: str) -> None:
    with pytest.raises(DataError, match=says):
        asked_rows(records(2, 2).with_columns(**change))
    with pytest.raises(DataError, match="not records of the turing exam"):
        asked_rows(records(2, 2).drop("p_yes"))


def test_ambiguous_questions_do_not_count() -> None:
    told = records(2, 4).with_columns(
        truth=pl.when(pl.col("step") == 1).then(pl.lit("ambiguous")).otherwise("truth")
    )
    assert asked_rows(told)["step"].unique().sort().to_list() == [2, 3, 4]


def test_a_better_model_is_found_better() -> None:
    good = records(60, 20, reply=lambda rng, truth: ("yes" if truth else "no") if rng.random() < 0.9 else "late")
    poor = good.with_columns(answer=pl.lit("abstain"), right=pl.lit(False))
    found, dropped = compared(good, poor)
    assert [row.name for row in found] == ["accuracy", *(f"  {kind}" for kind in KINDS)]
    assert found[0].difference == pytest.approx(good["right"].mean())
    assert found[0].low > 0.8
    assert found[0].p_value < 0.01
    assert found[0].p_holm == found[0].p_value  # a total, asked about beforehand
    assert dropped == 0
    assert compared(good, good)[0][0].difference == 0


def test_only_images_asked_the_same_are_compared() -> None:
    a = records(10, 5)
    b = a.with_columns(
        question=pl.when(pl.col("scene_id") == "s3").then(pl.lit("another")).otherwise("question")
    ).filter(pl.col("scene_id") != "s4")
    assert compared(a, b)[1] == 2
    with pytest.raises(ConfigError, match="no image in common"):
        compared(a, a.with_columns(cluster_id=pl.lit("elsewhere")))


def compared(a: pl.DataFrame, b: pl.DataFrame) -> tuple[Comparisons, int]:
    return compare_records(TuringExam(), run_records(a), run_records(b), _no_data, resamples=300)
