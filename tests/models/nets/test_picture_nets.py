"""The classifier and segmenter that are trained here: layers, files, and MobileNetV2 with ImageNet's weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from sightline.errors import ConfigError, ModelError
from sightline.models import load
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.classifier import (
    Classifier,
    ClassifierConfig,
    MobileNetV2,
    Vgg19Features,
    resized,
    standardised,
)
from sightline.models.nets.segmenter import SIZES, SegmenterConfig, Upernet
from sightline.models.picture_nets import SegmenterModel
from sightline.scenes import View
from sightline.skills import ClassScores, LabelMaps

SMALL = ClassifierConfig(("cat", "dog", "cup"), "vgg19", width=8, size=64, shrink=16)


def picture(seed: int, size: tuple[int, int] = (40, 60)) -> View:
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), np.uint8)
    return View("v", size=size[::-1], load_image=lambda: pixels)


def test_vgg19_layers() -> None:
    net = Vgg19Features()
    convolutions = [layer.out_channels for layer in net.modules() if isinstance(layer, nn.Conv2d)]
    assert convolutions == [64] * 2 + [128] * 2 + [256] * 4 + [512] * 8  # configuration E of VGG
    assert sum(isinstance(layer, nn.MaxPool2d) for layer in net.modules()) == 5
    weights = sum(layer.weight.numel() for layer in net.modules() if isinstance(layer, nn.Conv2d))
    assert weights == 20_024_384 - sum(convolutions)  # torchvision's features have biases, ours a norm instead


def test_classifier_is_maximum_of_two_convolutions() -> None:
    torch.manual_seed(0)
    net = Classifier(SMALL).eval()
    images = torch.randint(0, 256, (2, 64, 64, 3), dtype=torch.uint8)
    with torch.inference_mode():
        features = net.backbone(standardised(images))
        assert features.shape == (2, 32, 2, 2)
        step = torch.relu(net.second(torch.relu(net.first(features))))
        best = step.flatten(2).max(dim=2).values
        torch.testing.assert_close(net(images), best @ net.readout.weight.T + net.readout.bias)


def test_classifier_file(tmp_path: Path) -> None:
    torch.manual_seed(1)
    net = Classifier(SMALL)
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_()  # statistics belong to the file
    file = tmp_path / "run" / "classifier.safetensors"
    file.parent.mkdir()
    file.write_bytes(dump_checkpoint(net, {"seed": 3}))
    views = [picture(0), picture(1, (80, 50))]
    said = load(f"classifier:{file}").classify(views)
    ClassScores.checked(said, 2, "x")
    assert said.classes == SMALL.classes
    again = load(str(file))  # by the kind in its header
    assert again.name == "run"
    assert again.facts()["seed"] == 3
    np.testing.assert_array_equal(again.classify(views).scores, said.scores)
    np.testing.assert_allclose(again.classify(views[1:]).scores[0], said.scores[1], atol=1e-5)  # whatever the batch
    assert again.classify([]).scores.shape == (0, 3)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"classes": ()}, "must be given"),
        ({"classes": ("a", "a")}, "each once"),
        ({"classes": ("a",), "backbone": "resnet"}, "backbone"),
        ({"classes": ("a",), "size": 16}, "at least 32"),
    ],
)
def test_bad_shapes(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        ClassifierConfig(**settings)


def test_resizing_averages() -> None:
    images = torch.zeros(1, 4, 4, 3, dtype=torch.uint8)
    images[:, :, 2:] = 200
    small = resized(images, (2, 2))
    assert small.dtype == torch.uint8
    assert small[0, :, 0, 0].tolist() == [29, 29]  # a triangle of two pixels reaches over the edge
    assert resized(images, (4, 4)) is images


def test_segmenter_file(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    torch.manual_seed(2)
    net = Upernet(SegmenterConfig(("road", "car"), (64, 32), **SIZES["tiny"]))
    file = tmp_path / "street.safetensors"
    file.write_bytes(dump_checkpoint(net))
    model = load(f"segmenter:{file}")
    views = [picture(0), picture(1, (33, 71))]
    said = LabelMaps.checked(model.segment(views), [(60, 40), (71, 33)], model.name)
    assert said.classes == ("road", "car")
    assert model.name == "street"
    with pytest.raises(ModelError, match="another architecture"):
        load(f"classifier:{file}")
    # A pixel's class is the one of the higher logit, at the picture's own size.
    loaded = load_checkpoint(file, Upernet).net
    with torch.inference_mode():
        small = resized(torch.from_numpy(views[0].image())[None], (32, 64))
        logits = nn.functional.interpolate(loaded(small), (40, 60), mode="bilinear")
    assert (said.maps[0] == (logits[0, 1] > logits[0, 0]).int().numpy()).mean() > 0.999


def test_a_segmenter_held_to_some_classes() -> None:
    class Colours(nn.Module):
        """Logits (B, 4, H, W): red, green and blue, and 100 for what stands for all else."""

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = images.permute(0, 3, 1, 2).float()
            return torch.cat([logits, torch.full_like(logits[:, :1], 100.0)], dim=1)

    pixels = np.array([[[250, 200, 10], [9, 80, 250]]], np.uint8).repeat(2, axis=0)
    view = View("v", size=(2, 2), load_image=lambda: pixels)
    model = SegmenterModel(Colours(), ("red", "green", "blue", "other"), (2, 2), device="cpu")
    assert model.segment([view]).maps[0].tolist() == [[0, 2]] * 2
    assert model.segment_among([view], ("green",)).maps[0].tolist() == [[1, 3]] * 2
    bare = SegmenterModel(Colours(), ("red", "green", "blue", "sky"), (2, 2), device="cpu")
    among = bare.segment_among([view], ("green", "blue"))
    assert (among.classes, among.maps[0].tolist()) == (bare.classes, [[1, 2]] * 2)


def test_upernet_r50_shape() -> None:
    pytest.importorskip("transformers")
    with torch.device("meta"):
        net = Upernet(SegmenterConfig(("a", "b", "c"))).eval()
        logits = net(torch.zeros(1, 64, 96, 3, dtype=torch.uint8))
    assert logits.shape == (1, 3, 64, 96)
    resnet = sum(weight.numel() for weight in net.net.backbone.parameters())
    assert resnet == 23_508_032  # ResNet-50 without its linear layer


def test_folder_of_transformers(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    net = Upernet(SegmenterConfig(("a", "b"), (64, 64), **SIZES["tiny"]))
    net.net.config.id2label = {0: "wall", 1: "sky"}
    net.net.save_pretrained(tmp_path / "hub")
    model = load(f"segmenter:{tmp_path / 'hub'}")
    assert model.classes == ("wall", "sky")
    assert model.segment([picture(3)]).maps[0].shape == (40, 60)
    (tmp_path / "hub" / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="not a semantic segmenter"):
        load(f"segmenter:{tmp_path / 'hub'}")


def test_other_weights_for_mobilenet(tmp_path: Path) -> None:
    torch.save({"features.0.0.weight": torch.zeros(32, 3, 3, 3)}, tmp_path / "half.pth")
    net = Classifier(ClassifierConfig(("a",), "mobilenet_v2", width=4))
    with pytest.raises(ModelError, match="not the weights of a MobileNetV2"):
        net.load_imagenet(tmp_path / "half.pth")
    with pytest.raises(ModelError, match="only mobilenet_v2"):
        Classifier(SMALL).load_imagenet(tmp_path / "half.pth")
    (tmp_path / "text.pth").write_text("no weights")
    with pytest.raises(ModelError, match="not a torch state dict"):
        net.load_imagenet(tmp_path / "text.pth")


PLACES = {"zebra": {340}, "giraffe": set(), "pizza": {963}, "elephant": {101, 385, 386}, "bear": {294, 295, 297}}
"""ImageNet's numbers of classes that are COCO's too."""


def test_imagenet_weights_know_photos(weights: Path, real_data: Path) -> None:
    file = weights / "mobilenet_v2-b0353104.pth"
    if not file.exists():
        pytest.skip("MobileNetV2's weights are not here")
    net = MobileNetV2(1000).eval()
    net.load_torchvision(file)
    folder = real_data / "coco-tiny"
    right = asked = 0
    for split in ("train", "val"):
        stored = json.loads((folder / "annotations" / f"instances_{split}2017.json").read_text())
        names = {entry["id"]: entry["name"] for entry in stored["categories"]}
        files = {entry["id"]: entry["file_name"] for entry in stored["images"]}
        shown = {
            (one["image_id"], names[one["category_id"]]) for one in stored["annotations"] if one["area"] > 15000
        }
        for image, name in sorted(shown):
            if PLACES.get(name):
                with Image.open(folder / f"{split}2017" / files[image]) as photo:
                    pixels = torch.from_numpy(np.asarray(photo.convert("RGB")).copy())[None]
                with torch.inference_mode():
                    best = net(standardised(resized(pixels, (224, 224))))[0].topk(5).indices.tolist()
                right, asked = right + bool(PLACES[name] & set(best)), asked + 1
    assert asked >= 4
    assert right >= 0.75 * asked  # of 1,000 classes, among the first five
    light = Classifier(ClassifierConfig(("a",), "mobilenet_v2", width=4))
    light.load_imagenet(file)
    torch.testing.assert_close(light.backbone.features[3].conv[0][0].weight, net.features[3].conv[0][0].weight)
