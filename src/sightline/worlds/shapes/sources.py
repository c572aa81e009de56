"""Where shapes of a library come from: one kind of file each, all read to solids named ``category/model``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import numpy as np

from sightline.documents import read_yaml
from sightline.errors import ConfigError, DataError
from sightline.matlab import is_mat, read_mat
from sightline.typed import OneOf, Value
from sightline.worlds.shapes.furniture import is_catalogue, read_catalogue
from sightline.worlds.shapes.meshes import UP, load_mesh
from sightline.worlds.shapes.pascal_models import TABLE, cad_files, read_cad_models
from sightline.worlds.solids import Solid, Triple, scaled

LANDMARKS: Final = ("landmarks.yaml", "landmarks.json")
"""Files beside meshes that tell their category, axes and landmarks."""

_BESIDE: Final = (".mtl", ".jpg", ".jpeg", ".png", ".bmp", ".tga", ".gif", ".txt", ".md", ".bin")

Skipped = Callable[[DataError], None]


class ShapeSource(NamedTuple):
    """A kind of file that shapes are imported from.

    Attributes:
        name: What the user calls it; `describe` what it is, in one line.
        detect: Whether a path looks like it.
        read: Its solids in medium size, each with the file it came from; models of a catalogue that cannot be
            shapes are left out and handed to the function.
    """

    name: str
    describe: str
    detect: Callable[[Path], bool]
    read: Callable[[Path, Skipped], Iterator[tuple[Solid, str]]]


@dataclass(frozen=True, slots=True)
class MeshNote:
    """What a landmark file says of a mesh; see `meshes.load_mesh`. `model` is its name in the category."""

    category: str
    model: str | None = None
    up: Annotated[Literal["y", "z"], OneOf(("y", "z"), "axis")] | None = None
    front: Annotated[Literal["-y", "x", "y", "-x"], OneOf(("-y", "x", "y", "-x"), "axis")] = "-y"
    rotate: Any = (0.0, 0.0, 0.0)
    landmarks: Mapping[str, Triple] = field(default_factory=dict)


def _is_cad(path: Path) -> bool:
    """Whether a .mat file, the first of a folder, holds structs with vertices and faces."""
    file = next((f for f in sorted(path.glob("*.mat")) if is_mat(f)), None) if path.is_dir() else path
    if file is None or not is_mat(file):
        return False
    try:
        models = [one for value in read_mat(file, skip=(TABLE,)).values() for one in np.asarray(value, object).flat]
    except DataError:
        return False
    return bool(models) and all(isinstance(one, dict) and {"vertices", "faces"} <= one.keys() for one in models)


def _cad(path: Path, _: Skipped) -> Iterator[tuple[Solid, str]]:
    for file in cad_files(path):
        for model in read_cad_models(file):
            yield model.solid(file), file.name


def _mesh_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path] if path.suffix.lower() in UP else []
    return sorted(file for at in ("*", "*/*") for file in path.glob(at) if file.suffix.lower() in UP)


def _is_meshes(path: Path) -> bool:
    """Whether the path is a mesh file, or a folder of them, by category or not, and of nothing else."""
    if not path.is_dir():
        return path.suffix.lower() in UP
    files = [file for at in ("*", "*/*") for file in path.glob(at) if file.is_file()]
    beside = all(f.suffix.lower() in (*UP, *_BESIDE) or f.name in LANDMARKS or f.name[0] == "." for f in files)
    return beside and any(file.suffix.lower() in UP for file in files)


def _meshes(path: Path, _: Skipped) -> Iterator[tuple[Solid, str]]:
    root = path if path.is_dir() else path.parent
    notes, files = _notes(root), _mesh_files(path)
    if not files:
        raise DataError("there is no mesh file", file=path, expected=", ".join(UP))
    for file in files:
        key = file.relative_to(root).as_posix()
        alone = file.parent == root
        note = notes.pop(key, MeshNote(file.stem if alone else file.parent.name, "1" if alone else file.stem))
        name = f"{plain_name(note.category)}/{plain_name(note.model or file.stem)}"
        options = {"up": note.up, "front": note.front, "rotate": note.rotate, "landmarks": note.landmarks}
        try:
            solid = load_mesh(file, name=name, **options)
        except ConfigError as problem:
            raise DataError(str(problem), file=root, field=key) from problem
        yield to_diagonal(solid), key
    if notes and path.is_dir():
        raise DataError("no such mesh", file=root, expected="names of mesh files", found=next(iter(notes)))


def _notes(root: Path) -> dict[str, MeshNote]:
    file = next((root / name for name in LANDMARKS if (root / name).is_file()), None)
    if file is None:
        return {}
    whole = Value(read_yaml(file), str(file))
    return {name: value.read(MeshNote) for name, value in whole.items()}


def plain_name(text: str) -> str:
    """A text as part of a shape's name.

    >>> plain_name("Café chair, 2nd")
    'Caf-chair-2nd'
    """
    return re.sub(r"[^A-Za-z0-9_]+", "-", re.sub(r"[^\x00-\x7f]", "", text)).strip("-")[:80] or "unnamed"


def to_diagonal(solid: Solid) -> Solid:
    """The solid with a box of diagonal 1 m."""
    return scaled(solid, solid.name, 1.0 / float(np.linalg.norm(np.ptp(solid.vertices, axis=0))))


def _furniture(path: Path, skipped: Skipped) -> Iterator[tuple[Solid, str]]:
    for solid, piece in read_catalogue(path, skipped):
        yield to_diagonal(solid), piece


SOURCES: Final = {
    source.name: source
    for source in (
        ShapeSource("pascal3d-cad", "PASCAL3D+'s folder CAD with <class>.mat files, or one of them", _is_cad, _cad),
        ShapeSource("sh3f", "a furniture catalogue of Sweet Home 3D", is_catalogue, _furniture),
        ShapeSource("meshes", "OBJ, OFF, GLB or STL files, with landmarks.yaml or not", _is_meshes, _meshes),
    )
}


def source_of(path: Path, name: str = "") -> ShapeSource | None:
    """The source of that name, or the one a path looks like; None where it is none."""
    if name:
        return SOURCES.get(name)
    return next((source for source in SOURCES.values() if path.exists() and source.detect(path)), None)
