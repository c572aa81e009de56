"""ImageNet3D's files: radians, several objects, and pickles that want more than plain values."""

from __future__ import annotations

import os
import pickle
import tracemalloc
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy
from pascal3d_cases import annotation, lay_imagenet3d, save_npz
from test_pascal3d import scenes

from sightline.errors import DataError
from sightline.store.formats import detect
from sightline.store.formats.imagenet3d import read_annotations


def test_objects_are_read_with_angles_in_radians(tmp_path: Path) -> None:
    assert detect(lay_imagenet3d(tmp_path)).name == "imagenet3d"
    (scene,) = scenes(tmp_path, "imagenet3d")
    assert (scene.id, scene.views[0].size) == ("imagenet3d/n01_1", (640, 480))
    first, second = scene.sightings
    assert first.box == (10.0, 20.0, 300.0, 400.0)
    assert first.flags == {"occluded"}
    view = first.viewpoint
    assert view is not None
    assert (view.azimuth, view.elevation, view.theta) == pytest.approx((90.0, -5.729578, 11.459156))
    assert (view.distance, view.principal, view.continuous) == (6.0, (150.0, 200.0), True)
    assert second.viewpoint is not None
    assert not second.viewpoint.continuous
    words = {"object_status": "status_partially", "dense": "dense_no", "cad_index": "3"}
    assert scene.objects[0].attributes == words


@pytest.mark.parametrize("where", ["", "car/"])
def test_a_damaged_file_is_named_though_it_is_the_only_one(tmp_path: Path, where: str) -> None:
    file = save_npz(tmp_path / f"{where}a.npz", annotation())
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(DataError, match=r"a\.npz: cannot be read as annotations"):
        list(detect(tmp_path).read(tmp_path))
    with pytest.raises(DataError, match=r"a\.npz: cannot be read as annotations"):
        list(detect(file).read(file))


def test_folders_of_classes_are_part_of_the_name(tmp_path: Path) -> None:
    for name in ("car", "bus"):
        save_npz(tmp_path / name / "n01_1.npz", annotation())
    assert [s.id for s in scenes(tmp_path, "imagenet3d")] == ["imagenet3d/bus/n01_1", "imagenet3d/car/n01_1"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"class": None}, r"row annotations\(2\), class: field is missing"),
        ({"bbox": np.array([3.0, 2.0])}, "bbox: .*4 numbers"),
        ({"bbox": np.array([30.0, 2.0, 10.0, 9.0])}, "box is reversed"),
        ({"azimuth": "north"}, "azimuth: .*a number"),
        ({"elevation": np.nan}, "elevation: .*finite"),
        ({"azimuth": 1e308}, "azimuth: .*expected an angle"),  # in degrees it is infinite
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    save_npz(tmp_path / "a.npz", annotation(), annotation(**changes))
    with pytest.raises(DataError, match=words):
        scenes(tmp_path / "a.npz", "imagenet3d")


@pytest.mark.parametrize("width", [2.0**53, 640.5, -1.0])
def test_a_size_that_no_photo_has_is_refused(tmp_path: Path, width: float) -> None:
    save_npz(tmp_path / "a.npz", annotation(width=width))
    with pytest.raises(
        DataError, match=r"a.npz, row annotations, width: .*a whole number of pixels up to 2147483647"
    ):
        scenes(tmp_path / "a.npz", "imagenet3d")


class Hostile:
    """A pickle that would run a command."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.marker}",)


def spoilt(path: Path, data: bytes) -> Path:
    stream = BytesIO()
    npy.write_array_header_1_0(stream, {"descr": "|O", "fortran_order": False, "shape": (1,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("annotations.npy", stream.getvalue() + data)
    return path


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Hostile(Path("x")), "only arrays and plain values"),
        ([np.random.default_rng(0)], "only arrays and plain values"),
        (Path("x"), "only arrays and plain values"),
        (np.array([1 + 2j]), "numbers and texts"),
        ({"a": 1j}, "asks for builtins.complex"),
        ({1, 2}, "holds a set"),
        (["\ud800"], "half a character"),
        ({"\ud800": 1}, "half a character"),
    ],
)
def test_pickles_bring_plain_values_only(tmp_path: Path, value: Any, words: str) -> None:
    marker = tmp_path / "ran"
    path = spoilt(tmp_path / "a.npz", pickle.dumps(Hostile(marker) if isinstance(value, Hostile) else value))
    with pytest.raises(DataError, match=words) as raised:
        read_annotations(path)
    assert str(path) in str(raised.value)
    assert not marker.exists()


def test_values_that_stand_in_many_places_are_built_once(tmp_path: Path) -> None:
    laughs: Any = ["x"]
    for _ in range(12):
        laughs = [laughs] * 12
    assert len(read_annotations(spoilt(tmp_path / "a.npz", pickle.dumps(laughs)))) == 12
    for _ in range(12):
        laughs = [laughs]
    with pytest.raises(DataError, match="deeper"):
        read_annotations(spoilt(tmp_path / "a.npz", pickle.dumps(laughs)))


@pytest.mark.parametrize(
    ("pickled", "words"),
    [
        (b"\x80\x04]r\xff\xff\xff\x0f.", "a place 268435455"),  # room for so many values is 2 GB
        (b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b"ab.", "cannot be read"),  # a terabyte of two bytes
        (b"\x80\x04]\x00.", "cannot be read"),
    ],
)
def test_a_pickle_gets_no_more_room_than_it_fills(tmp_path: Path, pickled: bytes, words: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=words):
            read_annotations(spoilt(tmp_path / "a.npz", pickled))
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@settings(max_examples=40)
@given(st.data())
def test_damage_ends_in_one_error(data: st.DataObject) -> None:
    from tempfile import TemporaryDirectory

    whole = bytearray(pickle.dumps([annotation(), annotation()]))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with TemporaryDirectory() as folder:
        path = spoilt(Path(folder) / "a.npz", bytes(whole))
        try:
            scenes(path, "imagenet3d")
        except DataError as error:
            text = str(error)
        else:
            text = "a.npz"
    assert text


def test_other_archives_are_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", other=1)
    with pytest.raises(DataError, match="no annotations"):
        read_annotations(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(b"PK nonsense")
    with pytest.raises(DataError, match="cannot be read"):
        read_annotations(tmp_path / "b.npz")
