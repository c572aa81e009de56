"""The fast matcher against row-by-row oracles, and what it says of failures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference import official, other_protocols
from reference.official import Row
from sightline.exams.relations.boxed import (
    BoxedPairs,
    BoxRange,
    BoxWindow,
    boxed_blocks,
    group_by_images,
    sort_rows,
)
from sightline.exams.relations.matching import MatchedPairs, MatchOutcome, count_boxed, match_boxed
from sightline.exams.relations.protocols import ABSENT, Aspect, Protocol, rates, tally
from sightline.skills import SILENT
from sightline.store.formats.vrd25 import read_predictions, read_scoring_truth

SCHEMA = {
    "image_a": pl.String,
    "image_b": pl.String,
    **{f"{end}_{edge}": pl.Float64 for end in "ab" for edge in ("x0", "y0", "x1", "y1")},
    "depth": pl.Int8,
    "occlusion": pl.Int8,
}
End = MatchOutcome
ASPECTS: tuple[Aspect, ...] = ("depth", "occlusion")

# Near-duplicates: several fit the same truth, one at IoU exactly 0.5 with the first, one is empty.
BOXES = (
    (0.0, 0.0, 0.5, 0.5),
    (0.0, 0.0, 0.5, 0.45),
    (0.05, 0.0, 0.5, 0.5),
    (0.0, 0.0, 0.5, 0.25),
    (0.1, 0.1, 0.6, 0.6),
    (0.15, 0.1, 0.6, 0.65),
    (0.3, 0.3, 0.9, 0.9),
    (0.2, 0.2, 0.2, 0.4),
)


def boxed_pairs(truth: pl.DataFrame, predictions: pl.DataFrame) -> tuple[BoxedPairs, BoxedPairs]:
    return boxed_blocks([truth], [predictions])


def frame(rows: list[Row], classes: bool = False) -> pl.DataFrame:
    cells = [(r.image_a, r.image_b, *r.box_a, *r.box_b, r.depth, r.occlusion) for r in rows]
    made = pl.DataFrame(cells, schema=SCHEMA, orient="row")
    kinds = {
        f"category_{end}": pl.Series([getattr(r, f"class_{end}") for r in rows], dtype=pl.String) for end in "ab"
    }
    return made.with_columns(**kinds) if classes else made


def by_images(truth: BoxedPairs, found: MatchedPairs, counts: np.ndarray) -> dict[tuple[str, str], list[list[int]]]:
    names = [tuple(sorted(truth.images[pair])) for pair in found.clusters]
    return dict(zip(names, counts.tolist(), strict=True))


def rows(
    labels: st.SearchStrategy[int], images: str, size: int, classes: str = "x"
) -> st.SearchStrategy[list[Row]]:
    image, box, kind = st.sampled_from(images), st.sampled_from(BOXES), st.sampled_from(classes)
    return st.lists(st.builds(Row, image, image, box, box, labels, labels, kind, kind), max_size=size)


images = st.sampled_from(["a", "ab", "abc"])
truths = images.flatmap(lambda names: rows(st.integers(-1, 3), names, 8))
predictions = rows(st.integers(0, 3), "abc", 12)
answers = rows(st.integers(-1, 3), "abc", 12)


# All in one group, one second box, boxes that overlap in a chain: who takes what depends on the order.
CHAIN = tuple((0.0, 0.0, 0.5, 0.2 + 0.1 * step) for step in range(5))


def crowd(labels: list[int], size: int) -> st.SearchStrategy[list[Row]]:
    row = st.tuples(st.sampled_from(CHAIN), st.sampled_from(labels))
    return st.lists(row.map(lambda r: Row("a", "a", r[0], BOXES[6], r[1], r[1])), min_size=2, max_size=size)


@settings(deadline=None)
@given(crowd([-1, 1], 6), crowd([1], 6))
def test_greedy_order(truth: list[Row], said: list[Row]) -> None:
    pairs, answered = boxed_pairs(frame(truth), frame(said))
    for protocol, slow in (
        (Protocol.OFFICIAL, official.score),
        (Protocol.DEFAULT, other_protocols.score_default),
        (Protocol.PAPER, other_protocols.score_paper),
    ):
        counts = count_boxed(pairs, answered, protocol, "depth").counts
        assert {("a", "a"): counts[0].tolist()} == slow(truth, said, "depth")


@settings(deadline=None)  # the first example compiles
@given(truths, predictions)
def test_official_is_the_authors_evaluator(truth: list[Row], said: list[Row]) -> None:
    pairs, answered = boxed_pairs(frame(truth), frame(said))
    for aspect in ASPECTS:
        expected = official.score(truth, said, aspect)
        found = match_boxed(pairs, answered, Protocol.OFFICIAL, aspect)
        counts = count_boxed(pairs, answered, Protocol.OFFICIAL, aspect).counts
        assert by_images(pairs, found, counts) == expected
        scores = rates(counts.sum(axis=0), protocol=Protocol.OFFICIAL, aspect=aspect, setting=pairs.setting)
        assert [tuple(row) for row in scores.tolist()] == official.table(expected)


@settings(deadline=None)  # the first example compiles
@given(truths, answers, st.sampled_from([Protocol.DEFAULT, Protocol.PAPER]))
def test_default_and_paper_are_their_oracles(truth: list[Row], said: list[Row], protocol: Protocol) -> None:
    pairs, answered = boxed_pairs(frame(truth), frame(said))
    slow = other_protocols.score_default if protocol is Protocol.DEFAULT else other_protocols.score_paper
    for aspect in ASPECTS:
        expected = slow(truth, said, aspect)
        found = match_boxed(pairs, answered, protocol, aspect)
        counts = count_boxed(pairs, answered, protocol, aspect).counts
        assert by_images(pairs, found, counts) == expected
        pool = other_protocols.paper_pool(truth, aspect) if protocol is Protocol.PAPER else {0, 1, 2, 3}
        scores = rates(counts.sum(axis=0), protocol=protocol, aspect=aspect, setting=pairs.setting)
        np.testing.assert_array_equal(scores, other_protocols.table(expected, pool))


@settings(deadline=None)  # the first example compiles
@given(truths, answers, st.sampled_from(Protocol), st.sampled_from(ASPECTS))
def test_explaining_changes_no_count_and_leaves_nothing_to_pair(
    truth: list[Row], said: list[Row], protocol: Protocol, aspect: Aspect
) -> None:
    pairs, answered = boxed_pairs(frame(truth), frame(said))
    found = match_boxed(pairs, answered, protocol, aspect)
    how = {"protocol": protocol, "aspect": aspect, "setting": pairs.setting}
    counts = tally(found.truth, found.answer, found.cluster, len(found.clusters), **how)
    np.testing.assert_array_equal(counts, count_boxed(pairs, answered, protocol, aspect).counts)
    summary = count_boxed(pairs, answered, protocol, aspect, explain=True)
    np.testing.assert_array_equal(summary.counts, counts)
    assert summary.outcomes == {outcome: found.outcome.tolist().count(outcome) for outcome in MatchOutcome}
    assert (summary.n_unseen, summary.setting) == (found.n_unseen, pairs.setting)

    both = official.doubled(truth)
    assert sorted(found.truth_row[found.truth_row >= 0]) == list(range(len(both)))  # each truth once
    seen = found.prediction_row[found.prediction_row >= 0]
    assert len(set(seen)) == len(seen) == len(said) - found.n_unseen
    for i, (t, p) in enumerate(zip(found.truth_row, found.prediction_row, strict=True)):
        assert found.truth[i] == (both[t].label(aspect) if t >= 0 else ABSENT)
        assert found.answer[i] == (said[p].label(aspect) if p >= 0 else SILENT)
        if t >= 0 and p >= 0:
            assert official.fits(said[p], both[t], 0.5)
    lone_truths = found.truth_row[found.prediction_row < 0]
    lone_answers = found.prediction_row[found.truth_row < 0]
    if protocol is not Protocol.OFFICIAL:  # there the group decides too
        assert not any(official.fits(said[p], both[t], 0.5) for p in lone_answers for t in lone_truths)


X, Y, Z = (0.0, 0.0, 0.5, 0.5), (0.5, 0.5, 1.0, 1.0), (0.5, 0.0, 1.0, 0.5)
NEAR, NEARER = (0.0, 0.0, 0.5, 0.3), (0.0, 0.0, 0.5, 0.4)


def within(box_a: official.Box, box_b: official.Box, label: int) -> Row:
    return Row("i", "i", box_a, box_b, label, label)


@pytest.mark.parametrize(
    ("truth", "said", "expected"),
    [
        ([within(X, Y, 1)], [within(X, Y, 1), within(Y, X, 2)], {End.CORRECT: 2}),  # both directions
        ([within(X, Y, 1)], [within(X, Y, 1)], {End.CORRECT: 1, End.MISSED_OBJECT: 1}),  # one direction
        ([within(X, Y, 1)], [within(X, Y, 2), within(Y, X, 2)], {End.WRONG_PREDICATE: 1, End.CORRECT: 1}),
        ([within(X, Y, 1)], [within(X, Z, 1)], {End.SPURIOUS_PAIR: 1, End.MISSED_OBJECT: 2}),  # wrong box
        (
            [within(X, Y, 3)],
            [within(X, Y, 3)] * 2 + [within(Y, X, 3)],
            {End.CORRECT: 2, End.SPURIOUS_PAIR: 1},
        ),  # said twice
        ([within(X, Y, -1)], [within(X, Y, 1)], {End.UNDECIDED: 2}),  # no majority
        ([within(X, Y, 1)], [within(X, Y, -1)], {End.WRONG_PREDICATE: 1, End.MISSED_OBJECT: 1}),  # silent
    ],
)
def test_outcomes(truth: list[Row], said: list[Row], expected: dict[MatchOutcome, int]) -> None:
    for protocol in Protocol:
        found = match_boxed(*boxed_pairs(frame(truth), frame(said)), protocol, "depth")
        assert Counter(MatchOutcome(code) for code in found.outcome) == expected


def test_the_first_free_truth_is_taken_not_the_best() -> None:
    truth, said = [within(NEAR, Y, 1), within(X, Y, 1)], [within(NEARER, Y, 1), within(NEAR, Y, 1)]
    found = match_boxed(*boxed_pairs(frame(truth), frame(said)), Protocol.OFFICIAL, "depth")
    assert found.truth_row[:2].tolist() == [0, 1]
    found = match_boxed(*boxed_pairs(frame(truth[::-1]), frame(said)), Protocol.OFFICIAL, "depth")
    assert found.truth_row[:2].tolist() == [0, 1]


def test_silence_takes_nobody_elses_place() -> None:
    pairs = boxed_pairs(frame([within(X, Y, -1)]), frame([within(X, Y, -1), within(X, Y, 1)]))
    assert not count_boxed(*pairs, Protocol.DEFAULT, "depth").counts.any()


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_iou_is_equal_to_the_last_bit(edges: list[float]) -> None:
    (x0, x1, x2, x3), (y0, y1, y2, y3) = sorted(edges[:4]), sorted(edges[4:])
    p, q = (x0, y0, x2, y2), (x1, y1, x3, y3)
    assume(official.area(p) > 0 and official.area(q) > 0)
    exact = official.iou(p, q)
    pairs = boxed_pairs(frame([within(p, p, 1)]), frame([within(q, p, 1)]))
    for threshold, hit in ((exact, False), (math.nextafter(exact, -1), True)):
        found = match_boxed(*pairs, Protocol.DEFAULT, "depth", threshold=threshold)
        assert (int(found.outcome[0]) == End.CORRECT) is hit


@pytest.mark.parametrize("attribute", ["vertical", "horizontal", "area"])
@settings(deadline=None)  # the first example compiles
@given(truth=truths, said=predictions, first=st.sampled_from([0.0, 0.25, 0.3]), second=st.sampled_from([0.3, 1.0]))
def test_window_looks_at_ordered_pairs(
    attribute: str, truth: list[Row], said: list[Row], first: float, second: float
) -> None:
    def value(box: official.Box) -> float:
        if attribute == "area":
            return official.area(box)
        return (box[1] + box[3]) / 2 if attribute == "vertical" else (box[0] + box[2]) / 2

    def keep(row: Row) -> bool:
        return first <= value(row.box_a) < 0.6 and 0.0 <= value(row.box_b) < second

    window = BoxWindow(BoxRange(attribute, first, 0.6), BoxRange(attribute, 0.0, second))  # type: ignore[arg-type]
    pairs, answered = boxed_pairs(frame(truth), frame(said))
    found = match_boxed(pairs, answered, Protocol.OFFICIAL, "depth", window=window)
    counts = count_boxed(pairs, answered, Protocol.OFFICIAL, "depth", window=window).counts
    assert by_images(pairs, found, counts) == official.score(truth, said, "depth", keep=keep)


@settings(deadline=None)
@given(
    truth=rows(st.integers(-1, 3), "ab", 8, classes="xy"),
    said=rows(st.integers(0, 3), "ab", 12, classes="xy"),
    threshold=st.sampled_from([0.0, 0.5, 0.8]),
    aspect=st.sampled_from(ASPECTS),
)
def test_overlap_and_classes_are_those_of_the_authors_evaluator(
    truth: list[Row], said: list[Row], threshold: float, aspect: Aspect
) -> None:
    pairs, answered = boxed_blocks([frame(truth, classes=True)], [frame(said, classes=True)], classes=True)
    for classes in (True, False):
        how = {"threshold": threshold, "classes": classes}
        found = match_boxed(pairs, answered, Protocol.OFFICIAL, aspect, **how)  # type: ignore[arg-type]
        counts = count_boxed(pairs, answered, Protocol.OFFICIAL, aspect, **how).counts  # type: ignore[arg-type]
        assert by_images(pairs, found, counts) == official.score(
            truth, said, aspect, threshold, check_entity=classes
        )


def test_a_range_for_one_box_only_leaves_the_other_alone() -> None:
    low, high = np.array([[0, 0, 1, 0.2]]), np.array([[0, 0.8, 1, 1.0]])
    upper = BoxRange("vertical", 0.0, 0.5)
    assert BoxWindow(first=upper).keeps(low, high).tolist() == [True]
    assert BoxWindow(second=upper).keeps(low, high).tolist() == [False]
    assert BoxWindow().keeps(low, high).tolist() == [True]


def test_groups_keep_file_order_and_forget_strangers() -> None:
    def row(a: str, b: str) -> Row:
        return Row(a, b, X, Y, 1, 1)

    truth, said = [row("a", "b"), row("c", "c"), row("b", "a")], [row("b", "a"), row("d", "d"), row("a", "b")]
    pairs = boxed_pairs(frame(truth), frame(said))
    merged = group_by_images(*pairs, directed=False)
    assert len(merged.clusters) == len(merged.cluster) == 2
    assert sort_rows(merged.truth, 2).order.tolist() == [0, 2, 1]
    assert merged.prediction.tolist() == [0, -1, 0]
    assert sort_rows(merged.prediction, 2).order.tolist() == [0, 2]
    assert sort_rows(merged.prediction, 2).start.tolist() == [0, 2, 2]
    apart = group_by_images(*pairs, directed=True)
    assert len(apart.clusters) == 2
    assert apart.cluster.tolist() == [0, 1, 0]
    assert sort_rows(apart.prediction, 3).order.tolist() == [2, 0]


@settings(deadline=None)
@given(truths, predictions, st.integers(1, 5))
def test_arrays_do_not_depend_on_the_blocks(truth: list[Row], said: list[Row], size: int) -> None:
    def parts(rows: list[Row]) -> Iterator[pl.DataFrame]:
        return (frame(rows[start : start + size]) for start in range(0, len(rows), size))

    whole, piecewise = boxed_pairs(frame(truth), frame(said)), boxed_blocks(parts(truth), parts(said))
    names = [row.image_a for row in truth] + [row.image_b for row in truth]
    assert piecewise[0].images[: len(set(names))].tolist() == list(dict.fromkeys(names))
    for one, other, rows in zip(whole, piecewise, (truth, said), strict=True):
        assert other.images[other.image_a].tolist() == [row.image_a for row in rows]
        assert other.images[other.image_b].tolist() == [row.image_b for row in rows]
        for name in ("boxes_a", "boxes_b", "depth", "occlusion"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert getattr(other, name).dtype == getattr(one, name).dtype


def test_take_picks_rows() -> None:
    pairs, _ = boxed_pairs(frame([within(X, Y, 1), within(X, Z, 2)]), frame([]))
    assert pairs.take(np.array([False, True])).depth.tolist() == [2]


@pytest.mark.parametrize("protocol", Protocol)
def test_nothing_true_or_nothing_said(protocol: Protocol) -> None:
    nothing_true = boxed_pairs(frame([]), frame([within(X, Y, 1)]))
    assert match_boxed(*nothing_true, protocol, "depth").n_unseen == 1
    assert count_boxed(*nothing_true, protocol, "depth").counts.shape == (0, 4, 3)
    nothing_said = boxed_pairs(frame([within(X, Y, 1)]), frame([]))
    assert count_boxed(*nothing_said, protocol, "depth").counts.tolist() == [
        [[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    ]
    assert count_boxed(*boxed_pairs(frame([]), frame([])), protocol, "depth").counts.shape == (0, 4, 3)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("window", "precision", "recall"),
    [
        (None, (1, 1, 0.5, 0, 0.75, 1, 0, 1, 0.5, 0.75), (0.5, 0.5, 0.5, 0, 0.5, 0.5, 0, 1, 0.5, 0.5)),
        (
            BoxWindow(BoxRange("vertical", 0, 0.5), BoxRange("vertical", 0, 0.5)),
            (0, 0, 0.5, 0, 0.5, 0, 0, 0, 0.5, 0.5),
            (0, 0, 1, 0, 0.5, 0, 0, 0, 0.5, 0.5),
        ),  # upper half
    ],
)
def test_evaluator_case(
    real_data: Path, window: BoxWindow | None, precision: tuple[float, ...], recall: tuple[float, ...]
) -> None:
    folder = real_data / "2.5vrd" / "evaluator_case"
    pairs = boxed_pairs(
        read_scoring_truth(folder / "objects.csv", folder / "vrd.csv"), read_predictions(folder / "prediction.csv")
    )
    scores = np.concatenate(
        [
            rates(
                count_boxed(*pairs, Protocol.OFFICIAL, aspect, window=window).counts.sum(axis=0),
                protocol=Protocol.OFFICIAL,
                aspect=aspect,
                setting="across_images",
            )
            for aspect in ("occlusion", "depth")
        ]
    )
    np.testing.assert_array_equal(scores[:, 0], precision)
    np.testing.assert_array_equal(scores[:, 1], recall)


@pytest.mark.realdata
@pytest.mark.parametrize(("setting", "reach"), [("within_image", 2), ("across_images", 1)])
def test_perfect_answers_on_the_validation_set(real_data: Path, setting: str, reach: int) -> None:
    truth = read_scoring_truth(
        real_data / "2.5vrd" / f"{setting}_objects_validation.csv",
        real_data / "2.5vrd" / f"{setting}_vrd_validation.csv",
    )
    pairs, written = boxed_pairs(truth, truth.filter(pl.col("depth") >= 0))
    swap = np.array([0, 2, 1, 3], dtype=np.int8)
    said = BoxedPairs(
        images=written.images,
        image_a=np.concatenate([written.image_a, written.image_b]),
        image_b=np.concatenate([written.image_b, written.image_a]),
        boxes_a=np.concatenate([written.boxes_a, written.boxes_b]),
        boxes_b=np.concatenate([written.boxes_b, written.boxes_a]),
        depth=np.concatenate([written.depth, swap[written.depth]]),
        occlusion=np.concatenate([written.occlusion, written.occlusion]),
    )
    everything = {
        protocol: rates(
            count_boxed(pairs, said, protocol, "depth").counts.sum(axis=0),
            protocol=protocol,
            aspect="depth",
            setting=pairs.setting,
        )[4].tolist()
        for protocol in Protocol
    }
    assert everything[Protocol.DEFAULT] == everything[Protocol.PAPER] == [1.0, 1.0, 1.0]
    # No-majority pairs are missed, and across images nobody looks at the reversed rows.
    assert everything[Protocol.OFFICIAL][:2] == [1.0, reach * len(written) / (2 * len(pairs))]
