"""Pictures looked at: what is wrong with each is named, in all commands, and nothing is half-written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps
from typer.testing import CliRunner

from sightline.cli import app
from sightline.errors import PictureError
from sightline.store import open_dataset
from sightline.store.encodings import decode, decode_reduced
from sightline.store.pictures import look_at, picture_size, picture_sizes

SIZE = (64, 48)


def _whole(file: Path, size: tuple[int, int] = SIZE) -> bytes:
    Image.effect_noise(size, 60).convert("RGB").save(file)
    return file.read_bytes()


def _cut(file: Path) -> None:
    file.write_bytes(_whole(file)[:-200])


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut.jpg": (_cut, "picture is cut short: .*expected 64 × 48 pixels, found '.* bytes'"),
    "cut.png": (_cut, "picture is cut short"),
    "empty.jpg": (lambda file: file.write_bytes(b""), "not a picture .*found 'an empty file'"),
    "text.jpg": (
        lambda file: file.write_text("<!DOCTYPE html>\n<html>Übersicht of pages that are not found here"),
        "not a picture .*found 'text: <!DOCTYPE html> <html>Übersicht",
    ),
    "bytes.png": (lambda file: file.write_bytes(bytes(range(200))), "not a picture .*bytes 00 01 02 03"),
    "gone.jpg": (lambda file: file.unlink(missing_ok=True), "picture is missing"),
    "large.png": (lambda file: _whole(file, (90, 48)), "another size .*64 × 48 pixels, found '90 × 48 pixels'"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_each_is_told_apart(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    SPOILT[name][0](file)
    told = look_at(file)
    if name == "large.png":
        assert told == (90, 48)
        return
    assert isinstance(told, PictureError)
    with pytest.raises(PictureError, match=rf"{name}: {SPOILT[name][1]}"):
        raise told


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "bmp"])
def test_whole_ones_have_a_size(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a.{suffix}"
    _whole(file)
    assert look_at(file) == picture_size(file) == SIZE
    assert picture_sizes([file, tmp_path / "none.png"]) == [SIZE, None]


@pytest.fixture
def spoilt(tmp_path: Path) -> Path:
    """COCO's own layout with one whole picture and one of each broken kind."""
    folder = tmp_path / "coco"
    (folder / "annotations").mkdir(parents=True)
    (folder / "val2017").mkdir()
    names = ["whole.jpg", *(name for name in SPOILT if name != "gone.jpg")]
    for name in names:
        SPOILT.get(name, (_whole, ""))[0](folder / "val2017" / name)
    content = {
        "images": [{"id": i, "file_name": n, "width": 64, "height": 48} for i, n in enumerate(names)],
        "annotations": [
            {"id": i, "image_id": i, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 12} for i in range(len(names))
        ],
        "categories": [{"id": 1, "name": "cup"}],
    }
    (folder / "annotations/instances_val2017.json").write_text(json.dumps(content))
    return folder


def _run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_import_lists_all_and_writes_nothing(spoilt: Path, tmp_path: Path) -> None:
    done = _run("import", spoilt, "--out", tmp_path / "d")
    assert done.exit_code != 0
    for name, (_, message) in SPOILT.items():
        if name != "gone.jpg":
            assert name in done.stderr, message
    assert "6 photos cannot be used: nothing was written" in str(done.exception) + done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["coco"]


def test_import_goes_on_without_them_if_asked(spoilt: Path, tmp_path: Path) -> None:
    done = _run("import", spoilt, "--out", tmp_path / "d", "--skip-broken", "--json")
    assert done.exit_code == 0, done.output
    notes = json.loads(done.stdout)["notes"]
    assert sum("val2017" in note for note in notes) == 6
    assert any("6 of 7 images came without a photo" in note for note in notes)
    data = open_dataset(tmp_path / "d")
    kept = {scene.id: scene.views[0].image_ref for scene in data}
    assert len(kept) == 7
    assert [scene for scene, ref in kept.items() if ref] == ["validation/0"]


def test_check_names_each(spoilt: Path, tmp_path: Path) -> None:
    done = _run("check", spoilt, "--json")
    problems = json.loads(done.stdout)["problems"]
    assert (done.exit_code, len(problems)) == (2, 6)
    assert {Path(p["file"]).name for p in problems} == set(SPOILT) - {"gone.jpg"}
    assert all(p["row"].startswith("validation/") for p in problems)
    assert _run("import", spoilt, "--out", tmp_path / "d", "--skip-broken").exit_code == 0
    assert _run("check", tmp_path / "d").exit_code == 0


@pytest.mark.parametrize("suffix", ["jpg", "webp", "tif"])
@pytest.mark.parametrize("orientation", range(10))  # 0 and 9 mean nothing
def test_photos_of_phones_come_upright(tmp_path: Path, orientation: int, suffix: str) -> None:
    """The pixels are those Pillow's own turning gives, and every size is theirs."""
    pixels = np.zeros((32, 64, 3), dtype=np.uint8)
    pixels[:16, :32] = (255, 0, 0)
    pixels[16:, 32:] = (0, 0, 255)
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = tmp_path / f"a.{suffix}"
    Image.fromarray(pixels).save(file, exif=exif)
    with Image.open(file) as stored:
        upright = np.asarray((ImageOps.exif_transpose(stored) or stored).convert("RGB"))
    size = (32, 64) if 5 <= orientation <= 8 else (64, 32)
    assert upright.shape[1::-1] == picture_size(file) == look_at(file) == size
    assert (decode("image", file) == upright).all()
    small, told = decode_reduced("image", file)
    assert (small == upright).all()
    assert told == size
    (scene,) = open_dataset(file)
    assert scene.views[0].size == size


def test_photos_that_are_not_there_are_counted(tmp_path: Path, spoilt: Path) -> None:
    for name in SPOILT:
        (spoilt / "val2017" / name).unlink(missing_ok=True)
    done = _run("import", spoilt, "--out", tmp_path / "d", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["notes"] == [
        "6 of 7 images came without a photo: --images FOLDER takes them along"
    ]


@pytest.mark.parametrize(("form", "fits"), [("JPEG", True), ("PNG", False)])
def test_a_picture_of_very_many_pixels_is_no_broken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, fits: bool
) -> None:
    """A JPEG is decoded smaller, whatever its size; of other formats the limit is named."""
    Image.new("RGB", (60, 40)).save(tmp_path / "photo", format=form)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    monkeypatch.setattr("sightline.store.encodings.LARGEST", 2000)
    found = look_at(tmp_path / "photo")
    if fits:
        assert found == (60, 40)
    else:
        assert "picture is too large: more than 2,000 pixels" in str(found)
