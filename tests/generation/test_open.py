"""Generated datasets through the front door: scenes with an object taken away."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sightline
from sightline.errors import DataError
from sightline.generation import generate, scene_from
from sightline.render.fast import FastRenderer
from sightline.scenes import Scene, validate
from sightline.store import Dataset
from sightline.worlds import arrange, load_world
from sightline.worlds.layout import Layout

SIZE, VIEWS, WORLD = (96, 64), ["original", "top"], "geospa/train"


def _layout(index: int) -> Layout:
    return arrange(replace(load_world(WORLD), resolution=SIZE), 5, index)


def _expected(layout: Layout, *gone: int) -> Scene:
    """The counterfactual rendered anew, in full."""
    reduced = layout.without(*gone)
    names = [str(i) for i in range(len(layout.objects)) if i not in gone]
    tolerance = load_world(WORLD).depth_tolerance
    return scene_from(reduced, FastRenderer().frames(reduced, VIEWS), names=names, tolerance=tolerance)


def test_without_is_a_render_of_the_layout_without(small: Dataset) -> None:
    scene = sightline.open(small.path).scene(f"{WORLD}/5/{2:08d}")
    layout = _layout(2)
    for gone in range(len(layout.objects)):
        found, expected = validate(scene.without(str(gone))), _expected(layout, gone)
        assert found.id == f"{scene.id}/without/{gone}"
        assert replace(found, id=expected.id) == expected
        assert [o.id for o in found.objects] == [o.id for o in scene.objects if o.id != str(gone)]
        for view, rendered in zip(found.views, expected.views, strict=True):
            np.testing.assert_array_equal(view.image(), rendered.image())
            np.testing.assert_array_equal(view.ids(), rendered.ids())
            np.testing.assert_array_equal(view.amodal(), rendered.amodal())
            np.testing.assert_array_equal(view.normals(), rendered.normals())
            np.testing.assert_allclose(view.depth(), rendered.depth(), atol=0.00051)  # whole millimetres, as stored
            assert view.image() is view.image()  # rendered once


def test_several_are_taken_away_at_once(small: Dataset) -> None:
    scene, layout = sightline.open(small.path).scene(f"{WORLD}/5/{2:08d}"), _layout(2)
    category = scene.objects[0].category
    of_category = [i for i, o in enumerate(scene.objects) if o.category == category]
    for found, gone in (
        (scene.without("2", "0"), [0, 2]),
        (scene.without(category=category), of_category),
        (scene.without("1", category=category), sorted({1, *of_category})),
        (scene.without(*(o.id for o in scene.objects)), [*range(len(scene.objects))]),
    ):
        expected = _expected(layout, *gone)
        assert found.id == f"{scene.id}/without/{'+'.join(map(str, gone))}"
        assert replace(validate(found), id=expected.id) == expected
        for view, rendered in zip(found.views, expected.views, strict=True):
            np.testing.assert_array_equal(view.image(), rendered.image())
            np.testing.assert_array_equal(view.ids(), rendered.ids())


def test_more_is_taken_away_one_after_the_other(small: Dataset) -> None:
    scene = next(iter(sightline.open(small.path)))
    at_once, twice = scene.without("0", "2"), scene.without("2").without("0")
    assert twice.id == at_once.id
    assert twice == at_once
    np.testing.assert_array_equal(twice.views[0].image(), at_once.views[0].image())
    with pytest.raises(DataError, match=r"no such object.*'2'"):
        scene.without("2").without("2")


@pytest.mark.parametrize(
    ("ids", "category", "problem"),
    [
        ((), None, "nothing named to take away"),
        (("0", "99"), None, "no such object.*99"),
        ((0,), None, "no such object .expected a text: 0, 1"),  # a number
        (("0",), "tractor", "no object of that category.*tractor"),
    ],
)
def test_what_is_not_there_cannot_be_taken_away(
    small: Dataset, ids: tuple[str, ...], category: str | None, problem: str
) -> None:
    with pytest.raises(DataError, match=problem):
        next(iter(sightline.open(small.path))).without(*ids, category=category)


def test_normals_are_made_when_asked_for(small: Dataset) -> None:
    scene = sightline.open(small.path).scene(f"{WORLD}/5/{2:08d}")
    for view, frame in zip(scene.views, FastRenderer().frames(_layout(2), VIEWS, shade=False), strict=True):
        np.testing.assert_array_equal(view.normals(), frame.normals)
        assert (view.normals()[view.ids() == 0] == (0.0, 0.0, 1.0)).all()  # the table
        with pytest.raises(DataError, match="view has no normal map"):
            view.without_truth().normals()
    with pytest.raises(DataError, match="view has no normal map"):
        Dataset.open(small.path).scene(scene.id).views[0].normals()


def test_what_is_not_behind_the_object_stays(small: Dataset) -> None:
    scene = next(iter(sightline.open(small.path)))
    gone = scene.objects[0].id
    for before, after in zip(scene.views, scene.without(gone).views, strict=True):
        kept = ~before.amodal()[0]
        ids = before.ids()
        renumbered = np.where(ids > 1, ids - 1, 0)
        np.testing.assert_array_equal(after.ids()[kept], renumbered[kept])
        np.testing.assert_array_equal(after.depth()[kept], before.depth()[kept])
        assert (after.image()[~kept] != before.image()[~kept]).any()


def test_lossy_formats_go_for_counterfactuals_too(tmp_path: Path) -> None:
    made = generate(WORLD, tmp_path / "d", scenes=1, seed=5, size=SIZE, image_format="jpeg:20", depth=None)
    [scene] = made
    layout = _layout(0)
    exact = FastRenderer().frame(layout.without(0), layout.shots[0]).image
    assert exact is not None
    found = scene.without("0").views[0]
    assert (found.image() != exact).any()
    assert np.abs(found.image().astype(int) - exact).mean() < 15
    assert scene.views[0].image_ref.endswith(".jpg")  # type: ignore[union-attr]
    for view in (found, scene.views[0]):
        with pytest.raises(DataError, match="view has no depth map"):
            view.depth()


def test_scenes_with_counterfactuals_travel_to_workers(small: Dataset) -> None:
    scene = pickle.loads(pickle.dumps(next(iter(sightline.open(small.path)))))
    assert len(scene.without("1").objects) == len(scene.objects) - 1


def test_a_scene_that_comes_out_differently_is_refused(small: Dataset, tmp_path: Path) -> None:
    shutil.copytree(small.path, tmp_path / "d")
    manifest = tmp_path / "d" / "dataset.json"
    told = json.loads(manifest.read_text())
    told["recipe"]["seed"] = 6
    manifest.write_text(json.dumps(told))
    with pytest.raises(DataError, match="comes out differently now"):
        next(iter(sightline.open(tmp_path / "d"))).without("0")
    del told["recipe"]["settings"]
    manifest.write_text(json.dumps(told))
    with pytest.raises(DataError, match=r"not the recipe of a world .*without settings"):
        next(iter(sightline.open(tmp_path / "d"))).without("0")


def test_other_datasets_have_none(small: Dataset) -> None:
    with pytest.raises(DataError, match="this scene was not generated"):
        Dataset.open(small.path).scene(f"{WORLD}/5/{0:08d}").without("0")


def test_opening_costs_no_renderer() -> None:
    import subprocess
    import sys

    code = "import sys, sightline; sightline.open; print({'numba', 'sightline.worlds'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "set()"


def test_stuff_is_kept_where_the_world_says_a_ground_and_made_elsewhere(small: Dataset, tmp_path: Path) -> None:
    generate("street", tmp_path / "d", scenes=2, size=(96, 64), seed=1)
    stored = Dataset.open(tmp_path / "d")
    assert stored.verify() == []
    opened = sightline.open(tmp_path / "d")
    for plain, scene in zip(stored, opened, strict=True):
        view = scene.views[0]
        assert view.stuff_classes == ("sky", "grass", "sidewalk", "road", "building")
        stuff, ids = plain.views[0].stuff(), view.ids()
        np.testing.assert_array_equal(stuff == 0, ids > 0)  # stuff and things cover the picture
        assert {"sidewalk", "road"} <= {view.stuff_classes[number - 1] for number in np.unique(stuff[stuff > 0])}
        fewer = scene.without("0")
        assert fewer.views[0].stuff_classes == view.stuff_classes
        np.testing.assert_array_equal(fewer.views[0].stuff() == 0, fewer.views[0].ids() > 0)
        same = fewer.views[0].stuff() == stuff
        assert same[ids != 1].all()
        assert not same[ids == 1].all()
    scene = next(iter(sightline.open(small.path)))
    assert Dataset.open(small.path).scan("views").collect()["stuff"].null_count() == 12
    for view in scene.views:
        assert view.stuff_classes == ("sky", "table")
        np.testing.assert_array_equal(view.stuff(), np.where(view.ids() > 0, 0, 2))
