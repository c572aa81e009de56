"""Mesh files as shapes: OBJ, GLB, STL and OFF, repaired where it is safe, turned, sized and stood on their base."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from sightline.errors import ConfigError, DataError
from sightline.geometry.footprints import area
from sightline.hints import hint
from sightline.worlds.shapes.baked import load_solids
from sightline.worlds.shapes.mesh_files import Triangles, read_triangles
from sightline.worlds.shapes.prisms import Indices, Mesh
from sightline.worlds.shapes.repair import merged, repaired
from sightline.worlds.shapes.surfaces import crease_normals, flat_top, level, polygon, symmetry
from sightline.worlds.solids import Cavity, Floats, Outline, Slot, Solid, Triple, scaled

UP: Final[dict[str, Literal["y", "z"]]] = {".obj": "z", ".glb": "y", ".stl": "z", ".off": "z"}
"""File kinds that are read, and which axis of theirs points up; glTF fixes y, the others leave it open."""

BAKED: Final = ".npz"
"""Solids as `baked.save_solids` writes them: a dataset carries its own, and reading them needs no trimesh."""

FEET: Final = (0.01, 0.03, 0.1)
"""What lies this close to the lowest point, relative to the height, stands on the table: scans are not level, keels
and rockers are round. The first that gives a base."""

FLAT_FOOT: Final = 0.005
"""The same relative to the diagonal, where none of them does: cloth that lies is thin, and nowhere quite level."""

FRONTS: Final = {"-y": 0.0, "x": -90.0, "y": 180.0, "-x": 90.0}
"""Which axis the front of an upright mesh points along, and the turn about z, in degrees, that brings it to −y."""

Front = Literal["-y", "x", "y", "-x"]


def load_mesh(
    path: str | Path,
    *,
    height: float | None = None,
    scale: float = 1.0,
    name: str | None = None,
    up: Literal["y", "z"] | None = None,
    front: Front = "-y",
    rotate: Sequence[float] | Sequence[Sequence[float]] = (0.0, 0.0, 0.0),
    cavity: Cavity | None = None,
    slots: Mapping[str, Slot] | None = None,
    landmarks: Mapping[str, Triple] | None = None,
) -> Solid:
    """A mesh file as a solid in medium size, upright on z = 0 and centred.

    Doubled places and faces are merged, turned faces turned back and small holes filled; what is open even then is
    drawn from both sides. Parts keep their materials and textures. It carries others if its highest faces
    make one flat top over at least a quarter of it, or if it has a cavity.

    Args:
        path: An OBJ, GLB, STL or OFF file.
        height: Metres in the scene; the file's own unit then does not matter.
        scale: Metres to the file's unit, where no height is given.
        name: Of the shape; the file's stem unless said.
        up: The file's axis that points up; z unless said, y in GLB.
        front: Axis that its front points along once it is upright.
        rotate: Degrees about x, y and z, one after the other, or a 3 × 3 rotation matrix: of the upright mesh, its
            front at −y, before it is stood on its base.
        cavity: The hollow open at the top, metres in the scene.
        slots: Looks by the name of a part, in place of the file's.
        landmarks: Named points in the file's axes and unit.

    Raises:
        DataError: The file cannot be read or goes beyond the limits, is flat or has nothing to stand on.
        ConfigError: A size, rotation, cavity or slot that cannot be.
        MissingExtraError: trimesh is not installed.
    """
    path = Path(path)
    if path.suffix.lower() == BAKED:
        return _baked(path, f"{name or path.stem}:medium", height, scale)
    if path.suffix.lower() not in UP:
        raise DataError("unknown kind of mesh file", file=path, expected=", ".join(UP), found=path.suffix)
    _check_size(height, scale)
    turn = _matrix(rotate) @ _about_z(FRONTS[front]) @ _upright(up or UP[path.suffix.lower()])
    read = read_triangles(path)
    made = solid_of(
        read, name or path.stem, path, height=height, scale=scale, turn=turn, cavity=cavity, landmarks=landmarks
    )
    return replace(made, slots=_chosen(read.slots, slots)) if slots else made


def solid_of(
    read: Triangles,
    name: str,
    path: Path,
    *,
    height: float | None = None,
    scale: float = 1.0,
    turn: Floats | None = None,
    cavity: Cavity | None = None,
    landmarks: Mapping[str, Triple] | None = None,
) -> Solid:
    """Triangles as a solid in medium size, repaired, turned by a rotation matrix and stood on its base."""
    surface, kept = merged(read.vertices, read.faces)
    if not len(surface.faces) or np.ptp(surface.vertices, axis=0).min() <= 1e-6 * np.ptp(surface.vertices):
        raise DataError("the mesh is flat", file=path, expected="a surface that encloses some room", found=name)
    whole, closed = repaired(surface)
    paint, uv = _followed(surface.faces, whole.faces, read.paint[kept], None if read.uv is None else read.uv[kept])
    turn = np.eye(3) if turn is None else turn
    turned = whole.vertices @ turn.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    shift = -np.array((*(low + high)[:2] / 2.0, low[2]))
    factor = scale if height is None else height / float(high[2] - low[2])
    vertices = (turned + shift) * factor
    mesh = Mesh(vertices, whole.faces, crease_normals(vertices, whole.faces))
    made = standing(f"{name}:medium", mesh, path, cavity)
    points = {key: (np.array(point) @ turn.T + shift) * factor for key, point in (landmarks or {}).items()}
    made = replace(
        made,
        slots=read.slots,
        paint=paint.astype(np.uint8),
        uv=None if uv is None else uv.astype(np.float32),
        landmarks={key: (float(x), float(y), float(z)) for key, (x, y, z) in points.items()},
        closed=closed,
        front=True,
    )
    return replace(made, symmetry=symmetry(made))


def _check_size(height: float | None, scale: float) -> None:
    if height is not None and scale != 1.0:
        raise ConfigError("give a mesh either a height or a scale, not both")
    size = scale if height is None else height
    if not 0.0 < size < math.inf:
        raise ConfigError(f"the size of a mesh must be positive, not {size}")


def _followed(before: Indices, after: Indices, paint: Indices, uv: Floats | None) -> tuple[Indices, Floats | None]:
    """Paint and texture coordinates of repaired faces; those that fill holes take a neighbour's."""
    many = len(before)
    new = after[many:]
    owner = np.zeros(int(after.max()) + 1, np.int64)
    owner[before.ravel()] = np.repeat(np.arange(many), 3)
    beside = owner[new.min(axis=1)] if len(new) else np.zeros(0, np.int64)
    paint = np.concatenate((paint, paint[beside]))
    if uv is None:
        return paint, None
    turned = (before != after[:many]).any(axis=1)
    uv = np.where(turned[:, None, None], uv[:, ::-1], uv)
    return paint, np.concatenate((uv, uv[beside]))


