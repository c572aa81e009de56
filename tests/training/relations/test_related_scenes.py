"""Scenes drawn to be learned from: the pairs a generated dataset has, kept on disk and back, a detector's boxes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.relations.pairs import tables_of
from sightline.generation import generate
from sightline.models.registry import load
from sightline.models.relations.objects import DepthCues, depth_numbers
from sightline.scenes import View
from sightline.training.fit import fit
from sightline.training.relations.scenes import FoundViews, RelatedScenes, RelatedStream, drawn_scenes, filled_rows
from sightline.training.relations.seen import SeenPlan, SeenSource, SeenTask
from sightline.training.relations.tables import examples_of
from sightline.training.viewpoint.plan import ViewNetPlan
from sightline.training.viewpoint.task import ViewNetTask
from sightline.worlds import load_world

WORLD = replace(load_world("geospa/train"), resolution=(96, 64))


@pytest.fixture(scope="module")
def scenes() -> RelatedScenes:
    return drawn_scenes([WORLD], 4, seed=0, side=64, batch=2)


def facts_of(examples: object) -> set[tuple[object, ...]]:
    """What is said of pairs, whatever their order: boxes, classes and labels."""
    e = examples
    ends = [(e.boxes[end].round(5), e.category[end]) for end in (e.first, e.second)]
    rows = zip(*(part for end in ends for part in end), e.depth_label, e.occlusion_label, e.across, strict=True)
    return {tuple(tuple(v.tolist()) if getattr(v, "ndim", 0) else int(v) for v in row) for row in rows}


def test_the_pairs_of_a_dataset(scenes: RelatedScenes, tmp_path: Path) -> None:
    data = generate("geospa/train", tmp_path / "data", scenes=4, size="96x64", pairs=True)
    stored = examples_of(list(tables_of(data, "train").values()))
    assert scenes.examples.classes == stored.classes
    assert facts_of(scenes.examples) == facts_of(stored)
    assert len(scenes.examples) == len(stored)
    assert np.array_equal(scenes.examples.depth.sum(1) > 0, scenes.examples.depth_label >= 0)


def test_pictures_are_squares(scenes: RelatedScenes) -> None:
    assert scenes.pictures.pictures.shape == (4, 64, 64, 3)
    assert scenes.pictures.shares.tolist() == [pytest.approx([1.0, 43 / 64])] * 4
    assert scenes.picture.max() == 3


def test_saved_and_loaded(scenes: RelatedScenes, tmp_path: Path) -> None:
    scenes.save(tmp_path)
    again = RelatedScenes.load(tmp_path)
    told = {"worlds": {"geospa/train": 4}, "seed": 0, "side": 64, "drawn_on": "cpu"}
    assert again.facts == scenes.facts == told
    torch.testing.assert_close(again.pictures.pictures, scenes.pictures.pictures)
    np.testing.assert_array_equal(again.examples.depth, scenes.examples.depth)
    assert again.examples.classes == scenes.examples.classes


def test_drawing_goes_on_where_it_was_stopped(scenes: RelatedScenes, tmp_path: Path) -> None:
    def stop(done: int, _: int) -> None:
        raise KeyboardInterrupt(done)

    with pytest.raises(KeyboardInterrupt):
        drawn_scenes([WORLD], 4, seed=0, side=64, batch=2, keep=tmp_path, on_drawn=stop)
    [first] = tmp_path.iterdir()
    written = first.stat().st_mtime_ns
    again = drawn_scenes([WORLD], 4, seed=0, side=64, batch=2, keep=tmp_path)
    assert first.stat().st_mtime_ns == written  # not drawn once more
    assert len(list(tmp_path.iterdir())) == 2
    torch.testing.assert_close(again.pictures.pictures, scenes.pictures.pictures)
    torch.testing.assert_close(again.pictures.shares, scenes.pictures.shares)
    np.testing.assert_array_equal(again.pixels, scenes.pixels)
    assert facts_of(again.examples) == facts_of(scenes.examples)


def test_studies(scenes: RelatedScenes) -> None:
    within, across = scenes.of("within"), scenes.of("across")
    assert not within.across.any()
    assert across.across.all()
    assert (across.occlusion_label == -1).all()
    assert len(within) + len(across) == len(scenes.of("joint")) == len(scenes.examples)


def test_scenes_go_two_by_two() -> None:
    with pytest.raises(ConfigError, match="an even number"):
        RelatedStream(WORLD, 0, 3, card=False)


def test_a_detector_of_the_worlds_classes(scenes: RelatedScenes, tmp_path: Path) -> None:
    source = FoundViews(scenes, batch=2, seed=0)
    seen = source.views(np.array([1, 0]))
    assert seen.pictures.shape == (2, 64, 64, 3)
    own = scenes.picture == 1
    share = torch.tensor([1.0, 43 / 64, 1.0, 43 / 64])
    torch.testing.assert_close(seen.boxes[0, : own.sum()], torch.from_numpy(scenes.examples.boxes[own]) * share)
    assert (seen.classes[0] >= 0).sum() == own.sum()
    plan = ViewNetPlan(steps=2, batch=2, side=64, warmup=0, precision="fp32", viewpoints=False)
    _, fitted = fit(ViewNetTask(plan, source, scenes.examples.classes), tmp_path / "net", device="cpu")
    assert set(fitted.last) >= {"loss", "heat", "box", "class", "right"}
    model = load(str(fitted.weights))
    assert not hasattr(model, "viewpoint")
    data = generate("geospa/train", tmp_path / "data", scenes=1, size="96x64")
    found = model.detect(next(iter(data)).views[0])
    assert found.angles.shape == (0, 3)
    assert set(found.categories) <= set(scenes.examples.classes)


def test_depth_cues_are_those_of_each_object() -> None:
    class Rows:
        """Depth that grows downwards."""

        def estimate_depth(self, view: View) -> NDArray[np.float64]:
            height, width = view.image().shape[:2]
            return np.repeat(np.arange(height, dtype=np.float64)[:, None], width, axis=1)

    cues = DepthCues(Rows())
    made = drawn_scenes([WORLD], 2, seed=0, side=64, batch=2, cues=cues, threads=2)
    rows = np.arange(64.0)[:, None].repeat(96, axis=1)  # of the pictures as they are drawn
    expected = depth_numbers(rows, made.examples.boxes.astype(np.float64))
    np.testing.assert_allclose(made.examples.numbers, expected)


def test_several_worlds_lie_one_after_another() -> None:
    tall = replace(load_world("geospa/diverse"), resolution=(64, 96))
    told: list[tuple[int, int]] = []
    both = drawn_scenes([WORLD, tall], 2, seed=0, side=64, batch=2, on_drawn=lambda *done: told.append(done))
    assert told == [(2, 4), (4, 4)]
    assert both.facts["worlds"] == {"geospa/train": 2, "geospa/diverse": 2}
    wide, high = pytest.approx([1.0, 43 / 64]), pytest.approx([43 / 64, 1.0])
    assert both.pictures.shares.tolist() == [wide, wide, high, high]
    first, second = both.picture[both.examples.first], both.picture[both.examples.second]
    assert np.array_equal(first // 2, second // 2)  # scenes 2k and 2k + 1, never of two worlds
    assert filled_rows(both.pictures) == 64  # the tall ones take all


def test_kept_pictures_are_chosen_by_number(scenes: RelatedScenes) -> None:
    pictures, shares = scenes.pictures.chosen(np.array([3, 0, 3]), torch.device("cpu"))
    torch.testing.assert_close(pictures[0], scenes.pictures.pictures[3])
    torch.testing.assert_close(pictures[1], scenes.pictures.pictures[0])
    assert shares.shape == (3, 2)
    assert filled_rows(scenes.pictures) == 64


def test_a_network_that_looks_learns_from_kept_pictures(scenes: RelatedScenes, tmp_path: Path) -> None:
    plan = SeenPlan(steps=2, batch=2, warmup=0, side=64, width=4, architecture="vtranse")
    source = SeenSource(scenes.of("joint"), scenes.picture, scenes.pictures, plan, scenes.facts)
    _, fitted = fit(SeenTask(plan, source), tmp_path / "net", device="cpu")
    assert fitted.steps == 2
    assert load(str(fitted.weights)).facts()["source"]["worlds"] == {"geospa/train": 4}
    with pytest.raises(ConfigError, match="within an image alone"):
        SeenSource(scenes.of("joint"), scenes.picture, scenes.pictures, replace(plan, architecture="vipcnn"), {})
