"""Who stands with whom: sets of shapes drawn as declared, and context worlds that differ in nothing else."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2_contingency, norm

from sightline.errors import DataError
from sightline.worlds import World, arrange, load_world
from sightline.worlds.company import ShapeSets, shape_sets
from sightline.worlds.placement import _deck

SPLITS = ("train", "unbiased", "reversed")


def chances(sets: ShapeSets) -> dict[tuple[int, ...], float]:
    rows = [tuple(row) for row in sets.members.tolist()]
    return dict(zip(rows, np.diff(sets.steps, prepend=0.0).tolist(), strict=True))


def presence(sets: ShapeSets, shapes: int) -> list[float]:
    """How likely each shape is in the set, summed over all sets."""
    return [sum(p for members, p in chances(sets).items() if shape in members) for shape in range(shapes)]


@pytest.mark.parametrize("kinds", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("weights", [[1.0] * 6, [0.2, 1, 1, 2, 3, 7]])
def test_factors_change_the_company_and_not_how_often_a_shape_is_there(kinds: int, weights: list[float]) -> None:
    plain = shape_sets(weights, kinds, {})
    for factor in (0.01, 0.5, 30.0):
        biased = shape_sets(weights, kinds, {(0, 1): factor, (1, 4): 2.0})
        np.testing.assert_allclose(presence(biased, 6), presence(plain, 6), atol=1e-8)
        assert biased.steps[-1] == pytest.approx(1.0)


def test_without_factors_a_set_is_as_likely_as_the_product_of_its_weights() -> None:
    weights = [1.0, 2.0, 3.0, 5.0]
    products = {pair: weights[pair[0]] * weights[pair[1]] for pair in combinations(range(4), 2)}
    whole = sum(products.values())
    assert chances(shape_sets(weights, 2, {})) == pytest.approx({pair: p / whole for pair, p in products.items()})


def test_companions_are_as_much_likelier_as_declared() -> None:
    """The cross ratio of four sets that share their other members is free of all weights."""
    p = chances(shape_sets([1, 2, 3, 4, 5], 3, {(0, 1): 12.0, (2, 3): 0.5}))
    for other in (4,):
        together = p[0, 1, other] * p[2, 3, other]
        assert together / (p[0, 2, other] * p[1, 3, other]) == pytest.approx(12.0 * 0.5, rel=1e-6)


def test_draws_follow_the_distribution() -> None:
    sets = shape_sets([1, 2, 3, 4], 2, {(0, 1): 5.0})
    drawn = Counter(tuple(sets.draw(u)) for u in (np.arange(20_000) + 0.5) / 20_000)
    assert {k: n / 20_000 for k, n in drawn.items()} == pytest.approx(chances(sets), abs=1e-4)


def scene(world: World, rng: np.random.Generator) -> list[str]:
    low, high = world.objects
    return _deck(world).company(world, low + int(rng.random() * (high - low + 1)), rng)


@pytest.fixture(scope="module")
def scenes() -> dict[str, list[list[str]]]:
    """Shapes of 5,000 scenes of each context world, before they have places."""
    worlds = {split: load_world(f"context/{split}") for split in SPLITS}
    return {
        split: [scene(world, np.random.default_rng([9, i, k])) for i in range(5000)]
        for k, (split, world) in enumerate(worlds.items())
    }


COUNTS = {
    "number of objects": lambda shapes: [len(shapes)],
    "number of different shapes": lambda shapes: [len(set(shapes))],
    "scenes with each shape": lambda shapes: sorted(set(shapes)),
    "objects of each shape": lambda shapes: shapes,
    "largest number alike": lambda shapes: [max(Counter(shapes).values())],
    "shape that comes first": lambda shapes: shapes[:1],
}


@pytest.mark.parametrize("what", COUNTS)
def test_context_splits_agree_in_everything_but_company(what: str, scenes: dict[str, list[list[str]]]) -> None:
    counted = [Counter(v for shapes in scenes[split] for v in COUNTS[what](shapes)) for split in SPLITS]
    values = sorted(set().union(*counted))
    table = [[counts[value] for value in values] for counts in counted]
    assert chi2_contingency(table).pvalue > 0.001


def test_context_splits_repeat_a_shape_equally_often(scenes: dict[str, list[list[str]]]) -> None:
    repeats = {split: np.mean([len(set(s)) < len(s) for s in scenes[split]]) for split in SPLITS}
    declared = 1 - (1 / 4 + 1 / 4 / 2)  # three objects are of three shapes; of four, half of the time of four
    for split, rate in repeats.items():
        z = (rate - declared) / np.sqrt(declared * (1 - declared) / 5000)
        assert 2 * norm.sf(abs(z)) > 0.001, (split, rate)


def company(scenes: list[list[str]]) -> float:
    """NC of companions (Figure 6): the share of scenes with a shape that have a companion of it too, on average."""
    groups = load_world("context").settings["cooccurrence"]["together"]
    pairs = [(a, b) for group in groups for a in group for b in group if a != b]
    having = {a: [set(shapes) for shapes in scenes if a in shapes] for group in groups for a in group}
    return float(np.mean([np.mean([b in shapes for shapes in having[a]]) for a, b in pairs]))


def test_normalised_cooccurrence_within_a_set_is_as_told(scenes: dict[str, list[list[str]]]) -> None:
    assert {split: company(scenes[split]) for split in SPLITS} == pytest.approx(
        {"train": 0.805, "unbiased": 0.227, "reversed": 0.046}, abs=0.015
    )


def test_single_scenes_have_one_shape_and_train_has_none_such(scenes: dict[str, list[list[str]]]) -> None:
    world = load_world("context/single")
    shapes = [[o.shape.partition(":")[0] for o in arrange(world, 0, i).objects] for i in range(120)]
    assert {len(set(names)) for names in shapes} == {1}
    assert {len(names) for names in shapes} == {1, 2}
    assert {names[0] for names in shapes} == {name for name, _ in load_world("context").shapes}
    assert min(len(set(names)) for names in scenes["train"]) == 3


def test_context_splits_differ_in_company(scenes: dict[str, list[list[str]]]) -> None:
    groups = load_world("context").settings["cooccurrence"]["together"]
    home = {shape: g for g, group in enumerate(groups) for shape in group}
    shares = {}
    for split in SPLITS:
        pairs = [pair for shapes in scenes[split] for pair in combinations(set(shapes), 2)]
        shares[split] = np.mean([home[a] == home[b] for a, b in pairs])
    assert shares["train"] > 0.6
    assert shares["unbiased"] == pytest.approx(2 / 11, abs=0.01)  # two companions among the eleven other shapes
    assert shares["reversed"] < 0.05


@pytest.mark.parametrize("split", SPLITS)
def test_a_layout_holds_the_shapes_that_were_drawn(split: str) -> None:
    """However often it was begun anew for want of room: else large shapes would be rarer in large company."""
    world = load_world(f"context/{split}")
    for index in range(100):
        rng = np.random.default_rng(np.random.SeedSequence([0, index, *_stream(world)]))
        assert scene(world, rng) == [o.shape.partition(":")[0] for o in arrange(world, 0, index).objects]


def _stream(world: World) -> tuple[int, ...]:
    from sightline.worlds.arrangement import _words

    return _words(world.stream)


def test_kinds_alone(tmp_path: Path) -> None:
    file = tmp_path / "few.yaml"
    file.write_text("shapes: {cube: 3, mug: 1, can: 1, donut: 1}\nkinds: [1, 2]\nobjects: [2, 5]\n")
    layouts = [arrange(load_world(file), 0, i) for i in range(60)]
    kinds = Counter(len({o.shape.partition(":")[0] for o in layout.objects}) for layout in layouts)
    assert set(kinds) == {1, 2}
    assert min(kinds.values()) > 15


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("kinds: [4, 5]", "kinds", "only 3 different shapes"),
        ("kinds: [2, 1]", "kinds", "fewest"),
        ("cooccurrence: {pairs: {cube: {cube: 3}}}", "cooccurrence.pairs.cube.cube", "no companion of itself"),
        ("stream: -1", "stream", "whole number ≥ 0"),
        ("stream: ''", "stream", "a text"),
        ("stream: [1]", "stream", "whole number"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, text: str, field: str, words: str) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(f"shapes: [cube, mug, can]\n{text}\n")
    with pytest.raises(DataError, match=words) as caught:
        load_world(file)
    assert caught.value.field == field


def test_more_sets_than_can_be_listed_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("extends: geospa/invented\nkinds: [2, 6]\n")
    with pytest.raises(DataError, match=r"more than 100,000 sets of 6 out of 49 shapes"):
        load_world(file)
