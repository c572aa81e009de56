"""A layout as flat arrays: what every kernel reads, on the CPU and on the GPU.

Solids are put into one pool of triangles and nodes when they are first seen and stay there; a layout only adds a
few rows about its objects, lights and camera. Few, plain float32 arrays (whole numbers in them are exact up to
2²⁴): handing many arrays or tuples of arrays from function to function costs more than the work inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.render.fast import columns as col
from sightline.render.fast.bvh import all_behind, build
from sightline.render.fast.environment import environment
from sightline.render.fast.textures import texture_rows
from sightline.render.sky import PICTURES, seen_sky
from sightline.worlds.layout import MOST_OBJECTS, Layout, Placed, Shot
from sightline.worlds.looks import COLORS, MATERIALS, linear
from sightline.worlds.solids import Outline, Slot, Solid

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]

MOST_FACES = (1 << 21) - 1
"""Triangles of a pool at most: eight times their number is exact in float32."""
ROOM = 1 << 19
"""Triangles from which on a pool takes in no further scene's solids: its arrays are joined anew for each."""

MOST_CLEAR = 0.95
"""Transmission of glass at most; the rest is its own matte colour."""

MOST_TEXELS = 1 << 24
"""Rows of a pool's textures at most: their numbers are exact in float32."""


class Meshes(NamedTuple):
    """The pool.

    Attributes:
        nodes: (N, 8) float32, half a cache line each; tris: (F, 20) float32; see `columns`. Triangles and nodes
            are counted in the pool.
        vertices: (V, 3) float32.
        faces: (F, 3) int32 into `vertices`.
        uv: (F, 6) float32; texels: (T, 3) uint16; see `textures`.
    """

    nodes: F32
    tris: F32
    vertices: F32
    faces: I32
    uv: F32
    texels: NDArray[np.uint16]


class Bodies(NamedTuple):
    """The objects of a layout.

    Attributes:
        rows: (n, 83) float32, see `columns`.
        ranges: (n, 4) int32 into the pool: first vertex, end, first face, end.
    """

    rows: F32
    ranges: I32


class Eye(NamedTuple):
    """The camera: K, [R | t] and where it stands, float64."""

    k: NDArray[np.float64]
    pose: NDArray[np.float64]
    centre: NDArray[np.float64]


class _Entry(NamedTuple):
    """Where a solid is in the pool: nodes, vertices, faces; middle z, radius, prism, open or not; its slots."""

    start: tuple[int, int, int]
    end: tuple[int, int, int]
    middle: float
    radius: float
    prism: tuple[float, ...]
    sheet: bool
    slots: tuple[tuple[Slot, int], ...]


