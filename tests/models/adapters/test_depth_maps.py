from __future__ import annotations

import importlib.util
import io
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from reference import rules as slow
from sightline.errors import MissingExtraError, ModelError
from sightline.models import load
from sightline.models.adapters.depth_maps import (
    DepthFolder,
    FileDepth,
    MissingMapError,
    mean_in_boxes,
    onnx_depth_network,
)
from sightline.models.adapters.pictures import PictureInput
from sightline.scenes import View

MAP = np.array([[1.0, 2.0], [0.0, 4.0]])
VIEW = View("within_image/test/x", image_ref="blob:deep/7.jpg")


def save(path: Path, values: Any = MAP) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".png":
        Image.fromarray(np.asarray(values, dtype=np.uint16)).save(path)
    elif path.suffix == ".npz":
        np.savez(path, depth=values, other=np.zeros(3))
    else:
        np.save(path, values)


@pytest.mark.parametrize(
    "name",
    [
        "x.npy",  # image id
        "within_image/test/x.npy",  # scene id
        "7.npy",  # the picture's name
        "x.npz",  # compressed, array called depth
        "x.png",  # 16 bit
    ],
)
def test_found(tmp_path: Path, name: str) -> None:
    save(tmp_path / name)
    np.testing.assert_array_equal(DepthFolder(tmp_path, zero_is_unknown=False).estimate_depth(VIEW), MAP)


def test_png_zero_is_a_hole_unless_inverse(tmp_path: Path) -> None:
    save(tmp_path / "x.png", MAP * 10_000)
    holed = load(f"depth:folder={tmp_path}").source.estimate_depth(VIEW)
    np.testing.assert_array_equal(holed, [[10_000, 20_000], [np.nan, 40_000]])
    assert load(f"depth:folder={tmp_path},inverse=true").source.estimate_depth(VIEW)[1, 0] == 0


def test_axes_of_length_one_are_dropped(tmp_path: Path) -> None:
    save(tmp_path / "x.npy", MAP[None, :, :, None])
    np.testing.assert_array_equal(DepthFolder(tmp_path).estimate_depth(VIEW), MAP)
    save(tmp_path / "x.npy", np.ones((1, 1, 5)))
    assert DepthFolder(tmp_path).estimate_depth(VIEW).shape == (1, 5)


@pytest.mark.parametrize(
    "view_id",
    [
        "z",  # simply not there
        "../secret",  # climbs out
        "/etc/passwd",  # absolute
        "a/../../secret",  # climbs out in the middle
        "",  # nothing
        "nul\0byte",  # no file can be called so
    ],
)
def test_a_missing_map_names_the_image(tmp_path: Path, view_id: str) -> None:
    save(tmp_path / "secret.npy")
    (tmp_path / "maps" / "a").mkdir(parents=True)
    with pytest.raises(MissingMapError) as raised:
        DepthFolder(tmp_path / "maps").estimate_depth(View(view_id))
    assert f"no depth map for image {view_id} in" in str(raised.value)


def empty_zip() -> bytes:
    stream = io.BytesIO()
    zipfile.ZipFile(stream, "w").close()
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.npy", b"not an array"),  # rubbish
        ("x.npy", b""),  # empty
        ("x.npz", b"not a zip"),  # rubbish
        ("x.npz", empty_zip()),  # no array in it
        ("x.png", b"not a picture"),  # rubbish
        ("x.npy", np.zeros((2, 2, 3))),  # three channels
        ("x.npy", np.zeros((0, 4))),  # no pixels
        ("x.npy", np.array([{"a": 1}], dtype=object)),  # pickled objects are never loaded
        ("x.npy", np.array([["a", "b"]])),  # text
    ],
)
def test_a_bad_map_names_the_file(tmp_path: Path, name: str, content: Any) -> None:
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        np.save(tmp_path / name, content, allow_pickle=True)
    with pytest.raises(ModelError) as raised:
        DepthFolder(tmp_path).estimate_depth(VIEW)
    assert f"{name}: " in str(raised.value)


