"""Placed scenes carry the labels and facts of their layouts, and are the same whenever they are asked for."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from sightline.errors import ConfigError
from sightline.scenes.labels import PREDICATES
from sightline.training.sornet.layouts import FACTS, LENGTHS, PlacedBatch, PlacedScenes, identities_of, object_facts
from sightline.worlds import World, arrange, load_world, relations, solid
from sightline.worlds.layout import Layout

SEED, FIRST, SIZE = 7, 20, 4
BOTH = ("original", "top")


@pytest.fixture(scope="module")
def stream(world: World) -> PlacedScenes:
    return PlacedScenes(world, BOTH, seed=SEED, size=SIZE, batches=3, first=FIRST)


@pytest.fixture(scope="module")
def batch(stream: PlacedScenes) -> PlacedBatch:
    return stream[1]


@pytest.fixture(scope="module")
def layouts(world: World) -> list[Layout]:
    return [arrange(world, SEED, FIRST + SIZE + i) for i in range(SIZE)]


def test_labels_are_the_relations(batch: PlacedBatch, layouts: list[Layout]) -> None:
    for labels, layout in zip(batch.labels, layouts, strict=True):
        told = {(int(i), PREDICATES[p], int(j)) for i, j, p in zip(*np.nonzero(labels), strict=True)}
        assert told == set(relations(layout))
        assert len(told) > len(layout.objects)


def test_identities_are_those_of_the_objects(
    stream: PlacedScenes, batch: PlacedBatch, layouts: list[Layout]
) -> None:
    for identities, layout in zip(batch.identities, layouts, strict=True):
        for identity, thing in zip(identities, layout.objects, strict=False):
            assert stream.identities[identity] == (thing.shape, thing.color, thing.material)


def test_every_look_stands_once(world: World) -> None:
    identities = identities_of(world)
    assert len(set(identities)) == len(identities) == len(world.solids()) * len(world.colors) * len(world.materials)


def test_facts_are_those_of_the_layout(batch: PlacedBatch, layouts: list[Layout]) -> None:
    for facts, layout in zip(batch.facts, layouts, strict=True):
        for i, thing in enumerate(layout.objects):
            made, told = solid(thing.shape), dict(zip(FACTS, facts[i].tolist(), strict=True))
            assert told["left"] == pytest.approx(np.dot(layout.left, thing.position[:2]), abs=1e-6)
            assert told["behind"] == pytest.approx(np.dot(layout.behind, thing.position[:2]), abs=1e-6)
            assert told["base"] == pytest.approx(thing.position[2], abs=1e-6)
            assert (told["long"], told["short"]) == pytest.approx((max(made.outline.half), min(made.outline.half)))
            assert told["height"] == pytest.approx(made.height)
            assert told["cavity_depth"] == pytest.approx(made.cavity.depth if made.cavity else 0.0)
            assert (told["cavity_long"] >= told["cavity_short"] > 0) == (made.cavity is not None)
            assert told["contained"] == (thing.how == "contained")
            assert told["supported"] == (thing.how == "supported")
            held = [other.how for other in layout.objects if other.parent == i]
            assert told["containing"] == ("contained" in held)
            assert told["supporting"] == ("supported" in held)
    assert batch.facts[..., LENGTHS:].any(axis=(0, 1)).all(), "none of the four is ever so"


def test_order_of_facts_follows_labels(batch: PlacedBatch) -> None:
    """Who is more to the left in the facts is left of the other."""
    left = batch.facts[..., 0]
    for s, i, j in zip(*np.nonzero(batch.labels[..., PREDICATES.index("left")]), strict=True):
        assert left[s, i] > left[s, j]


def test_places_without_an_object_are_empty(batch: PlacedBatch, layouts: list[Layout], world: World) -> None:
    assert batch.present.shape == (SIZE, world.objects[1])
    assert batch.present.sum(axis=1).tolist() == [len(layout.objects) for layout in layouts]
    gone = ~batch.present
    assert gone.any()
    assert not batch.identities[gone].any()
    assert not batch.facts[gone].any()
    assert not batch.labels[gone].any()
    assert not batch.labels.swapaxes(1, 2)[gone].any()


def test_room_for_more_objects(world: World) -> None:
    wide = PlacedScenes(world, BOTH, seed=SEED, size=1, batches=1, most=9)[0]
    assert wide.labels.shape == (1, 9, 9, 8)
    assert wide.facts.shape == (1, 9, len(FACTS))


def test_same_again_from_another_process(stream: PlacedScenes, batch: PlacedBatch) -> None:
    again = pickle.loads(pickle.dumps(stream))[1]
    assert again.first == batch.first == FIRST + SIZE
    for name in ("identities", "present", "labels", "facts"):
        assert np.array_equal(getattr(again, name), getattr(batch, name))
    for one, other in zip(again.views, batch.views, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_batches_go_on_where_the_last_one_ended(world: World, stream: PlacedScenes) -> None:
    whole = PlacedScenes(world, BOTH, seed=SEED, size=2 * SIZE, batches=1, first=FIRST)[0]
    assert np.array_equal(whole.labels, np.concatenate([stream[0].labels, stream[1].labels]))
    assert not np.array_equal(stream[0].facts, stream[1].facts)


def test_only_so_many_batches(stream: PlacedScenes) -> None:
    assert len(stream) == 3
    for number in (3, -1):
        with pytest.raises(IndexError):
            stream[number]


@pytest.mark.parametrize(
    ("views", "problem"),
    [
        (("original", "below"), "no view 'below'; it has original"),  # unknown
        ((), "no view '\\(none given\\)'"),  # none
    ],
)
def test_views_the_world_does_not_have(world: World, views: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        PlacedScenes(world, views, seed=0, size=1, batches=1)


@pytest.mark.parametrize(
    ("crowded", "alike", "fine"),
    [
        (0.0, 1.0, True),
        (0.7, 0.3, True),  # all of them
        (-0.1, 0.0, False),
        (0.5, -0.1, False),
        (1.1, 0.0, False),
        (0.6, 0.5, False),  # together more than all
        (float("nan"), 0.0, False),
    ],
)
def test_shares_of_the_scenes(world: World, crowded: float, alike: float, fine: bool) -> None:
    refused = pytest.raises(ConfigError, match=f"crowded {crowded} and alike {alike} must be shares")
    with nullcontext() if fine else refused:
        PlacedScenes(world, BOTH, seed=0, size=1, batches=1, crowded=crowded, alike=alike)


def test_facts_of_a_layout_stand_in_order(layouts: list[Layout], batch: PlacedBatch) -> None:
    assert np.array_equal(object_facts(layouts[0]), batch.facts[0, : len(layouts[0].objects)])


def test_crowded_scenes_have_one_or_two_colours_of_the_world() -> None:
    world = load_world("geospa/train")
    plain = PlacedScenes(world, ("original",), seed=3, size=4, batches=8)
    crowded = PlacedScenes(world, ("original",), seed=3, size=4, batches=8, crowded=0.5)
    counts = [len({o.color for o in crowded.layout(i).objects}) for i in range(32)]
    changed = [crowded.layout(i) != plain.layout(i) for i in range(32)]
    assert 8 <= sum(changed) <= 24
    assert all(count <= 2 for count, other in zip(counts, changed, strict=True) if other)
    assert {o.color for i in range(32) for o in crowded.layout(i).objects} <= set(world.colors)
    identities = [{(o.shape, o.color, o.material) for o in crowded.layout(i).objects} for i in range(32)]
    assert [len(seen) for seen in identities] == [
        len(crowded.layout(i).objects) for i in range(32)
    ]  # still told apart
    assert (
        crowded[2].identities
        == PlacedScenes(world, ("original",), seed=3, size=4, batches=8, crowded=0.5)[2].identities
    ).all()


def test_scenes_of_look_alikes_have_neighbours_of_the_list_in_one_material() -> None:
    world = load_world("geospa/alike")
    names = [shape for shape, _ in world.shapes]
    plain, alike = (PlacedScenes(world, ("original",), seed=3, size=4, batches=8, alike=s) for s in (0.0, 0.5))
    changed = [i for i in range(32) if alike.layout(i) != plain.layout(i)]
    assert 8 <= len(changed) <= 24
    for i in changed:
        objects = alike.layout(i).objects
        assert len({o.material for o in objects}) == 1
        assert len({o.color for o in objects}) <= 2
        places = [names.index(o.shape.partition(":")[0]) for o in objects]
        assert min(max((p - q) % len(names) for p in places) for q in places) <= 3
        assert len({(o.shape, o.color) for o in objects}) == len(objects)


def test_where_look_alikes_would_be_too_few_all_materials_stay() -> None:
    world = load_world("geospa/train")
    few = replace(world, shapes=world.shapes[:2], sizes=("medium",), materials=("metal", "rubber"), objects=(4, 4))
    scenes = PlacedScenes(few, ("original",), seed=3, size=1, batches=1, alike=1.0)
    for i in range(8):
        objects = scenes.layout(i).objects
        assert len({(o.shape, o.color, o.material) for o in objects}) == 4
        assert len({o.material for o in objects}) == (2 if len({o.color for o in objects}) == 1 else 1)
