"""Networks in files that a description beside them explains: detectors, depth, classes; and the real ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_made import FLOAT, colour_classifier, colour_segmenter, network, node
from PIL import Image

from sightline.errors import ConfigError, DataError, ModelError
from sightline.models import load
from sightline.models.adapters.descriptions import BoxDetector, NetworkDescription
from sightline.models.adapters.pictures import PictureInput
from sightline.scenes import View
from sightline.skills import Detections, Pairs, skills_of

pytest.importorskip("onnxruntime", reason="needs the extra onnx")


def view_of(pixels: np.ndarray) -> View:
    return View("0", size=pixels.shape[1::-1], load_image=lambda: pixels)


@pytest.fixture
def box_file(tmp_path: Path) -> Path:
    """A detector that copies its input of 1×3×3×4, three rows of four numbers a channel, to its output."""
    same = node("Identity", ["picture"], "numbers")
    content = network([same], {"picture": (FLOAT, (1, 3, 3, 4))}, ("numbers", (1, 3, 3, 4)))
    (tmp_path / "net.onnx").write_bytes(content)
    return tmp_path / "net.onnx"


def test_depth_is_known_by_its_one_channel(tmp_path: Path) -> None:
    mean = node("ReduceMean", ["picture"], "depth", axes=(1,), keepdims=1)
    sides = (1, 3, "h", "w")
    content = network([mean], {"picture": (FLOAT, sides)}, ("depth", (1, 1, "h", "w")))
    (tmp_path / "net.onnx").write_bytes(content)
    model: Any = load(f"onnx:{tmp_path / 'net.onnx'}")
    assert skills_of(model) == ("relate", "estimate_depth")
    assert (model.name, model.inverse) == ("net", False)
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[:, 3:] = 204
    np.testing.assert_allclose(model.estimate_depth(view_of(pixels))[0], [0, 0, 0, 0.8, 0.8, 0.8], atol=1e-6)
    boxes = np.array([[0, 0, 0.5, 1.0]]), np.array([[0.5, 0, 1.0, 1.0]])
    pairs = Pairs("0", "within_image", view_of(pixels), view_of(pixels), *boxes, ("a",), ("b",))
    assert model.relate(pairs).depth.tolist() == [1]  # the dark half is closer
    (tmp_path / "net.yaml").write_text("task: depth\ninverse: true\nnormalise: bytes\nmargin: 0.5\n")
    told: Any = load(f"onnx:{tmp_path / 'net.onnx'}")
    assert told.inverse
    assert told.estimate_depth(view_of(pixels)).max() == pytest.approx(204)
    assert told.relate(pairs).depth.tolist() == [2]
    assert load(f"onnx:{tmp_path / 'net.onnx'},inverse=false").inverse is False  # options go first


BOXES = [[0.2, 0.4, 0.6, 0.8], [0.5, 0.5, 0.5, 0.5], [0.1, 0.1, 0.2, 0.2]]
COLUMNS = ("cat", "", "dog", "background")


def detector(about: dict[str, Any], *outputs: Any, size: tuple[int, int] = (10, 20)) -> BoxDetector:
    entry = PictureInput(size, True, np.dtype("f4"), "unit")
    described = NetworkDescription(task="detect", threshold=0.3, **about)
    names = [f"out_{i}" for i in range(len(outputs))]
    return BoxDetector("net", lambda _: [np.array(o) for o in outputs], entry, COLUMNS, described, names)


@pytest.mark.parametrize(
    ("form", "box"),
    [
        ("xyxy", [0.2, 0.4, 0.6, 0.8]),  # corners
        ("yxyx", [0.4, 0.2, 0.8, 0.6]),  # rows first
        ("cxcywh", [0.0, 0.0, 0.5, 0.8]),  # centre and size, cut off at the picture's edge
    ],
)
@pytest.mark.parametrize("units", ["fraction", "pixels"])
def test_boxes_in_every_form(form: Any, units: Any, box: list[float]) -> None:
    sides = {"xyxy": [20, 10, 20, 10], "yxyx": [10, 20, 10, 20], "cxcywh": [20, 10, 20, 10]}[form]
    boxes = np.array([BOXES]) * (np.array(sides) if units == "pixels" else 1)
    scores, labels = [[0.9, 0.95, 0.1]], [[2.0, 1.0, 0.0]]
    about = {"outputs": {"boxes": "out_0", "scores": 1, "labels": 2}, "boxes": form, "units": units}
    model = detector(about, boxes, scores, labels)
    found = Detections.checked(model.detect(view_of(np.zeros((30, 40, 3), np.uint8))), "net")
    assert found.categories == ("dog",)  # the second has no name, the third is too unsure
    np.testing.assert_allclose(found.boxes, [box], atol=1e-9)
    said = model.classify([view_of(np.zeros((30, 40, 3), np.uint8))])
    assert said.classes == ("cat", "dog")
    np.testing.assert_allclose(1 / (1 + np.exp(-said.scores)), [[0.1, 0.9]], atol=1e-6)  # below the threshold too


def test_scores_by_class() -> None:
    scores = [[[0.1, 0.0, 0.7, 0.2], [0.4, 0.0, 0.3, 0.2], [0.1, 0.1, 0.1, 0.9]]]
    model = detector({"outputs": {"boxes": 0, "scores": 1}}, [BOXES], scores)
    found = model.detect(view_of(np.zeros((30, 40, 3), np.uint8)))
    assert found.categories == ("dog", "cat")  # the third is background
    assert found.scores.tolist() == [0.7, 0.4]
    both = detector({"outputs": {"boxes": 0, "scores": 1, "labels": 1}}, [BOXES], scores)
    with pytest.raises(ModelError, match="go without labels"):
        both.detect(view_of(np.zeros((30, 40, 3), np.uint8)))


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("task: paint\n", DataError, "task"),  # no such task
        ("classes: [a]\nclases: 3\n", DataError, "clases"),  # misspelt field
        ("task: detect\nclasses: [a, b, c]\n", ConfigError, "does not say which output has the boxes"),
        (
            "task: detect\nclasses: [a]\noutputs: {boxes: nowhere, scores: 0}\n",
            ConfigError,
            "it has no output 'nowhere'; those are numbers",
        ),
        ("classes: missing.txt\n", ModelError, "missing.txt: no such file"),
    ],
)
def test_bad_descriptions(text: str, error: type[Exception], says: str, box_file: Path) -> None:
    box_file.with_suffix(".yaml").write_text(text)
    with pytest.raises(error) as raised:
        load(f"onnx:{box_file}")
    assert says in str(raised.value)


def test_classes_of_a_description(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(colour_classifier())
    (tmp_path / "about.yaml").write_text("classes: [red, green, blue]\nnormalise: unit\noutput: probabilities\n")
    with pytest.raises(ModelError, match="its classes are not known"):
        load(f"onnx:{tmp_path / 'net.onnx'}")
    model: Any = load(f"onnx:{tmp_path / 'net.onnx'},about={tmp_path / 'about.yaml'}")
    pixels = np.full((4, 6, 3), 51, np.uint8)
    np.testing.assert_allclose(model.classify([view_of(pixels)]).scores, -np.log(4), atol=1e-4)
    with pytest.raises(ModelError, match="no such description"):
        load(f"onnx:{tmp_path / 'net.onnx'},about={tmp_path / 'no.yaml'}")
    (tmp_path / "seg.onnx").write_bytes(colour_segmenter())
    (tmp_path / "seg.yaml").write_text("task: segment\nclasses: [a, b, c]\n")
    assert skills_of(load(f"onnx:{tmp_path / 'seg.onnx'}")) == ("segment",)


@pytest.mark.long
def test_the_real_detector_and_the_real_depth_network(weights: Path, real_data: Path) -> None:
    if importlib.util.find_spec("ai_edge_litert") is None:
        pytest.skip("ai-edge-litert is not installed (the tflite extra)")
    spec = f"tflite:{weights / 'efficientdet-lite2.tflite'}+onnx:{weights / 'fastdepth_7.onnx'}"
    model: Any = load(spec)
    assert set(skills_of(model)) == {"relate", "detect", "classify", "estimate_depth"}
    with Image.open(real_data / "coco-tiny" / "val2017" / "000000010764.jpg") as picture:
        view = view_of(np.asarray(picture.convert("RGB")))
    found = Detections.checked(model.detect(view), model.name)
    assert found.categories[0] == "person"
    depth = model.estimate_depth(view)
    assert depth.shape == (224, 224)
    assert np.isfinite(depth).all()
    n = len(found.boxes)
    pairs = Pairs("0", "within_image", view, view, found.boxes, found.boxes[::-1], *[found.categories] * 2)
    said = model.relate(pairs)
    assert said.depth.shape == (n,)
    assert np.array_equal(said.depth == 1, said.depth[::-1] == 2)  # the reverse of a pair gets the reverse answer
