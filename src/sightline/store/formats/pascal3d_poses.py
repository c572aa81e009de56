"""Poses of PASCAL3D+'s objects alone, import only: CSV files of integer degrees, and a .mat file with rotations.

CSV files (``train.csv``, ``val.csv``) have twelve names over rows of nine fields: path of the photo, box (counted
from 0, both ends included), 0, azimuth, elevation and theta in degrees, wrapped to 0 … 360. Each row is a photo
with one object; class and source are its folder's (``Images/car_pascal/…``), the split is the file's name.

The .mat file has ``rotationData``, a struct for every object: image, box (counted from 1), flags, and its turn
twice, as ``euler`` (theta, elevation, azimuth in radians) and as ``rot``, the transposed CAD→camera rotation with
y up and the camera looking along −z. The two must agree; what is stored are the angles of ``rot``.

Neither tells distances: the viewpoints are angles alone. A box with a negative coordinate is kept and flagged
``outside``.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Final

import numpy as np

from sightline.errors import DataError
from sightline.geometry.viewpoints import Viewpoint, angles, geodesic, rotations
from sightline.matlab import Struct, is_mat, read_mat
from sightline.scenes import Object, Scene, Sighting, View
from sightline.store.convert import tables_in_parts
from sightline.store.formats.labelled import SCENES_A_PART, text_lines
from sightline.store.formats.pascal3d import SOURCES
from sightline.store.formats.pascal3d_records import FLAGS, folded, outside, symmetry_of
from sightline.store.formats.photos import VIEW, find_photos, is_photo
from sightline.store.schema import SPLIT_WORDS
from sightline.store.tables import Tables
from sightline.text import counted, printable

_HEADER: Final = (
    "imgPath,bboxTLX,bboxTLY,bboxBRX,bboxBRY,imgKeyptX,imgKeyptY,keyptClass,objClass,azimuthClass,elevationClass,"
    "rotationClass"
)
_FIELDS: Final = 9
_ROTATIONS: Final = "rotationData"
_UPRIGHT: Final = np.diag((1.0, -1.0, -1.0))
_MOST_NAMES: Final = 8
_TOLERANCE: Final = 0.5
"""Degrees by which the two tellings of a turn may differ."""


def detect(path: Path) -> bool:
    """Whether the path is such a file, or a folder with such CSV files."""
    try:
        return any(_is_poses(file) for file in _files(Path(path)))
    except (OSError, DataError):
        return False


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.glob("*.csv") if _is_poses(file)) if path.is_dir() else [path]


def _is_poses(file: Path) -> bool:
    if file.suffix.lower() == ".csv" and file.is_file():
        with file.open("rb") as stream:
            return stream.read(len(_HEADER)).decode("utf-8", "replace") == _HEADER
    return is_mat(file) and _ROTATIONS in read_mat(file, skip=("rot", "euler"))


def notes(path: Path, *, images: str | Path | None = None) -> list[str]:
    """How many boxes leave their photo, and what else lies in the folder, with how it is imported."""
    files = [file for file in _files(Path(path)) if file.suffix.lower() == ".csv"]
    corners = ((_number(file, row, i, fields[i]) for i in (1, 2)) for file in files for row, fields in _rows(file))
    away = sum(min(corner) < 0.0 for corner in corners)
    said = [f"{counted(away, 'box', 'boxes')} with negative coordinates kept, flagged outside"] if away else []
    return said + (_passed_over(Path(path), files, images) if Path(path).is_dir() else [])


def _passed_over(folder: Path, files: list[Path], images: str | Path | None) -> list[str]:
    """What of a folder the import of its CSV files leaves out; photos aside."""
    photos = Path(images or folder / "Images").resolve()
    rest = [p for p in sorted(folder.iterdir()) if p not in files and p.name[0] != "." and not is_photo(p)]
    others = [place for place in rest if _is_imported_alone(place)]
    unread = [place for place in rest if place not in others and not photos.is_relative_to(place.resolve())]
    said = []
    if others:
        how = f"import each by itself, as `sightline import {printable(str(others[0]))} --out ANOTHER`"
        said.append(f"only CSV files are read here: {_names(others)} left out; {how}")
    if unread:
        said.append(f"of no format that is imported, so not read: {_names(unread)}")
    return said


def _names(places: list[Path]) -> str:
    more = [f"{len(places) - _MOST_NAMES} more"] if len(places) > _MOST_NAMES else []
    return ", ".join([printable(place.name) for place in places[:_MOST_NAMES]] + more)


def _is_imported_alone(place: Path) -> bool:
    """Whether a .mat file has annotations or rotations, or a folder CAD models."""
    file = next(iter(sorted(place.glob("*.mat"))), None) if place.is_dir() else place
    try:
        if file is None or not is_mat(file):
            return False
        values = read_mat(file, skip=("rot", "euler", "objects", "visibility"))
    except (OSError, DataError):
        return False
    if place.is_dir():
        models = [one for value in values.values() for one in np.asarray(value, object).flat]
        return bool(models) and all(isinstance(one, dict) and {"vertices", "faces"} <= one.keys() for one in models)
    return bool(values.keys() & {_ROTATIONS, "record"})


def read(path: str | Path, *, images: str | Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read poses, a thousand photos at a time.

    Args:
        path: A CSV file, a folder of them, or the .mat file.
        images: Folder of the photos.
        split: Read only this split; of a .mat file, the split of all.

    Raises:
        DataError: Naming file, row and field.
    """
    photos = {} if images is None else find_photos(images)
    wanted = SPLIT_WORDS.get(split, split)
    yield from tables_in_parts(_scenes(Path(path), photos, wanted), SCENES_A_PART)