fractions = st.integers(0, 12).map(lambda k: k / 12)
boxes = st.tuples(fractions, fractions, fractions, fractions).filter(lambda b: b[0] < b[2] and b[1] < b[3])


@settings(max_examples=100, deadline=None)
@given(grid=st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10_000)), box=boxes)
def test_mean_equals_the_oracle(grid: tuple[int, int, int], box: tuple[float, ...]) -> None:
    height, width, seed = grid
    rng = np.random.default_rng(seed)
    depth = np.where(rng.random((height, width)) < 0.3, np.nan, rng.random((height, width)))
    ours = mean_in_boxes(depth, np.array([box]))
    np.testing.assert_allclose(ours, [slow.mean_depth(depth.tolist(), box)], rtol=1e-12)


def test_a_tiny_box_still_has_a_pixel() -> None:
    depth = np.arange(6.0).reshape(2, 3)
    tiny = np.array([[1.0, 1.0, 1.0, 1.0], [0.34, 0.1, 0.34, 0.1]])
    np.testing.assert_array_equal(mean_in_boxes(depth, tiny), [5.0, 1.0])


def test_without_the_runtime_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.onnx").touch()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    view = View("x", load_image=lambda: np.zeros((4, 4, 3), dtype=np.uint8))
    with pytest.raises(MissingExtraError, match=r"sightline-exams\[onnx\]"):
        onnx_depth_network(tmp_path / "net.onnx").estimate_depth(view)


def test_a_network_in_a_file_needs_a_photo_and_takes_any_side_that_is_left_open() -> None:
    seen = []

    def run(batch: Any) -> list[Any]:
        seen.append(batch.shape)
        return [batch.mean(axis=1)]

    entry = PictureInput.of([1, 3, 6, "width"], np.dtype("f4"), "unit", "net")
    network = FileDepth("net", run, entry)
    view = View("x", load_image=lambda: np.full((3, 8, 3), 255, dtype=np.uint8))
    assert network.estimate_depth(view).tolist() == np.ones((6, 8)).tolist()
    assert seen == [(1, 3, 6, 8)]
    with pytest.raises(MissingMapError, match="no photo of image x"):
        network.estimate_depth(View("x"))


@pytest.mark.realdata
def test_a_real_network_sees_the_floor_in_front(weights: Path, real_data: Path, ask: Any, turned: Any) -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed (the onnx extra)")
    photo = sorted((real_data / "coco-tiny" / "val2017").glob("*.jpg"))[0]
    network = weights / "fastdepth_7.onnx"
    rule = load(f"depth:onnx={network}")
    view = View("x", load_image=lambda: np.asarray(Image.open(photo).convert("RGB")))
    metres = rule.source.estimate_depth(view)
    assert metres.shape == (224, 224)
    assert 0.1 < np.median(metres) < 20.0
    pairs = ask([(0.1, 0.8, 0.9, 1.0), (0, 0, 1, 1)], [(0.1, 0.1, 0.9, 0.4), (0, 0, 1, 1)])
    object.__setattr__(pairs, "view_a", view)
    object.__setattr__(pairs, "view_b", view)
    means = mean_in_boxes(metres, np.array([(0.1, 0.8, 0.9, 1.0), (0.1, 0.1, 0.9, 0.4)]))
    expected = 3 if abs(means[0] - means[1]) <= 0.02 else 1 + int(means[0] > means[1])
    assert rule.relate(pairs).depth.tolist() == [expected, 3]
    again = pickle.loads(pickle.dumps(load(f"onnx_depth:path={network},margin=0.5")))
    np.testing.assert_array_equal(again.source.estimate_depth(view), metres)
    assert again.facts()["margin"] == 0.5
    with pytest.raises(ModelError, match="not an ONNX model"):
        onnx_depth_network(photo).estimate_depth(view)
