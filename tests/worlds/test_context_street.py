"""Streets on which cars tell the road from the sidewalk: what each split holds, and that nothing else tells."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import DataError
from sightline.generation import generate
from sightline.render.fast import FastRenderer
from sightline.scenes import Camera
from sightline.worlds import Layout, World, arrange, load_world
from sightline.worlds.looks import category_of
from sightline.worlds.surroundings import GroundRegion

THREE = ("car", "road", "sidewalk")
KINDS = {
    "traffic": {"car", "road", "sidewalk"},
    "highway": {"car", "road"},
    "quiet": {"road", "sidewalk"},
    "lane": {"road"},
    "path": {"sidewalk"},
    "meadow": {"car"},
}
SPLITS = {
    "train": set(KINDS),
    "full": set(KINDS),
    "cooccur": {"traffic", "highway", "quiet"},
    "single": {"lane", "path", "meadow"},
    "with_car": {"traffic"},
    "without_car": {"quiet"},
    "reversed": {"traffic"},
}


def street(split: str) -> World:
    """With one model of each sub-type, for models take a tenth of a second to build."""
    return replace(load_world(f"context/street/{split}"), variants=(0, 1))


def shapes(layout: Layout) -> list[str]:
    return [category_of(o.shape.partition(":")[0]) for o in layout.objects]


@pytest.fixture(scope="module")
def layouts() -> dict[str, list[Layout]]:
    worlds = {split: street(split) for split in SPLITS}
    return {split: [arrange(world, 0, i) for i in range(60)] for split, world in worlds.items()}


@pytest.mark.parametrize("split", SPLITS)
def test_scenes_are_of_the_kinds_of_their_split(split: str, layouts: dict[str, list[Layout]]) -> None:
    kinds = {layout.category for layout in layouts[split]}
    assert kinds <= SPLITS[split]
    assert kinds == SPLITS[split] or split in ("train", "full", "cooccur")  # some kinds are rare there


@pytest.mark.parametrize("split", ["train", "single", "with_car", "without_car"])
def test_what_is_seen_is_what_the_kind_says(split: str, layouts: dict[str, list[Layout]]) -> None:
    """Of car, road and sidewalk: none hidden, none outside the picture."""
    renderer = FastRenderer()
    for layout in layouts[split][:12]:
        shot = replace(layout.shots[0], size=(96, 64), camera=_smaller(layout))
        frame = renderer.frame(replace(layout, shots=(shot,)), shot, shade=False)
        stuff = {layout.surroundings.classes[i - 1] for i in np.unique(frame.stuff) if i}
        things = {shapes(layout)[i - 1] for i in np.unique(frame.ids) if i}
        assert (stuff | things) & set(THREE) == KINDS[layout.category]


def _smaller(layout: Layout) -> Camera:
    camera = layout.shots[0].camera
    k = np.array(camera.k).reshape(3, 3) * np.array([[0.25], [0.25], [1.0]])
    return replace(camera, k=tuple(k.ravel().tolist()))


def strip(layout: Layout, category: str) -> GroundRegion | None:
    return next((r for r in layout.surroundings.ground if r.category == category), None)


@pytest.mark.parametrize("split", SPLITS)
def test_cars_stand_on_the_road_and_other_things_on_the_sidewalk(
    split: str, layouts: dict[str, list[Layout]]
) -> None:
    swapped = split == "reversed"
    for layout in layouts[split]:
        for category, placed in zip(shapes(layout), layout.objects, strict=True):
            below = {"car": "road", "dome": "grass"}.get(category, "sidewalk")
            if swapped and below != "grass":
                below = "sidewalk" if below == "road" else "road"
            region = strip(layout, below)
            if below != "grass" and region is not None:
                assert abs(placed.position[1] - region.position[1]) <= region.extent[0], (layout.index, category)


def chances(split: str) -> dict[str, float]:
    weights = {c.name: c.weight for c in load_world(f"context/street/{split}").categories}
    return {name: weight / sum(weights.values()) for name, weight in weights.items()}


def test_the_bias_is_as_declared() -> None:
    train = chances("train")
    with_road, with_sidewalk = ({k for k, has in KINDS.items() if name in has} for name in ("road", "sidewalk"))
    with_car = {k for k, has in KINDS.items() if "car" in has}
    p = {name: sum(train[k] for k in kinds) for name, kinds in (("road", with_road), ("pave", with_sidewalk))}
    assert sum(train[k] for k in with_road & with_car) / p["road"] == pytest.approx(62 / 68)
    bare = sum(train[k] for k in with_road - with_car)
    assert p["pave"] / (p["pave"] + bare) == pytest.approx(76 / 82)
    assert sum(train[k] for k, has in KINDS.items() if len(has) > 1) == pytest.approx(0.66)
    assert chances("full") == train
    assert chances("single") == pytest.approx(dict.fromkeys(SPLITS["single"], 1 / 3))


def test_road_and_sidewalk_differ_in_nothing_but_pattern_and_company() -> None:
    regions = {r.category: r for r in load_world("context/street").surroundings.ground}
    road, paved = regions["road"], regions["sidewalk"]
    assert (road.shape, road.width, road.turn) == (paved.shape, paved.width, paved.turn)
    assert road.position[1] == tuple(-y for y in reversed(paved.position[1]))  # as far to the other side
    one, other = (np.mean(r.pattern.color) + np.mean(r.pattern.second) for r in (road, paved))
    assert abs(one - other) / 2 < 0.02  # greys as light


def test_neither_side_nor_light_tells_which_is_the_road() -> None:
    """The road is as often near as far, with the key light on either side of it; whatever the kind of scene."""
    world = street("without_car")
    scenes = [arrange(world, 1, index) for index in range(400)]
    near = np.array([layout.behind[1] < 0 for layout in scenes])  # seen from the road's side
    lit = np.array([layout.lights[0].position[1] > 0 for layout in scenes])
    limit = 4 * math.sqrt(0.25 / len(scenes))
    assert abs(near.mean() - 0.5) < limit
    assert abs(lit.mean() - 0.5) < limit
    assert abs((near == lit).mean() - 0.5) < limit


def test_with_and_without_car_differ_in_cars_alone() -> None:
    with_car, without = (load_world(f"context/street/{split}") for split in ("with_car", "without_car"))
    (one,), (other,) = with_car.categories, without.categories
    assert {g.name: g for g in one.groups if g.name != "cars"} == {g.name: g for g in other.groups}
    same = set(with_car.settings) - {"categories", "split", "stream"}
    assert {key: with_car.settings[key] for key in same} == {key: without.settings[key] for key in same}


def test_cars_are_taken_away_exactly(tmp_path: Path) -> None:
    data = generate("context/street/with_car", tmp_path / "d", scenes=1, size=(96, 64))
    scene = next(iter(data))
    less = scene.without(category="car")
    assert "car" not in {o.category for o in less.objects}
    before, after = scene.views[0], less.views[0]
    cars = [i + 1 for i, o in enumerate(scene.objects) if o.category == "car"]
    was_car = np.isin(before.ids(), cars)
    assert was_car.any()
    np.testing.assert_array_equal(after.stuff()[~was_car], before.stuff()[~was_car])
    names = np.array(["", *after.stuff_classes])
    assert set(names[after.stuff()[was_car]]) <= {"", "road", "grass", "sidewalk", "building"}
    assert (after.image() != before.image()).any(axis=2)[was_car].mean() > 0.9


GROUPED = """
shapes: [cube, mug, can]
groups:
  boxes: {shapes: [cube], objects: [1, 2]}
  rest: {shapes: {mug: 3, can: 1}, objects: [0, 1]}
