"""Canonical views drawn on a card are those of the CPU; made small by torch they are those made by numpy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.render.canonical import SIZE, canonical_layouts, canonical_views, shrunk
from sightline.render.fast import FastRenderer, Settings
from sightline.render.fast.pack import Packed, Pool, packed
from sightline.training.sornet import layouts
from sightline.training.sornet.layouts import CanonicalStream, identities_of
from sightline.training.sornet.pictures import canonical_bank, cpu_bank, small_outlines, small_views
from sightline.worlds import World, solid
from sightline.worlds.layout import Layout

COUNT, SEED = 2, 5


@pytest.fixture(scope="module")
def few_objects(world: World) -> World:
    """Six objects."""
    return replace(world, shapes=world.shapes[:3], colors=("cyan",), materials=("metal",), distinct=False)


class Pictures(NamedTuple):
    image: NDArray[np.uint8]
    ids: NDArray[np.int32]


class FakeCard:
    """Draws packed views on the CPU: it knows the layout of each by camera and body."""

    def __init__(self, world: World) -> None:
        self._pool = Pool(solid)
        self._pool.know(world.solids())
        self._known: dict[bytes, Layout] = {}
        for identity in identities_of(world):
            for layout in canonical_layouts(identity, world, count=COUNT, seed=SEED):
                [alone] = packed(self._pool, [layout], ["canonical"], Settings().map_half)
                self._known[_key(alone, 0)] = layout
        self.sizes: list[int] = []

    def upload(self, views: Packed, there: Any) -> Packed:
        assert callable(there)
        assert views.shapes == self._pool.shapes
        return views

    def pictures(self, views: Packed) -> Pictures:
        self.sizes.append(len(views.cams))
        layouts = [self._known[_key(views, i)] for i in range(len(views.cams))]
        frames = [FastRenderer().frame(layout, layout.shots[0]) for layout in layouts]
        return Pictures(
            np.stack([f.image for f in frames if f.image is not None]), np.stack([f.ids for f in frames])
        )


def _key(views: Packed, i: int) -> bytes:
    return b"".join(part[i].tobytes() for part in (views.cams, views.bodies, views.env))


@pytest.mark.parametrize("workers", [0, 1])
def test_the_card_draws_the_same_bank(workers: int, few_objects: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "AT_ONCE", 9)  # four objects at once: six are one batch and a half
    card: Any = FakeCard(few_objects)
    rows: dict[str, list[tuple[int, int]]] = {"card": [], "cpu": []}
    found = canonical_bank(
        few_objects,
        card,
        count=COUNT,
        seed=SEED,
        workers=workers,
        device="cpu",
        on_bank=lambda *row: rows["card"].append(row),
    )
    assert card.sizes == [8, 8]
    drawn = cpu_bank(
        few_objects, FastRenderer(), count=COUNT, seed=SEED, on_bank=lambda *row: rows["cpu"].append(row)
    )
    views = canonical_views(identities_of(few_objects), count=COUNT, seed=SEED, world=few_objects)
    assert np.array_equal(found.views.numpy(), views)
    assert torch.equal(found.views, drawn.views)
    assert torch.equal(found.outlines, drawn.outlines)
    assert found.outlines.shape == (6, COUNT, SIZE, SIZE)
    shares = (found.outlines.double() / 255).mean(dim=(1, 2, 3))
    assert ((shares > 0.05) & (shares < 0.9)).all()
    assert rows == {"card": [(8, 12), (12, 12)], "cpu": [(done, 12) for done in range(1, 13)]}


@pytest.mark.parametrize(
    ("count", "each", "batches"),
    [
        (32, 8, 1),
        (100, 2, 3),
        (300, 1, 6),  # one object has more than are drawn at once
    ],
)
def test_batches_of_looks(count: int, each: int, batches: int, few_objects: World) -> None:
    identities = CanonicalStream(few_objects, count=count, seed=0)
    assert (identities.each, len(identities)) == (each, batches)
    assert len(identities[batches - 1].cams) == each * count
    for number in (-1, batches):
        with pytest.raises(IndexError):
            identities[number]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), low=st.integers(0, 255), span=st.integers(0, 255))
@example(seed=0, low=0, span=1)
@example(seed=0, low=0, span=10)  # dark: where light is in proportion to bytes, means fall halfway between two
@example(seed=0, low=4, span=1)
def test_views_made_small(seed: int, low: int, span: int) -> None:
    draw = np.random.default_rng(seed)
    images = draw.integers(low, min(256, low + span + 1), (2, 4 * SIZE, 4 * SIZE, 3)).astype(np.uint8)
    found = small_views(torch.from_numpy(images)).numpy()
    assert np.array_equal(found, np.stack([shrunk(image) for image in images]))


def test_plain_views_stay_as_they_are() -> None:
    plain = torch.arange(256, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, 4 * SIZE, 4 * SIZE, 3)
    assert torch.equal(small_views(plain), plain[:, :SIZE, :SIZE])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.0, 1.0))
def test_outlines_made_small(seed: int, share: float) -> None:
    ids = (np.random.default_rng(seed).random((1, 4 * SIZE, 4 * SIZE)) < share).astype(np.int32)
    found = small_outlines(torch.from_numpy(ids)).numpy()[0]
    for y, x in np.random.default_rng(seed).integers(0, SIZE, (50, 2)).tolist():
        covered = int((ids[0, 4 * y : 4 * y + 4, 4 * x : 4 * x + 4] > 0).sum())
        assert found[y, x] == round(255 * covered / 16)
