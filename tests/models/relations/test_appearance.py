"""Cue A: features of a backbone averaged over boxes and images; what cannot be opened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from relations_made import random_net, saved

from sightline.errors import ModelError
from sightline.models.nets.checkpoints import dump_checkpoint
from sightline.models.nets.classifier import Classifier, ClassifierConfig
from sightline.models.nets.pairs import PaperMlp, PaperMlpConfig
from sightline.models.nets.viewpoint import ViewNet, ViewNetConfig
from sightline.models.registry import load
from sightline.models.relations.appearance import AppearanceCues
from sightline.models.relations.objects import DepthCues, JoinedCues, depth_numbers
from sightline.scenes import View
from sightline.skills import Judgements, Pairs

BOXES = np.array([[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]])


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    net = Classifier(ClassifierConfig(("a", "b"), backbone="vgg19", width=8, size=64, shrink=32))
    file = tmp_path_factory.mktemp("net") / "classifier.safetensors"
    file.write_bytes(dump_checkpoint(net))
    return file


def view(name: str = "photo") -> View:
    image = np.zeros((64, 64, 3), dtype=np.uint8)
    image[:, 32:] = (255, 120, 0)  # its halves differ
    return View(name, size=(64, 64), units="normalised", load_image=lambda: image)


def test_box_and_image(backbone: Path) -> None:
    cues = AppearanceCues(backbone)
    numbers = cues.numbers(view(), BOXES)
    assert numbers.shape == (3, cues.size)
    half = cues.size // 2
    np.testing.assert_array_equal(numbers[0, half:], numbers[1, half:])  # one image
    assert not np.allclose(numbers[0, :half], numbers[1, :half])  # two boxes


def test_views_of_one_name_are_told_apart(backbone: Path) -> None:
    cues, other = AppearanceCues(backbone), np.full((64, 64, 3), 200, dtype=np.uint8)
    one, two = view("original"), View("original", size=(64, 64), load_image=lambda: other)
    assert not np.allclose(cues.numbers(one, BOXES), cues.numbers(two, BOXES))


def test_a_network_with_appearance_is_asked(backbone: Path, tmp_path: Path) -> None:
    size = AppearanceCues(backbone).size
    file = saved(random_net(cues="bca", objects=size), tmp_path / "looks.safetensors")
    model = load(f"{file}:backbone={backbone}")
    pairs = Pairs("photo", "within_image", view(), view(), BOXES[:2], BOXES[1::-1], ("cat", "dog"), ("dog", "cat"))
    said = Judgements.checked(model.relate(pairs), 2, "looks")  # type: ignore[attr-defined]
    assert said.depth[0] == [0, 2, 1, 3][said.depth[1]]


@pytest.mark.parametrize("cues", ["bca", "bcda"])
def test_a_backbone_of_another_width(backbone: Path, tmp_path: Path, cues: str) -> None:
    maps = 8 if "d" in cues else 0
    file = saved(random_net(cues=cues, objects=2 * 1280 + maps), tmp_path / "looks.safetensors")
    paper = PaperMlp(PaperMlpConfig(("cat",), cues=cues, hidden=8, objects=2 * 1280 + maps))
    found = AppearanceCues(backbone).size // 2
    for trained in (file, saved(paper, tmp_path / "paper.safetensors")):
        given = f"backbone={backbone}" + (f",depth={tmp_path}" if maps else "")
        with pytest.raises(ModelError, match=f"expected 1280 features for cue a, found {found}") as refused:
            load(f"{trained}:{given}")
        assert str(refused.value).startswith(str(backbone))


@pytest.mark.parametrize(
    ("name", "words"), [("net.onnx", "an ONNX file"), ("net.tflite", "a TensorFlow Lite file")]
)
def test_a_file_of_another_runtime_is_no_backbone(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).write_bytes(b"\x08\x08\x12\x07pytorch")
    with pytest.raises(ModelError, match=f"a detector or classifier trained here.*MobileNetV2.*; found {words}"):
        AppearanceCues(tmp_path / name)


def test_what_is_no_backbone(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        AppearanceCues(tmp_path / "missing.safetensors")
    other = saved(random_net(), tmp_path / "pairs.safetensors")
    with pytest.raises(ModelError, match="expected a detector or a classifier"):
        AppearanceCues(other)


def test_depth_figures() -> None:
    depth = np.array([[1.0, 2.0], [3.0, np.nan]])
    numbers = depth_numbers(depth, np.array([[0.0, 0.0, 0.5, 1.0], [0.5, 0.5, 1.0, 1.0]]))
    np.testing.assert_allclose(numbers[0], [2.0, 1.0, 1.0, 3.0, 2.0, np.std([1, 2, 3]), 1.0, 3.0], rtol=1e-6)
    np.testing.assert_array_equal(numbers[1, :4], numbers[1, 4:])  # nothing known in the box: the image's
    with pytest.raises(ModelError, match="without a single known depth"):
        depth_numbers(np.full((2, 2), np.nan), BOXES)


def test_cues_side_by_side(backbone: Path) -> None:
    class Flat:
        def estimate_depth(self, view: View) -> np.ndarray:
            return np.full((4, 4), 2.0)

    joined = JoinedCues([DepthCues(Flat()), AppearanceCues(backbone)])
    numbers = joined.numbers(view(), BOXES)
    assert numbers.shape == (3, joined.size)
    assert numbers[:, :8].tolist() == [[2.0, 0.0, 2.0, 2.0] * 2] * 3


def detector(path: Path) -> Path:
    """A small network that was never trained."""
    torch.manual_seed(0)
    net = ViewNet(ViewNetConfig(("a",), (8, 8, 16, 16), (1, 1, 1, 1), neck=8, hidden=8, bins=0, side=64))
    path.write_bytes(dump_checkpoint(net))
    return path


@pytest.mark.parametrize("kind", ["classifier", "detector"])
def test_many_pictures_at_once(kind: str, backbone: Path, tmp_path: Path) -> None:
    cues = AppearanceCues(backbone if kind == "classifier" else detector(tmp_path / "detector.safetensors"))
    pictures = np.random.default_rng(0).integers(0, 256, (2, 48, 64, 3), dtype=np.uint8)
    views = [View(str(i), size=(64, 48), load_image=lambda i=i: pictures[i]) for i in range(2)]
    image = np.array([1, 0, 1])
    one_by_one = [cues.numbers(views[i], BOXES[k : k + 1])[0] for k, i in enumerate(image)]
    together = cues.of_pictures(torch.from_numpy(pictures), BOXES, image)
    np.testing.assert_allclose(together, one_by_one, rtol=1e-4, atol=1e-5)


def test_what_fills_a_detectors_picture_up_is_left_out_of_boxes(tmp_path: Path) -> None:
    cues = AppearanceCues(detector(tmp_path / "detector.safetensors"))
    wide = np.random.default_rng(0).integers(0, 256, (40, 64, 3), dtype=np.uint8)  # filled up to 64 rows
    filled = np.full((64, 64, 3), 115, dtype=np.uint8)
    filled[:40] = wide
    lower = np.array([[0.0, 0.0, 1.0, 0.5]])
    half = cues.size // 2
    given = cues.of_pictures(torch.from_numpy(wide[None]), lower, np.zeros(1, np.int64))[0, :half]
    same = lower * (1.0, 40 / 64, 1.0, 40 / 64)
    np.testing.assert_allclose(
        given, cues.of_pictures(torch.from_numpy(filled[None]), same, np.zeros(1, np.int64))[0, :half], atol=0.05
    )
