"""Visual Relationship Detection: photos with boxes of 100 classes and triples of 70 predicates; import only.

Two forms are read. *One file*: ``objects`` and ``predicates`` (names, in the order of their numbers), ``train`` and
``test``, lists of photos with ``image`` (file name), ``classes``, ``boxes_xyxy`` and ``relations_s_p_o`` (places of
subject and object among the boxes, predicate number in between). *The original release*: a folder with
``objects.json``, ``predicates.json``, ``annotations_train.json`` and ``annotations_test.json``; the last two map a
file name to a list of ``{"predicate": 3, "subject": {"category": 0, "bbox": [ymin, ymax, xmin, xmax]}, "object":
{…}}``. There an object has no number: the same category and box in one photo are the same object.

A scene is ``<split>/<file name without suffix>`` with one view, ``"0"``. Boxes are pixels as the source tells them.
The source never tells the size of a photo, so the view has none unless the photo itself is given. Triples are
relations of aspect ``vrd``. Left out, and counted in `notes`: relations of an object to itself and relations told
twice. A photo without any annotation is kept as a scene without objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sightline.documents import read_json
from sightline.errors import ConfigError, DataError
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.scenes.types import Box
from sightline.store.check import EDGE_TOLERANCE
from sightline.store.convert import tables_in_parts
from sightline.store.formats.jsonio import JsonEntry, is_text, names_keys, object_entry
from sightline.store.formats.photos import VIEW, find_photos
from sightline.store.pictures import picture_size
from sightline.store.tables import Tables

__all__ = ["ASPECT", "SPLITS", "detect", "notes", "read"]

ASPECT: Final = "vrd"
SPLITS: Final = ("train", "test")
_ONE_FILE: Final = "vrd.json"
_SCENES_A_PART: Final = 1000
_ROLES: Final = ("subject", "object")

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Photo:
    """What is told of one photo: every number checked, nothing dropped yet."""

    entry: JsonEntry
    split: str
    image: str
    things: Sequence[tuple[int, Box]]
    triples: Sequence[Triple]

    @property
    def scene_id(self) -> str:
        return f"{self.split}/{Path(self.image).stem}"

    def distinct(self) -> list[Triple]:
        """The triples between two objects, each once."""
        return [t for t in dict.fromkeys(self.triples) if t[0] != t[2]]


@dataclass(frozen=True, slots=True)
class _Names:
    classes: Sequence[str]
    predicates: Sequence[str]


def detect(path: Path) -> bool:
    """Whether the path is VRD's one file, a folder with it, or a folder of the original release."""
    try:
        place = _place(Path(path))
        return bool(_annotations(place)) if place.is_dir() else names_keys(place, "predicates", "relations_s_p_o")
    except (DataError, OSError):
        return False


def notes(path: str | Path) -> list[str]:
    """What `read` leaves out, and photos of which nothing is told: how many, split by split."""
    count: Counter[tuple[str, str]] = Counter()
    for photo, _ in _photos(Path(path), SPLITS):
        between = sum(subject != thing for subject, _, thing in photo.triples)
        count[photo.split, "relations of an object to itself, left out"] += len(photo.triples) - between
        count[photo.split, "relations told again, left out"] += between - len(photo.distinct())
        count[photo.split, "photos without any annotation, kept as scenes without objects"] += not photo.things
    return [f"{split}: {number} {what}" for (split, what), number in count.items() if number]


