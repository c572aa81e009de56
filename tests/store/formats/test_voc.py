"""PASCAL VOC: boxes that count from 1, flags, splits, and what bad files say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sightline.errors import DataError
from sightline.scenes import Scene
from sightline.store import check_tables
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import detect, named
from sightline.store.tables import Tables

OBJECT = (
    "<object><name>dog</name><pose>Left</pose><truncated>1</truncated><difficult>0</difficult>"
    "<bndbox><xmin>1</xmin><ymin>11</ymin><xmax>100</xmax><ymax>20.5</ymax></bndbox>"
    "<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part></object>"
    "<object><name>café</name><pose>Unspecified</pose><difficult>1</difficult>"
    "<bndbox><xmin>5</xmin><ymin>5</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></object>"
)
SIZE = "<size><width>100</width><height>50</height><depth>3</depth></size>"


def lay(folder: Path, body: str = SIZE + OBJECT, names: tuple[str, ...] = ("a", "b")) -> Path:
    for place in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (folder / place).mkdir(parents=True, exist_ok=True)
    for name in names:
        text = f"<annotation><filename>{name}.jpg</filename>{body}</annotation>"
        (folder / "Annotations" / f"{name}.xml").write_text(text, encoding="utf-8")
    Image.new("RGB", (100, 50)).save(folder / "JPEGImages/a.jpg")
    (folder / "ImageSets/Main/val.txt").write_text("a\n")
    (folder / "ImageSets/Main/trainval.txt").write_text("a -1\nb  1\n")
    return folder


def read(path: Path, **options: Any) -> list[Scene]:
    tables = Tables.concat(named("voc").read(path, **options))
    assert check_tables(tables) == []
    return list(scenes_from_tables(tables))


def test_boxes_flags_and_splits(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d")
    assert detect(folder).name == detect(folder / "Annotations/a.xml").name == "voc"
    both, one = read(folder)
    assert (both.id, one.id) == ("trainval/b", "validation/a")
    assert [(o.id, o.category, dict(o.attributes)) for o in one.objects] == [
        ("1", "dog", {"pose": "Left"}),
        ("2", "café", {}),
    ]
    assert [list(s.box) for s in one.sightings] == [[0, 10, 100, 20.5], [4, 4, 5, 5]]  # one pixel is a box
    assert [set(s.flags) for s in one.sightings] == [{"truncated"}, {"difficult"}]
    assert one.views[0].image_ref == str(folder / "JPEGImages/a.jpg")
    assert (both.views[0].image_ref, both.views[0].size) == (None, (100, 50))
    for word in ("validation", "val"):  # ours, and that of the file
        assert [scene.id for scene in read(folder, split=word)] == ["validation/a"]
    with pytest.raises(DataError, match=r"no such split .*trainval, validation"):
        read(folder, split="test")


def test_photos_tell_the_size_where_the_file_does_not(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d", "<size><width>0</width><height>0</height></size>" + OBJECT)
    both, one = read(folder)
    assert (one.views[0].size, both.views[0].size) == ((100, 50), None)
    (alone,) = read(folder / "Annotations/b.xml", images=folder / "JPEGImages")
    assert alone.id == "trainval/b"
    assert [s.id for s in read(folder / "Annotations/a.xml")] == ["validation/a"]  # its photo lies in JPEGImages


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<xmax>100<", "<xmax>102<", r"object 1, bndbox: box leaves the image .*1 to 100 and 1 to 50.*102"),
        ("<xmin>1<", "<xmin>-2<", "object 1, bndbox: box leaves the image"),
        ("<xmax>5<", "<xmax>4<", "object 2, bndbox: box is reversed"),
        ("<ymax>20.5<", "<ymax>nan<", "object 1, bndbox/ymax: not a number .*found 'nan'"),
        ("<ymax>20.5<", "<z>20.5<", "not XML: mismatched tag"),
        ("<difficult>1<", "<difficult>2<", "object 2, difficult: not a mark .*0 or 1, found '2'"),
        ("<name>dog<", "<name> <", "object 1, name: object without a name"),
        ("<width>100<", "<width>10.5<", "size: not an image size"),
        ("<annotation>", '<!DOCTYPE a [<!ENTITY x "y">]><annotation>', "XML that is not read"),
        ("<annotation>", "<annotation", "not XML"),
        ("annotation>", "folder>", "not a PASCAL VOC annotation .*found 'folder'"),
    ],
)
def test_bad_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    folder = lay(tmp_path / "d", names=("a",))
    file = folder / "Annotations/a.xml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(DataError, match=rf"a\.xml.*{message}"):
        read(folder)


def test_a_doctype_does_not_hide_in_utf_16(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d", names=("a",))
    file = folder / "Annotations" / "a.xml"
    file.write_bytes(
        file.read_text(encoding="utf-8").replace("<annotation>", "<!DOCTYPE a><annotation>").encode("utf-16")
    )
    with pytest.raises(DataError, match=r"XML that is not read .*UTF-8"):
        read(folder)


def test_a_box_may_begin_at_zero(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d", SIZE + OBJECT.replace("<xmin>1<", "<xmin>0<", 1))  # tools that count from 0
    assert read(folder)[0].sightings[0].box[0] == -1.0


@pytest.mark.parametrize(("format_name", "place"), [("voc", "Annotations/p.xml"), ("yolo", "labels/train/p.txt")])
def test_pipes_are_refused_at_once(tmp_path: Path, format_name: str, place: str) -> None:
    pipe = tmp_path / place
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    (tmp_path / "images").mkdir()
    assert not named("voc").detect(tmp_path)
    with pytest.raises(DataError, match="a pipe or device, not a file"):
        list(named(format_name).read(tmp_path))
