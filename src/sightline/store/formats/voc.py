"""PASCAL VOC: an XML file a photo in ``Annotations``, photos in ``JPEGImages``, splits in ``ImageSets``; both ways.

Boxes are pixels counted from 1, both ends included: ``xmin`` 1 and ``xmax`` 500 is the whole width of a photo of
500 pixels. Here they become half-open and start at 0 (0 to 500), and go out as they came.

A scene is ``<split>/<file name>`` with one view, ``"0"``; the split is that of
``ImageSets/Main/{train,val,test}.txt`` (``trainval`` where only that lists it), none where nothing lists it.
``difficult``, ``truncated`` and ``occluded`` are flags where they are 1; ``pose`` is the attribute ``pose`` unless
Unspecified. Parts of a person, ``point`` and ``actions`` are not kept.

A box may leave the photo by `check.EDGE_TOLERANCE` pixels, since some tools count from 0.

Written are boxes (in whole pixels as whole numbers, others as the shortest decimals that give the same box again),
flags, pose, the photos the dataset keeps, and the lists of the splits. Masks, landmarks and relations have no place
there, and of a viewpoint only which quarter it lies in, where no pose is told: Frontal, Left (facing left), Rear,
Right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from sightline.errors import DataError
from sightline.files import read_bytes, staged_folder
from sightline.geometry import Viewpoint
from sightline.scenes import Object, Scene, Sighting, View
from sightline.scenes.types import Box
from sightline.store.blobs import Blobs
from sightline.store.check import EDGE_TOLERANCE
from sightline.store.convert import tables_in_parts
from sightline.store.formats.coco_write import extent
from sightline.store.formats.jsonio import is_text
from sightline.store.formats.labelled import SCENES_A_PART, ExportedView, exported_views, left_out, text_lines
from sightline.store.formats.photos import VIEW, find_photos
from sightline.store.pictures import picture_size
from sightline.store.schema import SPLIT_WORDS
from sightline.store.tables import Tables

__all__ = ["detect", "left_out", "read", "write"]

FLAGS: Final = ("truncated", "difficult", "occluded")
_FOLDER: Final = "Annotations"
_LISTED: Final = {**SPLIT_WORDS, "trainval": "trainval"}
_MOST_BYTES: Final = 16 << 20


def detect(path: Path) -> bool:
    """Whether the path is such an XML file, or a folder with some in it or in its ``Annotations``."""
    try:
        file = next(iter(_files(Path(path))), None)
        return file is not None and file.suffix == ".xml" and b"<annotation" in read_bytes(file)[:4096]
    except (OSError, DataError):
        return False


def read(path: str | Path, *, images: str | Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read annotated photos, a thousand at a time, by file name.

    Args:
        path: A folder with ``Annotations`` (or with the XML files themselves), or one XML file.
        images: Folder of the photos; by default ``JPEGImages`` beside ``Annotations``, or the XML files' own.
        split: Read only this split; the split of all where nothing lists them.

    Raises:
        DataError: Naming file, object, what was expected and what stood there.
    """
    yield from tables_in_parts(_scenes(Path(path), images, split), SCENES_A_PART)


