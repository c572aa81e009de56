"""The fast back end on a CUDA card: many views at once, by the very device functions of the CPU.

Every step is one kernel over the pixels of all views; each warp has a tile of neighbours. Where only some pixels
need rays they are first collected in lists of like ones, so that all threads of a warp have the same work to do.
"""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if not hasattr(np, "row_stack"):
    # numba-cuda still asks numpy for a name that numpy 2.5 dropped.
    setattr(np, "row_stack", np.vstack)  # noqa: B010 - an assignment would be "corrected" by linters

from numba import config, cuda

from sightline.errors import ConfigError
from sightline.kernels import keep
from sightline.render.fast import columns as col
from sightline.render.fast.ambient import smooth_cell, table_cell
from sightline.render.fast.glass import behind_glass
from sightline.render.fast.jit import STAMP
from sightline.render.fast.mirrors import is_shiny
from sightline.render.fast.pack import Packed, Pool, check_camera, eye, packed
from sightline.render.fast.pixels import (
    BETWEEN,
    UNKNOWN,
    WORKED_OUT,
    agreed,
    arriving,
    body_of,
    composed,
    edge_samples,
    look_of,
    mirrored_samples,
    mirroring,
    on_edge,
    sparkling,
    surface_at,
    tone_step,
)
from sightline.render.fast.rays import FAR, HALF, ONE, ZERO, everything, nearest, normal_at, part_of
from sightline.render.fast.settings import Settings
from sightline.render.fast.surroundings import camera_ray, stuff_at, wall_of
from sightline.render.fast.textures import texture_light
from sightline.render.tones import TONES
from sightline.worlds.layout import Layout
from sightline.worlds.shapes import solid as built_in
from sightline.worlds.solids import Solid

THREADS = 128

TILE_WIDE, TILE_HIGH = 8, 4
"""Pixels of a warp: neighbours both ways, whose rays meet the same things."""

BLOCKS = 16384
"""Blocks of the kernels that walk a list; each thread takes every so many-th entry, few each: all end together."""

OBJECTS, GROUND = 0, 1
"""The two lists of points whose light is worked out: on the ground it takes fewer kinds of rays."""

SHINY = 2
"""The list of pixels that mirror shapes."""

EDGES, WAITING, SAMPLES = 0, 1, 2
"""The list of pixels on edges; of those, the pixels with samples that wait for mirror images; and their bits."""

WALKS: dict[str, Any] = {} if config.ENABLE_CUDASIM else {"fastmath": True, "max_registers": 64, "cache": True}
"""How the kernels are compiled: the last bits of a quotient do not matter on the card, and rays wait for memory, so
many threads at a time are worth more than registers for each (with 80 and 96 an H200 draws 9 and 15 % fewer
kitchens a second)."""


def _walk(function: Callable[..., None]) -> Any:
    """Compile a kernel, with a cache on disk that is as good as all files here are the same."""
    return keep(cuda.jit(**WALKS)(function), STAMP)


def _blocks(count: int) -> int:
    """Blocks of threads that go once over so many points."""
    return (count + THREADS - 1) // THREADS


