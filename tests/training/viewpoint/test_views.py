"""Views to learn from: their truth is that of a generated scene, by any number of processes and slices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from sightline.errors import ConfigError
from sightline.render.fast import FastRenderer
from sightline.render.fast.pack import Pool, packed
from sightline.render.fast.settings import Settings
from sightline.render.landmarks import posed
from sightline.render.truth import sightings
from sightline.training.viewpoint import views as views_module
from sightline.training.viewpoint.placed import ViewStream
from sightline.training.viewpoint.plan import CLASSES
from sightline.training.viewpoint.views import DrawnViews, KeptViews, ViewBatch, visible_boxes
from sightline.worlds import World, arrange
from sightline.worlds.shapes import solid


def first(source: DrawnViews | KeptViews) -> ViewBatch:
    return source.views(next(iter(source.loader(0, 1))))


def test_truth_is_that_of_the_generator(cad_world: World, cad_views: DrawnViews) -> None:
    batch = first(cad_views)
    renderer = FastRenderer()
    hidden = 0
    for s in range(6):
        layout = arrange(cad_world, 3, s)
        frame = renderer.frame(layout, layout.shots[0])
        names = [str(i) for i in range(len(layout.objects))]
        seen = {one.object_id: one for one in posed(sightings(frame, names), names, layout, layout.shots[0], frame)}
        np.testing.assert_array_equal(batch.pictures[s].numpy(), frame.image)
        for i, placed in enumerate(layout.objects):
            assert placed.shape.split("/")[1] == CLASSES[batch.classes[s, i]]
            assert int(batch.symmetry[s, i]) == solid(placed.shape).symmetry
            one = seen.get(str(i))
            if one is None or "hidden" in one.flags:
                hidden += 1
                assert batch.pixels[s, i] == 0
                continue
            box = batch.boxes[s, i] * torch.tensor([96, 64, 96, 64])
            np.testing.assert_allclose(box.numpy(), one.box, atol=1e-4)
            assert one.viewpoint is not None
            true = (one.viewpoint.azimuth, one.viewpoint.elevation, one.viewpoint.theta)
            np.testing.assert_allclose(batch.angles[s, i].numpy(), true, atol=1e-3)
        assert (batch.classes[s, len(layout.objects) :] == -1).all()
    assert hidden <= 2


@pytest.mark.long
def test_workers_and_their_shelf_change_nothing(cad_world: World, cad_views: DrawnViews) -> None:
    stream = replace(cad_views.stream, size=3, batches=2)
    alone, others = DrawnViews(stream), DrawnViews(stream, workers=1)
    for one, other in zip(alone.loader(0, 2), others.loader(0, 2), strict=True):
        for a, b in zip(vars(one).values(), vars(other).values(), strict=True):
            np.testing.assert_array_equal(a, b)
    assert others.stream.shelf
    assert cad_world.name == "cad/train"


def test_variants_take_turns(cad_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views_module, "SLICE", 1)
    source = DrawnViews(ViewStream(cad_world, CLASSES, seed=0, size=1, batches=4))
    assert source.stream.slices == ((0, 1), (1, 2))
    assert [one.turn for one in source.loader(0, 4)] == [0, 1, 0, 1]


def test_rows_for_a_card_need_no_meshes(cad_world: World) -> None:
    stream = ViewStream(cad_world, CLASSES, seed=0, size=3, batches=1, card=True)
    made = stream[0].views
    assert made is not None
    pool = Pool(solid)
    pool.know(cad_world.solids())
    light = pool.rows_alone()
    layouts = [arrange(cad_world, 0, i) for i in range(3)]
    [views] = packed(light, layouts, [layouts[0].shots[0].name], Settings().map_half)
    for a, b in zip(made, views, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    assert len(light.meshes.tris) == 0


def test_boxes_of_id_maps() -> None:
    ids = torch.zeros(2, 4, 6, dtype=torch.int64)
    ids[0, 1:3, 2:5], ids[1, 0, 0] = 1, 2
    boxes, pixels = visible_boxes(ids, 2)
    assert pixels.tolist() == [[6, 0], [0, 1]]
    assert (boxes[0, 0] * torch.tensor([6, 4, 6, 4])).tolist() == pytest.approx([2, 1, 5, 3])
    assert (boxes[1, 1] * torch.tensor([6, 4, 6, 4])).tolist() == pytest.approx([0, 0, 1, 1])


def test_kept_views_come_once_an_epoch(cad_views: DrawnViews) -> None:
    kept = KeptViews(cad_views, 2, batch=4, seed=1)
    order = np.concatenate(list(kept.loader(0, 3)))
    assert sorted(order.tolist()) == list(range(12))
    one = kept.views(np.array([7]))
    loaded = list(cad_views.loader(0, 2))[1]
    np.testing.assert_array_equal(one.pictures[0].numpy(), cad_views.views(loaded).pictures[1].numpy())
    assert kept.facts() == {**cad_views.facts(), "kept": 12}


def test_objects_of_no_class_are_refused(cad_world: World) -> None:
    stream = ViewStream(cad_world, ("car", "bottle"), seed=0, size=6, batches=1)
    with pytest.raises(ConfigError, match="has a diningtable, and the network no such class"):
        stream[0]
