"""Fills that are networks: checkpoints of our in-painter, and ONNX files with MI-GAN's interface."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import sightline.models.fills.onnx as onnx_fills
from sightline.edits import FillRequest, open_fill, remove
from sightline.errors import ModelError
from sightline.models.fills.network import window
from sightline.models.nets.checkpoints import dump_checkpoint
from sightline.models.nets.inpainter import Inpainter, InpainterConfig


def requested(height: int = 40, width: int = 60) -> FillRequest:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    hole = np.zeros((height, width), bool)
    hole[5:15, 20:34] = True
    return FillRequest(pixels, hole)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    file = tmp_path / "mine.safetensors"
    file.write_bytes(dump_checkpoint(Inpainter(InpainterConfig(4, 1)), {"steps": 3}))
    return file


def test_a_checkpoint_fills_its_hole_alone(weights: Path) -> None:
    fill, request = open_fill(f"network:{weights}"), requested()
    filled = remove(request, fill)
    assert fill.name == "network:mine"
    assert (filled[~request.hole] == request.pixels[~request.hole]).all()
    assert (filled[request.hole] != request.pixels[request.hole]).any()
    net = Inpainter(InpainterConfig(4, 1)).eval()
    net.load_state_dict(open_fill(f"network:{weights}")._net.state_dict())  # type: ignore[attr-defined]
    picture = torch.from_numpy(request.pixels).permute(2, 0, 1)[None].float() / 127.5 - 1
    painted = (net(picture, torch.from_numpy(request.hole)[None, None].float())[0] + 1) * 127.5
    expected = painted.detach().round().clamp(0, 255).byte().permute(1, 2, 0).numpy()
    assert (filled[request.hole] == expected[request.hole]).all()  # smaller than the window: shown whole


def test_a_large_picture_is_shown_around_the_hole_alone(weights: Path) -> None:
    request = requested(400, 700)
    far = request.pixels.copy()
    far[:, 400:] = 0
    fill = open_fill(f"network:{weights}")
    inside = [remove(FillRequest(pixels, request.hole), fill)[request.hole] for pixels in (request.pixels, far)]
    assert (inside[0] == inside[1]).all()


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((10, 20, 400, 440), ((0, 256), (224, 480))),  # moved inwards at the borders
        ((100, 110, 200, 210), ((0, 256), (77, 333))),
        ((20, 300, 100, 380), ((0, 320), (36, 444))),  # larger than half of it: an eighth more on every side
        ((0, 320, 0, 480), ((0, 320), (0, 480))),
    ],
)
def test_windows(box: tuple[int, ...], expected: tuple[tuple[int, int], ...]) -> None:
    hole = np.zeros((320, 480), bool)
    hole[box[0] : box[1], box[2] : box[3]] = True
    assert window(hole, 256) == tuple(slice(*ends) for ends in expected)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"no")
    for spec, problem in [
        (f"network:{tmp_path / 'a.safetensors'}", "not a readable safetensors file"),
        (f"network:{tmp_path / 'b.safetensors'}", "no such file"),
        (f"onnx:{tmp_path / 'b.onnx'}", "no such ONNX file"),
    ]:
        with pytest.raises(ModelError, match=problem):
            open_fill(spec)


class Session:
    """An ONNX session in Python: paints the hole with 7."""

    def __init__(self, *inputs: tuple[str, list[Any], str], output: Any = None) -> None:
        self.inputs, self.output = inputs, output

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name=name, shape=shape, type=kind) for name, shape, kind in self.inputs]

    def run(self, _: None, given: dict[str, Any]) -> list[Any]:
        if self.output is not None:
            return [self.output]
        assert (given["m"].dtype, given["i"].dtype) == (np.uint8, np.uint8)
        return [np.where(given["m"] == 0, np.uint8(7), given["i"])]


BYTES = "tensor(uint8)"
IMAGE, MASK = ("i", ["b", 3, "h", "w"], BYTES), ("m", ["b", 1, "h", "w"], BYTES)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "net.onnx").write_bytes(b"an in-painter")
    return tmp_path / "net.onnx"


@pytest.mark.parametrize("inputs", [(IMAGE, MASK), (MASK, IMAGE)])
def test_an_onnx_file_fills_in_either_order_of_inputs(
    monkeypatch: pytest.MonkeyPatch, file: Path, inputs: Any
) -> None:
    monkeypatch.setattr(onnx_fills, "open_session", lambda _: Session(*inputs))
    fill, request = open_fill(f"onnx:{file}"), requested()
    filled = remove(request, fill)
    assert (filled[request.hole] == 7).all()
    assert (filled[~request.hole] == request.pixels[~request.hole]).all()
    again = pickle.loads(pickle.dumps(fill))
    assert again.identity == fill.identity  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "inputs",
    [
        (IMAGE,),  # no mask
        (IMAGE, MASK, ("t", [1], "tensor(float)")),
        (("i", ["b", 3, "h", "w"], "tensor(float)"), MASK),
        (("i", ["b", 3, 512, 512], BYTES), ("m", ["b", 1, 512, 512], BYTES)),  # of one size alone
        (("i", ["b", "h", "w", 3], BYTES), ("m", ["b", "h", "w", 1], BYTES)),
    ],
)
def test_an_onnx_file_with_other_inputs_is_refused(
    monkeypatch: pytest.MonkeyPatch, file: Path, inputs: Any
) -> None:
    monkeypatch.setattr(onnx_fills, "open_session", lambda _: Session(*inputs))
    with pytest.raises(
        ModelError, match=r"net\.onnx: not an in-painter with MI-GAN's interface: expected image uint8"
    ):
        open_fill(f"onnx:{file}")


@pytest.mark.parametrize(
    "output", [np.zeros((1, 3, 40, 60), np.float32), np.zeros((1, 3, 20, 30), np.uint8), np.zeros(3, np.uint8)]
)
def test_an_onnx_file_with_another_output_is_refused(
    monkeypatch: pytest.MonkeyPatch, file: Path, output: Any
) -> None:
    monkeypatch.setattr(onnx_fills, "open_session", lambda _: Session(IMAGE, MASK, output=output))
    with pytest.raises(ModelError, match="expected uint8 1×3×40×60, found"):
        remove(requested(), open_fill(f"onnx:{file}"))


def shipped(name: str) -> Path:
    """A file of real weights; skips where it is not here."""
    folder = Path(os.environ.get("SIGHTLINE_WEIGHTS", Path(__file__).resolve().parents[4] / "shared" / "weights"))
    if not (folder / name).is_file():
        pytest.skip(f"{name} is not here (set SIGHTLINE_WEIGHTS)")
    pytest.importorskip("onnxruntime")
    return folder / name


@pytest.mark.long
@pytest.mark.realdata
def test_migan_fills_a_plain_surrounding() -> None:
    fill = open_fill(f"onnx:{shipped('migan_pipeline_v2.onnx')}")
    pixels = np.full((96, 120, 3), (190, 120, 60), np.uint8)
    pixels[40:60, 50:70] = 0
    hole = np.zeros((96, 120), bool)
    hole[35:65, 45:75] = True
    filled = remove(FillRequest(pixels, hole), fill)
    assert (filled[~hole] == pixels[~hole]).all()
    assert np.abs(filled[hole].astype(int) - (190, 120, 60)).mean() < 12


@pytest.mark.realdata
def test_a_depth_network_is_no_in_painter() -> None:
    with pytest.raises(ModelError, match="MI-GAN's interface"):
        open_fill(f"onnx:{shipped('fastdepth_7.onnx')}")
