"""Solids in one .npz file: a dataset carries its own shapes, and reading them needs numpy alone."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from sightline.errors import DataError
from sightline.files import atomic_write
from sightline.worlds.looks import Material
from sightline.worlds.solids import Cavity, Outline, Slot, Solid

ARRAYS = {"vertices": np.float32, "faces": np.int32, "normals": np.float32}
PAINTED = {"paint": np.uint8, "uv": np.float32}
"""Arrays that only a solid with slots or textures of its own has in the file, beside ``texture<slot>``."""


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
        # numpy leaves a damaged file open when it opened it itself
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            facts = json.loads(str(file["facts"]))
            solids = [
                _solid(f, {k: file[f"{i}/{k}"] for k in (*ARRAYS, *f["arrays"])}) for i, f in enumerate(facts)
            ]
    except FileNotFoundError:
        raise DataError("no such file", file=path, expected="solids saved as .npz") from None
    except (OSError, ValueError, KeyError, TypeError, BadZipFile, EOFError) as error:
        raise DataError("cannot be read as solids", file=path, expected="solids saved as .npz") from error
    return {solid.name: solid for solid in solids}


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
        "arrays": list(_painted(solid)),
    }


def _solid(facts: dict[str, Any], arrays: dict[str, Any]) -> Solid:
    top, cavity = facts["top"], facts["cavity"]
    kinds = ARRAYS | PAINTED
    slots = tuple(
        Slot(name, color and tuple(color), material and Material(*material), arrays.get(f"texture{i}"))
        for i, (name, color, material) in enumerate(facts["slots"])
    )
    return Solid(
        facts["name"],
        **{key: array.astype(kinds[key]) for key, array in arrays.items() if key in kinds},
        outline=_outline(facts["outline"]),
        base=_outline(facts["base"]),
        top=None if top is None else _outline(top),
        height=facts["height"],
        cavity=None if cavity is None else Cavity(_outline(cavity[0]), cavity[1]),
        slots=slots,
        landmarks={name: tuple(point) for name, point in facts["landmarks"].items()},
        symmetry=facts["symmetry"],
        closed=facts["closed"],
    )


def _outline(listed: list[Any]) -> Outline:
    kind, (a, b), points = listed
    return Outline(kind, (a, b), tuple((x, y) for x, y in points))
