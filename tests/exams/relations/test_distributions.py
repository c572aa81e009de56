from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exams.relations.pair_tables import make_table, random_table
from sightline.exams.relations.distributions import (
    class_frequency,
    class_pair_frequency,
    labels_by_class,
    labels_by_class_pair,
)

SWAP = {0: 0, 1: 2, 2: 1, 3: 3, -1: -1}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["depth", "occlusion"]))
def test_label_counts_equal_a_plain_count(seed, aspect):
    table = random_table(seed)
    by_class, by_pair = Counter(), Counter()
    for a, b, label in zip(table.first, table.second, getattr(table, aspect).tolist(), strict=True):
        first, second = (table.categories[table.category[x]] for x in (a, b))
        for one, two, code in ((first, second, label), (second, first, SWAP[label])):
            by_class[(one,), code] += 1
            by_pair[(one, two), code] += 1
    for found, expected in (
        (labels_by_class(table, aspect), by_class),
        (labels_by_class_pair(table, aspect), by_pair),
    ):
        counted = {
            (name, column if column < 4 else -1): int(n)
            for name, row in zip(found.names, found.counts, strict=True)
            for column, n in enumerate(row)
            if n
        }
        assert counted == dict(expected)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_frequencies_equal_a_plain_count(seed):
    table = random_table(seed)
    names = [table.categories[c] for c in table.category]
    objects = Counter((n,) for n in names)
    pairs = Counter(tuple(sorted((names[a], names[b]))) for a, b in zip(table.first, table.second, strict=True))
    for found, expected in ((class_frequency(table), objects), (class_pair_frequency(table), pairs)):
        assert dict(zip(found.names, found.counts.tolist(), strict=True)) == dict(expected)
        assert found.counts.tolist() == sorted(expected.values(), reverse=True)
        assert (found.total, found.distinct) == (sum(expected.values()), len(expected))


def test_frequency_keeps_the_commonest():
    table = make_table([(0, 1)], [1], scene_of=[0, 0, 0], classes=["a", "b", "b"])
    assert class_frequency(table, top=1).to_dict() == {
        "total": 3,
        "distinct": 2,
        "rows": [{"classes": ["b"], "count": 2}],
    }


def _three_classes():
    """cup is closer than wall twice, closer than sky once and farther once; sky and wall are at the same depth."""
    return make_table(
        [(0, 1), (1, 0), (0, 2), (0, 2), (1, 2)],
        [1, 2, 1, 2, 3],
        scene_of=[0, 0, 0],
        classes=["cup", "wall", "sky"],
    )


def test_top_is_ordered_by_share_and_needs_support():
    found = labels_by_class(_three_classes())
    bars = found.top("closer", k=2, support=1)
    assert [bar.name for bar in bars] == [("cup",), ("sky",)]
    np.testing.assert_allclose(bars[0].shares, [0, 0.75, 0.25, 0, 0])
    assert [bar.name for bar in found.top("closer", support=4)] == [("cup",)]
    assert found.top("closer", support=99) == ()


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("closer", [("cup", "wall"), ("cup", "sky")]),  # directed: the order of the names matters
        ("farther", [("wall", "cup"), ("cup", "sky")]),  # directed, the other way
        ("same", [("sky", "wall")]),  # undirected: each class pair once, none without the label
    ],
)
def test_top_pairs(label, names):
    found = labels_by_class_pair(_three_classes())
    assert [bar.name for bar in found.top(label, k=2, support=1)] == names


def test_to_dict_names_every_label():
    found = labels_by_class(_three_classes()).to_dict(k=1, support=1)
    assert list(found) == ["unsure", "closer", "farther", "same", "no_majority"]
    assert found["closer"][0] == {
        "classes": ["cup"],
        "support": 4,
        "shares": {"unsure": 0.0, "closer": 0.75, "farther": 0.25, "same": 0.0, "no_majority": 0.0},
    }