def _tiled(views: int, height: int, width: int) -> tuple[int, int]:
    """Blocks and threads that go once over all points of views; see `_place`."""
    tiles = views * -(-height // TILE_HIGH) * -(-width // TILE_WIDE)
    return _blocks(tiles * TILE_HIGH * TILE_WIDE), THREADS


class Pictures(NamedTuple):
    """What a batch looks like, as arrays on the card: hand them to torch as they are, or copy them to the host.

    Attributes:
        image: (B, H, W, 3) uint8 sRGB; ids: (B, H, W) int32; depth: (B, H, W) float32, NaN for the sky;
        normals: (B, H, W, 3) float32; stuff: (B, H, W) uint8, see `Frame`.
    """

    image: Any
    ids: Any
    depth: Any
    normals: Any
    stuff: Any


class CudaRenderer:
    """Draws batches of layouts on the first CUDA card.

    Args:
        settings: How much work goes into a picture.
        solid: Where solids come from, by name.
        streams: Handles of two CUDA streams made elsewhere: kernels are launched on the first, and some on the
            second in between; pictures must be read on the first. By default on two of its own, for which the
            default stream waits.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        solid: Callable[[str], Solid] = built_in,
        streams: tuple[int, int] | None = None,
    ) -> None:
        if not cuda.is_available():
            raise ConfigError("no CUDA card here: use FastRenderer, which gives the same pictures on the CPU")
        self.settings = settings or Settings()
        plan = self.settings.plan()
        self._plan = plan._replace(**{name: cuda.to_device(value) for name, value in plan._asdict().items()})
        self._tones = cuda.to_device(TONES)
        self._pool = Pool(solid)
        self._meshes: tuple[Any, Any, Any, Any] | None = None
        self._known = -1
        self._room: dict[tuple[int, ...], dict[str, Any]] = {}
        self._streams = tuple(map(cuda.external_stream, streams)) if streams else (cuda.stream(), cuda.stream())
        self._geometry_done, self._mirrors_done = cuda.event(), cuda.event()

    def batch(self, layouts: Sequence[Layout], view: str = "original") -> Packed:
        """Bring layouts to the card, all seen by the view of that name; a DataError for a camera that sees nothing.

        Views packed elsewhere are not checked again: worlds place no camera inside an object.
        """
        [views] = packed(self._pool, layouts, [view], self.settings.map_half)
        for layout in layouts:
            shot = next(s for s in layout.shots if s.name == view)
            check_camera(self._pool, layout, shot, self._pool.bodies(layout), eye(shot))
        return self.upload(views)

    def know(self, shapes: Sequence[str]) -> None:
        """Take solids in now: views packed elsewhere by a pool that knows the same ones can then be uploaded."""
        self._pool.know(shapes)

    def rows_alone(self) -> Pool:
        """A pool that packs views for this renderer, without the meshes: light enough for other processes."""
        return self._pool.rows_alone()

    def upload(self, views: Packed, there: Callable[[NDArray[Any]], Any] = cuda.to_device) -> Packed:
        """Bring packed views to the card; a ConfigError for those of a pool that begins with other solids.

        `there` copies one array to the card.
        """
        known = self._pool.shapes[: len(views.shapes)]
        if known != views.shapes:
            odd = next((a for a, b in zip(views.shapes, known, strict=False) if a != b), views.shapes[-1])
            raise ConfigError(f"views were packed with other solids than this renderer knows, such as {odd!r}")
        return views._replace(
            bodies=there(views.bodies), env=there(views.env), cams=there(views.cams), skies=there(views.skies)
        )

    def pictures(self, batch: Packed) -> Pictures:
        """Draw an uploaded batch. The arrays are used again by the next one of that size: copy what you keep."""
        width, height = batch.size
        room = self._rooms((batch.bodies.shape[0], height, width))
        nodes, tris, *textured = self._solids()
        plan, cells = self._plan, self.settings.map_cells
        scene = (nodes, tris, batch.bodies)
        lit, listed = (room["lit"], room["lit_by"]), (room["work"], room["counts"])
        count = batch.bodies.shape[0]
        one, other = self._streams  # the work on one fills the card while that on the other comes to an end
        everywhere = (*_tiled(count, height, width), one)
        cells_each = (_blocks(count * cells * cells), THREADS, one)
        _clear[1, THREADS, one](room["counts"])
        raw = (room["raw"], room["raw_by"])
        _light_table[cells_each](*scene, batch.env, plan.points, plan.wide, plan.numbers, *raw)
        _smooth_table[cells_each](*raw, *lit)
        seen = (room["parts"], room["depth"], room["normals"])
        faced = (room["parts"], room["faces"], room["depth"], room["normals"])
        _geometry[everywhere](*scene, batch.env, batch.cams, *faced, room["ids"], room["stuff"], room["how"])
        self._geometry_done.record(one)
        self._geometry_done.wait(other)
        step, level, first = self.settings.lattice, 0, True
        rays = (plan.points, plan.dome, plan.numbers, batch.cams)
        while first or step > 1:
            stride = step if first else step // 2
            _choose[(*_tiled(count, -(-height // stride), -(-width // stride)), one)](
                batch.bodies, *seen, room["light"], room["how"], plan.tolerance, step, first, *listed, level
            )
            _light[2 * BLOCKS, THREADS, one](*scene, batch.env, *lit, *rays, *faced, room["light"], *listed, level)
            step, first, level = (step if first else step // 2), False, level + 1
        _metal[(*everywhere[:2], other)](batch.bodies, room["parts"], *listed)
        _glints[BLOCKS, THREADS, other](
            *scene, batch.env, plan.points, plan.numbers, batch.cams, *faced, room["glints"], *listed
        )
        rays = (plan.points, plan.lobe, plan.numbers, batch.cams)
        _mirrors[BLOCKS, THREADS, other](*scene, batch.env, *lit, *rays, *faced, room["mirror"], *listed)
        self._mirrors_done.record(other)
        self._mirrors_done.wait(one)
        lights, drawn = (
            (room["light"], room["mirror"], room["glints"]),
            (room["colour"], self._tones, room["image"]),
        )
        views = (batch.bodies, batch.env, batch.cams, batch.skies, room["faces"])
        _compose[everywhere](tris, *textured, *views, *seen, *lights, *drawn, *listed, level)
        if batch.glass:
            _glass[everywhere](*scene, batch.env, *lit, plan.points, plan.numbers, batch.cams, *seen, *drawn)
        samples = (plan.points, plan.lobe, plan.inside, plan.numbers, batch.cams)
        shown, sums = (*seen, room["light"]), room["glints"]  # which are in the picture by now
        written = (sums, self._tones, room["image"], *listed, level)
        _edges[BLOCKS, THREADS, one](*scene, batch.env, plan.inside, batch.cams, *shown, room["colour"], *written)
        _edge_mirrors[BLOCKS, THREADS, one](*scene, batch.env, *lit, *samples, *shown, *written)
        return Pictures(room["image"], room["ids"], room["depth"], room["normals"], room["stuff"])

    def images(self, layouts: Sequence[Layout], view: str = "original") -> NDArray[np.uint8]:
        """Pictures of layouts on the host, (B, H, W, 3) uint8 sRGB."""
        pictures = self.pictures(self.batch(layouts, view))
        cuda.synchronize()
        image: NDArray[np.uint8] = pictures.image.copy_to_host()
        return image

    def _solids(self) -> tuple[Any, Any, Any, Any]:
        meshes = self._pool.meshes
        if self._meshes is None or self._known != len(meshes.tris):
            there = cuda.to_device
            texels = meshes.texels if len(meshes.texels) else np.zeros((1, 3), np.uint16)
            self._meshes = (there(meshes.nodes), there(meshes.tris), there(meshes.uv), there(texels))
            self._known = len(meshes.tris)
            cuda.synchronize()  # a copy may end after its call: streams of others do not wait for it
        return self._meshes

    def _rooms(self, shape: tuple[int, int, int]) -> dict[str, Any]:
        if shape not in self._room:
            cells = self.settings.map_cells
            colours = ("normals", "light", "mirror", "glints", "colour")
            kinds: dict[str, tuple[tuple[int, ...], Any]] = {
                **dict.fromkeys(("ids", "parts", "faces"), (shape, np.int32)),
                **dict.fromkeys(colours, ((*shape, 3), np.float32)),
                "depth": (shape, np.float32),
                **dict.fromkeys(("how", "stuff"), (shape, np.uint8)),
                "image": ((*shape, 3), np.uint8),
                "work": ((3, math.prod(shape)), np.int32),
                "counts": ((3, 16), np.int32),
                **dict.fromkeys(("raw", "lit"), ((shape[0], cells, cells, 6), np.float32)),
                **dict.fromkeys(("raw_by", "lit_by"), ((shape[0], cells, cells), np.int64)),
            }
            self._room = {shape: {name: cuda.device_array(*kind) for name, kind in kinds.items()}}
        return self._room[shape]


@cuda.jit(device=True)
def _divided(number, by):
    """Divide unsigned numbers of 32 bits: (whole part, rest). For 64 bits a card calls a routine."""
    whole = np.uint32(np.uint32(number) // np.uint32(by))
    return whole, np.uint32(np.uint32(number) - np.uint32(whole * np.uint32(by)))


@cuda.jit(device=True)
def _place(views, rows, columns):
    """View, row and column of this thread, those of a warp in one tile; view −1 beside the picture."""
    tile, inside = _divided(cuda.grid(1), TILE_WIDE * TILE_HIGH)
    rest, column = _divided(tile, (columns + TILE_WIDE - 1) // TILE_WIDE)
    view, row = _divided(rest, (rows + TILE_HIGH - 1) // TILE_HIGH)
    down, right = _divided(inside, TILE_WIDE)
    y, x = np.int64(row) * TILE_HIGH + np.int64(down), np.int64(column) * TILE_WIDE + np.int64(right)
    return (np.int64(view) if view < views and y < rows and x < columns else -1), y, x


@cuda.jit(device=True)
def _unraveled(at, pixels):
    """View, row and column of a pixel, or cell, by its number."""
    rest, x = _divided(at, pixels.shape[2])
    view, y = _divided(rest, pixels.shape[1])
    return np.int64(view), np.int64(y), np.int64(x)


@_walk
def _clear(counts):
    """Set the lengths of all lists to 0."""
    for i in range(cuda.grid(1), counts.shape[0] * counts.shape[1], cuda.gridsize(1)):
        counts[i // counts.shape[1], i % counts.shape[1]] = 0


@_walk
def _light_table(nodes, tris, bodies, env, points, wide, numbers, lit, lit_by):
    view, i, j = _unraveled(cuda.grid(1), lit)
    if view >= lit.shape[0]:
        return
    mine = bodies[view]
    table_cell(nodes, tris, mine, env[view], lit[view], lit_by[view], points, wide, numbers, everything(mine), i, j)


@_walk
def _smooth_table(raw, raw_by, lit, lit_by):
    view, i, j = _unraveled(cuda.grid(1), lit)
    if view < lit.shape[0]:
        smooth_cell(raw[view], raw_by[view], lit[view], lit_by[view], i, j)


@_walk
def _geometry(nodes, tris, bodies, env, cams, parts, faces, depth, normals, ids, stuff, how):
    view, y, x = _place(*parts.shape)
    if view < 0:
        return
    cam, mine, around = cams[view], bodies[view], env[view]
    dx, dy, dz, reach, wall = camera_ray(around, cam, np.float32(x) + HALF, np.float32(y) + HALF)
    t, k, face, u, v = nearest(
        nodes, tris, mine, everything(mine), cam[col.EYE_X], cam[col.EYE_Y], cam[col.EYE_Z], dx, dy, dz, reach
    )
    ids[view, y, x] = k + 1
    parts[view, y, x] = part_of(tris, k, face) if k >= 0 else wall
    faces[view, y, x] = face
    how[view, y, x] = UNKNOWN
    depth[view, y, x] = t if t < FAR else np.float32(np.nan)
    nx, ny, nz = ZERO, ZERO, ONE if t < FAR else ZERO
    if k >= 0:
        nx, ny, nz = normal_at(tris, mine, k, face, u, v, dx, dy, dz)
    elif wall > 0:
        i = wall_of(around, wall)
        nx, ny, nz = -around[i, col.WALL_X], -around[i, col.WALL_Y], ZERO
    normals[view, y, x, 0], normals[view, y, x, 1], normals[view, y, x, 2] = nx, ny, nz
    stuff[view, y, x] = stuff_at(around, cam, parts[view, y, x], depth[view, y, x], y, x)


@_walk
def _choose(bodies, parts, depth, normals, light, how, tolerance, step, first, work, counts, level):
    """Interpolate where the lattice agrees; put the other points on the lists of objects and of ground."""
    half = step // 2
    stride = step if first else half
    height, width = parts.shape[1], parts.shape[2]
    view, y, x = _place(
        parts.shape[0], _divided(height + stride - 1, stride)[0], _divided(width + stride - 1, stride)[0]
    )
    if view < 0:
        return
    y, x = y * stride, x * stride
    if how[view, y, x] != UNKNOWN:
        return
    if not first:
        dy, dx = half if y & (step - 1) else 0, half if x & (step - 1) else 0
        fits, r, g, b = agreed(
            parts[view], depth[view], normals[view], light[view], how[view], tolerance[0], y, x, dy, dx
        )
        if fits:
            light[view, y, x, 0], light[view, y, x, 1], light[view, y, x, 2] = r, g, b
            how[view, y, x] = BETWEEN
            return
    how[view, y, x] = WORKED_OUT
    k, look = body_of(parts[view, y, x]), look_of(parts[view, y, x])
    if math.isnan(depth[view, y, x]) or (k >= 0 and bodies[view, k, look + col.METAL] >= ONE):
        light[view, y, x, 0] = light[view, y, x, 1] = light[view, y, x, 2] = ZERO
        return
    at = (view * height + y) * width + x
    if k >= 0:  # one counter a branch: the compiler then adds for all threads of a warp at once
        work[OBJECTS, cuda.atomic.add(counts, (OBJECTS, level), 1)] = at
    else:
        work[GROUND, cuda.atomic.add(counts, (GROUND, level), 1)] = at


@_walk
def _light(
    nodes,
    tris,
    bodies,
    env,
    lit,
    lit_by,
    points,
    dome,
    numbers,
    cams,
    parts,
    faces,
    depth,
    normals,
    light,
    work,
    counts,
    level,
):
    """Work out the light of the points listed: half of the blocks on objects, then half on the ground."""
    half = cuda.gridsize(1) // 2
    row = OBJECTS if cuda.grid(1) < half else GROUND
    i, end = np.uint32(cuda.grid(1) - row * half), np.uint32(counts[row, level])
    while i < end:
        at, i = work[row, i], np.uint32(i + np.uint32(half))
        view, y, x = _unraveled(at, parts)
        mine = bodies[view]
        surface = surface_at(parts[view], faces[view], depth[view], normals[view], y, x)
        mask, cam = everything(mine), cams[view]
        r, g, b, _ = arriving(
            nodes, tris, mine, env[view], lit[view], lit_by[view], points, dome, numbers, cam, mask, surface
        )
        light[view, y, x, 0], light[view, y, x, 1], light[view, y, x, 2] = r, g, b


@_walk
def _metal(bodies, parts, work, counts):
    """List the pixels that mirror shapes."""
    view, y, x = _place(*parts.shape)
    if view < 0:
        return
    part = parts[view, y, x]
    k = body_of(part)
    if k >= 0 and is_shiny(bodies[view], k, look_of(part)):
        work[SHINY, cuda.atomic.add(counts, (SHINY, 0), 1)] = (view * parts.shape[1] + y) * parts.shape[2] + x


@_walk
def _glints(nodes, tris, bodies, env, points, numbers, cams, parts, faces, depth, normals, glints, work, counts):
    i, end = np.uint32(cuda.grid(1)), np.uint32(counts[SHINY, 0])
    while i < end:
        at, i = work[SHINY, i], np.uint32(i + np.uint32(cuda.gridsize(1)))
        view, y, x = _unraveled(at, parts)
        mine = bodies[view]
        surface = surface_at(parts[view], faces[view], depth[view], normals[view], y, x)
        mask, cam = everything(mine), cams[view]
        r, g, b, _ = sparkling(nodes, tris, mine, env[view], points, numbers, cam, mask, surface)
        glints[view, y, x, 0], glints[view, y, x, 1], glints[view, y, x, 2] = r, g, b


@_walk
def _mirrors(
    nodes,
    tris,
    bodies,
    env,
    lit,
    lit_by,
    points,
    lobe,
    numbers,
    cams,
    parts,
    faces,
    depth,
    normals,
    mirror,
    work,
    counts,
):
    i, end = np.uint32(cuda.grid(1)), np.uint32(counts[SHINY, 0])
    while i < end:
        at, i = work[SHINY, i], np.uint32(i + np.uint32(cuda.gridsize(1)))
        view, y, x = _unraveled(at, parts)
        mine = bodies[view]
        surface = surface_at(parts[view], faces[view], depth[view], normals[view], y, x)
        mask, cam = everything(mine), cams[view]
        r, g, b, _ = mirroring(
            nodes, tris, mine, env[view], lit[view], lit_by[view], points, lobe, numbers, cam, mask, surface
        )
        mirror[view, y, x, 0], mirror[view, y, x, 1], mirror[view, y, x, 2] = r, g, b


@_walk
def _compose(
    tris,
    uv,
    texels,
    bodies,
    env,
    cams,
    skies,
    faces,
    parts,
    depth,
    normals,
    light,
    mirror,
    glints,
    colour,
    tones,
    image,
    work,
    counts,
    level,
):
    """Colour every pixel, and list those on an edge."""
    view, y, x = _place(*parts.shape)
    if view < 0:
        return
    mine, lit, cam = bodies[view], light[view], cams[view]
    r, g, b = composed(
        parts[view], depth[view], normals[view], mine, env[view], cam, lit, mirror[view], glints[view], y, x
    )
    if skies.shape[0] > 0 and math.isnan(depth[view, y, x]) and not math.isnan(skies[view, y, x, 0]):
        r, g, b = skies[view, y, x, 0], skies[view, y, x, 1], skies[view, y, x, 2]
    k, look = body_of(parts[view, y, x]), look_of(parts[view, y, x])
    if k >= 0 and mine[k, look + col.TEXTURE] > ZERO:
        tr, tg, tb = texture_light(tris, uv, texels, mine, cam, k, look, faces[view], depth[view], lit, y, x)
        r, g, b = r + tr, g + tg, b + tb
    colour[view, y, x, 0], colour[view, y, x, 1], colour[view, y, x, 2] = r, g, b
    if on_edge(parts[view], depth[view], normals[view], mine, y, x):
        at = (view * parts.shape[1] + y) * parts.shape[2] + x
        work[EDGES, cuda.atomic.add(counts, (EDGES, level), 1)] = at
    else:
        _write(image, tones, view, y, x, r, g, b)


@_walk
def _glass(
    nodes, tris, bodies, env, lit, lit_by, points, numbers, cams, parts, depth, normals, colour, tones, image
):
    """Add what is seen through glass to the pixels that show some."""
    view, y, x = _place(*parts.shape)
    if view < 0:
        return
    mine, k = bodies[view], body_of(parts[view, y, x])
    if k < 0 or mine[k, look_of(parts[view, y, x]) + col.GLASS] <= ZERO:
        return
    ground = (lit[view], lit_by[view])
    r, g, b = behind_glass(
        nodes, tris, mine, env[view], *ground, points, numbers, cams[view], everything(mine), y, x
    )
    r, g, b = r + colour[view, y, x, 0], g + colour[view, y, x, 1], b + colour[view, y, x, 2]
    colour[view, y, x, 0], colour[view, y, x, 1], colour[view, y, x, 2] = r, g, b
    if not on_edge(parts[view], depth[view], normals[view], mine, y, x):
        _write(image, tones, view, y, x, r, g, b)


@_walk
def _edges(
    nodes,
    tris,
    bodies,
    env,
    inside,
    cams,
    parts,
    depth,
    normals,
    light,
    colour,
    sums,
    tones,
    image,
    work,
    counts,
    level,
):
    """Colour the pixels on edges; where samples wait for mirror images, list the pixel and keep the sum."""
    i, end = np.uint32(cuda.grid(1)), np.uint32(counts[EDGES, level])
    while i < end:
        at, i = work[EDGES, i], np.uint32(i + np.uint32(cuda.gridsize(1)))
        view, y, x = _unraveled(at, parts)
        shown = (parts[view], depth[view], normals[view], light[view], colour[view])
        r, g, b, taken, waiting = edge_samples(
            nodes, tris, bodies[view], env[view], inside, cams[view], *shown, y, x
        )
        if waiting == 0:
            scale = ONE / np.float32(taken)
            _write(image, tones, view, y, x, r * scale, g * scale, b * scale)
        else:
            place = cuda.atomic.add(counts, (WAITING, level), 1)
            work[WAITING, place], work[SAMPLES, place] = at, waiting
            sums[view, y, x, 0], sums[view, y, x, 1], sums[view, y, x, 2] = r, g, b


@_walk
def _edge_mirrors(
    nodes,
    tris,
    bodies,
    env,
    lit,
    lit_by,
    points,
    lobe,
    inside,
    numbers,
    cams,
    parts,
    depth,
    normals,
    light,
    sums,
    tones,
    image,
    work,
    counts,
    level,
):
    """Colour the pixels on edges that wait for mirror images of samples."""
    plan = (points, lobe, inside, numbers)
    scale = ONE / np.float32(inside.shape[0])
    i, end = np.uint32(cuda.grid(1)), np.uint32(counts[WAITING, level])
    while i < end:
        at, waiting, i = work[WAITING, i], np.int64(work[SAMPLES, i]), np.uint32(i + np.uint32(cuda.gridsize(1)))
        view, y, x = _unraveled(at, parts)
        mine, cam = bodies[view], cams[view]
        scene, ground = (nodes, tris, mine, env[view]), (lit[view], lit_by[view])
        shown = (parts[view], depth[view], normals[view], light[view])
        r, g, b, _ = mirrored_samples(*scene, *ground, plan, cam, everything(mine), *shown, y, x, waiting)
        r, g, b = r + sums[view, y, x, 0], g + sums[view, y, x, 1], b + sums[view, y, x, 2]
        _write(image, tones, view, y, x, r * scale, g * scale, b * scale)


@cuda.jit(device=True)
def _write(image, tones, view, y, x, r, g, b):
    image[view, y, x, 0], image[view, y, x, 1] = tones[tone_step(r)], tones[tone_step(g)]
    image[view, y, x, 2] = tones[tone_step(b)]