def write(tables: Tables | Iterable[Tables], path: str | Path, *, blobs: Blobs | None = None) -> None:
    """Write a folder with ``Annotations``, ``ImageSets/Main`` and, where the dataset keeps photos, ``JPEGImages``.

    Args:
        tables: Scenes; every view needs its size.
        path: The folder, which must not exist or be empty; it appears whole or not at all.
        blobs: Where the pictures are.
    """
    with staged_folder(path, owned=(), marker=_FOLDER, overwrite=False) as stage:
        (stage / _FOLDER).mkdir()
        listed: dict[str, list[str]] = defaultdict(list)
        for shown in exported_views(tables, blobs):
            photo = shown.copy_photo(stage / "JPEGImages")
            tree = ElementTree.ElementTree(_annotation(shown, photo or f"{shown.name}.jpg"))
            ElementTree.indent(tree, "\t")
            tree.write(stage / _FOLDER / f"{shown.name}.xml", encoding="utf-8")
            if shown.split:
                listed[shown.split].append(shown.name)
        sets = stage / "ImageSets" / "Main"
        sets.mkdir(parents=True)
        for split, names in listed.items():
            (sets / f"{split}.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def _annotation(shown: ExportedView, photo: str) -> ElementTree.Element:
    if shown.view.size is None:
        raise DataError("VOC needs the image size, which the source never told", row=shown.scene.id, field="size")
    root = ElementTree.Element("annotation")
    _texts(root, folder="JPEGImages", filename=photo)
    _texts(ElementTree.SubElement(root, "size"), width=shown.view.size[0], height=shown.view.size[1], depth=3)
    for seen in shown.sightings:
        thing = shown.scene.object(seen.object_id)
        entry = ElementTree.SubElement(root, "object")
        _texts(entry, name=thing.category, pose=thing.attributes.get("pose", _pose(seen.viewpoint)))
        _texts(entry, **{flag: int(flag in seen.flags) for flag in FLAGS})
        x0, y0, x1, y1 = shown.box(seen, normalised=False)
        ends = {"xmin": extent(-1.0, x0), "ymin": extent(-1.0, y0), "xmax": x1, "ymax": y1}
        _texts(
            ElementTree.SubElement(entry, "bndbox"),
            **{k: f"{v:.0f}" if v == int(v) else repr(v) for k, v in ends.items()},
        )
    return root


def _pose(viewpoint: Viewpoint | None) -> str:
    """VOC's word for the side an object is seen from; azimuth 90 shows it facing left.

    >>> [_pose(Viewpoint(azimuth, 0.0)) for azimuth in (350.0, 90.0, 180.0, 230.0)]
    ['Frontal', 'Left', 'Rear', 'Right']
    """
    if viewpoint is None:
        return "Unspecified"
    return ("Frontal", "Left", "Rear", "Right")[int((viewpoint.azimuth + 45.0) % 360.0 // 90.0)]


def _texts(parent: ElementTree.Element, **values: object) -> None:
    for name, value in values.items():
        text = str(value)
        if not is_text(text):
            raise DataError("cannot stand in XML", field=name, expected="no control characters", found=text)
        ElementTree.SubElement(parent, name).text = text


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    folder = path / _FOLDER
    return sorted((folder if folder.is_dir() else path).glob("*.xml"))


def _scenes(path: Path, images: str | Path | None, split: str) -> Iterator[Scene]:
    files = _files(path)
    if not files:
        raise DataError("folder has no PASCAL VOC annotation", file=path, expected="Annotations/*.xml")
    root = files[0].parent.parent if files[0].parent.name == _FOLDER else files[0].parent
    photos = _photos(root, files[0].parent, images)
    splits = _splits(root)
    split = _LISTED.get(split, split) if splits else split
    if splits and split and split not in splits.values():
        expected = f"one of {', '.join(sorted(set(splits.values())))}"
        raise DataError("no such split", file=root, field="split", expected=expected, found=split)
    for file in files:
        ours = splits.get(file.stem, "") if splits else split
        if not splits or not split or ours == split:
            yield _scene(_Xml.parse(file), ours, photos.get(file.stem))


def _photos(root: Path, folder: Path, images: str | Path | None) -> dict[str, str]:
    if images is not None:
        return find_photos(images)
    for place in (root / "JPEGImages", root / "images", folder):
        try:
            return find_photos(place)
        except DataError:
            continue
    return {}


def _splits(root: Path) -> dict[str, str]:
    """File name → split; ``trainval`` counts only for those that no other list has."""
    splits: dict[str, str] = {}
    for name in reversed(_LISTED):
        file = root / "ImageSets" / "Main" / f"{name}.txt"
        if file.is_file():
            splits |= {line.split()[0]: _LISTED[name] for line in text_lines(file) if line.strip()}
    return splits


@dataclass(frozen=True, slots=True)
class _Xml:
    """An element of a file, called `row` in errors."""

    file: Path
    row: str
    element: ElementTree.Element

    @classmethod
    def parse(cls, file: Path) -> _Xml:
        data = read_bytes(file, most=_MOST_BYTES)
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data or b"\0" in data:  # a NUL: UTF-16, which hides the others
            raise DataError("XML that is not read", file=file, expected="UTF-8, no DOCTYPE and no ENTITY")
        try:
            root = ElementTree.fromstring(data)  # noqa: S314 - without entities
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            raise DataError(f"not XML: {error}", file=file) from None
        if root.tag != "annotation":
            raise DataError("not a PASCAL VOC annotation", file=file, expected="annotation", found=root.tag)
        return cls(file, "annotation", root)

    def error(self, problem: str, field: str, expected: str, found: object) -> DataError:
        return DataError(problem, file=self.file, row=self.row, field=field, expected=expected, found=found)

    def text(self, name: str, default: str = "") -> str:
        text = " ".join((self.element.findtext(name) or default).split())
        if not is_text(text):
            raise self.error("not text", name, "no control characters", text)
        return text

    def number(self, name: str) -> float:
        text = self.text(name)
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not abs(number) < 2**31:
            raise self.error("not a number", name, "pixels", text)
        return number

    def flag(self, name: str) -> bool:
        text = self.text(name, "0")
        if text not in ("0", "1"):
            raise self.error("not a mark", name, "0 or 1", text)
        return text == "1"

    def box(self, size: tuple[int, int] | None) -> Box:
        xmin, ymin, xmax, ymax = (self.number(f"bndbox/{name}") for name in ("xmin", "ymin", "xmax", "ymax"))
        x0, y0, x1, y1 = xmin - 1, ymin - 1, xmax, ymax
        if not (x0 < x1 and y0 < y1):
            raise self.error("box is reversed", "bndbox", "xmin ≤ xmax and ymin ≤ ymax", (xmin, ymin, xmax, ymax))
        over = max(x1 - size[0], y1 - size[1]) if size else 0.0
        if min(x0, y0) < -EDGE_TOLERANCE or over > EDGE_TOLERANCE:
            within = f"from 1 to {size[0]} and 1 to {size[1]}" if size else "from 1"
            expected = f"{within}, give or take {EDGE_TOLERANCE:g}"
            raise self.error("box leaves the image", "bndbox", expected, (xmin, ymin, xmax, ymax))
        return x0, y0, x1, y1


def _scene(root: _Xml, split: str, photo: str | None) -> Scene:
    size = _size(root) or (picture_size(photo) if photo else None)
    things = [_Xml(root.file, f"object {i}", e) for i, e in enumerate(root.element.findall("object"), start=1)]
    stem = root.file.stem
    return Scene(
        id=f"{split}/{stem}" if split else stem,
        split=split,
        source="voc",
        views=(View(VIEW, photo, size),),
        objects=tuple(_object(str(i), thing) for i, thing in enumerate(things, start=1)),
        sightings=tuple(
            Sighting(VIEW, str(i), thing.box(size), flags=frozenset(f for f in FLAGS if thing.flag(f)))
            for i, thing in enumerate(things, start=1)
        ),
    )


def _size(root: _Xml) -> tuple[int, int] | None:
    """Width and height, pixels; None where the file tells none, or 0 as some tools write."""
    if root.element.find("size") is None:
        return None
    sides = [root.number(f"size/{name}") for name in ("width", "height")]
    if any(side != int(side) or side < 0 for side in sides):
        raise root.error("not an image size", "size", "whole numbers of pixels", sides)
    return (int(sides[0]), int(sides[1])) if min(sides) > 0 else None


def _object(object_id: str, thing: _Xml) -> Object:
    name, pose = thing.text("name"), thing.text("pose")
    if not name:
        raise thing.error("object without a name", "name", "text", name)
    return Object(object_id, name, {"pose": pose} if pose not in ("", "Unspecified") else {})
