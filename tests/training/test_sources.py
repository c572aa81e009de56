"""Sources: scenes of a world drawn as they should be, and orders that show every scene once an epoch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.render.canonical import canonical_views
from sightline.render.fast import FastRenderer
from sightline.training.placing import looks_of, object_facts
from sightline.training.sources import WorldSource, ahead, shuffled
from sightline.worlds import World, arrange


@settings(max_examples=50, deadline=None)
@given(size=st.integers(1, 9), count=st.integers(1, 12), seed=st.integers(0, 5))
def test_every_scene_once_an_epoch(size: int, count: int, seed: int) -> None:
    batches = [shuffled(number, size, count, seed) for number in range(-(-3 * count // size))]
    assert {len(batch) for batch in batches} == {size}
    told = np.concatenate(batches)
    for epoch in range(3):
        assert sorted(told[epoch * count : (epoch + 1) * count].tolist()) == list(range(count))


def test_orders_differ() -> None:
    one, two = shuffled(0, 50, 50, 0), shuffled(1, 50, 50, 0)
    assert not np.array_equal(one, two)
    assert not np.array_equal(one, shuffled(0, 50, 50, 1))
    assert np.array_equal(one, shuffled(0, 50, 50, 0))


def test_pictures_are_those_of_the_renderer(drawn: WorldSource, red_world: World) -> None:
    [loaded] = drawn.loader(2, 3)
    scenes = drawn.scenes(loaded, (1,))
    assert scenes.views.shape == (2, 1, 64, 96, 3)
    for i in range(2):
        [frame] = FastRenderer().frames(arrange(red_world, drawn.stream.seed, 4 + i), ["top"])
        assert frame.image is not None
        assert np.array_equal(scenes.views[i, 0].numpy(), frame.image)
        assert scenes.ids is not None
        assert np.array_equal(scenes.ids[i, 0].numpy(), frame.ids[1::2, 1::2])
        assert scenes.ids[i].max() > 0


def test_scenes_from_a_later_one_on(drawn: WorldSource, red_world: World) -> None:
    few = replace(red_world, shapes=red_world.shapes[:1], sizes=("small",))
    source = WorldSource(few, ("top",), batch=2, batches=1, canonical=1, seed=5, first=3, most=8)
    [loaded] = source.loader(0, 1)
    for facts, index in zip(loaded.facts, (3, 4), strict=True):
        expected = object_facts(arrange(few, 5, index))
        assert np.array_equal(facts[: len(expected)], expected)
    assert loaded.present.shape == (2, source.most) == (2, 8)
    assert source.facts() == {"world": few.name, "seed": 5, "scenes": 2, "first": 3}
    assert drawn.facts() == {"world": red_world.name, "seed": drawn.stream.seed, "scenes": 12}


def test_patches_are_canonical_views(drawn: WorldSource, red_world: World) -> None:
    [loaded] = drawn.loader(0, 1)
    scenes = drawn.scenes(loaded, (0, 1))
    looks = looks_of(red_world)
    assert scenes.looks is not None
    for s, q in zip(*np.nonzero(loaded.present), strict=True):
        look = looks[int(scenes.looks[s, q])]
        views = canonical_views([look], count=2, seed=drawn.stream.seed, world=red_world)[0]
        assert any(np.array_equal(scenes.patches[s, q].numpy(), view) for view in views)
    assert not scenes.patches[~scenes.present].any()


def test_patches_vary_and_follow_the_seed(drawn: WorldSource) -> None:
    [loaded] = drawn.loader(0, 1)
    made = []
    for seed in (0, 0, 1, 2, 3):
        torch.manual_seed(seed)
        made.append(drawn.scenes(loaded, (0,)).patches)
    assert torch.equal(made[0], made[1])
    assert not all(torch.equal(made[0], other) for other in made[2:])


def test_made_ahead_in_order() -> None:
    assert list(ahead(range(0, 100, 10), 3, 6, workers=0)) == [30, 40, 50]
