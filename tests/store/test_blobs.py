"""Pictures, depth maps and id maps beside the tables."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.errors import DataError
from sightline.scenes import Scene, View
from sightline.store import Blobs, Dataset, tables_from_scenes, write, write_scenes

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (5, 7, 3), dtype=np.uint8)
DEPTH = np.where(RNG.random((5, 7)) < 0.2, np.nan, RNG.random((5, 7)) * 9).astype(np.float32)
IDS = RNG.integers(0, 0x10000, (5, 7)).astype(np.int32)


def _pictured(scene_id: str = "s") -> Scene:
    view = View("0", size=(7, 5), load_image=lambda: PIXELS, load_depth=lambda: DEPTH, load_ids=lambda: IDS)
    return Scene(scene_id, views=(view,))


def _same_pixels(view: View) -> None:
    np.testing.assert_array_equal(view.image(), PIXELS)
    np.testing.assert_array_equal(view.depth(), DEPTH)
    np.testing.assert_array_equal(view.ids(), IDS)
    assert (view.image().dtype, view.depth().dtype, view.ids().dtype) == (np.uint8, np.float32, np.int32)


def test_pixels_survive_the_disk(tmp_path: Path) -> None:
    dataset = write_scenes([_pictured("a"), _pictured("b")], tmp_path / "d")
    for scene in dataset:
        _same_pixels(scene.views[0])
    _same_pixels(dataset.scene("b").view("0"))
    assert len(dataset.blobs) == 3  # equal pictures are kept once
    assert dataset.verify() == []
    for ref, path in dataset.blobs.items():
        assert ref == f"blob:{path.name}"
        assert path.stem == hashlib.sha256(path.read_bytes()).hexdigest()
        assert path.parent == dataset.path / "images" / path.name[:2]


def test_blobs_travel_to_another_dataset(tmp_path: Path) -> None:
    first = write_scenes([_pictured()], tmp_path / "d")
    with pytest.raises(DataError, match="blob is not at hand"):
        write(first.tables(), tmp_path / "e")
    second = write(first.tables(), tmp_path / "e", images=first.blobs)
    assert second.fingerprint == first.fingerprint
    _same_pixels(second.scene("s").views[0])
    again = write(tables_from_scenes(first), tmp_path / "f", images=first.blobs)
    assert again.fingerprint == first.fingerprint


def test_files_and_bytes_become_blobs(tmp_path: Path) -> None:
    file = tmp_path / "one.PNG"
    Image.fromarray(PIXELS).save(file)
    scenes = [Scene(n, views=(View("0", n),)) for n in ("one", "two.png", "three.jpg")]
    images: dict[str, Path | bytes] = {"one": file, "two.png": file.read_bytes()}
    dataset = write(tables_from_scenes(scenes), tmp_path / "d", images=images)
    refs = {s.id: s.views[0].image_ref for s in dataset}
    name = hashlib.sha256(file.read_bytes()).hexdigest()
    assert refs == {"one": f"blob:{name}.png", "two.png": f"blob:{name}.png", "three.jpg": "three.jpg"}
    np.testing.assert_array_equal(dataset.scene("two.png").views[0].image(), PIXELS)
    with pytest.raises(DataError, match=r"three\.jpg, row three.jpg, view 0, image: picture is missing"):
        dataset.scene("three.jpg").views[0].image()


def test_a_picture_that_is_not_there_stops_the_write(tmp_path: Path) -> None:
    tables = tables_from_scenes([Scene("s", views=(View("0", "x"),))])
    with pytest.raises(DataError, match=r"gone\.png: picture cannot be read"):
        write(tables, tmp_path / "d", images={"x": tmp_path / "gone.png"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "1"])
def test_any_picture_comes_as_rgb(tmp_path: Path, mode: str) -> None:
    Image.fromarray(PIXELS).convert(mode).save(tmp_path / "x.png")
    for ref in ("x.png", str(tmp_path / "x.png")):  # relative to the folder, and absolute
        dataset = Dataset.from_tables(tables_from_scenes([Scene("s", views=(View("0", ref),))]), tmp_path)
        image = dataset.scene("s").views[0].image()
        assert (image.shape, image.dtype) == ((5, 7, 3), np.uint8)


@pytest.mark.parametrize(
    "ref",
    [
        "../secret.png",  # out of the folder
        "images/../../secret.png",  # the same, hidden
        "blob:../secret.png",  # a blob that is a path
        "blob:" + "a" * 64 + "/../../../secret.png",  # after a true name
        "blob:" + "A" * 64,  # not a hash
        "blob:",  # nothing
        "blob:/" + "a" * 63,  # absolute
        "blob:" + "a" * 64 + ".p/g",  # in the suffix
        "blob:" + "a" * 64 + "\n",  # after the end
    ],
)
def test_references_do_not_lead_out(tmp_path: Path, ref: str) -> None:
    (tmp_path / "d").mkdir()
    Image.fromarray(PIXELS).save(tmp_path / "secret.png")
    dataset = Dataset.from_tables(tables_from_scenes([Scene("s", views=(View("0", ref),))]), tmp_path / "d")
    with pytest.raises(DataError, match=r"not a blob reference|leads out"):
        dataset.scene("s").views[0].image()
    assert ref not in dataset.blobs


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("cut.jpg", lambda data: data[: len(data) // 2]),  # a truncated JPEG
        ("cut.png", lambda data: data[: len(data) // 2]),
        ("head.png", lambda data: data[:20]),  # cut within the header
        ("text.jpg", lambda _: b"no picture at all"),
        ("empty.png", lambda _: b""),
        ("gone.webp", None),
    ],
)
def test_a_picture_that_cannot_be_decoded(tmp_path: Path, name: str, cut: Callable[[bytes], bytes] | None) -> None:
    file = tmp_path / name
    Image.fromarray(RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(file)
    if cut is None:
        file.unlink()
    else:
        file.write_bytes(cut(file.read_bytes()))
    dataset = Dataset.from_tables(tables_from_scenes([Scene("a/7", views=(View("left", name),))]), tmp_path)
    problem = "is missing" if cut is None else "cannot be read: "
    with pytest.raises(DataError, match=rf"/{name}, row a/7, view left, image: picture {problem}"):
        dataset.scene("a/7").views[0].image()


@pytest.mark.parametrize("kind", ["image", "depth", "ids"])
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no", b"\x89PNG\r\n\x1a\n broken", b"\x93NUMPY"])
def test_a_broken_picture_is_named(tmp_path: Path, kind: str, data: bytes) -> None:
    loader = Blobs(tmp_path).loader(kind, Blobs(tmp_path).put(data, ".png"))  # type: ignore[arg-type]
    assert loader is not None
    with pytest.raises(DataError, match=r"\.png, .*picture cannot be read"):
        loader()


def test_verify_sees_blobs(tmp_path: Path) -> None:
    dataset = write_scenes([_pictured()], tmp_path / "d")
    first, second, _ = dataset.blobs.values()
    first.write_bytes(b"other")
    second.unlink()
    found = sorted(str(e) for e in dataset.verify())
    assert len(found) == 2
    assert any(first.name in text and "damaged" in text for text in found)
    assert any(second.name in text and "cannot be read" in text for text in found)


@pytest.mark.parametrize(
    ("kind", "pixels"),
    [
        ("image", PIXELS[..., 0]),  # no channels
        ("image", PIXELS.astype(float)),  # not bytes
        ("ids", IDS + 0x10000),  # too large for 16 bits
        ("ids", IDS - 0x10000),  # negative
    ],
)
def test_arrays_that_are_no_pictures(tmp_path: Path, kind: str, pixels: np.ndarray) -> None:
    with pytest.raises(DataError):
        Blobs(tmp_path).put_array(kind, pixels)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_view_without_truth_keeps_its_picture(tmp_path: Path) -> None:
    view = write_scenes([_pictured()], tmp_path / "d").scene("s").views[0].without_truth()
    np.testing.assert_array_equal(view.image(), PIXELS)
    with pytest.raises(DataError, match="no depth map"):
        view.depth()


def test_a_blob_cut_short_is_written_again(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path, lazy=True)
    ref = blobs.put(b"whole", ".bin")
    blobs.file(ref).write_bytes(b"who")  # as after a loss of power, before it was synced
    assert blobs.put(b"whole", ".bin") == ref
    blobs.sync([ref])
    assert blobs.damage(ref) is None