class Pool:
    """Solids by name, in the order they were first asked for, and the arrays they make together."""

    def __init__(self, solid: Callable[[str], Solid]) -> None:
        self._solid = solid
        self._parts: list[Meshes] = []
        self._entries: dict[str, _Entry] = {}
        self._end = (0, 0, 0)
        self._textures: dict[int, int] = {}
        self._texels = 0
        self._kept: list[NDArray[np.uint8]] = []

    @property
    def shapes(self) -> tuple[str, ...]:
        """Names of the solids, in order."""
        return tuple(self._entries)

    def is_full_for(self, layout: Layout) -> bool:
        """Whether a layout has solids that are not here, and there are many already."""
        return self._end[2] > ROOM and any(thing.shape not in self._entries for thing in layout.objects)

    def know(self, shapes: Sequence[str]) -> None:
        """Take solids in now, in this order: pools that know the same ones make the same rows."""
        for shape in shapes:
            self._entry(shape)

    def rows_alone(self) -> Pool:
        """A pool that makes the same rows of the solids known now, without meshes: light enough to be sent."""
        light = Pool(self._solid)
        light._entries, light._end = dict(self._entries), self._end
        light._textures, light._texels, light._kept = dict(self._textures), self._texels, self._kept
        return light

    def bodies(self, layout: Layout) -> Bodies:
        """The rows of a layout's objects; a DataError for more than the kernels can tell apart."""
        n = len(layout.objects)
        if n > MOST_OBJECTS:
            raise DataError("too many objects for one picture", expected=f"at most {MOST_OBJECTS}", found=n)
        entries = [self._entry(o.shape) for o in layout.objects]
        rows = [_row(o, e) for o, e in zip(layout.objects, entries, strict=True)]
        ranges = [(e.start[1], e.end[1], e.start[2], e.end[2]) for e in entries]
        return Bodies(
            np.array(rows, np.float32).reshape(n, col.BODY_COLUMNS), np.array(ranges, np.int32).reshape(n, 4)
        )

    @property
    def meshes(self) -> Meshes:
        """The pool's arrays; joined anew when a solid has come in."""
        if len(self._parts) != 1:
            fields = range(len(Meshes._fields))
            kinds = ((8, "f4"), (col.TRI_COLUMNS, "f4"), (3, "f4"), (3, "i4"), (6, "f4"), (3, "u2"))
            empty = Meshes(*(np.zeros((0, width), kind) for width, kind in kinds))
            self._parts = [Meshes(*(np.concatenate([p[i] for p in [empty, *self._parts]]) for i in fields))]
        return self._parts[0]

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            self._entries[name] = self._add(self._solid(name))
        return self._entries[name]

    def _add(self, solid: Solid) -> _Entry:
        start = self._end
        known = [self._texture(slot.texture) for slot in solid.slots]
        part = _part(solid, start)._replace(texels=np.concatenate([rows for _, rows in known]))
        self._parts.append(part)
        end = (start[0] + len(part.nodes), start[1] + len(part.vertices), start[2] + len(part.faces))
        if end[2] > MOST_FACES:
            raise DataError(
                "too many triangles for one renderer", expected=f"≤ {MOST_FACES:,}", found=f"{end[2]:,}"
            )
        self._end = end
        low, high = solid.vertices.min(axis=0), solid.vertices.max(axis=0)
        middle = float(low[2] + high[2]) / 2
        radius = float(np.sqrt(((solid.vertices - (0, 0, middle)) ** 2).sum(axis=1).max())) * 1.0001
        slots = tuple((slot, first) for slot, (first, _) in zip(solid.slots, known, strict=True))
        return _Entry(start, end, middle, radius, _prism(solid), not solid.closed, slots)

    def _texture(self, texture: NDArray[np.uint8] | None) -> tuple[int, NDArray[np.uint16]]:
        """Number of a texture, and its rows where it is new: all sizes of a shape share it."""
        if texture is None or id(texture) in self._textures:
            return self._textures.get(id(texture), 0), np.zeros((0, 3), np.uint16)
        rows = texture_rows(texture)
        self._textures[id(texture)] = first = self._texels + 1
        self._texels += len(rows)
        self._kept.append(texture)  # or its id might be another's one day
        if self._texels > MOST_TEXELS:
            raise DataError("too many texels for one renderer", expected=f"≤ {MOST_TEXELS:,}", found=self._texels)
        return first, rows


class Packed(NamedTuple):
    """Views of the same size, one of each layout, as arrays on the host.

    Attributes:
        bodies: (B, n, 83) float32; env: (B, m, 32) float32; cams: (B, 16) float32.
        skies: (B, H, W, 3) float32, radiance of skies that are pictures, NaN for others; (0, …) where none is.
        size: (width, height) in pixels.
        shapes: Solids of the pool that made the rows; they mean nothing to a pool with others.
        glass: Whether any of the bodies has glass.
    """

    bodies: F32
    env: F32
    cams: F32
    skies: F32
    size: tuple[int, int]
    shapes: tuple[str, ...]
    glass: bool


def has_glass(bodies: F32) -> bool:
    """Whether some part of the bodies in these rows is of glass."""
    return bool(bodies[..., col.LOOKS + col.GLASS :: col.LOOK].any())


def packed(pool: Pool, layouts: Sequence[Layout], views: Sequence[str], half: float) -> list[Packed]:
    """Layouts seen by the views of those names; `half` is the half side of the lit map, metres."""
    if not layouts:
        raise ConfigError("no layouts to draw")
    seen = [_seen(layouts, view) for view in views]
    bodies = _stacked([pool.bodies(layout).rows for layout in layouts])
    around = _stacked([environment(layout, half) for layout in layouts])
    skies = [_skies(layouts, view, size) for view, (_, size) in zip(views, seen, strict=True)]
    glass = has_glass(bodies)
    return [
        Packed(bodies, around, *s[:1], sky, s[1], pool.shapes, glass) for s, sky in zip(seen, skies, strict=True)
    ]


