"""A network of a few thousand weights under the name of a size, a world of small pictures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sightline.models.nets import sornet
from sightline.models.nets.sornet import SornetConfig
from sightline.training.sornet.layouts import PlacedScenes
from sightline.training.sornet.sources import WorldSource
from sightline.worlds import World, load_world

SEED = 3


@pytest.fixture(autouse=True)
def mini(monkeypatch: pytest.MonkeyPatch) -> None:
    """``tiny`` is smaller still."""
    monkeypatch.setitem(sornet.SIZES, "tiny", SornetConfig(width=32, depth=1, heads=2, hidden=16))


@pytest.fixture(scope="session")
def world() -> World:
    return replace(load_world("geospa/train"), resolution=(96, 64))


@pytest.fixture(scope="session")
def red_world(world: World) -> World:
    """The same with a quarter of the objects, whose canonical views are soon drawn."""
    return replace(world, colors=("red",), distinct=False)


@pytest.fixture(scope="session")
def drawn(red_world: World) -> WorldSource:
    """Six batches of two scenes, two views each."""
    return WorldSource(PlacedScenes(red_world, ("original", "top"), seed=SEED, size=2, batches=6), canonical=2)
