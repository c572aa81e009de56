from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.exams.relations.pairs import Difficulty, difficulty, majority

CASES = [
    ([0, 5, 0, 0], 1, "easy"),  # all five
    ([0, 0, 0, 5], 3, "easy"),  # same depth is a label like any other
    ([1, 4, 0, 0], 1, "moderate"),  # four of five
    ([0, 1, 3, 1], 2, "difficult"),  # three of five
    ([5, 0, 0, 0], 0, "infeasible"),  # all unsure
    ([3, 2, 0, 0], 0, "infeasible"),  # a bare majority unsure
    ([1, 2, 2, 0], -1, "ambiguous"),  # plurality tie
    ([0, 2, 2, 0], -1, "ambiguous"),  # half is not a majority
    ([0, 3, 0, 0], 1, "easy"),  # three raters, unanimous
    ([0, 3, 1, 0], 1, "difficult"),  # 75 % of four
    ([0, 8, 2, 0], 1, "moderate"),  # 80 % of ten exactly
    ([0, 7, 2, 0], 1, "difficult"),  # 78 % of nine
    ([0, 5, 1, 0], 1, "moderate"),  # 83 % of six
    ([0, 1, 0, 0], 1, "easy"),  # a single rater
]


@pytest.mark.parametrize(("votes", "label", "scale"), CASES)
def test_label_and_difficulty(votes, label, scale):
    assert majority([votes]).tolist() == [label]
    assert Difficulty(difficulty([votes])[0]).word == scale


def test_no_votes_have_no_label_and_no_difficulty():
    assert majority([[0, 0, 0, 0]]).tolist() == [-1]
    assert difficulty([[0, 0, 0, 0]]).tolist() == [-1]


def test_empty():
    assert majority(np.zeros((0, 4))).shape == (0,)
    assert difficulty(np.zeros((0, 4))).shape == (0,)


@given(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=10))
def test_majority_is_more_than_half_of_the_raters(raters):
    votes = [[raters.count(code) for code in range(4)]]
    winner, times = Counter(raters).most_common(1)[0]
    assert majority(votes)[0] == (winner if times > len(raters) / 2 else -1)


@given(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=10))
def test_difficulty_does_not_depend_on_the_direction(raters):
    votes = np.array([[raters.count(code) for code in range(4)]])
    assert difficulty(votes) == difficulty(votes[:, [0, 2, 1, 3]])
