"""A small dataset, made once."""

from __future__ import annotations

import pytest

from sightline.generation import generate
from sightline.store import Dataset

SIZE = (96, 64)
VIEWS = ["original", "top"]
WORLD = "geospa/train"


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Six scenes, two views each, made in one go in this process."""
    return generate(WORLD, tmp_path_factory.mktemp("small") / "d", scenes=6, views=VIEWS, seed=5, size=SIZE)
