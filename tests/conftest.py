"""Shared fixtures: where the real data is, and small datasets made on the spot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data: SIGHTLINE_DATA, else ../shared/data beside the checkout; skips where absent."""
    folder = Path(os.environ.get("SIGHTLINE_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("real data is not here (set SIGHTLINE_DATA)")
    return folder


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small simulated 2.5VRD-like label set, as CSV files."""
    from sightline.exams.relations import simulate

    folder = tmp_path_factory.mktemp("simulated")
    simulate(folder, images=40, seed=3)
    return folder


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six small GeoSpa scenes from two cameras, with two canonical views of every object."""
    from sightline.generate import generate

    folder = tmp_path_factory.mktemp("generated") / "d"
    generate("geospa/train", folder, scenes=6, views=["original", "top"], seed=5, size=(96, 64), canonical=2)
    return folder