def _seen(layouts: Sequence[Layout], view: str) -> tuple[F32, tuple[int, int]]:
    """Cameras and picture size of one view of all layouts."""
    shots = [next((s for s in layout.shots if s.name == view), None) for layout in layouts]
    known = [s for s in shots if s is not None]
    if len(known) < len(shots):
        raise ConfigError(f"unknown view {view!r}")
    sizes = {s.size for s in known}
    if len(sizes) > 1:
        raise DataError("views of a batch differ in size", found=sorted(sizes))
    return np.stack([camera_row(eye(s)) for s in known]), sizes.pop()


def _skies(layouts: Sequence[Layout], view: str, size: tuple[int, int]) -> F32:
    """What one view sees of the layouts' skies, where some are pictures."""
    places = [i for i, layout in enumerate(layouts) if layout.surroundings.sky.kind in PICTURES]
    if not places:
        return np.zeros((0, 0, 0, 3), np.float32)
    y, x = (axis.ravel() for axis in np.indices(size[::-1]))
    whole = np.full((len(layouts), *size[::-1], 3), np.nan, np.float32)
    for i in places:
        seen = seen_sky(layouts[i], next(s for s in layouts[i].shots if s.name == view), y, x)
        assert seen is not None
        whole[i] = seen.reshape(whole.shape[1:])
    return whole


def _stacked(parts: list[F32]) -> F32:
    """Rows of several layouts in one array, zeros after the shorter: a body that is not there, a dark lamp."""
    whole = np.zeros((len(parts), max(1, *(len(p) for p in parts)), parts[0].shape[1]), np.float32)
    for i, part in enumerate(parts):
        whole[i, : len(part)] = part
    return whole


