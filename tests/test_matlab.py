"""The reader of .mat files against scipy's, and against damaged and hostile ones."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sightline import matlab
from sightline.errors import DataError
from sightline.matlab import Struct, read_mat

VALUES: dict[str, Any] = {
    "number": 2.5,
    "whole": np.array([[1, 2, 300]], np.uint16),
    "grid": np.arange(12.0).reshape(3, 4),
    "signed": np.array([[-5]], np.int8),
    "mark": np.array([[True, False]]),
    "text": "left_wing – é",
    "nothing": np.zeros((0, 0)),
    "cells": np.array([["a", 1.0], ["b", np.zeros((0, 0))]], dtype=object),
    "nested": {"viewpoint": {"azimuth": 30.0, "names": "x"}, "empty": np.zeros((0, 0))},
}


@pytest.mark.parametrize("packed", [True, False])
def test_values_come_back(tmp_path: Path, packed: bool) -> None:
    scipy.io.savemat(tmp_path / "a.mat", VALUES, do_compression=packed)
    found = read_mat(tmp_path / "a.mat")
    assert list(found) == list(VALUES)
    assert found["number"].tolist() == [[2.5]]
    assert found["whole"].dtype == np.uint16
    np.testing.assert_array_equal(found["grid"], VALUES["grid"])
    assert found["signed"].tolist() == [[-5]]
    assert found["mark"].dtype == bool
    assert found["text"] == VALUES["text"]
    assert found["nothing"].shape == (0, 0)
    assert found["cells"][1, 0] == "b"
    assert found["nested"][0, 0]["viewpoint"][0, 0]["azimuth"].item() == 30.0
    assert "viewpoint" not in read_mat(tmp_path / "a.mat", skip=["viewpoint"])["nested"][0, 0]


@settings(max_examples=40)
@given(
    hnp.arrays(
        st.sampled_from([np.uint8, np.int16, np.float64, np.int64]),
        hnp.array_shapes(min_dims=2, max_dims=3, max_side=4),
    ),
    st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=12),
)
def test_reads_what_scipy_writes(array: np.ndarray, text: str) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file = Path(folder) / "x.mat"
        scipy.io.savemat(file, {"a": array, "t": {"text": text}})
        found = read_mat(file)
    np.testing.assert_array_equal(found["a"], array)
    assert found["a"].dtype == array.dtype
    kept = found["t"][0, 0]["text"]
    assert kept == text or (not text and not len(kept))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a MATLAB file"),  # empty
        (b"MATLAB 5.0 MAT-file".ljust(300), "not a MATLAB file"),  # no byte order
        (b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n", "v7.3"),  # HDF5
        (b"\x89HDF\r\n\x1a\n", "v7.3"),  # HDF5 without MATLAB's block
        (b"MATLAB 5.0".ljust(126) + b"IM" + struct.pack("<II", 14, 1 << 30), "longer than what holds it"),
        (b"MATLAB 5.0".ljust(126) + b"IM" + struct.pack("<II", 15, 8) + b"12345678", "damaged"),  # no zlib stream
    ],
)
def test_what_is_no_such_file_is_told(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "x.mat").write_bytes(data)
    with pytest.raises(DataError, match=words) as raised:
        read_mat(tmp_path / "x.mat")
    assert str(tmp_path / "x.mat") in str(raised.value)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matlab, "MOST_INFLATED", 1 << 16)
    packed = zlib.compress(bytes(1 << 20))
    head = b"MATLAB 5.0".ljust(126) + b"IM" + struct.pack("<II", 15, len(packed))
    (tmp_path / "x.mat").write_bytes(head + packed)
    with pytest.raises(DataError, match="unpacks to more than"):
        read_mat(tmp_path / "x.mat")


@given(st.data())
def test_damage_ends_in_one_error(data: st.DataObject) -> None:
    from io import BytesIO
    from tempfile import TemporaryDirectory

    stream = BytesIO()
    scipy.io.savemat(stream, VALUES, do_compression=False)
    whole = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(128, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(128, len(whole)))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "x.mat"
        file.write_bytes(whole[:cut])
        with suppress(DataError):  # nothing else may come
            read_mat(file)


def test_structs_within_structs_have_a_limit(tmp_path: Path) -> None:
    deep: Any = 1.0
    for _ in range(matlab.MOST_DEPTH + 2):
        deep = {"a": deep}
    scipy.io.savemat(tmp_path / "x.mat", {"x": deep})
    with pytest.raises(DataError, match="within one another"):
        read_mat(tmp_path / "x.mat")


def test_fields_are_told_by_file_record_and_name(tmp_path: Path) -> None:
    record = Struct(
        {
            "bbox": np.array([[1.0, 2.0, np.nan, 4.0]]),
            "class": "car",
            "objects": np.array([{"bbox": np.zeros((1, 3))}, {}], dtype=object),
            "mark": np.array([[3]]),
        },
        Path("a.mat"),
    )
    assert record.text("class") == "car"
    assert "anchors" not in record
    first, second = record.structs("objects")
    cases = [
        (lambda: record.numbers("bbox", 4), "a.mat, bbox: .*4 numbers, finite"),
        (lambda: first.numbers("bbox", 4), r"a.mat, row objects\(1\), bbox: .*expected 4 numbers"),
        (lambda: second.text("class"), r"row objects\(2\), class: field is missing"),
        (lambda: record.number("class"), "class: .*expected a number"),
        (lambda: record.flag("mark"), "mark: .*0 or 1"),
        (lambda: record.struct("objects"), "one record"),
        (lambda: record.structs("class"), "records"),
    ]
    for call, words in cases:
        with pytest.raises(DataError, match=words):
            call()