def read(path: str | Path, *, images: str | Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read VRD, a thousand photos at a time.

    Args:
        path: The one file, a folder with ``vrd.json``, or the folder of the original release.
        images: Folder of the photos, looked up by name in it and in its direct subfolders; scenes whose photo is
            there refer to it and get their size from it.
        split: Read only this split.

    Raises:
        DataError: Naming file, photo, key, what was expected and what stood there.
    """
    if split and split not in SPLITS:
        raise ConfigError(f"VRD has no split {split!r} (it has {', '.join(SPLITS)})")
    pictures = find_photos(images) if images else {}
    yield from tables_in_parts(_scenes(Path(path), (split,) if split else SPLITS, pictures), _SCENES_A_PART)


def _place(path: Path) -> Path:
    """The one file if the folder has it, else the path itself."""
    return path / _ONE_FILE if (path / _ONE_FILE).is_file() else path


def _annotations(folder: Path) -> dict[str, Path]:
    """Split → file of the original release; empty if the lists of names are not beside."""
    if not all((folder / name).is_file() for name in ("objects.json", "predicates.json")):
        return {}
    files = {split: folder / f"annotations_{split}.json" for split in SPLITS}
    return {split: file for split, file in files.items() if file.is_file()}


def _scenes(path: Path, splits: Sequence[str], pictures: Mapping[str, str]) -> Iterator[Scene]:
    known: set[str] = set()
    for photo, names in _photos(path, splits):
        if photo.scene_id in known:
            raise photo.entry.error("photo stands twice", "image", "a photo of its own", photo.image)
        known.add(photo.scene_id)
        yield _scene(photo, names, pictures.get(Path(photo.image).stem))


def _scene(photo: _Photo, names: _Names, picture: str | None) -> Scene:
    size = picture_size(picture) if picture else None
    for _, box in photo.things if size else ():
        assert size is not None
        if box[2] > size[0] + EDGE_TOLERANCE or box[3] > size[1] + EDGE_TOLERANCE:
            expected = f"within the {size[0]} × {size[1]} pixels of {picture}, give or take {EDGE_TOLERANCE:g}"
            raise photo.entry.error("box leaves the image", "box", expected, box)
    return Scene(
        id=photo.scene_id,
        split=photo.split,
        source="vrd",
        views=(View(VIEW, picture, size),),
        objects=tuple(Object(str(i), names.classes[number]) for i, (number, _) in enumerate(photo.things)),
        sightings=tuple(Sighting(VIEW, str(i), box) for i, (_, box) in enumerate(photo.things)),
        relations=tuple(Relation(str(s), str(o), ASPECT, names.predicates[p]) for s, p, o in photo.distinct()),
    )


def _photos(path: Path, splits: Sequence[str]) -> Iterator[tuple[_Photo, _Names]]:
    place = _place(path)
    if not place.is_dir():
        yield from _of_one_file(place, splits)
        return
    files = _annotations(place)
    if not files:
        expected = "vrd.json; or objects.json, predicates.json and annotations_{train,test}.json"
        raise DataError("not a folder of Visual Relationship Detection", file=path, expected=expected)
    names = _Names(
        *(
            _words(read_json(place / f"{name}.json", entries=True), place / f"{name}.json", "")
            for name in ("objects", "predicates")
        )
    )
    for split in splits:
        if split in files:
            yield from ((photo, names) for photo in _of_release(files[split], split, names))


def _words(value: Any, file: Path, field: str) -> list[str]:
    if not isinstance(value, list) or not value or not all(is_text(v) and v for v in value):
        raise DataError("not a list of names", file=file, field=field or None, expected="a list of strings")
    twice = [word for word, times in Counter(value).items() if times > 1]
    if twice:
        raise DataError("name stands twice", file=file, field=field or None, found=twice[0])
    return value


def _list(entry: JsonEntry, value: Any, field: str) -> list[Any]:
    if not isinstance(value, list):
        raise entry.error("not a list", field, "a list", value)
    return value


def _number(entry: JsonEntry, value: Any, field: str, names: Sequence[str], what: str) -> int:
    if type(value) is not int or not 0 <= value < len(names):
        raise entry.error(f"unknown {what} number", field, f"an integer from 0 to {len(names) - 1}", value)
    return value


def _box(entry: JsonEntry, value: Any, field: str, order: Sequence[int], form: str) -> Box:
    """The box as x0, y0, x1, y1, which stand at the places `order` of the value."""
    numbers = entry.numbers(value, field)
    if len(numbers) != 4:
        raise entry.error("box has not four numbers", field, form, value)
    x0, y0, x1, y1 = (numbers[i] for i in order)
    if not (x0 < x1 and y0 < y1):
        raise entry.error("box is reversed or empty", field, f"{form}, each min below its max", value)
    if min(x0, y0) < -EDGE_TOLERANCE:
        raise entry.error("box leaves the image", field, f"{form}, none below 0 by over {EDGE_TOLERANCE:g}", value)
    return x0, y0, x1, y1


def _image(entry: JsonEntry, name: Any) -> str:
    if not is_text(name) or not Path(name).stem:
        raise entry.error("not a file name", "image", "a string", name)
    return str(name)


def _of_one_file(file: Path, splits: Sequence[str]) -> Iterator[tuple[_Photo, _Names]]:
    content = read_json(file, entries=True)
    if not isinstance(content, dict):
        raise DataError("not VRD's file", file=file, expected="a JSON object", found=type(content).__name__)
    names = _Names(*(_words(content.get(name), file, name) for name in ("objects", "predicates")))
    if not any(split in content for split in SPLITS):
        raise DataError("key is missing", file=file, field=" or ".join(SPLITS), found=", ".join(content))
    for split in splits:
        photos = content.get(split, [])
        if not isinstance(photos, list):
            raise DataError("not a list", file=file, field=split, expected="a list", found=type(photos).__name__)
        for i, value in enumerate(photos):
            yield _listed(object_entry(value, file, f"{split}[{i}]", split), split, names), names


def _listed(entry: JsonEntry, split: str, names: _Names) -> _Photo:
    classes, boxes, triples = (
        _list(entry, entry.get(key), key) for key in ("classes", "boxes_xyxy", "relations_s_p_o")
    )
    if len(classes) != len(boxes):
        raise entry.error("not one box an object", "boxes_xyxy", f"{len(classes)} boxes", len(boxes))
    numbers = [_number(entry, c, f"classes[{i}]", names.classes, "class") for i, c in enumerate(classes)]
    order, form = (0, 1, 2, 3), "[xmin, ymin, xmax, ymax]"
    placed = [_box(entry, box, f"boxes_xyxy[{i}]", order, form) for i, box in enumerate(boxes)]
    between = [_triple(entry, t, f"relations_s_p_o[{i}]", len(classes), names) for i, t in enumerate(triples)]
    image = _image(entry, entry.get("image"))
    return _Photo(entry, split, image, list(zip(numbers, placed, strict=True)), between)


def _triple(entry: JsonEntry, value: Any, field: str, count: int, names: _Names) -> Triple:
    if not isinstance(value, list) or len(value) != 3:
        raise entry.error("not a triple", field, "[subject, predicate, object]", value)
    subject, predicate, thing = value
    for end in (subject, thing):
        if type(end) is not int or not 0 <= end < count:
            raise entry.error("relation to an unknown object", field, f"places from 0 to {count - 1}", value)
    return subject, _number(entry, predicate, field, names.predicates, "predicate"), thing


def _of_release(file: Path, split: str, names: _Names) -> Iterator[_Photo]:
    content = read_json(file, entries=True)
    if not isinstance(content, dict):
        raise DataError(
            "not annotations", file=file, expected="a JSON object by file name", found=type(content).__name__
        )
    for image, value in content.items():
        entry = JsonEntry(file, image, {})
        things: dict[tuple[int, Box], int] = {}
        between = []
        for i, item in enumerate(_list(entry, value, "relations")):
            relation = object_entry(item, file, image, f"[{i}]")
            subject, thing = (
                things.setdefault(_end(relation, role, f"[{i}].{role}", names), len(things)) for role in _ROLES
            )
            number = _number(relation, relation.get("predicate"), f"[{i}].predicate", names.predicates, "predicate")
            between.append((subject, number, thing))
        yield _Photo(entry, split, _image(entry, image), list(things), between)


def _end(relation: JsonEntry, role: str, field: str, names: _Names) -> tuple[int, Box]:
    thing = object_entry(relation.get(role), relation.file, relation.row, field)
    number = _number(thing, thing.get("category"), f"{field}.category", names.classes, "class")
    return number, _box(thing, thing.get("bbox"), f"{field}.bbox", (2, 0, 3, 1), "[ymin, ymax, xmin, xmax]")
