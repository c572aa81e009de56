"""A plain folder of photos."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from sightline.errors import DataError
from sightline.store import open_dataset, write
from sightline.store.formats import detect, named
from sightline.store.formats.photos import photo_files
from sightline.store.tables import Tables


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Photos at three depths, of which two differ in their suffix only, and what may lie beside them."""
    root = tmp_path / "p"
    for name in ("b.jpg", "a.PNG", "day 1/ü.webp", "day 1/more/a.png", "day 1/more/a.jpg", ".hidden/x.jpg"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (len(name), 5)).save(root / name)
    (root / "README.md").write_text("mine")
    (root / "Thumbs.db").write_bytes(b"\0")
    return root


def test_every_photo_is_a_scene(folder: Path, tmp_path: Path) -> None:
    assert detect(folder).name == detect(folder / "b.jpg").name == "photos"
    tables = Tables.concat(named("photos").read(folder))
    sizes = {row["scene_id"]: (row["width"], row["height"]) for row in tables.views.iter_rows(named=True)}
    assert sizes == {
        "a": (5, 5),
        "b": (5, 5),
        "day 1/ü": (12, 5),
        "day 1/more/a.jpg": (16, 5),
        "day 1/more/a.png": (16, 5),
    }
    assert [scene.id for scene in open_dataset(folder / "b.jpg")] == ["b"]
    data = write(named("photos").read(folder, split="mine"), tmp_path / "d", copy=True)
    assert data.splits == ("mine",)
    assert data.scene("mine/day 1/ü").views[0].image().shape == (5, 12, 3)


def test_other_files_are_no_photos(folder: Path, tmp_path: Path) -> None:
    (folder / "labels.csv").write_text("a,b")
    with pytest.raises(DataError, match="not of a known format"):
        detect(folder)
    assert Tables.concat(named("photos").read(folder)).views.height == 5  # but if asked for
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="folder has no photos"):
        list(named("photos").read(tmp_path / "none"))


def test_links_to_folders_are_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "p" / "day 1" / "loop").symlink_to(folder)
    assert len(photo_files(folder)) == 5


def test_a_broken_photo_without_annotations_is_left_out(folder: Path, tmp_path: Path) -> None:
    (folder / "b.jpg").write_bytes(b"")
    broken: list[Exception] = []
    data = write(named("photos").read(folder), tmp_path / "d", copy=True, on_broken=broken.append)
    assert [scene.id for scene in data] == ["a", "day 1/more/a.jpg", "day 1/more/a.png", "day 1/ü"]
    assert "an empty file" in str(broken[0])
