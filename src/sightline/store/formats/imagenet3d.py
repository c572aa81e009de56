"""ImageNet3D: folders ``<class>`` of photos, each with a .npz file that holds ``annotations``, import only.

The annotations are pickled dicts with the fields of PASCAL3D+, angles in radians from 0 to 2π. Of a pickle only
arrays, numbers, texts, lists and dicts are let in: anything else, and so any code, is refused before it runs.

A scene is ``imagenet3d/<class>/<file name>`` (of one class's folder, ``imagenet3d/<file name>``) with one view,
``"0"``. Boxes and principal points count pixels from 0 and are kept as they stand. ``object_status`` and ``dense``
are attributes; all that is not of good status is flagged ``occluded``, and what has bad status ``difficult``.
"""

from __future__ import annotations

import math
import pickle
import pickletools
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy

from sightline.errors import DataError
from sightline.files import DAMAGED, read_bytes
from sightline.matlab import Struct
from sightline.scenes import Object, Scene, Sighting, View
from sightline.store.convert import tables_in_parts
from sightline.store.formats.labelled import SCENES_A_PART
from sightline.store.formats.pascal3d_records import outside, size_of, symmetry_of, viewpoint_of
from sightline.store.formats.photos import VIEW, find_photos
from sightline.store.pictures import picture_size
from sightline.store.schema import SPLIT_WORDS
from sightline.store.tables import Tables

_MEMBER: Final = "annotations"
_MOST_BYTES: Final = 16 << 20
_DEEPEST: Final = 16
_GOOD: Final = "status_good"
_BAD: Final = "status_bad"


def detect(path: Path) -> bool:
    """Whether the path is such a .npz file, or a folder with some in it or in its folders.

    One that cannot be read counts, so that the import tells why.
    """
    file = next(iter(_files(Path(path))), None)
    if file is None or file.suffix.lower() != ".npz":
        return False
    try:
        with zipfile.ZipFile(BytesIO(read_bytes(file, most=_MOST_BYTES))) as archive:
            return f"{_MEMBER}.npy" in archive.namelist()
    except (*DAMAGED, DataError):
        return True


