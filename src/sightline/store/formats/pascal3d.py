"""PASCAL3D+: a .mat file with ``record`` for every photo of a class, import only.

Folders are ``Annotations/<class>_<source>``, photos ``Images/<class>_<source>``, lists of splits ``Image_sets``
and, for PASCAL, ``ImageSets/Main`` of VOC's own folders. Source is ``pascal`` or ``imagenet``.

A scene is ``<source>/<file name>`` with one view, ``"0"``. A photo of PASCAL has a file in the folder of every
class that it shows, and each lists all of its objects, with viewpoints of that class alone: they are brought
together into one scene. Objects without a viewpoint (people, animals) are kept. An object of a CAD model refers
to it as ``pascal3d/<class>/<cad_index>``. See `pascal3d_records` for what is read of an object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sightline.errors import DataError
from sightline.matlab import Struct, is_mat, read_mat
from sightline.scenes import Scene, View
from sightline.store.convert import tables_in_parts
from sightline.store.formats.labelled import SCENES_A_PART, text_lines
from sightline.store.formats.pascal3d_records import object_of, sighting_of, size_of
from sightline.store.formats.photos import VIEW, find_photos
from sightline.store.pictures import picture_size
from sightline.store.schema import SPLIT_WORDS
from sightline.store.tables import Tables

SOURCES: Final = ("pascal", "imagenet")
_RECORD: Final = "record"
_FOLDER: Final = "Annotations"
_UNREAD: Final = ("polygon", "mask", "part", "point", "actions")


def detect(path: Path) -> bool:
    """Whether the path is such a .mat file, or a folder with some in it, in ``Annotations`` or by class.

    A .mat file that cannot be read counts, so that the import tells why: damaged, or MATLAB v7.3. So does any that
    stands where annotations do.
    """
    file = next(iter(_files(Path(path))), None)
    if file is not None and _source(file) and file.suffix.lower() == ".mat":
        return True
    try:
        return file is not None and is_mat(file) and _RECORD in read_mat(file, skip=("objects",))
    except DataError:
        return True


def read(path: str | Path, *, images: str | Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read annotated photos, a thousand at a time, by source and file name.

    Args:
        path: The folder of PASCAL3D+, its ``Annotations``, a folder of .mat files, or one such file.
        images: Folder of the photos; by default ``Images`` beside ``Annotations``.
        split: Read only this split; the split of all where nothing lists them.

    Raises:
        DataError: Naming file, object, field, what was expected and what stood there.
    """
    yield from tables_in_parts(_scenes(Path(path), images, split), SCENES_A_PART)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    folder = path / _FOLDER if (path / _FOLDER).is_dir() else path
    by_class = [file for source in SOURCES for file in folder.glob(f"*_{source}/*.mat")]
    return sorted(by_class or folder.glob("*.mat"))


def _source(file: Path) -> str:
    source = file.parent.name.rpartition("_")[2]
    return source if source in SOURCES else ""


def _scenes(path: Path, images: str | Path | None, split: str) -> Iterator[Scene]:
    photos_of: dict[tuple[str, str], list[Path]] = {}
    for file in _files(path):
        photos_of.setdefault((_source(file), file.stem), []).append(file)
    if not photos_of:
        raise DataError("folder has no annotation of PASCAL3D+", file=path, expected=f"{_FOLDER}/car_pascal/*.mat")
    root = next(iter(photos_of.values()))[0].parents[2 if next(iter(photos_of))[0] else 0]
    splits = _splits(root)
    wanted = SPLIT_WORDS.get(split, split)
    if splits and wanted and wanted not in splits.values():
        expected = f"one of {', '.join(sorted(set(splits.values())))}"
        raise DataError("no such split", file=root, field="split", expected=expected, found=split)
    photos = _photos(root, images)
    for (source, stem), files in sorted(photos_of.items()):
        ours = splits.get((source, stem), "") if splits else wanted
        if not splits or not wanted or ours == wanted:
            yield _scene(source, stem, files, ours, photos.get(stem))


def _photos(root: Path, images: str | Path | None) -> dict[str, str]:
    if images is not None:
        return find_photos(images)
    folder = root / "Images"
    return find_photos(folder) if folder.is_dir() and any(folder.iterdir()) else {}


def _splits(root: Path) -> dict[tuple[str, str], str]:
    """Source and file name → split, from lists such as car_imagenet_train.txt and VOC's train.txt."""
    lists = [*root.glob("Image_sets/*.txt")]
    lists += [*root.glob("ImageSets/Main/*.txt"), *root.glob("PASCAL/VOCdevkit/VOC20*/ImageSets/Main/*.txt")]
    splits: dict[tuple[str, str], str] = {}
    for file in sorted(lists):
        word = SPLIT_WORDS.get(file.stem.rpartition("_")[2])
        source = next((name for name in SOURCES if f"_{name}" in file.stem), "pascal")
        if word:
            splits |= {(source, line.split()[0]): word for line in text_lines(file) if line.strip()}
    return splits


def _scene(source: str, stem: str, files: list[Path], split: str, photo: str | None) -> Scene:
    records = [_record(file) for file in files]
    size = picture_size(photo) if photo else _size(records[0])
    things = list(enumerate(_together(records), start=1))
    return Scene(
        id=f"{source}/{stem}" if source else stem,
        split=split,
        source=source or "pascal3d",
        views=(View(VIEW, photo, size),),
        objects=tuple(object_of(thing, str(i)) for i, thing in things),
        sightings=tuple(sighting_of(thing, str(i), size) for i, thing in things),
    )


def _together(records: list[Struct]) -> list[Struct]:
    """Objects of all records of a photo, each once: of equal class and box, the one with a viewpoint."""
    found: dict[tuple[str, tuple[float, ...], int], Struct] = {}
    for record in records:
        seen: Counter[tuple[str, tuple[float, ...]]] = Counter()
        for thing in record.structs("objects"):
            what = thing.text("class"), thing.numbers("bbox", 4)
            seen[what] += 1
            before = found.get((*what, seen[what]))
            if before is None or ("viewpoint" not in before and "viewpoint" in thing):
                found[(*what, seen[what])] = thing
    return list(found.values())


def _record(file: Path) -> Struct:
    record = Struct(read_mat(file, skip=_UNREAD), file).struct(_RECORD)
    if "objects" not in record.fields:
        record.fail("objects", "records of the objects")
    return Struct(record.fields, file)


def _size(record: Struct) -> tuple[int, int] | None:
    """Width and height that a record tells; None where it tells none."""
    for size in record.structs("size"):
        if found := size_of(size):
            return found
    if "imgsize" in record:
        sides = dict(zip(("width", "height"), record.numbers("imgsize"), strict=False))
        return size_of(Struct(sides, record.file, "imgsize"))
    return None
