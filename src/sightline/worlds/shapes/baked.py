"""Solids in one .npz file: a dataset carries its own shapes, and reading them needs numpy alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from sightline.errors import DataError
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
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            np.savez_compressed(file, **arrays)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


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
    cavity = solid.cavity
    return {
        "name": solid.name,
        "height": solid.height,
        "outline": _listed(solid.outline),
        "base": _listed(solid.base),
        "top": None if solid.top is None else _listed(solid.top),
        "cavity": None if cavity is None else [_listed(cavity.outline), cavity.depth],
    }


def _listed(outline: Outline) -> list[Any]:
    return [outline.kind, list(outline.half), [list(p) for p in outline.points]]


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