def read(path: str | Path, *, images: str | Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read annotated photos, a thousand at a time, by class and file name.

    Args:
        path: The folder of all classes, that of one class, or one .npz file.
        images: Folder of the photos; by default they lie beside the .npz files.
        split: Name of the split of all.

    Raises:
        DataError: Naming file, object, field, what was expected and what stood there.
    """
    yield from tables_in_parts(_scenes(Path(path), images, SPLIT_WORDS.get(split, split)), SCENES_A_PART)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(path.glob("*.npz")) or sorted(path.glob("*/*.npz"))


def _scenes(path: Path, images: str | Path | None, split: str) -> Iterator[Scene]:
    files = _files(path)
    if not files:
        raise DataError("folder has no annotation of ImageNet3D", file=path, expected="<class>/*.npz")
    photos = find_photos(images) if images is not None else _beside(path if path.is_dir() else path.parent)
    for file in files:
        within = file.parent.name if path.is_dir() and file.parent != path else ""
        yield _scene(file, within, split, photos.get(file.stem))


def _beside(folder: Path) -> dict[str, str]:
    try:
        return find_photos(folder)
    except DataError:
        return {}


def _scene(file: Path, within: str, split: str, photo: str | None) -> Scene:
    whole = Struct({_MEMBER: read_annotations(file)}, file)
    things = list(enumerate(whole.structs(_MEMBER), start=1))
    if not things:
        whole.fail(_MEMBER, "at least one object")
    first = things[0][1]
    size = picture_size(photo) if photo else None
    size = size or size_of(first)
    return Scene(
        id="/".join(part for part in ("imagenet3d", within, file.stem) if part),
        split=split,
        source="imagenet3d",
        views=(View(VIEW, photo, size),),
        objects=tuple(_object(thing, str(i)) for i, thing in things),
        sightings=tuple(_sighting(thing, str(i), size) for i, thing in things),
    )


def _object(record: Struct, object_id: str) -> Object:
    words = {name: record.text(name) for name in ("object_status", "dense") if name in record}
    if "cad_index" in record:
        words["cad_index"] = f"{record.number('cad_index'):g}"
    category = record.text("class")
    return Object(object_id, category, words | symmetry_of(category))


def _sighting(record: Struct, object_id: str, size: tuple[int, int] | None) -> Sighting:
    x0, y0, x1, y1 = record.numbers("bbox", 4)
    if not (x0 < x1 and y0 < y1):
        record.fail("bbox", "x1 < x2 and y1 < y2", "box is reversed")
    status = record.text("object_status", _GOOD)
    flags = outside((x0, y0, x1, y1), size)
    flags |= {"occluded"} if status != _GOOD else set()
    flags |= {"difficult"} if status == _BAD else set()
    viewpoint = viewpoint_of(record, degrees=math.degrees(1.0), middle=0.0)
    return Sighting(VIEW, object_id, (x0, y0, x1, y1), flags=frozenset(flags), viewpoint=viewpoint)


def read_annotations(file: Path) -> Any:
    """The value of ``annotations`` in a .npz file: arrays, numbers, texts, lists and dicts, nothing else.

    Raises:
        DataError: No such file or member, too large, damaged, or a pickle that asks for anything else.
    """
    try:
        with zipfile.ZipFile(BytesIO(read_bytes(file, most=_MOST_BYTES))) as archive:
            if archive.getinfo(f"{_MEMBER}.npy").file_size > _MOST_BYTES:
                raise DataError("annotations are too large", file=file, expected=f"at most {_MOST_BYTES:,} bytes")
            data = archive.read(f"{_MEMBER}.npy")
        stream = BytesIO(data)
        version = npy.read_magic(stream)
        reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        _, _, kind = reader(stream)
        if not kind.hasobject:
            return np.load(BytesIO(data), allow_pickle=False)
        pickled = data[stream.tell() :]
        _refuse_far_places(pickled)
        return _values(_Plain(BytesIO(pickled)).load(), {})
    except KeyError:
        raise DataError("no annotations in it", file=file, expected=f"an array {_MEMBER!r}") from None
    except DAMAGED as error:
        raise DataError(f"cannot be read as annotations: {error}", file=file) from None


def _refuse_far_places(pickled: bytes) -> None:
    """Refuse a pickle that says more than it has: room is made for what it says, gigabytes of it."""
    for code, said, _ in pickletools.genops(pickled):
        if code.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(said or 0) > len(pickled):
            raise pickle.UnpicklingError(f"it has a place {said}, more than bytes")


class _Plain(pickle.Unpickler):
    """Lets in plain values, and stand-ins of ours for what NumPy would build: none of its code reads a pickle."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "numpy" or module.startswith(("numpy.core.", "numpy._core.")):
            known = {"_reconstruct": _array, "ndarray": None, "dtype": _Kind, "scalar": _scalar}
            if name in known:
                return known[name]
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, but only arrays and plain values are let in")


class _Kind:
    """A pickled dtype: numbers, texts and objects only."""

    def __init__(self, letters: str, *_: Any) -> None:
        self.kind = np.dtype(letters)
        if self.kind.kind not in "biufOUS":
            raise pickle.UnpicklingError(f"it has values of kind {self.kind}; numbers and texts are let in")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] in ("<", ">"):
            self.kind = self.kind.newbyteorder(state[1])


class _Array:
    """A pickled array; `value` is it, of objects a list."""

    value: Any = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, fortran, raw = state
        if kind.kind.hasobject:
            self.value = list(raw)
        else:
            self.value = np.frombuffer(raw, kind.kind).reshape(shape, order="F" if fortran else "C")


def _array(*_: Any) -> _Array:
    return _Array()


def _scalar(kind: _Kind, data: bytes) -> Any:
    return np.frombuffer(data, kind.kind, 1)[0].item()


def _values(found: Any, done: dict[int, Any], depth: int = 0) -> Any:
    """What was unpickled with arrays in place of their stand-ins; what stands in several places is built once."""
    if depth > _DEEPEST:
        raise pickle.UnpicklingError(f"it is nested deeper than {_DEEPEST}")
    if id(found) in done:
        return done[id(found)]
    made = found
    if isinstance(found, _Array):
        made = _values(found.value, done, depth + 1)
    elif isinstance(found, list | tuple):
        made = [_values(one, done, depth + 1) for one in found]
    elif isinstance(found, dict):
        made = {_values(str(key), {}): _values(value, done, depth + 1) for key, value in found.items()}
    elif isinstance(found, str):
        if any("\ud800" <= letter <= "\udfff" for letter in found):
            raise pickle.UnpicklingError("it holds text with half a character (a lone surrogate)")
    elif not isinstance(found, int | float | bool | bytes | np.ndarray | None):
        raise pickle.UnpicklingError(f"it holds a {type(found).__name__}; arrays and plain values are let in")
    done[id(found)] = made
    return made
