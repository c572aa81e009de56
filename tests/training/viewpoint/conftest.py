"""A world of small pictures of three CAD models: a car, a square table, a bottle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sightline.models.nets import viewpoint
from sightline.training.viewpoint.placed import ViewStream
from sightline.training.viewpoint.plan import CLASSES
from sightline.training.viewpoint.views import DrawnViews
from sightline.worlds import World, load_world

SHAPES = ("cad/car/sedan", "cad/diningtable/square", "cad/bottle/beer")
MINI = {"widths": (8, 16, 16, 24), "depths": (1, 1, 1, 1), "neck": 16, "hidden": 32, "bins": 8, "side": 96}


@pytest.fixture(autouse=True)
def mini_viewnet(monkeypatch: pytest.MonkeyPatch) -> None:
    """``tiny`` is smaller still."""
    monkeypatch.setattr(viewpoint, "SIZES", {**viewpoint.SIZES, "tiny": MINI})


@pytest.fixture(scope="session")
def cad_world() -> World:
    shapes = tuple((shape, 1.0) for shape in SHAPES)
    return replace(load_world("cad/train"), shapes=shapes, variants=(0, 2), resolution=(96, 64))


@pytest.fixture(scope="session")
def cad_views(cad_world: World) -> DrawnViews:
    """Four batches of six views."""
    return DrawnViews(ViewStream(cad_world, CLASSES, seed=3, size=6, batches=4))
