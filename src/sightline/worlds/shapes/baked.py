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
from sightline.worlds.solids import Cavity, Outline, Solid

ARRAYS = {"vertices": np.float32, "faces": np.int32, "normals": np.float32}


def save_solids(path: str | Path, solids: Iterable[Solid]) -> None:
    """Write solids to `path`, whole or not at all; the same solids make the same bytes."""
    listed = list(solids)
    arrays = {f"{i}/{key}": getattr(solid, key) for i, solid in enumerate(listed) for key in ARRAYS}
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
                _solid(f, {k: file[f"{i}/{k}"].astype(t) for k, t in ARRAYS.items()}) for i, f in enumerate(facts)
            ]
    except FileNotFoundError:
        raise DataError("no such file", file=path, expected="solids saved as .npz") from None
    except (OSError, ValueError, KeyError, TypeError, BadZipFile, EOFError) as error:
        raise DataError("cannot be read as solids", file=path, expected="solids saved as .npz") from error
    return {solid.name: solid for solid in solids}


def _facts(solid: Solid) -> dict[str, Any]:
    return {
        "name": solid.name,
        "height": solid.height,
        "outline": astuple(solid.outline),
        "base": astuple(solid.base),
        "top": solid.top and astuple(solid.top),
        "cavity": solid.cavity and astuple(solid.cavity),
    }


def _solid(facts: dict[str, Any], arrays: dict[str, Any]) -> Solid:
    top, cavity = facts["top"], facts["cavity"]
    return Solid(
        facts["name"],
        **arrays,
        outline=_outline(facts["outline"]),
        base=_outline(facts["base"]),
        top=None if top is None else _outline(top),
        height=facts["height"],
        cavity=None if cavity is None else Cavity(_outline(cavity[0]), cavity[1]),
    )


def _outline(listed: list[Any]) -> Outline:
    kind, (a, b), points = listed
    return Outline(kind, (a, b), tuple((x, y) for x, y in points))
