"""Batches: orders that show every example once an epoch; worker processes make the very batches this one would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.training.batches import made_ahead, shuffled, warm_up
from sightline.training.sornet.layouts import PlacedScenes, item_of, items
from sightline.worlds import World


@settings(max_examples=50, deadline=None)
@given(size=st.integers(1, 9), count=st.integers(1, 12), seed=st.integers(0, 5))
def test_every_scene_once_an_epoch(size: int, count: int, seed: int) -> None:
    batches = [shuffled(number, size, count, seed) for number in range(-(-3 * count // size))]
    assert {len(batch) for batch in batches} == {size}
    rows = np.concatenate(batches)
    for epoch in range(3):
        assert sorted(rows[epoch * count : (epoch + 1) * count].tolist()) == list(range(count))


def test_orders_differ() -> None:
    one, two = shuffled(0, 50, 50, 0), shuffled(1, 50, 50, 0)
    assert not np.array_equal(one, two)
    assert not np.array_equal(one, shuffled(0, 50, 50, 1))
    assert np.array_equal(one, shuffled(0, 50, 50, 0))


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_in_order(workers: int, world: World) -> None:
    stream = PlacedScenes(world, ("original",), seed=1, size=2, batches=8)
    warm_up(item_of, (stream, 0), workers)
    made = list(items(stream, 1, 7, workers))  # more than are ever in the making
    assert [batch.first for batch in made] == [2, 4, 6, 8, 10, 12]
    for number, batch in enumerate(made, start=1):
        assert np.array_equal(batch.labels, stream[number].labels)
        assert np.array_equal(batch.facts, stream[number].facts)


def test_payloads_are_taken_as_they_are_needed() -> None:
    made = made_ahead(abs, iter(range(-5, 10**9)), workers=0)
    assert [next(made) for _ in range(3)] == [5, 4, 3]


def test_processes_go_on_after_a_reader_that_stopped() -> None:
    first = made_ahead(abs, iter(range(-5, 100)), workers=1)
    assert next(first) == 5
    first.close()
    assert list(made_ahead(abs, [-3, -2], workers=1)) == [3, 2]


def test_what_fails_in_a_worker_is_raised_here() -> None:
    with pytest.raises(TypeError, match="bad operand"):
        list(made_ahead(abs, ["x"], workers=1))
