"""Classifiers, segmenters and detectors in files of other runtimes."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_made import BYTES, FLOAT, colour_classifier, colour_segmenter, network, node
from PIL import Image

from sightline.errors import ConfigError, MissingExtraError, ModelError
from sightline.models import candidate, canonical, load
from sightline.scenes import View
from sightline.skills import ClassScores, Detections, LabelMaps, skills_of

COLOURS = {"classes": "red\ngreen\nblue", "normalise": "unit"}


def view_of(pixels: np.ndarray[Any, Any]) -> View:
    return View("v", size=pixels.shape[1::-1], load_image=lambda: pixels)


def flat(*rgb: int, size: tuple[int, int] = (8, 12)) -> View:
    return view_of(np.full((*size, 3), rgb, np.uint8))


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
    (tmp_path / "net.onnx").write_bytes(colour_classifier(metadata=COLOURS))
    return tmp_path / "net.onnx"


def test_classifier_scores(onnx_file: Path) -> None:
    model = load(f"onnx:{onnx_file}")
    assert skills_of(model) == ("classify",)
    said = ClassScores.checked(model.classify([flat(255, 0, 51), flat(0, 102, 0)]), 2, model.name)
    assert said.classes == ("red", "green", "blue")
    np.testing.assert_allclose(said.scores, [[1, 0, 0.2], [0, 0.4, 0]], atol=1e-6)
    assert pickle.loads(pickle.dumps(model)).classify([flat(255, 0, 0)]).scores[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("normalise", "expected"),
    [("unit", 0.2), ("signed", -0.6), ("imagenet", (0.2 - 0.485) / 0.229), ("bytes", 51.0)],
)
def test_normalisations(onnx_file: Path, normalise: str, expected: float) -> None:
    scores = load(f"onnx:{onnx_file},normalise={normalise}").classify([flat(51, 0, 0)]).scores
    assert scores[0, 0] == pytest.approx(expected, abs=1e-5)


def test_probabilities_become_log_odds(onnx_file: Path) -> None:
    model = load(f"onnx:{onnx_file},output=probabilities")
    assert model.classify([flat(204, 0, 0)]).scores[0, 0] == pytest.approx(np.log(4), abs=1e-5)
    wrong = load(f"onnx:{onnx_file},output=probabilities,normalise=bytes")
    with pytest.raises(ModelError, match="expected probabilities, found 204"):
        wrong.classify([flat(204, 0, 0)])


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("red\ngreen\nblue\n", ("red", "green", "blue")),
        ("red\n???\nblue", ("red", "blue")),  # a column without a name
        ('["a", "b", "c"]', None),  # a file is a list of lines
    ],
)
def test_classes_beside(tmp_path: Path, text: str, classes: tuple[str, ...] | None) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "net.onnx").write_bytes(colour_classifier((1, 4, 6, 3)))
    (tmp_path / "net.classes.txt").write_text(text)
    model = load(f"onnx:{tmp_path / 'net.onnx'},normalise=unit")
    if classes is None:
        with pytest.raises(ModelError, match="1 class names for 3 scores"):
            model.classify([flat(0, 0, 0)])
        return
    said = model.classify([flat(255, 0, 51)])
    assert said.classes == classes
    assert said.scores[0, -1] == pytest.approx(0.2, abs=1e-6)


def test_json_list_in_metadata(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "net.onnx").write_bytes(colour_classifier(metadata={"classes": '["r", "g", "b"]'}))
    assert load(f"onnx:{tmp_path / 'net.onnx'}").classes == ("r", "g", "b")


def test_segmenter_maps(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "net.onnx").write_bytes(
        colour_segmenter({"classes": "background\ngreen\nblue", "normalise": "unit"})
    )
    model = load(f"onnx:{tmp_path / 'net.onnx'}")
    pixels = np.zeros((2, 3, 3), np.uint8)
    pixels[..., 0], pixels[0, 1, 1], pixels[1, 2, 2] = 9, 200, 200
    said = LabelMaps.checked(model.segment([view_of(pixels)]), [(3, 2)], model.name)
    assert said.classes == ("green", "blue")
    assert said.maps[0].tolist() == [[-1, 0, -1], [-1, -1, 1]]
    pixels[0, 1], pixels[1, 2] = (9, 200, 100), (9, 100, 200)
    among = model.segment_among([view_of(pixels)], ("blue",))  # background stays, green goes
    assert (among.classes, among.maps[0].tolist()) == (("green", "blue"), [[-1, 1, -1], [-1, -1, 1]])
    (tmp_path / "net.onnx").write_bytes(colour_segmenter({"classes": "red\ngreen\nblue", "normalise": "unit"}))
    named = load(f"onnx:{tmp_path / 'net.onnx'}")
    assert named.segment_among([view_of(pixels)], ("green", "blue")).maps[0].tolist() == [[1, 1, 1], [1, 1, 2]]


IDENTITY = node("Identity", ["picture"], "scores")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"no network", "not an ONNX model"),
        (
            network([IDENTITY], {"picture": (FLOAT, (1, 5))}, ("scores", (1, 5)), COLOURS),
            "expected one input 1×3×H×W",
        ),
        (
            network([IDENTITY], {"picture": (FLOAT, (4, 3, 2, 2))}, ("scores", (4, 3, 2, 2)), COLOURS),
            "expected one input 1×3×H×W",
        ),
        (
            network(
                [node("Add", ["picture", "mask"], "scores")],
                {"picture": (FLOAT, (1, 3, 2, 2)), "mask": (FLOAT, (1, 3, 2, 2))},
                ("scores", (1, 3, 2, 2)),
            ),
            "expected one input, a picture, found picture, mask",
        ),
        (
            network(
                [node("ReduceMean", ["picture"], "scores", axes=(3,), keepdims=0)],
                {"picture": (FLOAT, (1, 3, 2, 2))},
                ("scores", (1, 3, 2)),
                COLOURS,
            ),
            "expected an output 1×C or 1×C×H×W",
        ),
        (colour_classifier(), "its classes are not known"),
        (colour_classifier(metadata={"classes": "a\na\nb"}), "has a twice"),
    ],
)
def test_other_networks(tmp_path: Path, content: bytes, problem: str) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "net.onnx").write_bytes(content)
    with pytest.raises(ModelError, match=problem):
        load(f"onnx:{tmp_path / 'net.onnx'}")


def test_bad_options(onnx_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="normalise must be one of unit, signed"):
        load(f"onnx:{onnx_file},normalise=nicely")
    with pytest.raises(ModelError, match="no such ONNX file"):
        load(f"onnx:{tmp_path / 'other.onnx'}")
    with pytest.raises(ConfigError, match="needs the option path"):
        load("onnx")


def test_bytes_are_taken_as_they_are(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    cast = node("Cast", ["picture"], "floats", to=FLOAT)
    mean = node("ReduceMean", ["floats"], "scores", axes=(2, 3), keepdims=0)
    said = {"classes": "r\ng\nb"}
    (tmp_path / "net.onnx").write_bytes(
        network([cast, mean], {"picture": (BYTES, (1, 3, 4, 4))}, ("scores", (1, 3)), said)
    )
    assert load(f"onnx:{tmp_path / 'net.onnx'}").classify([flat(7, 8, 9)]).scores.tolist() == [[7, 8, 9]]


def test_spelling_and_fingerprint(onnx_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(onnx_file.parent)
    assert canonical(f"onnx:{onnx_file}") == canonical("onnx:./net.onnx") == "onnx:net.onnx"
    assert canonical("onnx:output=logits,path=net.onnx") == "onnx:net.onnx,output=logits"
    before = candidate("onnx:net.onnx").fingerprint
    onnx_file.write_bytes(colour_classifier(metadata={**COLOURS, "classes": "a\nb\nc"}))
    assert before
    assert candidate("onnx:net.onnx").fingerprint != before


@pytest.mark.parametrize(("spec", "package"), [("onnx", "onnxruntime"), ("tflite", "ai_edge_litert.interpreter")])
def test_missing_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, package: str) -> None:
    (tmp_path / "net").write_bytes(b"TFL3")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"sightline-exams\[{spec}\]"):
        load(f"{spec}:{tmp_path / 'net'}")


class _Boxes:
    """Finds what its pictures are made of."""

    name = "boxes"

    def detect(self, view: View) -> Detections:
        level = float(view.image()[0, 0, 0]) / 255.0
        return Detections(np.array([[0, 0, 1, 1.0]] * 2), np.array([level, level / 2]), ("cat", "cat"))


def test_best_box(tmp_path: Path) -> None:
    from sightline.models.composite import BestBox, Composite

    class Spec:
        classes = ("cat", "dog")

    model = Composite(BestBox(), _Boxes())
    model.check_context(Spec())
    said = ClassScores.checked(model.classify([flat(204, 0, 0), flat(51, 0, 0)]), 2, model.name)
    assert said.classes == ("cat", "dog")
    np.testing.assert_allclose(said.scores[:, 0], [np.log(4), -np.log(4)], atol=1e-6)
    assert said.scores[0, 1] == said.scores[1, 1] < -16  # no box
    margins = Composite(BestBox(score="margin", absent=-3.0), _Boxes())
    margins.check_context(Spec())
    np.testing.assert_allclose(margins.classify([flat(204, 0, 0)]).scores, [[0.8, -3.0]])
    with pytest.raises(ModelError, match=r"best_box\+DETECTOR"):
        load("best_box").classify([flat(0, 0, 0)])


@pytest.fixture(scope="module")
def litert() -> None:
    if importlib.util.find_spec("ai_edge_litert") is None:
        pytest.skip("ai-edge-litert is not installed (the tflite extra)")


@pytest.fixture(scope="module")
def photo(real_data: Path) -> View:
    """Baseball: a player with a glove."""
    with Image.open(real_data / "coco-tiny" / "val2017" / "000000010764.jpg") as picture:
        return view_of(np.asarray(picture.convert("RGB")))


@pytest.mark.usefixtures("litert")
def test_real_detector(weights: Path, photo: View) -> None:
    model = load(f"tflite:{weights / 'efficientdet-lite2.tflite'}")
    assert skills_of(model) == ("detect", "classify")
    assert len(model.classes) == 80
    found = Detections.checked(model.detect(photo), model.name)
    assert found.categories[:2] == ("person", "baseball glove")
    x0, y0, x1, y1 = found.boxes[0]
    assert 0.3 < x0 < 0.4
    assert 0.15 < y0 < 0.25
    assert 0.7 < x1 < 0.8
    assert 0.9 < y1 <= 1.0
    said = ClassScores.checked(model.classify([photo]), 1, model.name)
    scores = dict(zip(said.classes, said.scores[0], strict=True))
    assert max(scores, key=scores.__getitem__) == "person"
    # The best box's confidence is the sigmoid of the class's logit, up to the steps of int8.
    for label in ("person", "baseball glove"):
        best = max(s for c, s in zip(found.categories, found.scores, strict=True) if c == label)
        assert 1 / (1 + np.exp(-scores[label])) == pytest.approx(best, abs=0.01)
    assert len(set(scores.values())) > 30  # boxes alone would leave nearly all classes without a score
    again = pickle.loads(pickle.dumps(model)).classify([photo, photo]).scores
    np.testing.assert_array_equal(again, np.repeat(said.scores, 2, axis=0))


@pytest.mark.usefixtures("litert")
def test_real_segmenter(weights: Path, photo: View) -> None:
    model = load(f"tflite:{weights / 'deeplabv3.tflite'}")
    assert skills_of(model) == ("segment",)
    assert len(model.classes) == 20  # VOC's, background being none
    said = LabelMaps.checked(model.segment([photo]), [photo.require_size()], model.name)
    person = said.maps[0] == said.classes.index("person")
    assert 0.1 < person.mean() < 0.25
    assert person[200:300, 300:400].mean() > 0.6  # where the player stands
    assert (said.maps[0][:40] == -1).mean() > 0.95


@pytest.mark.usefixtures("litert")
def test_no_tflite_network(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(b"no network at all")
    with pytest.raises(ModelError, match="not a TensorFlow Lite network"):
        load(f"tflite:{tmp_path / 'net.tflite'}")
