"""The rules themselves; counts and rates against loops over the definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import official, other_protocols
from sightline.exams.relations import protocols
from sightline.exams.relations.protocols import Aspect, Protocol, pool, rates, slots, tally
from sightline.skills import Setting

BOX = (0.0, 0.0, 1.0, 1.0)
WITHIN, ACROSS = "within_image", "across_images"

judgement = st.tuples(st.integers(-2, 3), st.integers(-1, 3), st.integers(0, 2))
judgements = st.lists(judgement, max_size=30)


def count(rows: list[tuple[int, int, int]], protocol: Protocol, aspect: Aspect, setting: Setting) -> np.ndarray:
    truth, answer, cluster = (np.array(column, dtype=np.int8) for column in zip(*rows, strict=True))
    return tally(truth, answer, cluster, 3, protocol=protocol, aspect=aspect, setting=setting)


def by_hand(truth: int, answer: int, protocol: Protocol, counted: set[int]) -> np.ndarray:
    """One judgement, straight from the page."""
    counts = np.zeros((4, 3), dtype=np.int64)
    if protocol is Protocol.PAPER:
        truth, answer = truth if truth in counted else -2, answer if answer in counted else -1
    if protocol is Protocol.DEFAULT and truth == -1:
        return counts
    if truth >= 0 and truth == answer:
        counts[truth, 0] = 1
        return counts
    if answer >= 0:
        counts[answer, 1] = 1
    if truth >= 0:
        counts[truth, 2] = 1
    if truth == -1 and protocol is Protocol.OFFICIAL:
        counts[3, 2] = 1
    return counts


@pytest.mark.parametrize("block", [1, 7, 29, 30, 31])
def test_counting_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    rows = [(truth, answer, (truth + answer) % 3) for truth, answer in product(range(-2, 4), range(-1, 4))]
    whole = count(rows, Protocol.OFFICIAL, "depth", WITHIN)
    monkeypatch.setattr(protocols, "_BLOCK", block)
    np.testing.assert_array_equal(count(rows, Protocol.OFFICIAL, "depth", WITHIN), whole)


@pytest.mark.parametrize("protocol", Protocol)
@pytest.mark.parametrize(
    ("aspect", "setting", "counted"),
    [
        ("depth", WITHIN, {1, 2, 3}),
        ("depth", ACROSS, {1, 2}),
        ("occlusion", WITHIN, {0, 1, 2, 3}),
        ("occlusion", ACROSS, {0, 1, 2, 3}),
    ],
)
def test_every_combination_of_truth_and_answer(
    protocol: Protocol, aspect: Aspect, setting: Setting, counted: set[int]
) -> None:
    for truth, answer in product(range(-2, 4), range(-1, 4)):
        counts = count([(truth, answer, 1)], protocol, aspect, setting)
        np.testing.assert_array_equal(counts[1], by_hand(truth, answer, protocol, counted), f"{truth}, {answer}")
        assert not counts[[0, 2]].any()


@given(judgements.filter(bool), st.sampled_from(Protocol))
def test_counts_add_up_by_cluster(rows: list[tuple[int, int, int]], protocol: Protocol) -> None:
    counts = count(rows, protocol, "depth", WITHIN)
    for cluster in range(3):
        alone = [by_hand(t, a, protocol, {1, 2, 3}) for t, a, c in rows if c == cluster]
        np.testing.assert_array_equal(counts[cluster], np.sum(alone, axis=0) if alone else np.zeros((4, 3)))


def test_nothing_to_count() -> None:
    none = np.zeros(0, dtype=np.int8)
    counts = tally(none, none, none, 2, protocol=Protocol.DEFAULT, aspect="depth", setting=WITHIN)
    assert counts.shape == (2, 4, 3)
    assert not counts.any()


counts_4x3 = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3).map(tuple), min_size=4, max_size=4)


@given(st.lists(counts_4x3, min_size=1, max_size=3))
def test_rates_are_the_formula_for_every_leading_index(many: list[list[tuple[int, int, int]]]) -> None:
    zero = rates(np.array(many), protocol=Protocol.OFFICIAL, aspect="depth", setting=WITHIN)
    ours = rates(np.array(many), protocol=Protocol.DEFAULT, aspect="depth", setting=WITHIN)
    paper = rates(np.array(many), protocol=Protocol.PAPER, aspect="depth", setting=ACROSS)
    for i, counts in enumerate(many):
        one = {("", ""): [list(row) for row in counts]}
        np.testing.assert_array_equal(zero[i], official.table(one))
        np.testing.assert_array_equal(ours[i], other_protocols.table(one, {0, 1, 2, 3}))
        np.testing.assert_array_equal(paper[i], other_protocols.table(one, {1, 2}))


def test_a_label_never_said_scores_zero_not_nothing() -> None:
    counts = np.array([[0, 0, 0], [2, 0, 0], [0, 0, 5], [0, 3, 0]])
    scores = rates(counts, protocol=Protocol.DEFAULT, aspect="depth", setting=WITHIN)
    np.testing.assert_array_equal(scores[:4], [[np.nan] * 3, [1, 1, 1], [np.nan, 0, 0], [0, np.nan, 0]])


@pytest.mark.parametrize(
    ("protocol", "aspect", "setting", "expected"),
    [
        (Protocol.PAPER, "depth", "within_image", (1, 2, 3)),
        (Protocol.PAPER, "depth", "across_images", (1, 2)),
        (Protocol.PAPER, "occlusion", "within_image", (0, 1, 2, 3)),  # "none" included
        (Protocol.PAPER, "occlusion", "across_images", (0, 1, 2, 3)),  # not in the paper, still a row
        (Protocol.DEFAULT, "depth", "within_image", (0, 1, 2, 3)),
        (Protocol.OFFICIAL, "depth", "across_images", (0, 1, 2, 3)),
    ],
)
def test_pool(protocol: Protocol, aspect: Aspect, setting: Setting, expected: tuple[int, ...]) -> None:
    assert pool(protocol, aspect, setting) == expected


def test_a_protocol_is_named_by_its_word() -> None:
    assert Protocol("official") is Protocol.OFFICIAL
    with pytest.raises(ValueError, match="'offical' is not a valid Protocol"):
        Protocol("offical")


@pytest.mark.parametrize("protocol", Protocol)
def test_tables_cannot_be_changed(protocol: Protocol) -> None:
    table = slots(protocol, "depth", "within_image")
    for one in (table.answer, table.truth):
        with pytest.raises(ValueError, match="read-only"):
            one[0] = 1
