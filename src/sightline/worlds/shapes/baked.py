"""Solids in one .npz file: a dataset carries its own shapes, and reading them needs numpy alone."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.files import DAMAGED, atomic_write, regular_size
from sightline.typed import Above, Least, Unfit, Value
from sightline.worlds.looks import Material
from sightline.worlds.solids import Cavity, Outline, Slot, Solid, Triple

ARRAYS = {"vertices": np.float32, "faces": np.int32, "normals": np.float32}
PAINTED = {"paint": np.uint8, "uv": np.float32}
"""Arrays that only a solid with slots or textures of its own has in the file, beside ``texture<slot>``."""


_ALWAYS_BYTES = 1 << 26
"""Bytes that any file may unpack to."""


def _fitting_outline(listed: tuple[Any, ...]) -> tuple[Any, ...]:
    kind, half, points = listed
    if min(half) <= 0.0 or len(points) < 3 * (kind == "polygon"):
        raise Unfit("not an outline", "positive half extents, and three corners or more of a polygon")
    return listed


def _at_most_one(share: float) -> float:
    if share > 1.0:
        raise Unfit("number out of range", "a share from 0 to 1")
    return share


_Listed = Annotated[
    tuple[Literal["box", "ellipse", "polygon"], tuple[float, float], tuple[tuple[float, float], ...]],
    _fitting_outline,
]
_Share = Annotated[float, Least(0.0), _at_most_one]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the file says of a solid beside its arrays; outlines, cavities and materials as lists."""

    name: str
    height: Annotated[float, Above(0.0)]
    outline: _Listed
    base: _Listed
    top: _Listed | None
    cavity: tuple[_Listed, Annotated[float, Above(0.0)]] | None
    slots: tuple[tuple[str, Triple | None, tuple[_Share, _Share, _Share, _Share] | None], ...]
    landmarks: Mapping[str, Triple]
    symmetry: Annotated[int, Least(0)]
    closed: bool
    arrays: tuple[str, ...]
    front: bool = False


def save_solids(path: str | Path, solids: Iterable[Solid]) -> None:
    """Write solids to `path`, whole or not at all; the same solids make the same bytes."""
    listed = list(solids)
    arrays = {f"{i}/{key}": value for i, solid in enumerate(listed) for key, value in _arrays(solid).items()}
    arrays["facts"] = np.array(json.dumps([_facts(solid) for solid in listed]))
    save_arrays(Path(path), arrays)


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays to a .npz file, whole or not at all."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    atomic_write(path, buffer.getvalue())


def load_solids(path: str | Path) -> dict[str, Solid]:
    """Solids of a file by name, in the order they were saved.

    Raises:
        DataError: The file is missing, damaged or not one of ours.
    """
    try:
        regular_size(path)
        # numpy leaves a damaged file open when it opened it itself
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            if sum(entry.file_size for entry in file.zip.infolist()) > max(64 * raw.seek(0, 2), _ALWAYS_BYTES):
                raise DataError("unpacks to far more than its size", file=path)
            listed: tuple[_Facts, ...] = Value(json.loads(_text(file["facts"])), str(path)).read(tuple[_Facts, ...])
            read = ((facts, (*ARRAYS, *facts.arrays), f"{i}/") for i, facts in enumerate(listed))
            solids = [_solid(facts, {key: file[at + key] for key in keys}, path) for facts, keys, at in read]
    except FileNotFoundError:
        raise DataError("no such file", file=path, expected="solids saved as .npz") from None
    except DAMAGED as error:
        raise DataError("cannot be read as solids", file=path, expected="solids saved as .npz") from error
    return {solid.name: solid for solid in solids}


def _text(array: NDArray[Any]) -> str:
    """The text of an array; ValueError for characters beyond Unicode, of which numpy makes strings all the same."""
    codes = np.atleast_1d(array).view(np.uint32) if array.dtype.kind == "U" and array.itemsize else np.zeros(0)
    if codes.size and codes.max() > sys.maxunicode:
        raise ValueError("characters beyond Unicode")
    return str(array)


def _arrays(solid: Solid) -> dict[str, Any]:
    return {key: getattr(solid, key) for key in ARRAYS} | _painted(solid)


def _painted(solid: Solid) -> dict[str, Any]:
    paint = solid.paint if len(solid.slots) > 1 else None
    textures = {f"texture{i}": slot.texture for i, slot in enumerate(solid.slots)}
    listed = {"paint": paint, "uv": solid.uv} | textures
    return {key: value for key, value in listed.items() if value is not None}


def _facts(solid: Solid) -> dict[str, Any]:
    return {
        "name": solid.name,
        "height": solid.height,
        "outline": astuple(solid.outline),
        "base": astuple(solid.base),
        "top": solid.top and astuple(solid.top),
        "cavity": solid.cavity and astuple(solid.cavity),
        "slots": [(s.name, s.color, s.material and astuple(s.material)) for s in solid.slots],
        "landmarks": dict(solid.landmarks),
        "symmetry": solid.symmetry,
        "closed": solid.closed,
        "front": solid.front,
        "arrays": list(_painted(solid)),
    }


def _solid(facts: _Facts, arrays: Mapping[str, Any], path: str | Path) -> Solid:
    kinds = ARRAYS | PAINTED
    slots = tuple(
        Slot(name, color, material and Material(*material), arrays.get(f"texture{i}"))
        for i, (name, color, material) in enumerate(facts.slots)
    )
    kept = {key: array.astype(kinds[key]) for key, array in arrays.items() if key in kinds}
    _check_arrays(kept, [slot.texture for slot in slots if slot.texture is not None], path)
    return Solid(
        facts.name,
        **kept,
        outline=Outline(*facts.outline),
        base=Outline(*facts.base),
        top=None if facts.top is None else Outline(*facts.top),
        height=facts.height,
        cavity=None if facts.cavity is None else Cavity(Outline(*facts.cavity[0]), facts.cavity[1]),
        slots=slots,
        landmarks=facts.landmarks,
        symmetry=facts.symmetry,
        closed=facts.closed,
        front=facts.front,
    )


def _check_arrays(arrays: Mapping[str, Any], textures: Iterable[Any], path: str | Path) -> None:
    """DataError unless the arrays are of one mesh: right shapes, finite places, faces between its vertices."""
    corners, faces = len(arrays["vertices"]), arrays["faces"]
    shapes = {"vertices": (corners, 3), "faces": (len(faces), 3), "normals": (len(faces), 3, 3)}
    shapes |= {"uv": (len(faces), 3, 2), "paint": (len(faces),)}
    for key, array in arrays.items():
        if not array.size or array.shape != shapes[key] or not np.isfinite(array).all():
            raise DataError("array does not fit", file=path, field=key, expected=f"finite, {shapes[key]}")
    if faces.min() < 0 or faces.max() >= corners:
        raise DataError("faces do not fit", file=path, field="faces", expected=f"numbers from 0 to {corners - 1}")
    if not all(texture.ndim == 3 and texture.shape[2] == 3 and texture.dtype == np.uint8 for texture in textures):
        raise DataError("texture does not fit", file=path, field="texture", expected="(h, w, 3) bytes")
