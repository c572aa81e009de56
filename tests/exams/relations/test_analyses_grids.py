from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exams.relations.pair_tables import make_table, marks_of, random_marks, random_table
from reference.relation_scores import slow_scores
from sightline.errors import ConfigError
from sightline.exams.relations.analyses import grids
from sightline.plain import plain

EDGES = {"size": [0.0, 0.04, 0.09, 0.2], "vertical": [0.2, 0.5, 0.8], "horizontal": [0.0, 0.4, 0.6, 1.0]}


def _value(attribute, box):
    x0, y0, x1, y1 = box
    return {"size": (x1 - x0) * (y1 - y0), "vertical": (y0 + y1) / 2, "horizontal": (x0 + x1) / 2}[attribute]


def _bin(value, edges):
    return sum(value >= edge for edge in edges[1:-1])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_every_cell_equals_its_pairs_alone(seed):
    depth = random_marks(seed, random_table(seed))["depth"]
    table = depth.pairs
    for grid in grids(depth, edges=EDGES, resamples=20):
        limits = EDGES[grid.attribute]
        bins = [_bin(_value(grid.attribute, box), limits) for box in table.boxes.tolist()]
        for i in range(len(limits) - 1):
            for j in range(len(limits) - 1):
                rows = [r for r in range(len(table)) if (bins[table.first[r]], bins[table.second[r]]) == (i, j)]
                _, recall, f1 = slow_scores(depth, "default", rows)[1]
                assert grid.pairs[i, j] == len(rows)
                np.testing.assert_allclose([grid.f1[i, j], grid.accuracy[i, j]], [f1, recall])


def test_equal_count_bins_hold_equally_many():
    depth = random_marks(3, random_table(3, scenes=60))["depth"]
    grid = grids(depth, attributes=["size"], bins=3, resamples=20)[0]
    assert grid.f1.shape == (3, 3)
    per_row = grid.pairs.sum(axis=1) / grid.pairs.sum()
    np.testing.assert_allclose(per_row, 1 / 3, atol=0.08)


def test_empty_cells_are_nan_and_null():
    table = make_table([(0, 1)], [1], scene_of=[0, 0], boxes=[[0, 0, 0.1, 0.1], [0, 0, 0.1, 0.9]])
    grid = grids(marks_of(table, table.ordered().depth)["depth"], attributes=["vertical"], bins=2)[0]
    assert grid.pairs.tolist() == [[0, 1], [1, 0]]
    assert plain(grid)["f1"] == [[None, 1.0], [None, None]]


def test_one_value_makes_one_bin():
    table = make_table([(0, 1)], [1], scene_of=[0, 0])
    grid = grids(marks_of(table, table.ordered().depth)["depth"], attributes=["size"])[0]
    assert grid.pairs.tolist() == [[2]]


@pytest.mark.parametrize(
    "options",
    [
        {"attributes": ["colour"]},  # unknown attribute
        {"bins": 0},  # no bins
        {"edges": {"size": [0.0, 0.5, 0.5]}},  # edges that do not rise
        {"edges": {"size": [0.0]}},  # a single edge
    ],
)
def test_bad_options(options):
    with pytest.raises(ConfigError):
        grids(random_marks(0, random_table(0))["depth"], **options)
