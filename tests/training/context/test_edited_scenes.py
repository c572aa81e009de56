"""Scenes with every class removed in turn: what is drawn, what is told of it, and how holes are filled."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from sightline.edits.fills import FillRequest
from sightline.edits.removal import Removal
from sightline.errors import ConfigError
from sightline.geometry.masks import dilate
from sightline.models.fills.network import NetworkFill
from sightline.models.nets.checkpoints import dump_checkpoint
from sightline.models.nets.inpainter import Inpainter, InpainterConfig
from sightline.render.fast import FastRenderer
from sightline.render.fast import columns as col
from sightline.render.fast.pack import Packed
from sightline.training.context.painters import GREY, painter_of
from sightline.training.context.scenes import (
    IGNORED,
    OTHER,
    CudaViewRenderer,
    EditedScenes,
    LayoutStream,
    edited_scenes,
    grown,
    switched_off,
    thing_class,
    thing_classes,
)
from sightline.worlds import World, arrange, load_world

COUNT = 4


@pytest.fixture(scope="module")
def world() -> World:
    return replace(load_world("context/train"), resolution=(96, 64))


def made(world: World, fill: str = "exact", **how: Any) -> EditedScenes:
    return edited_scenes({world.name: COUNT}, [world], seed=3, painter=painter_of(fill), fill=fill, batch=2, **how)


@pytest.fixture(scope="module")
def labelled(world: World) -> EditedScenes:
    return made(world, labelled=True, removal=Removal(radius=2))


def test_pictures_are_of_the_layouts(world: World, labelled: EditedScenes) -> None:
    renderer = FastRenderer()
    for n in range(COUNT):
        layout = arrange(world, 3, n)
        frame = renderer.frames(layout, ["original"])[0]
        np.testing.assert_array_equal(labelled.images[n], frame.image)
        names = [thing_class(o.shape) for o in layout.objects]
        for place, name in enumerate(labelled.classes[: labelled.things]):
            numbers = [i for i, one in enumerate(names) if one == name]
            mask = np.isin(frame.ids, [i + 1 for i in numbers])
            assert labelled.areas[n, place] == pytest.approx(mask.mean())
            assert bool(labelled.labels[n, place]) == bool(mask.any())
            np.testing.assert_array_equal(labelled.maps[n] == place, mask)
            edits = [e for e in labelled.table[n].tolist() if e >= 0 and labelled.gone[e] == place]
            assert len(edits) == bool(mask.any())
            for edit in edits:
                bare = renderer.frames(layout.without(*numbers), ["original"])[0].image
                np.testing.assert_array_equal(labelled.edits[edit], bare)
                np.testing.assert_array_equal(labelled.holes[edit], dilate(mask, 2))
                assert labelled.source[edit] == n
        table = labelled.classes.index("table")
        np.testing.assert_array_equal((labelled.maps[n] == table)[frame.ids > 0], False)
    assert (labelled.maps != IGNORED).all()
    assert labelled.facts["fill"] == "exact"


def test_large_classes_are_not_removed(world: World, labelled: EditedScenes) -> None:
    limit = float(labelled.areas[labelled.source, labelled.gone].median())
    few = made(world, removal=Removal(radius=2, most=limit))
    areas = few.areas[few.source, few.gone]
    assert (areas <= limit).all()
    assert 0 < len(few.edits) < len(labelled.edits)
    assert few.labels.sum() == labelled.labels[:, : labelled.things].sum()  # they are still there


def test_few_classes(world: World) -> None:
    chosen = ("mug", "table", "teapot")
    scenes = made(world, labelled=True, classes=chosen)
    assert scenes.classes == ("mug", "teapot", "table", OTHER)
    assert set(scenes.gone.tolist()) <= {0, 1}
    assert (scenes.maps < 4).all()
    with pytest.raises(ConfigError, match="no such class in these worlds: cup"):
        made(world, classes=("cup",))
    with pytest.raises(ConfigError, match="kept as they are drawn"):
        made(world, labelled=True, size=(32, 32))


def test_pictures_at_another_size(world: World) -> None:
    scenes = made(world, size=(32, 48))
    assert scenes.images.shape == (COUNT, 32, 48, 3)
    assert scenes.edits.shape[1:] == (32, 48, 3)
    assert scenes.maps is None


def test_fills(world: World, labelled: EditedScenes) -> None:
    before, hole = labelled.images[labelled.source], labelled.holes[..., None]
    patched = painter_of("exact-hole")(before, labelled.holes, labelled.edits)
    assert torch.equal(patched, torch.where(hole, labelled.edits, before))
    grey = painter_of("grey")(before, labelled.holes, labelled.edits)
    assert (grey[labelled.holes] == GREY).all()
    assert torch.equal(torch.where(hole, 0, grey), torch.where(hole, 0, before))
    assert torch.equal(made(world, "kept", labelled=True).edits, before)
    with pytest.raises(ConfigError, match="unknown fill 'exakt', did you mean 'exact'"):
        painter_of("exakt")


def test_network_fills_stay_in_their_holes(labelled: EditedScenes, tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = Inpainter(InpainterConfig(width=4, blocks=1))
    file = tmp_path / "inpainter.safetensors"
    file.write_bytes(dump_checkpoint(net))
    before, holes = labelled.images[labelled.source[:3]], labelled.holes[:3]
    filled = painter_of(f"network:{file}")(before, holes, labelled.edits[:3])
    assert torch.equal(filled[~holes], before[~holes])
    for one, picture, hole in zip(filled, before, holes, strict=True):
        asked = NetworkFill(file).fill(FillRequest(picture.numpy(), hole.numpy()))
        gap = np.abs(one.numpy().astype(int) - asked)[hole.numpy()]
        assert gap.max() <= 1  # as the exam's fill paints, up to rounding


def test_no_scene_shows_itself_to_a_radius_of_zero() -> None:
    masks = torch.zeros(2, 5, 7, dtype=torch.bool)
    masks[0, 2, 3] = True
    assert torch.equal(grown(masks, 0), masks)
    assert grown(masks, 1).sum() == 9


def test_bodies_switched_off(world: World) -> None:
    stream = LayoutStream(world, thing_classes([world]), 3, COUNT, pack=True)
    batch = stream[0]
    kinds = batch.kinds
    scenes = np.array([1, 1, 3])
    gone = np.array([kinds[1, 0], kinds[1, 1], kinds[3, 0]])
    bodies = switched_off(batch, scenes, gone)
    for row, scene, kind in zip(bodies, scenes, gone, strict=True):
        present = row[:, col.PRESENT] > 0
        expected = [k >= 0 and k != kind for k in kinds[scene]]
        assert present[: len(expected)].tolist() == expected
        assert not present[len(expected) :].any()
    assert (batch.view.bodies[1, : (kinds[1] >= 0).sum(), col.PRESENT] == 1).all()  # theirs stay as they are


class _Card:
    """Stands for the card: every pixel tells how many bodies are present and how the camera's row begins."""

    def know(self, shapes: tuple[str, ...]) -> None:
        self.shapes = shapes

    def upload(self, view: Packed) -> Packed:
        assert view.shapes == self.shapes
        return view

    def pictures(self, view: Packed) -> Any:
        (width, height), count = view.size, len(view.bodies)
        present = (view.bodies[:, :, col.PRESENT] > 0).sum(axis=1).astype(np.uint8)
        image = np.zeros((count, height, width, 3), np.uint8)
        image[..., 0] = present[:, None, None]
        image[..., 1] = (np.abs(view.cams[:, 4]) * 200).astype(np.uint8)[:, None, None]
        flat = np.zeros((count, height, width), np.int32)
        return image, flat, flat, flat, flat.astype(np.uint8)


class _Pictures(tuple[Any, ...]):
    image = property(lambda self: self[0])


def test_edits_on_the_card(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class Card(_Card):
        def pictures(self, view: Packed) -> Any:
            return _Pictures(super().pictures(view))

    monkeypatch.setitem(sys.modules, "sightline.render.fast.cuda", SimpleNamespace(CudaRenderer=Card))
    renderer = CudaViewRenderer([world], device="cpu")
    batch = LayoutStream(world, thing_classes([world]), 3, COUNT, pack=True)[0]
    images, _, _ = renderer.draw(batch)
    counts = [len(layout.objects) for layout in batch.layouts]
    assert images[:, 0, 0, 0].tolist() == counts
    scenes = np.array([0, 1, 1, 2, 3, 3])  # more than a batch
    gone = np.array([batch.kinds[s, i % 2] for i, s in enumerate(scenes.tolist())])
    edits = renderer.without(batch, scenes, gone)
    left = [counts[s] - int((batch.kinds[s] == k).sum()) for s, k in zip(scenes, gone, strict=True)]
    assert edits[:, 0, 0, 0].tolist() == left
    assert torch.equal(edits[:, 0, 0, 1], images[torch.from_numpy(scenes), 0, 0, 1])  # by their own cameras
