"""YOLO: boxes, segments, splits, and what bad lines say."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.documents import read_yaml
from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import Object, Scene, Sighting, View
from sightline.store import check_tables, tables_from_scenes
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import detect, named, yolo
from sightline.store.tables import Tables

SIZE = (100, 50)
YAML = "path: ../somewhere\ntrain: images/train\nval: ../images/val\ntest:\nnames:\n  0: cat\n  7: café\n"
LABELS = {
    "train/a.txt": "7 0.5 0.5 0.2 0.4\n\n0 0.1 0.1 0.2 0.2 0.875\n",
    "val/deep/b.txt": "0 0.1 0.2 0.9 0.2 0.9 0.8 0.1 0.8\n",
    "val/bare.txt": "0 0.9999995 0.5 0.000002 1\n",
}


def lay(folder: Path, yaml: str | None = YAML, **labels: str) -> Path:
    for name, text in {**LABELS, **labels}.items():
        file = folder / "labels" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for name in ("train/a.jpg", "train/empty.png", "val/deep/b.png"):
        file = folder / "images" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", SIZE).save(file)
    if yaml is not None:
        (folder / "data.yaml").write_text(yaml)
    return folder


def read(path: Path, **options: Any) -> dict[str, Scene]:
    tables = Tables.concat(named("yolo").read(path, **options))
    assert check_tables(tables) == []
    return {scene.id: scene for scene in scenes_from_tables(tables)}


def test_boxes_segments_and_splits(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d")
    assert detect(folder).name == detect(folder / "data.yaml").name == "yolo"
    scenes = read(folder)
    assert list(scenes) == ["train/a", "train/empty", "validation/bare", "validation/deep/b"]
    first = scenes["train/a"]
    assert [(o.category, dict(o.attributes)) for o in first.objects] == [
        ("café", {"yolo_class": "7"}),
        ("cat", {"yolo_class": "0", "score": "0.875"}),
    ]
    assert first.sightings[0].box == pytest.approx((0.4, 0.3, 0.6, 0.7))
    assert (first.views[0].size, first.views[0].units) == (SIZE, "normalised")
    assert not scenes["train/empty"].objects
    segment = scenes["validation/deep/b"].sightings[0]
    assert list(segment.box) == [0.1, 0.2, 0.9, 0.8]
    mask = masks.decode(segment.visible_mask or b"", SIZE[1], SIZE[0])
    expected = np.zeros(mask.shape, dtype=bool)
    expected[10:40, 10:90] = True
    assert (mask == expected).all()
    bare = scenes["validation/bare"]  # no photo; six decimals lead out of the image
    assert (bare.views[0].image_ref, bare.views[0].size, bare.sightings[0].box[2]) == (None, None, 1.0)
    assert list(read(folder, split="train")) == ["train/a", "train/empty"]
    assert list(read(folder, split="val")) == list(read(folder, split="validation")) != []
    with pytest.raises(DataError, match=r"split: no such split .*train, validation"):
        read(folder, split="test")


def test_photos_elsewhere_and_lists_of_photos(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d")
    shutil.move(folder / "images", tmp_path / "photos")
    assert read(folder)["train/a"].views[0].image_ref is None
    moved = read(folder, images=tmp_path / "photos")
    assert moved["validation/deep/b"].views[0].image_ref == str(tmp_path / "photos/val/deep/b.png")
    assert list(moved) == ["train/a", "train/empty", "validation/bare", "validation/deep/b"]
    listed = lay(tmp_path / "l", "train: train.txt\nval: gone\nnames: [cat, a, b, c, d, e, f, dog]\n")
    (listed / "train.txt").write_text("./images/val/deep/b.png\nimages/train/a.jpg\n")
    assert list(read(listed)) == ["train/train/a", "train/val/deep/b"]
    assert yolo.notes(listed) == ["validation: gone is not there, left out"]


def test_without_a_yaml_file(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d", None)
    assert detect(folder).name == "yolo"
    assert [o.category for o in read(folder)["train/a"].objects] == ["7", "0"]
    (folder / "labels/classes.txt").write_text("\n".join("abcdefgh"))
    assert [o.category for o in read(folder, split="x")["x/train/a"].objects] == ["h", "a"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 0.5 0.5 0.2", "line: not a label .*found '4 numbers'"),
        ("0 0.5 0.5 0.2 0.2 0.1 0.3 0.4", "line: not a label"),  # seven numbers are no points
        ("0 0.5 0.5 0 0.2", "box: box is empty"),
        ("0 0.5 0.5 1.1 0.2", r"box: box leaves the image .*0 to 1, found \[-0\.0"),
        ("0 120 60 20 30", "box: box leaves the image"),  # pixels
        ("0 0.5 0.5 nan 0.2", "line: not a finite number"),
        ("0 0.5 0.5 x 0.2", "line: not a number"),
        ("1 0.5 0.5 0.2 0.2", "class: unknown class number .*2 in names, found '1'"),
        ("cat 0.5 0.5 0.2 0.2", "class: not a class number"),
        ("-1 0.5 0.5 0.2 0.2", "class: not a class number"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    folder = lay(tmp_path / "d", **{"train/a.txt": f"0 0.5 0.5 0.2 0.2\n{line}\n"})
    with pytest.raises(DataError, match=rf"a\.txt, row 2, {message}"):
        read(folder)


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("names: 3\ntrain: images/train", "names: not names of classes"),
        ("names: [a, a]\ntrain: images/train", "names: name stands twice .*'a'"),
        ("names: {x: a}\ntrain: images/train", "names: not names"),
        ("names: [a]\ntrain: {a: b}", "train: not a folder"),
        ("names: [a]\ntrain: images/gone", "there are no photos and no labels"),
        ("names: [a]\npath: 3\ntrain: x", "path: not a path"),
        ("names: [a\n", "not YAML"),
    ],
)
def test_bad_yaml(tmp_path: Path, yaml: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(lay(tmp_path / "d", yaml))


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    lay(tmp_path / "other")
    inner = tmp_path / "d"
    inner.mkdir()
    (inner / "data.yaml").write_text(f"names: [cat]\npath: {tmp_path / 'other'}\ntrain: ../other/images/train\n")
    with pytest.raises(DataError, match="there are no photos"):
        read(inner)


@pytest.mark.realdata
def test_real_labels(real_data: Path) -> None:
    folder = real_data / "coco-lightly"
    scenes = read(folder / "object_detection", images=folder / "images")
    assert (len(scenes), sum(len(s.objects) for s in scenes.values())) == (128, 898)
    file = folder / "object_detection/labels/val2017/000000000139.txt"
    scene = scenes["validation/000000000139"]
    for line, seen in zip(file.read_text().splitlines(), scene.sightings, strict=True):
        _, cx, cy, w, h = map(float, line.split())
        assert seen.box == pytest.approx((cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2), abs=1e-6)
    segments = read(folder / "instance_segmentation", images=folder / "images")
    drawn = [s.visible_mask for scene in segments.values() for s in scene.sightings]
    assert (len(drawn), drawn.count(None)) == (712, 0)


def test_splits_of_any_name_stand_under_yolos_three(tmp_path: Path) -> None:
    def made(number: int, split: str) -> Scene:
        view = View("0", size=(10, 10))
        seen = (Sighting("0", "0", (1, 1, 5, 5)),)
        return Scene(f"s{number}", split, views=(view,), objects=(Object("0", "cup"),), sightings=seen)

    splits = ("train", "val_default", "val_size", "test-dev")
    yolo.write(tables_from_scenes(made(i, split) for i, split in enumerate(splits)), tmp_path / "out")
    content = read_yaml(tmp_path / "out" / "data.yaml")
    assert {key: content[key] for key in ("train", "val", "test")} == {
        "train": "images/train",
        "val": ["images/val_default", "images/val_size"],
        "test": "images/test-dev",
    }
    assert (tmp_path / "out" / "labels" / "val_size" / "s2.txt").is_file()
    with pytest.raises(DataError, match=r"names that begin with train, val or test.*kitchen"):
        yolo.write(tables_from_scenes([made(0, "kitchen")]), tmp_path / "no")
