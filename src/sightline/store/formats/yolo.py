"""YOLO: photos in ``images``, a text file of boxes or segments each in ``labels``, names in ``data.yaml``.

The YAML file has ``names`` (a list, or number → name), ``path`` (the folder the others start from) and ``train``,
``val``, ``test``: a folder of photos, a text file that lists them, or a list of these. Only what lies in the YAML
file's own folder is read; a leading ``../`` is left away, as tools write it too often. The labels of
``images/a/x.jpg`` are ``labels/a/x.txt``; of photos elsewhere the file beside. Without a YAML file the photos below
``images`` are taken, and classes are named by ``classes.txt`` or by their number.

A line is ``class cx cy w h`` in fractions of the image, or the same with a confidence, or ``class x y x y x y …``,
the outline of a segment. A scene is ``<split>/<path below images, without suffix>`` with one view; boxes stay
fractions. A segment becomes the visible mask where the photo tells the size, and its box. The class number is kept
as the attribute ``yolo_class``, a confidence as ``score``. A photo without a label file is one without objects, as
YOLO has it; a label file without its photo is a scene without a picture. Coordinates that leave the image by at
most `ROUNDING`, as six decimals do, are cut at its edge.

Written are boxes, names and the photos the dataset keeps, in the shortest decimals that give the same number again:
a box comes back to 15 digits. Masks, relations and attributes have no place there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
import yaml

from sightline.documents import read_yaml
from sightline.errors import DataError
from sightline.files import staged_folder
from sightline.geometry import masks
from sightline.scenes import Object, Scene, Sighting, View
from sightline.store.blobs import Blobs
from sightline.store.convert import tables_in_parts
from sightline.store.formats.jsonio import is_text
from sightline.store.formats.labelled import SCENES_A_PART, exported_views, left_out, text_lines
from sightline.store.formats.photos import VIEW, photo_files
from sightline.store.pictures import Size, picture_sizes
from sightline.store.schema import SPLIT_WORDS, usual_split
from sightline.store.tables import Tables

__all__ = ["detect", "left_out", "notes", "read", "write"]

ROUNDING: Final = 1e-3
"""Fraction of the image by which a coordinate may leave it: labels are written with few decimals."""

_YAML: Final = "data.yaml"
_MOST_YAML: Final = 1 << 20  # bytes of a file that may be one

_KEYS: Final = {"train": "train", "validation": "val", "test": "test", None: ""}
"""Our split → its key in a YAML file."""


@dataclass(frozen=True, slots=True)
class _Layout:
    root: Path
    names: Mapping[int, str] | None  # None: classes are called by their number
    splits: Mapping[str, Sequence[str]]  # split → folders and lists of photos below the root


@dataclass(frozen=True, slots=True)
class _Labelled:
    scene_id: str
    photo: Path | None
    labels: Path | None


def detect(path: Path) -> bool:
    """Whether the path is such a YAML file, a folder with one, or a folder with ``images`` and ``labels``."""
    try:
        place = Path(path)
        is_bare = (place / "images").is_dir() and any(_label_files(place / "labels"))
        return is_bare or _yaml_file(place) is not None
    except (DataError, OSError):
        return False


def notes(path: str | Path) -> list[str]:
    """Splits the YAML file names that are not there."""
    layout = _layout(Path(path))
    return [f"{split}: {place} is not there, left out" for split, place in _places(layout, None, found=False)]


def read(path: str | Path, *, images: str | Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read photos and labels, a thousand at a time, split by split.

    Args:
        path: The YAML file, a folder with one, or a folder with ``images`` and ``labels``.
        images: Folder to take the photos from instead of ``images``.
        split: Read only this split; the split of all where the files tell none.

    Raises:
        DataError: Naming file, line, what was expected and what stood there.
    """
    layout = _layout(Path(path))
    yield from tables_in_parts(_scenes(layout, None if images is None else Path(images), split), SCENES_A_PART)


