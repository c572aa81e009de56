"""Mesh files as shapes: OBJ, GLB, STL and OFF through trimesh, checked before they enter a world."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from sightline.errors import ConfigError, DataError, MissingExtraError
from sightline.geometry.footprints import area
from sightline.worlds.shapes.baked import load_solids
from sightline.worlds.shapes.prisms import Mesh
from sightline.worlds.shapes.surfaces import Surface, crease_normals, flat_top, level, open_edges, polygon, volume
from sightline.worlds.solids import Floats, Outline, Solid

UP: Final[dict[str, Literal["y", "z"]]] = {".obj": "z", ".glb": "y", ".stl": "z", ".off": "z"}
"""File kinds that are read, and which axis of theirs points up; glTF fixes y, the others leave it open."""

BAKED: Final = ".npz"
"""Solids as `baked.save_solids` writes them: a dataset carries its own, and reading them needs no trimesh."""

FOOT: Final = 1e-2
"""What lies this close to the lowest point, relative to the height, stands on the table: scans are not level."""


def load_mesh(
    path: str | Path,
    *,
    height: float | None = None,
    scale: float = 1.0,
    name: str | None = None,
    up: Literal["y", "z"] | None = None,
) -> Solid:
    """A mesh file as a solid in medium size, upright on z = 0 and centred.

    It has no cavity. It carries others if its highest faces make one flat top over at least a quarter of it.

    Args:
        path: An OBJ, GLB, STL or OFF file.
        height: Metres in the scene; the file's own unit then does not matter.
        scale: Metres to the file's unit, where no height is given.
        name: Of the shape; the file's stem unless said.
        up: The file's axis that points up; z unless said, y in GLB.

    Raises:
        DataError: The file cannot be read, or its surface has holes, is inconsistently wound, inside out, or has
            nothing to stand on.
        MissingExtraError: trimesh is not installed.
    """
    path = Path(path)
    if path.suffix.lower() == BAKED:
        return _baked(path, f"{name or path.stem}:medium")
    if path.suffix.lower() not in UP:
        raise DataError("unknown kind of mesh file", file=path, expected=", ".join(UP), found=path.suffix)
    if height is not None and scale != 1.0:
        raise ConfigError("give a mesh either a height or a scale, not both")
    size = scale if height is None else height
    if not 0.0 < size < math.inf:
        raise ConfigError(f"the size of a mesh must be positive, not {size}")
    surface = _merged(*_read(path))
    _check(surface, path)
    vertices = _upright(surface.vertices, up or UP[path.suffix.lower()])
    vertices *= size if height is None else size / vertices[:, 2].max()
    return _solid(f"{name or path.stem}:medium", Surface(vertices, surface.faces), path)


def _baked(path: Path, name: str) -> Solid:
    solids = load_solids(path)
    if name not in solids:
        raise DataError("no such solid in the file", file=path, expected=", ".join(solids), found=name)
    return solids[name]


def _read(path: Path) -> tuple[Floats, Any]:
    """Vertices and triangles of everything in the file, as they stand there."""
    try:
        trimesh = importlib.import_module("trimesh")
    except ImportError:
        raise MissingExtraError("trimesh", extra="worlds") from None
    if not path.is_file():
        raise DataError("no such file", file=path)
    try:
        mesh = trimesh.load_scene(path, process=False).to_mesh()
        vertices, faces = np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)
    except Exception as error:  # parsers of four formats raise whatever comes
        raise DataError(f"cannot be read as a mesh: {error}", file=path) from error
    if not len(faces) or not np.isfinite(vertices).all():
        raise DataError("holds no usable triangles", file=path, expected="faces over finite vertices")
    return vertices, faces


def _merged(vertices: Floats, faces: Any) -> Surface:
    """One vertex a place, to a millionth of the whole; triangles that shrink to a line by it are dropped."""
    grid = np.ptp(vertices, axis=0).max() * 1e-6 or 1.0
    _, first, which = np.unique(np.round(vertices / grid), axis=0, return_index=True, return_inverse=True)
    faces = which.reshape(-1)[faces]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
    used, ids = np.unique(faces, return_inverse=True)
    return Surface(vertices[first[used]], ids.reshape(-1, 3))


def _check(surface: Surface, path: Path) -> None:
    holes = open_edges(surface.faces)
    if holes:
        raise DataError("the mesh is not watertight", file=path, expected="no open edges", found=holes)
    if not volume(surface) > 0.0:
        raise DataError("the mesh is inside out or flat", file=path, expected="faces that look outwards")


def _upright(vertices: Floats, up: str) -> Floats:
    if up == "y":
        vertices = vertices[:, [0, 2, 1]] * (1.0, -1.0, 1.0)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    upright: Floats = vertices - (*(low + high)[:2] / 2.0, low[2])
    return upright


def _solid(name: str, surface: Surface, path: Path) -> Solid:
    vertices, faces = surface
    outline = polygon(vertices[:, :2])
    base = polygon(vertices[level(vertices, 0.0, FOOT), :2])
    if len(base.points) < 3:
        raise DataError("touches the table in a point or a line", file=path, expected="a base to stand on")
    top, height = _top(vertices, faces, area(outline.polygon())), float(vertices[:, 2].max())
    mesh = Mesh(vertices, faces, crease_normals(vertices, faces))
    return mesh.solid(name, outline=outline, base=base, top=top, height=height)


def _top(vertices: Floats, faces: Any, whole: float) -> Outline | None:
    top = polygon(vertices[level(vertices, float(vertices[:, 2].max())), :2])
    size = area(top.polygon()) if len(top.points) > 2 else 0.0
    return top if size >= whole / 4.0 and flat_top(vertices, faces) >= 0.98 * size else None
