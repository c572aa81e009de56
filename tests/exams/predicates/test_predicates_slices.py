"""Parts of the judgements, each scored as if it were all."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from reference import predicate_scores as reference
from sightline.exams.predicates.exam import PredicatesExam
from sightline.exams.predicates.measures import AXES, HIDDEN, parts_of
from sightline.exams.run import RunRecords
from sightline.exams.scoring import Scores, score_records
from sightline.scenes.labels import PREDICATES

HOW = ("contained", "supported", "independent")
WORDS = {"yes": True, "no": False, "unknown": None}


def made(seed: int, scenes: int = 30) -> pl.DataFrame:
    """Records as a run has them, at random."""
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(scenes):
        n = int(rng.integers(2, 5))
        shares, how = rng.choice([0.0, 0.1, 0.25, 0.6, 0.9, 1.0, np.nan], n), rng.choice(HOW, n)
        for i in range(n):
            for j in range(n):
                hidden = float(np.maximum(shares[i], shares[j]))
                rows += [
                    {
                        "scene_id": f"s{s}",
                        "n_objects": n,
                        "subject": str(i),
                        "object": str(j),
                        "predicate": p,
                        "truth": bool(rng.random() < 0.4),
                        "answer": str(rng.choice(["yes", "no", "unknown"], p=[0.45, 0.45, 0.1])),
                        "hidden": None if np.isnan(hidden) else hidden,
                        "subject_how": str(how[i]),
                        "object_how": str(how[j]),
                    }
                    for p in PREDICATES
                    if i != j
                ]
    return pl.DataFrame(rows)


def scored(records: pl.DataFrame) -> Scores:
    return score_records(PredicatesExam(), RunRecords(records, records), no_data, details=True, resamples=10)


def no_data() -> None:
    raise AssertionError


def slow_part(row: dict, axis: str) -> str | None:
    if axis != "hidden":
        return str(row[axis])
    if row["hidden"] is None:
        return None
    return next(name for name, start in reversed(HIDDEN.items()) if row["hidden"] >= start)


@pytest.mark.parametrize("axis", AXES)
def test_each_part_is_scored_by_itself(axis: str) -> None:
    records = made(1)
    scores = scored(records)
    found = scores.to_dict()["slices"][axis]
    parts: dict[str, dict[str, list]] = {}
    for row in records.iter_rows(named=True):
        part = slow_part(row, axis)
        if part is not None:
            own = parts.setdefault(part, {}).setdefault(row["scene_id"], [])
            own.append((row["predicate"], row["truth"], WORDS[row["answer"]]))
    assert set(found) == set(parts)
    assert len(found) > 1
    for part, document in found.items():
        scenes = list(parts[part].values())
        assert (document["n_scenes"], document["n_judgements"]) == (len(scenes), sum(map(len, scenes)))
        slow = {"scene_accuracy": reference.scene_accuracy, "scene_all_by": reference.scene_all, "f1": reference.f1}
        for name in ("all", "spatial", "can_support"):
            for kind, by_hand in slow.items():
                value = scores.at("slices", axis, part, kind, name).value
                assert value == pytest.approx(by_hand(scenes, name), nan_ok=True)


@pytest.mark.parametrize(
    ("share", "part"),
    [
        (0.0, "0–0.25"),  # in full view
        (0.2499, "0–0.25"),  # just below
        (0.25, "0.25–0.5"),  # a border belongs above
        (0.5, "0.5–0.75"),  # likewise
        (0.75, "0.75–<1"),  # likewise
        (0.9999, "0.75–<1"),  # a pixel to be seen
        (1.0, "1"),  # wholly hidden
        (None, None),  # not known
    ],
)
def test_parts_of_the_hidden_share(share: float | None, part: str | None) -> None:
    names, codes = parts_of(pl.DataFrame({"hidden": pl.Series([share], dtype=pl.Float64)}), "hidden")
    assert (None if codes[0] < 0 else names[codes[0]]) == part


def test_parts_come_in_their_order_and_none_is_empty() -> None:
    records = made(2).filter(pl.col("subject_how") != "supported")
    plain = scored(records).to_dict()["slices"]
    assert list(plain) == list(AXES)
    assert list(plain["subject_how"]) == ["contained", "independent"]
    assert list(plain["n_objects"]) == sorted(plain["n_objects"])
    assert list(plain["hidden"]) == [name for name in HIDDEN if name in plain["hidden"]]
    assert "slices" not in scored(records.clear()).to_dict()
