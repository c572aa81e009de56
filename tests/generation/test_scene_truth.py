"""The truth of generated scenes against casting rays at triangles and judging pairs from poses and meshes alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reference import scene_truth
from reference.check_truth import Tally, compare_labels, compare_pixels, from_anywhere, named
from sightline.generation import scene_from
from sightline.render.fast import FastRenderer
from sightline.render.sensor import taken
from sightline.scenes import Scene
from sightline.worlds import Layout, arrange, load_world
from sightline.worlds.layout import Sensor

SIZE = (48, 32)


@pytest.mark.parametrize(
    ("name", "scenes"),
    [
        ("geospa/train", 2),
        ("geospa/val_op", 1),
        ("geospa/invented", 2),
        ("context/train", 1),
        ("cad/train", 2),
        ("context/street/train", 2),
        ("kitchen", 1),
        ("kitchen, drawn camera", 3),
        ("street", 2),
        ("street, painted", 2),
        ("room", 1),
        ("room, painted", 2),
    ],
)
def test_ids_depth_stuff_masks_and_labels_are_what_an_independent_program_finds(name: str, scenes: int) -> None:
    world, painted = named(name)
    tally = Tally()
    for index in range(scenes):
        compare_pixels(world, 3, index, SIZE, tally, painted=painted)
        if not painted:
            compare_labels(world, 3, index, tally)
    assert tally.wrong_pixels == tally.wrong_judgements == 0, tally
    assert tally.differing <= 1, tally
    assert tally.pixels >= scenes * SIZE[0] * SIZE[1]
    assert painted or tally.undecided <= 0.02 * tally.judgements


@pytest.mark.parametrize(
    "name", ["geospa/train", "context/train", "kitchen, drawn camera", "street", "room", "context/street/train"]
)
def test_stuff_and_things_cover_every_picture(name: str) -> None:
    """From all cameras; with objects taken away, and through a lens that bends."""
    renderer, lens = FastRenderer(), Sensor(distortion=0.3)
    for index in range(2):
        layout = arrange(replace(named(name)[0], resolution=SIZE), 4, index)
        less = layout.without(*range(0, len(layout.objects), 2))
        frames = [*renderer.frames(layout, shade=False), *renderer.frames(less, shade=False)]
        for frame in (*frames, *(taken(frame, lens) for frame in frames)):
            np.testing.assert_array_equal(frame.stuff == 0, frame.ids > 0, name)
            np.testing.assert_array_equal(frame.stuff == 1, np.isnan(frame.depth), name)
            assert frame.stuff.max() <= len(layout.surroundings.classes)
        assert layout.surroundings.classes[0] == "sky"


@pytest.fixture(scope="module")
def street() -> tuple[Layout, Scene]:
    layout = arrange(replace(load_world("street"), resolution=SIZE), 0, 0)
    return layout, scene_from(layout, FastRenderer().frames(layout, ["original"], shade=False))


@pytest.mark.parametrize("map_name", ["ids", "depth", "stuff", "amodal"])
def test_a_wrong_pixel_would_be_found(street: tuple[Layout, Scene], map_name: str) -> None:
    layout, scene = street
    [view] = scene.views
    truth = getattr(view, map_name)()
    spoilt = truth.copy()
    inner = np.argwhere(view.stuff() == view.stuff_classes.index("road") + 1)
    y, x = inner[len(inner) // 2]
    spoilt[..., y, x] = {"depth": truth[..., y, x] * 1.001, "stuff": 1}.get(map_name, 1)
    wrong = replace(view, **{f"load_{map_name}": lambda: spoilt})
    assert scene_truth.wrong_pixels(scene, view, layout.surroundings) == (0, 0)
    assert scene_truth.wrong_pixels(scene, wrong, layout.surroundings) == (1, 1)


def test_what_stands_where_is_found_without_being_told() -> None:
    world, found = load_world("geospa/train"), set()
    for index in range(8):
        layout = arrange(replace(world, resolution=(8, 8)), 1, index)
        scene = scene_from(layout, FastRenderer().frames(layout, ["original"], shade=False))
        standings = scene_truth.standings(scene)
        assert [(s.how, s.parent) for s in standings] == [(o.how, o.parent) for o in layout.objects]
        found |= {s.how for s in standings}
    assert found == {"independent", "contained", "supported"}


def test_a_wrong_label_would_be_found() -> None:
    layout = arrange(replace(load_world("kitchen"), resolution=(8, 8)), 0, 0)
    scene = scene_from(layout, FastRenderer().frames(layout, ["original"], shade=False))
    held = {(s, p, o): holds for s, p, o, holds in scene_truth.judgements(scene, containment=True)}
    turned = from_anywhere(load_world("kitchen"))  # another camera sees left and right otherwise
    other = arrange(replace(turned, resolution=(8, 8)), 5, 0)
    swapped = replace(scene, views=(replace(scene.views[0], camera=other.shots[0].camera),))
    seen = {(s, p, o): holds for s, p, o, holds in scene_truth.judgements(swapped, containment=True)}
    changed = {key[1] for key in held if held[key] != seen[key]}
    assert changed
    assert changed <= {"left", "right", "front", "behind"}