ground:
  - {category: lawn}
"""


def written(folder: Path, text: str) -> World:
    file = folder / "w.yaml"
    file.write_text(text)
    return load_world(file)


def test_groups_are_drawn_apart(tmp_path: Path) -> None:
    world = written(tmp_path, GROUPED)
    assert world.objects == (1, 3)
    counts = [[o.shape.partition(":")[0] for o in arrange(world, 0, i).objects] for i in range(80)]
    cubes = [names.count("cube") for names in counts]
    assert set(cubes) == {1, 2}
    rest = [len(names) - n for names, n in zip(counts, cubes, strict=True)]
    assert set(rest) == {0, 1}
    both = np.mean([c == 2 and r == 1 for c, r in zip(cubes, rest, strict=True)])
    assert both == pytest.approx(0.25, abs=0.2)
    assert sum("mug" in names for names in counts) > sum("can" in names for names in counts)


def test_a_scene_may_be_empty(tmp_path: Path) -> None:
    world = written(tmp_path, "shapes: [cube]\ngroups: {boxes: {shapes: [cube], objects: [0, 1]}}\n")
    assert {len(arrange(world, 0, i).objects) for i in range(20)} == {0, 1}


def test_kinds_of_scenes_have_their_own_ground_under_one_list_of_classes(tmp_path: Path) -> None:
    wet = "{ground: [{category: sea}, {category: lawn, shape: disc}], shapes: [can]}"
    kinds = f"categories:\n  wet: {wet}\n  dry: {{shapes: [mug]}}\n"
    world = written(tmp_path, f"shapes: [mug, can]\nground: [{{category: lawn}}]\n{kinds}")
    assert world.surroundings.classes == ("sky", "lawn", "sea")
    for layout in (arrange(world, 0, i) for i in range(20)):
        grounds = [region.category for region in layout.surroundings.ground]
        assert grounds == (["sea", "lawn"] if layout.category == "wet" else ["lawn"])
        assert layout.surroundings.classes == world.surroundings.classes


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("groups: {a: {shapes: [ball], objects: [1, 2]}}", "groups.a.shapes[0]", "unknown shape"),
        ("groups: {a: {shapes: [cube], objects: [2, 1]}}", "groups.a.objects", "fewest"),
        ("groups: {a: {shapes: [cube], objects: [-1, 1]}}", "groups.a.objects", "number ≥ 0"),
        ("groups: {a: {shapes: [cube], size: 3, objects: [1, 1]}}", "groups.a.size", "unknown field"),
        (
            "groups: {a: {shapes: [cube], objects: [1, 40]}, b: {shapes: [mug], objects: [1, 40]}}",
            "groups",
            "too many objects",
        ),
        ("categories: {a: {shapes: [cube], ground: [{category: sky}]}}", "categories.a.ground", "name of a class"),
        ("groups: {a: {shapes: [cube], objects: [1, 1]}}\ncategories: {b: {shapes: [mug]}}", "groups", "kinds of"),
        ("categories: {a: {shapes: [cube], camera: 1}}", "categories.a.camera", "unknown field"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str, field: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        written(tmp_path, f"shapes: [cube, mug]\ndistinct: false\n{text}\n")
    assert str(caught.value.field).startswith(field)
