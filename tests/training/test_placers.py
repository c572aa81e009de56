"""Worker processes place the very batches this process would, in order."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.training.placing import PlacedScenes
from sightline.training.workers import placers
from sightline.worlds import World


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_in_order(workers: int, world: World) -> None:
    stream = PlacedScenes(world, ("original",), seed=1, size=2, batches=8)
    made = list(placers(workers).batches(stream, 1, 7))  # more than are ever in the making
    assert [batch.first for batch in made] == [2, 4, 6, 8, 10, 12]
    for number, batch in enumerate(made, start=1):
        assert np.array_equal(batch.labels, stream[number].labels)
        assert np.array_equal(batch.facts, stream[number].facts)


def test_started_once() -> None:
    assert placers(0) is placers(0)
