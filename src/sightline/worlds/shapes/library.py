"""A shape library on disk: a folder of solids by category, which worlds accept as own shapes.

``library.json`` lists the shapes; each is a file of its own, ``<category>/<model>.npz``, as `baked` writes solids:
one metre to the diagonal of its box, z up, front towards −y, base at z = 0, with landmarks, symmetry and paint.
docs/reference/shape-library.md describes both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from sightline.documents import read_json
from sightline.errors import DataError
from sightline.files import refuse_outside, staged_folder
from sightline.typed import Value
from sightline.worlds.shapes import register
from sightline.worlds.shapes.baked import load_solids, save_solids
from sightline.worlds.solids import Solid

INDEX: Final = "library.json"
FORMAT: Final = "sightline-shapes"
VERSION: Final = 1

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,80}/[A-Za-z0-9_-]{1,80}")


@dataclass(frozen=True, slots=True)
class LibraryShape:
    """A shape of a library, as its index lists it.

    Attributes:
        name: ``bus/2``: category and model.
        category: ``bus``.
        source: The file it came from.
        faces: Triangles; landmarks: names; symmetry, closed: as of `Solid`.
    """

    name: str
    category: str
    source: str
    faces: int
    landmarks: tuple[str, ...]
    symmetry: int
    closed: bool


def write_library(
    path: str | Path, solids: Iterable[tuple[Solid, str]], *, overwrite: bool, read: str | Path | None = None
) -> list[LibraryShape]:
    """Write a library, whole or not at all.

    Args:
        path: The folder.
        solids: In medium size, named ``category/model``, with the file each came from.
        overwrite: Replace a library that is there.
        read: Where the solids were read, to name it where there is none.

    Raises:
        DataError: There is no solid, or a name does not fit or stands twice.
    """
    listed: dict[str, LibraryShape] = {}
    with staged_folder(path, owned=_owned(Path(path)), marker=INDEX, overwrite=overwrite) as stage:
        for solid, source in solids:
            name = solid.name.removesuffix(":medium")
            if not _NAME.fullmatch(name) or name in listed:
                problem = "shape stands twice" if name in listed else "no name for a shape of a library"
                raise DataError(problem, file=source, expected="category/model", found=name)
            category = name.partition("/")[0]
            facts = (len(solid.faces), tuple(solid.landmarks), solid.symmetry, solid.closed)
            listed[name] = LibraryShape(name, category, source, *facts)
            (stage / category).mkdir(exist_ok=True)
            save_solids(stage / f"{name}.npz", [solid])
        if not listed:
            raise DataError("there is no model to write", file=read or path, expected="at least one")
        index = {"format": FORMAT, "version": VERSION, "shapes": [asdict(shape) for shape in listed.values()]}
        (stage / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    return list(listed.values())


def is_library(path: str | Path) -> bool:
    """Whether a folder is a shape library."""
    return (Path(path) / INDEX).is_file()


def read_library(path: str | Path) -> dict[str, LibraryShape]:
    """Shapes of a library by name, in the order of its index.

    Raises:
        DataError: Not such a folder, or damaged.
    """
    folder = Path(path)
    if not is_library(folder):
        raise DataError("not a shape library", file=folder, expected=f"a folder with {INDEX}")
    index = Value(read_json(folder / INDEX), str(folder / INDEX)).only(("format", "version", "shapes"))
    if index["format"].value != FORMAT or index["version"].value != VERSION:
        index["format"].fail("not a shape library of this version", f"{FORMAT}, version {VERSION}")
    shapes: tuple[LibraryShape, ...] = index["shapes"].read(tuple[LibraryShape, ...])
    for shape in shapes:
        if not _NAME.fullmatch(shape.name) or not shape.name.startswith(f"{shape.category}/"):
            raise DataError("no name for a shape of a library", file=folder / INDEX, found=shape.name)
        refuse_outside(shape_file(folder, shape.name), folder, field=shape.name)
    return {shape.name: shape for shape in shapes}


def shape_file(folder: str | Path, name: str) -> Path:
    """Where a shape of a library is kept."""
    return Path(folder) / f"{name}.npz"


def register_library(path: str | Path, alias: str) -> tuple[str, ...]:
    """Make all shapes of a library known to `solid` under a name of its own; their names."""
    for name in (shapes := read_library(path)):
        (loaded,) = load_solids(shape_file(path, name)).values()
        register(replace(loaded, name=f"{alias}/{name}:medium"))
    return tuple(f"{alias}/{name}" for name in shapes)


def members(library: Mapping[str, LibraryShape], alias: str) -> dict[str, tuple[str, ...]]:
    """Which shapes a name stands for where a library is called `alias`: all, those of a category, or one."""
    groups: dict[str, tuple[str, ...]] = {alias: tuple(f"{alias}/{name}" for name in library)}
    for shape in library.values():
        one, category = f"{alias}/{shape.name}", f"{alias}/{shape.category}"
        groups[one] = (one,)
        groups[category] = (*groups.get(category, ()), one)
    return groups


def with_members(value: Any, groups: Mapping[str, tuple[str, ...]], *, shared: bool = False) -> Any:
    """A part of a world's file in which every name of a group stands for its shapes; `shared` divides weights.

    >>> with_members({"p/bus": 2, "cube": 1}, {"p/bus": ("p/bus/1", "p/bus/2")}, shared=True)
    {'p/bus/1': 1.0, 'p/bus/2': 1.0, 'cube': 1}
    """
    if isinstance(value, list | tuple):
        named = [groups.get(one, (one,)) if isinstance(one, str) else (with_members(one, groups),) for one in value]
        return [one for part in named for one in part]
    if not isinstance(value, Mapping):
        return value
    made: dict[Any, Any] = {}
    for key, inner in value.items():
        names = groups.get(key, (key,)) if isinstance(key, str) else (key,)
        weight = shared and isinstance(inner, int | float) and len(names) > 1
        made |= dict.fromkeys(
            names, inner / len(names) if weight else with_members(inner, groups, shared=key == "shapes")
        )
    return made


def _owned(path: Path) -> list[str]:
    """Names in an old library's folder that belong to it."""
    return [INDEX, *{shape.category for shape in read_library(path).values()}] if is_library(path) else [INDEX]
