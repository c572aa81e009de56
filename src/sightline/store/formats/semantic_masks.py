"""Semantic masks: a class for every pixel, one PNG a photo, with the classes' names in a YAML file; import only.

``config.yaml`` (any ``.yaml`` with these keys) has ``classes``, number → name, and for each split a mapping with
the folder of its ``masks`` and maybe of its ``images``, from the file's own folder:

    classes: {0: unlabeled, 3: car, 149: road}
    stuff: [road]                 # else COCO's and ADE20K's stuff, by name
    val: {masks: masks/val2017, images: images/val2017}

A mask is grey or has a palette; its pixels are numbers of classes. Classes called unlabeled, background, void or
ignore are none, and so is 255 where no class has that number.

A scene is ``<split>/<path of the mask below its folder, without suffix>`` with one view, ``"0"``, of the mask's
size. Each class in it is one object, its id the class's number: the mask does not tell instances apart, so a thing
has the flag ``group``, and what is no thing the flag ``stuff``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.documents import read_yaml
from sightline.errors import DataError
from sightline.files import is_inside
from sightline.geometry import masks
from sightline.scenes import STUFF, Object, Scene, Sighting, View
from sightline.store.convert import tables_in_parts
from sightline.store.encodings import UNREADABLE
from sightline.store.formats.coco_panoptic import segment_counts
from sightline.store.formats.photos import VIEW, find_photos
from sightline.store.label_maps import vocabulary
from sightline.store.schema import SPLIT_WORDS
from sightline.store.tables import Tables

__all__ = ["detect", "notes", "read"]

_NONE: Final = ("unlabeled", "unlabelled", "background", "void", "ignore")
_IGNORED: Final = 255
_SCENES_A_PART: Final = 200


def detect(path: Path) -> bool:
    """Whether the path is such a YAML file, or a folder with one."""
    try:
        return _config(Path(path)) is not None
    except (DataError, OSError):
        return False


def notes(path: str | Path, *, images: str | Path | None = None) -> list[str]:
    """Splits without masks, and photos that lie elsewhere."""
    file, content = _told(Path(path))
    told = [
        f"{s}: {p} is not there, left out" for s, p in _places(file, content, "masks").items() if not p.is_dir()
    ]
    if images is None:
        outside = [p for p in _places(file, content, "images").values() if not is_inside(p, file.parent)]
        told += [f"photos in {place} are not taken along: --images FOLDER does" for place in outside]
    return told


def read(path: str | Path, *, images: str | Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read semantic masks, two hundred at a time, in the order of their paths.

    Args:
        path: The YAML file, or its folder.
        images: Folder of the photos, ``<name of the mask>.jpg``, or its parent. Without it those that lie in the
            folder the file names, if that is below its own.
        split: Read only this split.

    Raises:
        DataError: Naming file, key or mask, what was expected and what stood there.
    """
    file, content = _told(Path(path))
    names = _names(file, content)
    stuff = _stuff(file, content, names)
    folders, photos = (_places(file, content, key) for key in ("masks", "images"))
    wanted = SPLIT_WORDS.get(split, split)
    there = {name: folder for name, folder in folders.items() if folder.is_dir() and wanted in ("", name)}
    if not there:
        found = ", ".join(folders) or "none"
        raise DataError(
            "there are no masks", file=file, expected=f"a folder of masks of {wanted or 'a split'}", found=found
        )
    for name, folder in there.items():
        place = images if images is not None else photos.get(name)
        mine = images is not None or (place is not None and Path(place).is_dir() and is_inside(place, file.parent))
        pictures = find_photos(place) if mine and place is not None else {}
        yield from tables_in_parts(_scenes(folder, name, names, stuff, pictures), _SCENES_A_PART)


def _config(path: Path) -> tuple[Path, dict[str, object]] | None:
    for file in sorted(path.glob("*.y*ml")) if path.is_dir() else [path]:
        if file.suffix in (".yaml", ".yml"):
            content = read_yaml(file)
            if isinstance(content, dict) and "classes" in content and _places(file, content, "masks"):
                return file, content
    return None


def _told(path: Path) -> tuple[Path, dict[str, object]]:
    found = _config(path)
    if found is None:
        raise DataError("no YAML file of semantic masks", file=path, expected="classes, and masks of a split")
    return found


def _places(file: Path, content: Mapping[str, object], key: str) -> dict[str, Path]:
    """Split → its folder of masks or images."""
    said = {
        str(split): value[key]
        for split, value in content.items()
        if isinstance(value, dict) and "masks" in value and isinstance(value.get(key), str)
    }
    for split, place in said.items():
        if not place.isprintable():  # null bytes and halves of characters among them
            raise DataError("not a path", file=file, field=f"{split}, {key}", found=place)
    return {SPLIT_WORDS.get(split, split): (file.parent / place).resolve() for split, place in said.items()}


def _names(file: Path, content: Mapping[str, object]) -> dict[int, str]:
    said = content["classes"]
    listed = dict(enumerate(said)) if isinstance(said, list) else said
    if not isinstance(listed, dict) or not listed:
        raise DataError("not classes", file=file, field="classes", expected="number: name", found=str(said)[:60])
    for number, name in listed.items():
        if type(number) is not int or not 0 <= number < 1 << 16 or not isinstance(name, str) or not name.strip():
            expected = "a whole number from 0 to 65535 and a name"
            raise DataError("not a class", file=file, field="classes", expected=expected, found=f"{number}: {name}")
    names = [name for name in listed.values() if name not in _NONE]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError("class stands twice", file=file, field="classes", found=twice)
    return {number: name for number, name in listed.items() if name not in _NONE} | {
        number: "" for number, name in listed.items() if name in _NONE
    }


def _stuff(file: Path, content: Mapping[str, object], names: Mapping[int, str]) -> frozenset[str]:
    said = content.get("stuff")
    if said is None:
        return vocabulary("coco").stuff | vocabulary("ade").stuff
    if not isinstance(said, list) or not all(name in names.values() for name in said):
        raise DataError(
            "not a list of classes", file=file, field="stuff", expected="names of classes", found=str(said)[:60]
        )
    return frozenset(map(str, said))


def _scenes(
    folder: Path, split: str, names: Mapping[int, str], stuff: frozenset[str], photos: Mapping[str, str]
) -> Iterator[Scene]:
    for file in sorted(folder.rglob("*.png")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        pixels = _pixels(file)
        height, width = pixels.shape
        counts = segment_counts(pixels)
        for number in counts:
            if number not in names and number != _IGNORED:
                raise DataError(
                    "pixel of an unknown class", file=file, expected="a number of classes", found=str(number)
                )
        seen = {number: runs for number, runs in counts.items() if names.get(number)}
        yield Scene(
            id=f"{split}/{name}",
            split=split,
            source="semantic-masks",
            views=(View(VIEW, photos.get(file.stem), (width, height)),),
            objects=tuple(Object(str(number), names[number]) for number in seen),
            sightings=tuple(
                Sighting(
                    VIEW,
                    str(number),
                    masks.box(runs, height),
                    masks.compress(runs),
                    flags=frozenset({STUFF if names[number] in stuff else "group"}),
                )
                for number, runs in seen.items()
            ),
        )


def _pixels(file: Path) -> NDArray[np.int32]:
    """Numbers of classes, (H, W)."""
    try:
        with Image.open(file) as picture:
            if picture.mode not in ("L", "P", "I;16", "I"):
                raise DataError("not a mask", file=file, expected="grey or palette", found=picture.mode)
            return np.asarray(picture).astype(np.int32)
    except UNREADABLE as error:
        raise DataError(f"mask cannot be read: {error}", file=file) from None
