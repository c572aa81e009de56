"""Sources: scenes of a world drawn as they should be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from sightline.render.canonical import canonical_views
from sightline.render.fast import FastRenderer
from sightline.training.sornet.layouts import PlacedScenes, identities_of, object_facts
from sightline.training.sornet.sources import WorldSource
from sightline.worlds import World, arrange


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
    source = WorldSource(PlacedScenes(few, ("top",), seed=5, size=2, batches=1, first=3, most=8), canonical=1)
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
    identities = identities_of(red_world)
    assert scenes.identities is not None
    for s, q in zip(*np.nonzero(loaded.present), strict=True):
        identity = identities[int(scenes.identities[s, q])]
        views = canonical_views([identity], count=2, seed=drawn.stream.seed, world=red_world)[0]
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