def write(tables: Tables | Iterable[Tables], path: str | Path, *, blobs: Blobs | None = None) -> None:
    """Write a folder with ``data.yaml``, ``labels`` and, where the dataset keeps photos, ``images``.

    Args:
        tables: Scenes; boxes in pixels need the image's size. A split stands under the one of YOLO's three that its
            name begins with (``val_default`` under ``val``, beside others of that kind); or there are none.
        path: The folder, which must not exist or be empty; it appears whole or not at all.
        blobs: Where the pictures are.
    """
    whole = tables if isinstance(tables, Tables) else Tables.concat(tables)
    told = sorted(whole.views["split"].unique())
    if told != [""] and None in map(usual_split, told):
        expected = "names that begin with train, val or test, or none at all"
        raise DataError(
            "YOLO has no such splits", field="split", expected=expected, found=", ".join(map(repr, told))
        )
    with staged_folder(path, owned=(), marker=_YAML, overwrite=False) as stage:
        numbers = _own_numbers(whole)
        splits: dict[str, dict[str, None]] = {}
        for shown in exported_views(whole, blobs):
            labels = stage / "labels" / shown.split
            labels.mkdir(parents=True, exist_ok=True)
            lines = []
            for seen in shown.sightings:
                x0, y0, x1, y1 = shown.box(seen, normalised=True)
                number = numbers[shown.scene.object(seen.object_id).category]
                lines.append(f"{number} {(x0 + x1) / 2!r} {(y0 + y1) / 2!r} {x1 - x0!r} {y1 - y0!r}\n")
            (labels / f"{shown.name}.txt").write_text("".join(lines), encoding="utf-8")
            shown.copy_photo(stage / "images" / shown.split)
            if shown.split:
                splits.setdefault(_KEYS[usual_split(shown.scene.split)], {})[f"images/{shown.split}"] = None
        places = {key: [*of] if len(of) > 1 else next(iter(of)) for key, of in splits.items()}
        content = {"path": ".", **places, "names": {number: name for name, number in numbers.items()}}
        (stage / _YAML).write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")


def _own_numbers(tables: Tables) -> dict[str, int]:
    """Category → class number: that of the source where every object tells one, else counted from 0."""
    seen: dict[str, set[str | None]] = {}
    for category, attributes in tables.objects.select("category", "attributes").iter_rows():
        seen.setdefault(category, set()).add((json.loads(attributes) if attributes else {}).get("yolo_class"))
    told = {category: next(iter(numbers)) for category, numbers in seen.items() if len(numbers) == 1}
    kept = {category: int(number) for category, number in told.items() if number is not None}
    if len(kept) == len(seen) == len(set(kept.values())):
        return dict(sorted(kept.items(), key=lambda item: item[1]))
    return {category: number for number, category in enumerate(sorted(seen))}


def _yaml_file(path: Path) -> Path | None:
    """The YAML file of a dataset: the path itself, or the first in a folder that has ``names`` and where."""
    files = [path] if path.is_file() else sorted(path.glob("*.yaml")) + sorted(path.glob("*.yml"))
    for file in files:
        if file.suffix.lower() in (".yaml", ".yml") and file.stat().st_size <= _MOST_YAML:
            content = read_yaml(file)
            if isinstance(content, dict) and "names" in content and content.keys() & {"path", "nc", *SPLIT_WORDS}:
                return file
    return None


def _layout(path: Path) -> _Layout:
    file = _yaml_file(path)
    if file is None:
        folder = path if path.is_dir() else path.parent
        return _Layout(folder, _listed_names(folder), {})
    content = read_yaml(file)
    names = content["names"]
    if isinstance(names, list):
        names = dict(enumerate(names))
    if not isinstance(names, dict) or not all(type(n) is int and n >= 0 and is_text(v) for n, v in names.items()):
        raise DataError("not names of classes", file=file, field="names", expected="a list, or number: name")
    name, times = next(iter(Counter(names.values()).most_common(1)), ("", 0))
    if times > 1:
        raise DataError("name stands twice", file=file, field="names", found=name)
    root = _inside(file.parent, content.get("path") or ".", file, "path")
    splits: dict[str, list[str]] = {}
    for key, ours in SPLIT_WORDS.items():
        places = content.get(key) or []
        places = places if isinstance(places, list) else [places]
        if not all(is_text(place) for place in places):
            raise DataError("not a folder or a list of them", file=file, field=key, expected="text", found=places)
        if places:
            splits[ours] = [*splits.get(ours, []), *places]
    return _Layout(root, names, splits)