def _chosen(slots: tuple[Slot, ...], own: Mapping[str, Slot]) -> tuple[Slot, ...]:
    names = [slot.name for slot in slots]
    for name in own:
        if name not in names:
            raise ConfigError(f"the mesh has no part {name!r}{hint(name, names)}; it has {', '.join(names)}")
    return tuple(own.get(slot.name, slot) for slot in slots)


def _matrix(rotate: Any) -> Floats:
    """A rotation from degrees about x, y and z, or from itself."""
    try:
        given = np.asarray(rotate, np.float64)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape == (3,):
        x, y, z = np.radians(given)
        about_x = np.array([(1, 0, 0), (0, math.cos(x), -math.sin(x)), (0, math.sin(x), math.cos(x))])
        about_y = np.array([(math.cos(y), 0, math.sin(y)), (0, 1, 0), (-math.sin(y), 0, math.cos(y))])
        given = _about_z(math.degrees(z)) @ about_y @ about_x
    if given.shape != (3, 3) or not np.allclose(given @ given.T, np.eye(3), atol=1e-6) or np.linalg.det(given) < 0:
        raise ConfigError("a mesh is rotated by three angles in degrees or by a 3 × 3 rotation matrix")
    return given


def _about_z(degrees: float) -> Floats:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([(c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)])


def _upright(up: str) -> Floats:
    return np.eye(3) if up == "z" else np.array([(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)])


def _baked(path: Path, name: str, height: float | None, scale: float) -> Solid:
    """A saved solid: by its name, or by the name without the first part, which a world gives to a library."""
    _check_size(height, scale)
    solids = load_solids(path)
    own = next((known for known in (name, name.partition("/")[2]) if known in solids), None)
    if own is None:
        raise DataError("no such solid in the file", file=path, expected=", ".join(solids), found=name)
    saved = solids[own]
    factor = scale if height is None else height / saved.height
    return saved if own == name and factor == 1.0 else scaled(saved, name, factor)


def standing(name: str, mesh: Mesh, source: str | Path, cavity: Cavity | None = None) -> Solid:
    """Make a solid of a mesh that stands on z = 0, centred; measure its outline, its base and, if flat, its top.

    Raises:
        DataError: The mesh, from `source`, has nothing to stand on.
    """
    vertices = mesh.vertices
    outline = polygon(vertices[:, :2])
    extent = np.ptp(vertices, axis=0)
    feet = (*FEET, FLAT_FOOT * float(np.linalg.norm(extent)) / float(extent[2]))
    bases = (polygon(vertices[level(vertices, 0.0, foot), :2]) for foot in feet)
    base = next((region for region in bases if len(region.points) > 2), None)
    if base is None:
        raise DataError("touches the table in a point or a line", file=source, expected="a base to stand on")
    top, height = _top(vertices, mesh.faces, area(outline.polygon())), float(vertices[:, 2].max())
    if cavity is not None:
        if cavity.depth >= height or (np.array(cavity.outline.half) >= outline.half).any():
            raise ConfigError(f"the cavity is larger than the mesh, {2 * np.array(outline.half)} × {height:g} m")
        top = top or outline
    return mesh.solid(name, outline=outline, base=base, top=top, height=height, cavity=cavity)


def _top(vertices: Floats, faces: Any, whole: float) -> Outline | None:
    top = polygon(vertices[level(vertices, float(vertices[:, 2].max())), :2])
    size = area(top.polygon()) if len(top.points) > 2 else 0.0
    return top if size >= whole / 4.0 and flat_top(vertices, faces) >= 0.98 * size else None
