"""ViewNet as a model: given boxes, own boxes, pictures of any size, classes it does not know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sightline.models.nets.checkpoints import dump_checkpoint
from sightline.models.nets.viewpoint import ViewNet, ViewNetConfig
from sightline.models.registry import load
from sightline.models.viewnet import ViewNetModel, fitted
from sightline.scenes import View
from sightline.skills import BoxedObjects, Detections, ViewAngles, skills_of

CONFIG = ViewNetConfig(("bus", "car"), (8, 8, 16, 16), (1, 1, 1, 1), neck=8, hidden=16, bins=8, side=96)


@pytest.fixture(scope="module")
def net() -> ViewNet:
    torch.manual_seed(5)
    made = ViewNet(CONFIG)
    with torch.no_grad():
        for weight in made.parameters():
            weight += 0.1 * torch.randn_like(weight)
        made.heat.bias += 4.0  # it sees objects everywhere
    return made


def picture(height: int = 64, width: int = 96) -> NDArray[np.uint8]:
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x * k / width * 9) * np.cos(y * (4 - k) / height * 7) for k in (1, 2, 3)]
    return (127 + 120 * np.stack(waves, axis=-1)).astype(np.uint8)


def view(image: NDArray[np.uint8], *, sized: bool = True) -> View:
    size = (image.shape[1], image.shape[0]) if sized else None
    return View("a", size=size, units="normalised", load_image=lambda: image)


BOXES = np.array([[0.1, 0.2, 0.5, 0.8], [0.4, 0.1, 0.9, 0.9], [0.0, 0.0, 1.0, 1.0]])


def test_given_boxes(net: ViewNet) -> None:
    model = ViewNetModel(net, name="viewnet")
    assert skills_of(model) == ("detect", "viewpoint")
    asked = BoxedObjects("a", view(picture()), BOXES, ("car", "zebra", "bus"))
    said = ViewAngles.checked(model.viewpoint(asked), 3, "viewnet").angles
    assert np.isnan(said[1]).all()
    assert (said[[0, 2], 0] >= 0).all()
    assert (said[[0, 2], 0] < 360).all()
    alone = model.viewpoint(BoxedObjects("a", view(picture()), BOXES[:1], ("car",))).angles
    np.testing.assert_allclose(alone[0], said[0], atol=1e-3)
    none = model.viewpoint(BoxedObjects("a", view(picture()), BOXES[1:2], ("zebra",))).angles
    assert np.isnan(none).all()


def test_confidence_is_the_chance_of_the_azimuths_near_the_one_told(net: ViewNet) -> None:
    model = ViewNetModel(net, name="viewnet")
    asked = BoxedObjects("a", view(picture()), BOXES, ("car", "zebra", "bus"))
    sure = model.viewpoint(asked).confidence
    assert np.isnan(sure[1])
    place = {name: i for i, name in enumerate(net.config.classes)}
    judged = model.judge(picture(), BOXES)
    for row, name in ((0, "car"), (2, "bus")):
        logits, offsets = (of[0, row, place[name]].double().numpy() for of in (judged.bins, judged.offsets))
        chances = np.exp(logits) / np.exp(logits).sum()
        turns = (np.arange(len(logits)) + offsets) * 360 / len(logits)
        told = turns[logits.argmax()]
        near = [min(abs(t - told) % 360, 360 - abs(t - told) % 360) < 30 for t in turns]
        assert sure[row] == pytest.approx(chances[near].sum(), abs=1e-5)


def test_boxes_in_pixels_where_the_size_is_not_known(net: ViewNet) -> None:
    model = ViewNetModel(net, name="viewnet")
    known = model.viewpoint(BoxedObjects("a", view(picture()), BOXES, ("car",) * 3)).angles
    pixels = BOXES * np.array([96, 64, 96, 64])
    said = model.viewpoint(BoxedObjects("a", view(picture(), sized=False), pixels, ("car",) * 3)).angles
    np.testing.assert_allclose(said, known, atol=1e-4)


@pytest.mark.parametrize(("height", "width"), [(64, 96), (128, 192), (61, 96), (30, 40), (400, 100)])
def test_own_boxes_in_pictures_of_any_size(net: ViewNet, height: int, width: int) -> None:
    model = ViewNetModel(net, name="viewnet")
    found = Detections.checked(model.detect(view(picture(height, width))), "viewnet")
    assert len(found.boxes)
    assert ((found.boxes >= 0) & (found.boxes <= 1)).all()
    assert (np.diff(found.scores) <= 0).all()
    asked = BoxedObjects("a", view(picture(height, width)), found.boxes, found.categories)
    if (height, width) == (64, 96):  # not resized, and no edge of a box is beyond the picture
        np.testing.assert_allclose(model.viewpoint(asked).angles, found.angles, atol=1e-3)


def test_fitted_pictures() -> None:
    whole, share = fitted(picture(64, 96), 96)
    assert whole.shape == (1, 3, 64, 96)
    assert share.tolist() == [1.0, 1.0]
    half, share = fitted(picture(100, 150), 96)
    assert half.shape == (1, 3, 64, 96)
    tall, share = fitted(picture(96, 50), 96)
    assert tall.shape == (1, 3, 96, 64)
    assert share.tolist() == pytest.approx([50 / 64, 1.0])
    assert tall[..., 50:] == pytest.approx(0.45)


def test_opened_by_its_file(net: ViewNet, tmp_path: Path) -> None:
    file = tmp_path / "mine.safetensors"
    file.write_bytes(dump_checkpoint(net, {"steps": 3}))
    model = load(str(file))
    assert isinstance(model, ViewNetModel)
    assert model.name == "mine"
    assert model.facts()["steps"] == 3
    assert model.facts()["classes"] == ("bus", "car")
    assert model.fingerprint == ViewNetModel(net, name="other").fingerprint