def _inside(folder: Path, name: Any, file: Path, field: str) -> Path:
    """The path below a folder; ``..`` and what leads elsewhere are left away."""
    if not is_text(name):
        raise DataError("not a path", file=file, field=field, expected="text", found=name)
    parts = [part for part in PurePosixPath(str(name).replace("\\", "/")).parts if part not in ("..", ".", "/")]
    whole = folder.joinpath(*parts)
    return whole if whole.exists() or field != "path" else folder


def _listed_names(folder: Path) -> dict[int, str] | None:
    for file in (folder / "classes.txt", folder / "labels" / "classes.txt"):
        if file.is_file():
            return dict(enumerate(line.strip() for line in text_lines(file) if line.strip()))
    return None


def _places(layout: _Layout, images: Path | None, *, found: bool = True) -> Iterator[tuple[str, str]]:
    """(split, place) of what the YAML file names, that is there or that is not."""
    for split, places in (layout.splits or {"": ["images"]}).items():
        for place in places:
            photos = _photo_place(layout, place, images)
            labels = layout.root / _labels_of(PurePosixPath(place))
            if (photos.exists() or labels.is_dir()) == found:
                yield split, place


def _photo_place(layout: _Layout, place: str, images: Path | None) -> Path:
    """Where the photos of a split are."""
    if images is None:
        return _inside(layout.root, place, layout.root, "")
    below = images.joinpath(*_below_images(PurePosixPath(place)).parts)
    is_flat = not below.exists() and (layout.root / _labels_of(PurePosixPath(place))).is_dir()
    return images if is_flat else below


def _below_images(path: PurePosixPath) -> PurePosixPath:
    """What follows the last folder ``images``; the whole path where there is none."""
    parts = [part for part in path.parts if part not in ("..", ".", "/")]
    start = len(parts) - parts[::-1].index("images") if "images" in parts else 0
    return PurePosixPath(*parts[start:])


def _labels_of(path: PurePosixPath) -> PurePosixPath:
    """The same path below ``labels``: the last folder ``images`` is replaced.

    >>> _labels_of(PurePosixPath("images/val/x.jpg")), _labels_of(PurePosixPath("val/images"))
    (PurePosixPath('labels/val/x.jpg'), PurePosixPath('val/labels'))
    """
    parts = [part for part in path.parts if part not in ("..", ".", "/")]
    if "images" in parts:
        parts[len(parts) - 1 - parts[::-1].index("images")] = "labels"
    return PurePosixPath(*parts)