def _scenes(path: Path, photos: dict[str, str], wanted: str) -> Iterator[Scene]:
    seen: set[str] = set()
    for file in _files(path):
        if file.suffix.lower() != ".csv":
            yield from _of_rotations(file, photos, wanted)
            continue
        split = SPLIT_WORDS.get(file.stem, file.stem)
        if not wanted or split == wanted:
            for row, fields in _rows(file):
                scene = _of_row(file, row, fields, split, photos)
                if scene.id in seen:
                    raise DataError("photo stands twice", file=file, row=row, field="imgPath", found=fields[0])
                seen.add(scene.id)
                yield scene


def _rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    lines = text_lines(file)
    if not lines or lines[0].strip() != _HEADER:
        raise DataError("not a file of poses", file=file, row=1, expected=_HEADER, found=lines[0] if lines else "")
    for row, fields in enumerate(csv.reader(lines[1:]), start=2):
        if len(fields) != _FIELDS:
            expected = f"{_FIELDS} fields: path, box, 0, azimuth, elevation, theta"
            raise DataError("wrong number of fields", file=file, row=row, expected=expected, found=len(fields))
        yield row, fields


def _of_row(file: Path, row: int, fields: list[str], split: str, photos: dict[str, str]) -> Scene:
    place = PureWindowsPath(fields[0])  # either slash
    category, _, source = place.parent.name.rpartition("_")
    if not category or source not in SOURCES:
        expected = "a folder such as car_pascal or car_imagenet"
        raise DataError(
            "photo of an unknown class", file=file, row=row, field="imgPath", expected=expected, found=fields[0]
        )
    numbers = [_number(file, row, i, fields[i]) for i in (*range(1, 5), 6, 7, 8)]
    x0, y0, x1, y1 = numbers[:4]
    box = (x0, y0, x1 + 1.0, y1 + 1.0)
    if not (x0 <= x1 and y0 <= y1):
        raise DataError("box is reversed", file=file, row=row, field="box", expected="x1 ≤ x2, y1 ≤ y2", found=box)
    azimuth, elevation, theta = folded(*numbers[4:])
    flags = outside(box, None) | ({"outside"} if min(x0, y0) < 0.0 else set())
    seen = Sighting(VIEW, "1", box, flags=frozenset(flags), viewpoint=Viewpoint(azimuth, elevation, theta=theta))
    thing = Object("1", category, symmetry_of(category))
    view = View(VIEW, photos.get(place.stem))
    return Scene(f"{source}/{place.stem}", split, source, (view,), (thing,), (seen,))


def _number(file: Path, row: int, index: int, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        name = ("imgPath", "x1", "y1", "x2", "y2", "0", "azimuth", "elevation", "theta")[index]
        raise DataError("not a number", file=file, row=row, field=name, expected="a finite number", found=text)
    return number


def _of_rotations(file: Path, photos: dict[str, str], split: str) -> Iterator[Scene]:
    by_image: dict[str, list[Struct]] = {}
    for record in Struct(read_mat(file), file).structs(_ROTATIONS):
        by_image.setdefault(record.text("voc_image_id"), []).append(record)
    for image, records in by_image.items():
        source = records[0].text("dataset", "pascal")
        numbers = [record.number("objectInd") for record in records]
        if len(set(numbers)) < len(numbers):
            records[-1].fail("objectInd", f"every object of {image} once")
        size = _size(records[0])
        yield Scene(
            f"{source}/{image}",
            split,
            source,
            (View(VIEW, photos.get(image), size),),
            tuple(_rotated_object(r) for r in records),
            tuple(_rotated_sighting(r, size) for r in records),
        )


def _size(record: Struct) -> tuple[int, int] | None:
    if "imsize" not in record:
        return None
    width, height = record.numbers("imsize", 2)
    return int(width), int(height)


def _rotated_object(record: Struct) -> Object:
    facts = {"subtype": f"{record.number('subtype'):g}"} if "subtype" in record else {}
    category = record.text("class")
    return Object(f"{record.number('objectInd'):g}", category, facts | symmetry_of(category))


def _rotated_sighting(record: Struct, size: tuple[int, int] | None) -> Sighting:
    x0, y0, x1, y1 = record.numbers("bbox", 4)
    box = (x0 - 1.0, y0 - 1.0, x1, y1)
    turn = _UPRIGHT @ np.array(record.numbers("rot", 9)).reshape(3, 3)  # read in MATLAB's order: transposed
    if not np.allclose(turn @ turn.T, np.eye(3), atol=1e-6) or np.linalg.det(turn) < 0.0:
        record.fail("rot", "a rotation matrix")
    theta, elevation, azimuth = np.degrees(record.numbers("euler", 3))
    if not geodesic(turn, rotations(azimuth, elevation, theta)) < _TOLERANCE:
        record.fail("euler", "theta, elevation and azimuth in radians, the same turn as rot")
    azimuth, elevation, theta = angles(turn).tolist()
    flags = {name for name in FLAGS if record.flag(name)} | outside(box, size)
    viewpoint = Viewpoint(azimuth, elevation, theta=theta)
    return Sighting(VIEW, f"{record.number('objectInd'):g}", box, flags=frozenset(flags), viewpoint=viewpoint)
