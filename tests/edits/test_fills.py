"""What fills a hole: OpenCV's methods and exact counterfactuals, and pixels outside that stay."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sightline
from sightline.edits import FillRequest, Removal, open_fill, remove
from sightline.edits.removal import instances, masks_in
from sightline.errors import ConfigError, DataError, MissingExtraError, ModelError
from sightline.scenes import Scene


class Painter:
    """Fills with one value, outside too."""

    name = "painter"

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def fill(self, request: FillRequest) -> Any:
        return np.full_like(request.pixels, 7) if self.answer is None else self.answer


@pytest.fixture(scope="module")
def scene(generated: Path) -> Scene:
    return next(iter(sightline.open(generated)))


@settings(max_examples=25)
@given(st.data(), st.sampled_from(["telea", "ns", "painter"]))
def test_pixels_outside_stay_byte_for_byte(data: st.DataObject, name: str) -> None:
    shape = data.draw(st.tuples(st.integers(2, 16), st.integers(2, 16)))
    pixels = data.draw(arrays(np.uint8, (*shape, 3)))
    hole = data.draw(arrays(bool, shape).filter(lambda mask: not mask.all()))
    before = pixels.tobytes()
    filled = remove(FillRequest(pixels, hole), Painter() if name == "painter" else open_fill(name))
    assert filled[~hole].tobytes() == pixels[~hole].tobytes()
    assert pixels.tobytes() == before
    if name == "painter":
        assert (filled[hole] == 7).all()


@pytest.mark.parametrize("name", ["telea", "ns"])
def test_opencv_fills_a_plain_surrounding_with_it(name: str) -> None:
    pixels = np.full((40, 40, 3), (200, 100, 50), np.uint8)
    pixels[15:25, 15:25] = 0
    hole = np.zeros((40, 40), bool)
    hole[14:26, 14:26] = True
    filled = remove(FillRequest(pixels, hole), open_fill(name))
    assert np.abs(filled[hole].astype(int) - (200, 100, 50)).max() <= 3  # its marching rounds


def test_exact_is_the_counterfactual_and_exact_hole_only_inside(scene: Scene) -> None:
    pixels = scene.view("original").image()
    gone = instances(scene, scene.objects[0].category)
    hole = Removal(1).hole(masks_in(scene, "original", gone))
    request = FillRequest(pixels, hole, scene, "original", gone)
    truth = scene.without(*gone).view("original").image()
    assert (remove(request, open_fill("exact")) == truth).all()
    inside = remove(request, open_fill("exact-hole"))
    assert (inside[hole] == truth[hole]).all()
    assert (inside[~hole] == pixels[~hole]).all()
    assert (truth[~hole] != pixels[~hole]).any(), "a shadow goes with its object"


def test_a_control_takes_nothing_away(scene: Scene) -> None:
    pixels = scene.view("original").image()
    hole = np.zeros(pixels.shape[:2], bool)
    hole[:4, :4] = True
    for name in ("exact", "exact-hole"):
        assert (remove(FillRequest(pixels, hole, scene, "original"), open_fill(name)) == pixels).all()


def test_an_empty_hole_asks_nobody() -> None:
    pixels = np.zeros((4, 4, 3), np.uint8)
    assert (remove(FillRequest(pixels, np.zeros((4, 4), bool)), Painter("broken")) == pixels).all()


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("tella", "unknown fill 'tella', did you mean 'telea'"),
        ("onnx", "the fill 'onnx' names no file: expected onnx:FILE"),
        ("grey", "there are telea, ns, exact, exact-hole, network:FILE, onnx:FILE"),
        ("telea:5", "unknown fill 'telea:5'"),
        ("onnx:", "the fill 'onnx:' names no file: expected onnx:FILE"),
    ],
)
def test_unknown_fills_are_named(spec: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        open_fill(spec)


@pytest.mark.parametrize(
    ("pixels", "hole", "problem"),
    [
        (np.zeros((4, 4), np.uint8), np.zeros((4, 4), bool), "not a picture to fill"),
        (np.zeros((4, 4, 3)), np.zeros((4, 4), bool), "not a picture to fill"),
        (np.zeros((4, 4, 3), np.uint8), np.zeros((4, 5), bool), r"expected \(4, 4\) bool, found '\(4, 5\) bool'"),
        (np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4)), "hole and picture differ"),
        (np.zeros((4, 4, 3), np.uint8), np.ones((4, 4), bool), "the hole covers the whole image"),
    ],
)
def test_bad_requests_are_refused(pixels: Any, hole: Any, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        FillRequest(pixels, hole)


def test_bad_fills_are_named() -> None:
    request = FillRequest(np.zeros((4, 4, 3), np.uint8), np.eye(4, dtype=bool))
    with pytest.raises(ModelError, match="painter: returned \\(4, 4\\) uint8"):
        remove(request, Painter(np.zeros((4, 4), np.uint8)))
    with pytest.raises(ConfigError, match="exact needs a generated scene"):
        remove(request, open_fill("exact"))
    with pytest.raises(DataError, match="was not generated here"):
        remove(FillRequest(request.pixels, request.hole, Scene("s"), "v", ("0",)), open_fill("exact"))


def test_a_missing_opencv_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(MissingExtraError, match=r"sightline-exams\[opencv\]"):
        open_fill("telea")
