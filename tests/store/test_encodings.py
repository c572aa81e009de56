"""Pixels as bytes and back, form by form."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.errors import ConfigError, DataError
from sightline.scenes import Scene, View
from sightline.store import Blobs, encodings, tables_from_scenes, write
from sightline.store.encodings import FORMS, decode, decode_reduced, encode, round_trip

RNG = np.random.default_rng(1)
SMOOTH = np.add.outer(np.arange(40), np.arange(60))[..., None] * np.array([1, 2, 1]) % 200
PIXELS = SMOOTH.astype(np.uint8)


@pytest.mark.parametrize(
    ("form", "signature", "suffix", "error"),
    [
        (None, b"\x89PNG", ".png", 0),  # the default
        ("png", b"\x89PNG", ".png", 0),
        ("webp", b"RIFF", ".webp", 0),  # lossless unless a quality is told
        ("webp:90", b"RIFF", ".webp", 40),
        ("jpeg", b"\xff\xd8", ".jpg", 12),
        ("jpeg:60", b"\xff\xd8", ".jpg", 60),
    ],
)
def test_pictures(form: str | None, signature: bytes, suffix: str, error: int) -> None:
    data, named = encode("image", PIXELS, form)
    assert data.startswith(signature)
    assert named == suffix
    back = round_trip("image", PIXELS, form)
    assert (back.dtype, back.shape) == (np.uint8, PIXELS.shape)
    off = np.abs(back.astype(int) - PIXELS).max()
    assert off == 0 if error == 0 else 0 < off <= error


def test_jpeg_keeps_all_colour_samples() -> None:
    stripes = np.zeros((16, 16, 3), np.uint8)
    stripes[:, ::2] = (255, 0, 0)  # red and blue columns of one pixel: halved colour would smear them
    stripes[:, 1::2] = (0, 0, 255)
    assert np.abs(round_trip("image", stripes, "jpeg").astype(int) - stripes).max() < 40


@pytest.mark.parametrize(
    ("metres", "back"),
    [
        (1.2344, 1.234),  # to the nearest millimetre
        (0.0006, 0.001),  # the smallest
        (65.535, 65.535),  # the farthest
        (65.54, np.nan),  # past it
        (np.nan, np.nan),  # unknown stays unknown
        (np.inf, np.nan),  # no end
        (0.0, np.nan),  # no depth at all
        (-1.0, np.nan),  # behind the camera
    ],
)
def test_depth_of_16_bits(metres: float, back: float) -> None:
    found = round_trip("depth", np.array([[metres]], np.float32), "png")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.float32([[back]]))


def test_depth_of_16_bits_is_a_16_bit_grey_png() -> None:
    data, _ = encode("depth", np.array([[12.5, np.nan]], np.float32), "png")
    with Image.open(io.BytesIO(data)) as image:
        assert image.mode in ("I;16", "I")
        np.testing.assert_array_equal(np.asarray(image), [[12500, 0]])


def test_depth_of_16_bits_survives_the_disk(tmp_path: Path) -> None:
    depth = (RNG.random((30, 40)) * 70).astype(np.float32)  # some of it too far
    blobs = Blobs(tmp_path / "kept")
    ref = blobs.put_array("depth", depth, "png")
    view = View("0", size=(40, 30), load_depth=blobs.loader("depth", ref))
    stored = write(tables_from_scenes([Scene("s", views=(view,))]), tmp_path / "d", images=blobs)
    back = stored.scene("s").views[0].depth()
    far = depth > 65.535
    assert far.any()
    assert np.isnan(back[far]).all()
    assert np.abs(back - depth)[~far].max() <= 0.0005 + 4e-6
    assert stored.verify() == []


@pytest.mark.parametrize("most", [0, 1, 255, 256, 65535])
def test_ids_of_any_size(most: int) -> None:
    ids = np.array([[0, most]], dtype=np.int32)
    back = round_trip("ids", ids)
    assert back.dtype == np.int32
    np.testing.assert_array_equal(back, ids)


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("image", "bmp"),  # not kept
        ("image", "npz"),  # of another kind
        ("depth", "jpeg"),  # would ruin it
        ("depth", "png:90"),  # no quality to choose
        ("image", "png:90"),  # lossless
        ("image", "jpeg:0"),  # too low
        ("image", "jpeg:101"),  # too high
        ("image", "jpeg:x"),  # not a number
    ],
)
def test_unknown_forms(kind: str, form: str) -> None:
    pixels = PIXELS if kind == "image" else np.ones((3, 4))
    with pytest.raises(ConfigError, match=r"form"):
        encode(kind, pixels, form)  # type: ignore[arg-type]


def test_wrong_pixels() -> None:
    with pytest.raises(DataError, match="not a picture"):
        encode("image", PIXELS.astype(float))
    with pytest.raises(DataError, match="id map out of range"):
        encode("ids", np.array([[-1]]))


def test_every_kind_has_a_lossless_default() -> None:
    depth = np.where(RNG.random((5, 7)) < 0.2, np.nan, RNG.random((5, 7)) * 900).astype(np.float32)
    for kind, pixels in (("image", PIXELS), ("depth", depth), ("ids", np.arange(20).reshape(4, 5))):
        np.testing.assert_array_equal(round_trip(kind, pixels, FORMS[kind][0]), pixels)  # type: ignore[arg-type, index]


@pytest.mark.parametrize(
    ("kind", "form", "most", "shape"),
    [
        ("image", "png", 10**6, (40, 60)),  # small enough
        ("image", "jpeg", 10**6, (40, 60)),
        ("image", "png", 600, (20, 30)),  # a half
        ("image", "jpeg", 600, (20, 30)),
        ("image", "jpeg", 10, (3, 4)),  # smaller than an eighth, where the decoder stops
        ("image", "webp", 100, (5, 8)),
        ("depth", "png", 600, (20, 30)),
        ("depth", "npz", 600, (20, 30)),
        ("ids", "png", 600, (20, 30)),
    ],
)
def test_large_pictures_are_looked_at_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, form: str, most: int, shape: tuple[int, int]
) -> None:
    pixels = PIXELS if kind == "image" else SMOOTH[..., 0].astype(float)
    data, suffix = encode(kind, pixels, form)  # type: ignore[arg-type]
    file = tmp_path / f"file{suffix}"
    file.write_bytes(data)
    monkeypatch.setattr(encodings, "WHOLE", most)
    shown, size = decode_reduced(kind, file)  # type: ignore[arg-type]
    assert (shown.shape[:2], size) == (shape, (60, 40))
    whole = decode(kind, file)  # type: ignore[arg-type]
    if shape == (40, 60):
        np.testing.assert_array_equal(shown, whole)
    elif kind != "image":
        np.testing.assert_array_equal(shown, whole[::2, ::2])  # no id or depth between two others
    else:
        assert abs(float(shown.mean()) - float(whole.mean())) < 10


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"format": "PNG"}, True),  # can only be decoded whole
        ({"format": "JPEG", "progressive": True}, True),
        ({"format": "JPEG"}, False),
        ({"format": "JPEG", "mode": "L"}, False),  # grey
    ],
)
def test_what_cannot_be_decoded_smaller_has_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object], refused: bool
) -> None:
    mode = str(options.pop("mode", "RGB"))
    file = tmp_path / "photo"
    Image.fromarray(PIXELS).convert(mode).save(file, **options)  # type: ignore[arg-type]
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    for name, most in (("WHOLE", 500), ("LARGEST", 2000)):
        monkeypatch.setattr(encodings, name, most)
    if refused:
        with pytest.raises(ValueError, match=r"more than 2,000 pixels; of these only a baseline JPEG is shown"):
            decode_reduced("image", file)
    else:
        assert decode_reduced("image", file)[0].shape == (10, 15, 3)
