"""Partners of scenes: which object is closer to the camera of its own picture, and where nobody could tell."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import examine
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.relations.pairs import pair_table
from sightline.generation import generate, run
from sightline.render.fast import FastRenderer
from sightline.render.truth import across_label
from sightline.scenes.labels import Depth
from sightline.store import Dataset, check_tables
from sightline.worlds import arrange, load_world

WORLD = """
shapes: [cube, mug, can, cube_container]
objects: [2, 4]
cameras: {original: {azimuth: [0, 360], elevation: [20, 60], distance: [7, 20], field_of_view: [40, 45]}}
splits: {test: {}}
"""

LABELS = [
    # depth and focal length of one, of the other, label of the first
    ((10.0, 2.0), (11.0, 2.0), "closer"),
    ((11.0, 2.0), (10.0, 2.0), "farther"),
    ((10.0, 2.0), (10.4, 2.0), "unsure"),  # 4 %
    ((10.0, 2.0), (10.0, 2.0), "unsure"),  # of two places nothing is the same
    ((10.0, 1.0), (15.0, 2.0), "unsure"),  # seems to be 7.5 away
    ((10.0, 2.0), (15.0, 1.0), "closer"),  # seems to be 30 away
    ((10.0, 1.0), (30.0, 2.0), "closer"),  # seems to be 15 away
    ((10.0, 1.0), (10.0, 2.0), "unsure"),  # seems to be nearer, and is not
]


@pytest.mark.parametrize(("one", "other", "word"), LABELS)
def test_labels(one: tuple[float, float], other: tuple[float, float], word: str) -> None:
    assert across_label(*one, *other).word == word


depths, lenses = st.floats(0.1, 100.0), st.floats(0.2, 5.0)


@given(depths, lenses, depths, lenses)
def test_the_swapped_pair_has_the_swapped_label(a: float, f: float, b: float, g: float) -> None:
    assert across_label(a, f, b, g) == across_label(b, g, a, f).reverse
    told = across_label(a, f, b, g)
    if told is not Depth.UNSURE:
        assert told is (Depth.CLOSER if a < b else Depth.FARTHER)  # never against the truth
        assert across_label(a, 1.0, b, 1.0) is told  # lenses that differ make no pair surer


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pairs") / "pairs.yaml"
    file.write_text(WORLD)
    return file


SAME = {"size": (120, 80), "image_format": None, "pairs": True}


@pytest.fixture(scope="module")
def data(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return generate(world, tmp_path_factory.mktemp("d") / "d", scenes=9, **SAME)


def test_partners_are_neighbours_and_all_they_show_is_compared(data: Dataset, world: Path) -> None:
    scenes, renderer, seen = list(data), FastRenderer(), []
    made = replace(load_world(world), resolution=SAME["size"])
    for index, scene in enumerate(scenes):
        across = {(r.subject, r.object): r for r in scene.relations if r.object_scene is not None}
        layout = arrange(made, 0, index)
        shot = layout.shots[0]
        frame = renderer.frame(layout, shot, shade=False)
        seen.append(
            {
                str(i): ((frame.ids == i + 1).sum() / frame.amodal[i].sum(), frame.mean_depth[i], shot.camera.k[0])
                for i in range(len(layout.objects))
                if (frame.ids == i + 1).any()
            }
        )
        assert set(across) == (set(product(seen[index], seen[index - 1])) if index % 2 else set())
        assert {(r.object_scene, r.aspect, r.view) for r in across.values()} <= {
            (scenes[index - 1].id, "depth", "original")
        }
        for (a, b), relation in across.items():
            (share, z, f), (other_share, other_z, g) = seen[index][a], seen[index - 1][b]
            true, seeming = other_z / z, (other_z / g) / (z / f)
            sure = min(share, other_share) >= 0.1
            closer, farther = (
                sure and min(true, seeming) > math.exp(0.05),
                sure and max(true, seeming) < math.exp(-0.05),
            )
            assert relation.predicate == ("closer" if closer else "farther" if farther else "unsure")
    words = {r.predicate for scene in scenes for r in scene.relations if r.object_scene}
    assert words == {"closer", "farther", "unsure"}


def test_shards_and_later_scenes_change_nothing(
    data: Dataset, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SCENES_PER_SHARD", 3)  # partners in different shards
    generate(world, tmp_path / "cut", scenes=5, **SAME)
    assert generate(world, tmp_path / "cut", scenes=9, **SAME).fingerprint == data.fingerprint
    assert check_tables(data.tables()) == []


def test_a_scene_whose_partner_is_not_there_has_none(world: Path, tmp_path: Path) -> None:
    one = generate(world, tmp_path / "odd", scenes=1, start=1, **SAME)
    assert not [r for scene in one for r in scene.relations if r.object_scene]
    plain = generate(world, tmp_path / "plain", scenes=2, **{**SAME, "pairs": False})
    assert not [r for scene in plain for r in scene.relations if r.object_scene]


def test_the_relations_exam_asks_across_pictures(data: Dataset, tmp_path: Path) -> None:
    table = pair_table(data.tables(), "across_images", "test")
    assert len(table.clusters) == 4
    assert len(table.first) == sum(r.object_scene is not None for scene in data for r in scene.relations)
    exam = RelationsExam(split="test", train_split="")
    results = examine("bottom_edge", data, exam, out=tmp_path / "runs", baselines=False)
    assert "across_images" in str(results)