def _label_files(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*.txt") if file.name != "classes.txt")


def _labelled(layout: _Layout, split: str, place: str, images: Path | None) -> Iterator[_Labelled]:
    """Photos of a place with their labels, then labels without a photo; by path."""
    photos = _photo_place(layout, place, images)
    if photos.is_file():  # a list of photos
        listed = [_inside(layout.root, line.strip(), photos, "") for line in text_lines(photos) if line.strip()]
        base, files, labels = layout.root, [file for file in listed if file.is_file()], None
    else:
        base, files = photos, photo_files(photos) if photos.is_dir() else []
        labels = layout.root / _labels_of(PurePosixPath(place))
    found: dict[PurePosixPath, tuple[Path | None, Path | None]] = {}
    for file in files:
        inside = PurePosixPath(file.relative_to(base).as_posix())
        text = layout.root / _labels_of(inside) if labels is None else labels / inside
        text = text.with_suffix(".txt")
        found[_below_images(inside).with_suffix("")] = (file, text if text.is_file() else None)
    if labels is not None and labels.is_dir():
        for text in _label_files(labels):
            found.setdefault(PurePosixPath(text.relative_to(labels).as_posix()).with_suffix(""), (None, text))
    for inside in sorted(found, key=str):
        yield _Labelled("/".join(filter(None, (split, str(inside)))), *found[inside])


def _scenes(layout: _Layout, images: Path | None, split: str) -> Iterator[Scene]:
    named = bool(layout.splits)
    split = SPLIT_WORDS.get(split, split) if named else split
    if named and split and split not in layout.splits:
        expected = f"one of {', '.join(layout.splits)}"
        raise DataError("no such split", file=layout.root, field="split", expected=expected, found=split)
    known: set[str] = set()
    for ours, place in _places(layout, images):
        ours = ours or split
        if named and split and ours != split:
            continue
        items = list(_labelled(layout, ours, place, images))
        sizes = picture_sizes([item.photo for item in items if item.photo is not None])
        by_photo = dict(zip([item.photo for item in items if item.photo is not None], sizes, strict=True))
        for item in items:
            if item.scene_id in known:
                raise DataError("photo stands twice", file=item.photo or item.labels, found=item.scene_id)
            known.add(item.scene_id)
            yield _scene(item, ours, by_photo.get(item.photo) if item.photo else None, layout.names)
    if not known:
        raise DataError("there are no photos and no labels", file=layout.root, expected="images and labels")


def _scene(item: _Labelled, split: str, size: Size | None, names: Mapping[int, str] | None) -> Scene:
    rows = enumerate(text_lines(item.labels), start=1) if item.labels is not None else ()
    lines = [_Line(item.labels, row, line.split()) for row, line in rows if item.labels and line.strip()]
    photo = None if item.photo is None else str(item.photo.absolute())
    return Scene(
        id=item.scene_id,
        split=split,
        source="yolo",
        views=(View(VIEW, photo, size, "normalised"),),
        objects=tuple(line.labelled_object(str(i), names) for i, line in enumerate(lines)),
        sightings=tuple(line.sighting(str(i), size) for i, line in enumerate(lines)),
    )


@dataclass(frozen=True, slots=True)
class _Line:
    file: Path
    row: int
    words: Sequence[str]

    def labelled_object(self, object_id: str, names: Mapping[int, str] | None) -> Object:
        word = self.words[0]
        if not (word.isascii() and word.isdigit() and len(word) < 10):
            raise self._error("not a class number", "class", "a whole number", word)
        if names is not None and int(word) not in names:
            raise self._error("unknown class number", "class", f"one of the {len(names)} in names", word)
        score = {"score": self.words[5]} if len(self.words) == 6 else {}
        name = word if names is None else names[int(word)]
        return Object(object_id, name, {"yolo_class": str(int(word)), **score})

    def sighting(self, object_id: str, size: Size | None) -> Sighting:
        numbers, points, mask = self._numbers(), None, None
        if len(numbers) in (4, 5):
            cx, cy, w, h = numbers[:4]
            corners = np.array([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2])
        elif len(numbers) >= 6 and len(numbers) % 2 == 0:
            points = np.array(numbers).reshape(-1, 2)
            corners = np.concatenate([points.min(axis=0), points.max(axis=0)])
        else:
            expected = "class cx cy w h, maybe a confidence; or class and three points x y or more"
            raise self._error("not a label", "line", expected, f"{len(self.words)} numbers")
        if corners.min() < -ROUNDING or corners.max() > 1 + ROUNDING:
            raise self._error("box leaves the image", "box", "fractions of the image, 0 to 1", corners.tolist())
        x0, y0, x1, y1 = np.clip(corners, 0.0, 1.0).tolist()
        if not (x0 < x1 and y0 < y1):
            raise self._error("box is empty", "box", "w > 0 and h > 0", " ".join(self.words[1:5]))
        if points is not None and size is not None:
            mask = masks.compress(masks.polygon((points * size).ravel(), size[1], size[0]))
        return Sighting(VIEW, object_id, (x0, y0, x1, y1), mask)

    def _numbers(self) -> list[float]:
        try:
            numbers = [float(word) for word in self.words[1:]]
        except ValueError:
            raise self._error("not a number", "line", "numbers", " ".join(self.words)) from None
        if not np.isfinite(numbers).all():
            raise self._error("not a finite number", "line", "numbers", " ".join(self.words))
        return numbers

    def _error(self, problem: str, field: str, expected: str, found: object) -> DataError:
        shown = found if len(str(found)) <= 80 else f"{str(found)[:80]}…"
        return DataError(problem, file=self.file, row=self.row, field=field, expected=expected, found=shown)