def _part(solid: Solid, start: tuple[int, int, int]) -> Meshes:
    tree = build(solid.vertices, solid.faces)
    faces = solid.faces[tree.order]
    corner = solid.vertices[faces].astype(np.float32)
    edges = np.stack((corner[:, 0], corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
    skip, first, count = (tree.links + np.array((start[0], start[2], 0), np.int32)).T
    links = np.column_stack((skip, np.where(count > 0, 8 * first + count, 0)))
    return Meshes(
        np.column_stack((*_middles(tree.bounds), links)).astype(np.float32),
        np.column_stack(
            (
                edges.reshape(-1, 9),
                solid.normals[tree.order].reshape(-1, 9),
                all_behind(tree, corner) & solid.closed,
                solid.paint[tree.order],
            )
        ).astype(np.float32),
        solid.vertices.astype(np.float32),
        (faces + start[1]).astype(np.int32),
        (np.zeros((len(faces), 6)) if solid.uv is None else solid.uv[tree.order].reshape(-1, 6)).astype(np.float32),
        np.zeros((0, 3), np.uint16),
    )


def _middles(bounds: F32) -> tuple[F32, F32]:
    """Middles of boxes and half their sides, wide enough for rays that are worked out with seven digits."""
    low, high = bounds[:, :3], bounds[:, 3:]
    middle = (low + high) * np.float32(0.5)
    half = np.maximum(high - middle, middle - low)
    return middle, half * np.float32(1 + 1e-6) + np.float32(2e-6)


def _row(o: Placed, entry: _Entry) -> tuple[float, ...]:
    looks = [_look(slot, texture, o.color, o.material) for slot, texture in entry.slots]
    return (
        *o.position,
        math.cos(o.yaw),
        math.sin(o.yaw),
        o.position[2] + entry.middle,
        entry.radius,
        1.0,
        entry.start[0],
        entry.end[0],
        # Light goes through a prism's panes, which the prism itself does not know.
        *((0.0,) * 8 if any(look[col.GLASS] for look in looks) else entry.prism),
        entry.sheet,
        *chain.from_iterable(looks),
        *(0.0,) * (col.LOOK * (col.SLOTS - len(looks))),
    )


@lru_cache(maxsize=4096)
def _look(slot: Slot, texture: int, color: str, material: str) -> tuple[float, ...]:
    """A look's columns: those of a slot, with its texture, on an object of that colour and material."""
    tint, matter = slot.look(linear(COLORS[color]), MATERIALS[material])
    clear = min(matter.transmission, MOST_CLEAR)
    r, g, b = (c * (1.0 - clear) for c in tint)
    return r, g, b, matter.metallic, matter.roughness**2, matter.specular, texture, clear / (1.0 - clear)


def eye(shot: Shot) -> Eye:
    """The camera of a shot."""
    pose = np.array(shot.camera.world_to_camera, np.float64).reshape(3, 4)
    centre = -pose[:, :3].T @ pose[:, 3]
    return Eye(np.array(shot.camera.k, np.float64).reshape(3, 3), pose, centre)


def _prism(solid: Solid) -> tuple[float, ...]:
    """Eight numbers of a row: the solid as a prism, if that is all it is."""
    kinds = {"box": 1.0, "ellipse": 2.0, "polygon": 0.0}
    cavity = (0.0, 0.0, 0.0, 0.0)
    volume = _area(solid.outline) * solid.height
    if solid.cavity is not None:
        inside = solid.cavity.outline
        cavity = (kinds[inside.kind], *inside.half, solid.cavity.depth)
        volume -= _area(inside) * solid.cavity.depth
    corner = solid.vertices[solid.faces].astype(np.float64)
    filled = float((corner[:, 0] * np.cross(corner[:, 1], corner[:, 2])).sum()) / 6.0
    like = kinds[solid.outline.kind] and (solid.cavity is None or cavity[0])
    plain = solid.closed and like and not solid.paint.any() and abs(filled / volume - 1.0) < 0.005
    return (kinds[solid.outline.kind], *solid.outline.half, solid.height, *cavity) if plain else (0.0,) * 8


def _area(outline: Outline) -> float:
    a, b = outline.half
    return {"box": 4.0, "ellipse": math.pi, "polygon": math.inf}[outline.kind] * a * b


def camera_row(eye: Eye) -> F32:
    """The camera as (16,) float32: 1/fx, 1/fy, cx, cy, the rows of R, where it stands."""
    k = eye.k
    return np.concatenate(
        ((1 / k[0, 0], 1 / k[1, 1], k[0, 2], k[1, 2]), eye.pose[:, :3].ravel(), eye.centre)
    ).astype(np.float32)


def check_camera(pool: Pool, layout: Layout, shot: Shot, bodies: Bodies, camera: Eye) -> None:
    """A DataError for a camera under the table or inside the matter of an object."""
    if camera.centre[2] <= 0.0:
        raise DataError("camera under the table", row=shot.name, expected="z > 0", found=float(camera.centre[2]))
    away2 = ((camera.centre - bodies.rows[:, [col.X, col.Y, col.MIDDLE_Z]]) ** 2).sum(axis=1)
    for k in np.flatnonzero(away2 <= bodies.rows[:, col.RADIUS] ** 2).tolist():
        if not bodies.rows[k, col.SHEET] and _inside(pool, bodies, k, camera.centre):
            raise DataError(
                "camera inside an object", row=shot.name, found=f"object {k}, {layout.objects[k].shape}"
            )


def _inside(pool: Pool, bodies: Bodies, k: int, point: NDArray[np.float64]) -> bool:
    """Whether a point lies within a body: a ray upwards leaves it once more than it enters."""
    row = bodies.rows[k].astype(np.float64)
    x, y, z = point - row[:3]
    c, s = row[col.COS], row[col.SIN]
    x, y = c * x + s * y, c * y - s * x
    first, last = bodies.ranges[k, 2:]
    t = pool.meshes.tris[first:last].astype(np.float64)
    # Slightly off the vertical, so that the ray meets no edge of an upright prism.
    d = np.array((1.234e-3, 0.567e-3, 1.0))
    p = np.cross(d, t[:, 6:9])
    det = (p * t[:, 3:6]).sum(axis=1)
    det[det == 0.0] = np.inf
    away = np.array((x, y, z)) - t[:, :3]
    q = np.cross(away, t[:, 3:6])
    u, v, w = (p * away).sum(axis=1) / det, (q @ d) / det, (q * t[:, 6:9]).sum(axis=1) / det
    return bool(((u >= 0) & (v >= 0) & (u + v <= 1) & (w > 0)).sum() % 2)
