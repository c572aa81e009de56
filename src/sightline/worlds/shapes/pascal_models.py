"""PASCAL3D+'s CAD models as its CAD/<class>.mat files have them: surfaces, landmarks, tables of what is visible.

Axes of a model: z up, front towards −y, about centred on its box, whose diagonal is 1; most are open surfaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.matlab import Struct, is_mat, read_mat
from sightline.worlds.shapes.mesh_files import MOST_FACES, Triangles
from sightline.worlds.shapes.meshes import solid_of
from sightline.worlds.shapes.prisms import Indices
from sightline.worlds.solids import Floats, Slot, Solid, Triple

__all__ = ["TABLE", "CadModel", "VisibilityTable", "cad_files", "read_cad_models"]

TABLE: Final = "visibility"
"""Field of a model that is by far the largest."""


@dataclass(frozen=True, slots=True, eq=False)
class VisibilityTable:
    """Which landmarks of a model can be seen from where, as its authors computed it.

    Attributes:
        azimuths, elevations: (A,) and (E,) float64, degrees.
        names: Landmarks of the table, also those that the model has not.
        seen: (A, E, names) bool.
    """

    azimuths: Floats
    elevations: Floats
    names: tuple[str, ...]
    seen: NDArray[np.bool_] = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class CadModel:
    """One CAD model.

    Attributes:
        category: ``aeroplane``.
        index: 1-based, as `cad_index` of the annotations counts.
        vertices: (V, 3) float64; faces: (F, 3) int64, 0-based.
        names: Landmarks of the category; landmarks: places of those that this model has.
        visibility: None where it was not asked for, or the file has none.
    """

    category: str
    index: int
    vertices: Floats = field(repr=False)
    faces: Indices = field(repr=False)
    names: tuple[str, ...]
    landmarks: Mapping[str, Triple]
    visibility: VisibilityTable | None = None

    @property
    def name(self) -> str:
        """``aeroplane/1``."""
        return f"{self.category}/{self.index}"

    def solid(self, path: Path) -> Solid:
        """As a solid in medium size, one metre to the diagonal; `path` is named in errors."""
        body = Triangles(self.vertices, self.faces, (Slot("body"),), np.zeros(len(self.faces), np.int64), None)
        return solid_of(body, self.name, path, landmarks=self.landmarks)


def cad_files(path: str | Path) -> list[Path]:
    """The .mat files of a folder of CAD models, by name, or the file itself."""
    place = Path(path)
    return sorted(file for file in place.glob("*.mat") if is_mat(file)) if place.is_dir() else [place]


def read_cad_models(path: str | Path, *, visibility: bool = False) -> list[CadModel]:
    """CAD models of a file or of a folder of them, category by category, each in the file's order.

    Args:
        path: CAD/<class>.mat or the folder CAD.
        visibility: Read the tables of visibility too.

    Raises:
        DataError: Naming file, model and field.
    """
    files = cad_files(path)
    if not files:
        raise DataError("folder has no CAD model", file=path, expected="files such as aeroplane.mat")
    return [model for file in files for model in _models(file, visibility=visibility)]


def _models(file: Path, *, visibility: bool) -> list[CadModel]:
    variables = read_mat(file, skip=() if visibility else (TABLE,))
    whole = Struct(variables, file)
    category = file.stem if file.stem in variables or len(variables) != 1 else next(iter(variables))
    listed = whole.structs(category)
    if not listed:
        whole.fail(category, "an array of structs with vertices and faces")
    return [_model(Struct(s.fields, file, f"{category}({i})"), category, i) for i, s in enumerate(listed, start=1)]


def _model(record: Struct, category: str, index: int) -> CadModel:
    vertices, faces = _rows(record, "vertices"), _rows(record, "faces").astype(np.int64) - 1
    if len(faces) > MOST_FACES:
        record.fail("faces", f"at most {MOST_FACES:,} triangles", "too many triangles")
    if faces.min() < 0 or faces.max() >= len(vertices):
        record.fail("faces", f"numbers of vertices from 1 to {len(vertices)}")
    names = _names(record)
    places = {name: record.numbers(name, 3) for name in names if name in record}
    landmarks = {name: (x, y, z) for name, (x, y, z) in places.items()}
    table = _table(record, names) if TABLE in record else None
    return CadModel(category, index, vertices, faces, names, landmarks, table)


def _rows(record: Struct, name: str) -> Floats:
    numbers = np.array(record.numbers(name))
    if not numbers.size or numbers.size % 3:
        record.fail(name, "n × 3 numbers")
    return np.ascontiguousarray(numbers.reshape(3, -1).T)


def _names(record: Struct) -> tuple[str, ...]:
    """Landmarks of `pnames`, some of which a model has not; none where there is no such field."""
    if "pnames" not in record:
        return ()
    names = np.asarray(record.fields["pnames"], object).ravel(order="F").tolist()
    if not all(isinstance(name, str) and name for name in names):
        record.fail("pnames", "names of landmarks")
    return tuple(names)


def _table(record: Struct, names: tuple[str, ...]) -> VisibilityTable:
    rows = [row.fields for row in record.structs(TABLE)]
    try:  # thousands of them: not one by one through `Struct`
        angles = np.array([(row["azimuth"].item(), row["elevation"].item()) for row in rows], np.float64)
        flags = np.concatenate([row["flag"].reshape(1, len(names)) for row in rows]) > 0
    except (KeyError, ValueError, AttributeError):
        record.fail(TABLE, f"rows of azimuth, elevation and {len(names)} flags")
    azimuths, a = np.unique(angles[:, 0], return_inverse=True)
    elevations, e = np.unique(angles[:, 1], return_inverse=True)
    if len(azimuths) * len(elevations) != len(rows):
        record.fail(TABLE, "one row for every azimuth and elevation")
    seen = np.zeros((len(azimuths), len(elevations), len(names)), bool)
    seen[a.ravel(), e.ravel()] = flags
    return VisibilityTable(azimuths, elevations, names, seen)
