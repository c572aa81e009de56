"""The monitor: a stream whose answers can be guessed must be flagged, one whose answers cannot must not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from turing_records_made import records

from sightline.exams.turing.monitor import GUESSED, by_word, monitor


def _blind(asked: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {"turing_history": asked}


@pytest.mark.parametrize("seed", range(5))
def test_a_fair_stream_is_not_leaky(seed: int) -> None:
    asked = records(100, 20, seed=seed)
    found = monitor(asked, _blind(asked), resamples=200)
    assert not found.leaky
    assert found.reasons == ()
    assert found.yes_by_type["all"].value == pytest.approx(0.5, abs=0.05)
    assert found.calibration_error < 0.05


def test_a_type_that_is_mostly_yes_leaks() -> None:
    asked = records(100, 20, yes=lambda rng, step, kind: bool(rng.random() < (0.9 if kind == "relation" else 0.45)))
    found = monitor(asked, resamples=200)
    assert found.leaky
    assert [reason.partition(":")[0] for reason in found.reasons] == ["type relation"]


def test_a_step_that_is_mostly_no_leaks() -> None:
    asked = records(100, 20, yes=lambda rng, step, kind: bool(rng.random() < (0.1 if step <= 5 else 0.55)))
    assert [reason.partition(":")[0] for reason in monitor(asked, resamples=200).reasons] == ["steps 1–5"]


def test_answers_that_can_be_guessed_leak_even_where_yes_and_no_are_as_common() -> None:
    asked = records(
        100,
        20,
        yes=lambda rng, step, kind: step % 2 == 0,
        reply=lambda rng, truth: "yes" if truth == (rng.random() < 0.8) else "no",
    )
    assert not monitor(asked, resamples=200).leaky
    found = monitor(asked, _blind(asked), resamples=200)
    assert found.leaky
    assert "turing_history answers without looking" in found.reasons[0]


def test_a_rate_at_the_edge_is_given_the_benefit_of_the_doubt() -> None:
    asked = records(100, 20, yes=lambda rng, step, kind: bool(rng.random() < 0.6))
    assert not monitor(asked, resamples=200).leaky
    assert monitor(asked, epsilon=0.05, resamples=200).leaky


def test_one_image_proves_nothing() -> None:
    asked = records(1, 20, yes=lambda rng, step, kind: True)
    found = monitor(asked, _blind(asked), resamples=200)
    assert not found.leaky
    assert found.to_dict()["yes_by_type"]["all"]["low"] is None


def test_few_images_are_too_few_to_say() -> None:
    asked = records(20, 20, yes=lambda rng, step, kind: True)
    found = monitor(asked, _blind(asked), resamples=200)
    assert (found.leaky, found.verdict) == (False, "too few images")
    assert monitor(records(40, 20), resamples=200).verdict == "not leaky"


def test_a_type_that_can_be_guessed_leaks_though_all_together_cannot() -> None:
    asked = records(100, 20)
    lucky = (asked["type"] == "relation") & (pl.Series(np.random.default_rng(0).random(len(asked))) < 0.8)
    asked = asked.with_columns(right=pl.Series(np.random.default_rng(1).random(len(asked)) < 0.45) | lucky)
    found = monitor(asked, {"turing_logician": asked}, resamples=200)
    assert found.overall["turing_logician"].low < GUESSED
    assert [reason for reason in found.reasons if "relation questions" in reason]


def _worded(words: list[str], right: np.ndarray, images: int = 60) -> pl.DataFrame:
    """Questions about one word each, dealt over images."""
    forms = ['{"type":"relation","relation":"' + word + '"}' for word in words]
    place = [f"i{k % images}" for k in range(len(words))]
    return pl.DataFrame({"question": forms, "cluster_id": place, "right": right})


def test_a_word_that_can_be_guessed_stands_out_and_rare_ones_are_not_tested() -> None:
    rng = np.random.default_rng(0)
    words = ["above"] * 400 + ["near"] * 400 + ["rare"] * 99
    right = np.concatenate([rng.random(400) < 0.8, rng.random(400) < 0.5, np.ones(99, bool)])
    found = by_word(_worded(words, right))
    assert list(found) == ["above", "near"]
    assert found["above"].low > GUESSED > found["near"].low
    assert found["above"].n == 400
    assert GUESSED < found["above"].detectable < 0.7


def test_limits_of_words_are_corrected_for_how_many_there_are() -> None:
    """Of forty words guessed at exactly the bound, hardly any is called guessable."""
    flagged = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        words = [f"w{k}" for k in range(40) for _ in range(150)]
        found = by_word(_worded(words, rng.random(len(words)) < GUESSED, images=75))
        flagged += any(one.low > GUESSED for one in found.values())
    assert flagged <= 4


def test_steps_and_calibration_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    asked = records(200, 6, yes=lambda _, step, kind: False)
    p = rng.uniform(0.35, 0.65, len(asked))
    yes = rng.random(len(asked)) < p
    asked = asked.with_columns(p_yes=p, truth=pl.Series(["yes" if one else "no" for one in yes]))
    found = monitor(asked, resamples=200)
    assert list(found.yes_by_step) == [1, 2, 3, 4, 5, 6]
    assert found.yes_by_step[1].value == pytest.approx(yes[asked["step"].to_numpy() == 1].mean())
    assert sum(one.n for one in found.calibration) == len(asked)
    for one in found.calibration:
        inside = (p >= one.bin[0]) & (p < one.bin[1])
        assert one.estimated == pytest.approx(p[inside].mean())
        assert one.seen.value == pytest.approx(yes[inside].mean())
    # Estimates that have nothing to do with the answers are called so.
    turned = asked.with_columns(p_yes=1 - pl.col("p_yes"))
    assert monitor(turned, resamples=200).calibration_error > 2 * found.calibration_error


def test_nothing_asked() -> None:
    told = monitor(records(1, 1).clear()).to_dict()
    assert (told["leaky"], told["calibration"], told["calibration_error"]) == (False, [], None)


def test_questions_without_an_estimate_have_no_place_in_the_calibration() -> None:
    asked = records(3, 4, p_yes=None).with_columns(pl.col("p_yes").cast(pl.Float64))
    assert monitor(asked, resamples=100).calibration == ()
