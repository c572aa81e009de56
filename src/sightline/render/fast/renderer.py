"""The fast back end: layouts in, frames out, on one CPU core."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.render.fast import columns as col
from sightline.render.fast.environment import environment, stuff_environment
from sightline.render.fast.pack import Bodies, Eye, Pool, camera_row, check_camera, eye
from sightline.render.fast.raster import Surfaces, raster
from sightline.render.fast.settings import Settings
from sightline.render.fast.shade import Ground, State, is_compiled, light_table, shade
from sightline.render.fast.surroundings import stuff_map
from sightline.render.frames import Frame
from sightline.render.sky import seen_sky
from sightline.scenes.types import Camera
from sightline.worlds.layout import Layout, Light, Shot
from sightline.worlds.shapes import solid as built_in
from sightline.worlds.solids import Solid

KEPT = 4
"""Views whose workings are kept for counterfactuals; about 13 MB each at 480×320."""


@dataclass(frozen=True, slots=True, eq=False)
class _Worked:
    """A finished view and how it came about."""

    bodies: Bodies
    eye: Eye
    env: NDArray[np.float32]
    ground: Ground
    seen: Surfaces
    state: State
    image: NDArray[np.uint8]


class FastRenderer:
    """Draws layouts; keeps solids and the last few views, so use one for many scenes.

    The same layout gives the same pixels whatever was drawn before.
    """

    def __init__(self, settings: Settings | None = None, solid: Callable[[str], Solid] = built_in) -> None:
        self.settings = settings or Settings()
        self._plan = self.settings.plan()
        self._solid, self._pool = solid, Pool(solid)
        self._worked: OrderedDict[tuple[Layout, Shot], _Worked] = OrderedDict()
        self._lit: tuple[Layout, Ground] | None = None

    def frames(self, layout: Layout, views: Sequence[str] | None = None, *, shade: bool = True) -> list[Frame]:
        """The views named, in that order, or all; without pictures if `shade` is False."""
        shots = {shot.name: shot for shot in layout.shots}
        for name in views or ():
            if name not in shots:
                raise ConfigError(f"unknown view {name!r}: the world has {', '.join(shots)}")
        return [self.frame(layout, shots[name], shade=shade) for name in (shots if views is None else views)]

    def frame(self, layout: Layout, shot: Shot, *, shade: bool = True) -> Frame:
        """One view."""
        if shade:
            worked = self._work_out(layout, shot)
            # A frame belongs to the caller, who may write into it; what is kept must stay as it is.
            ids, depth, normals, amodal, *_ = worked.seen
            mine = worked.seen._replace(
                ids=ids.copy(), depth=depth.copy(), normals=normals.copy(), amodal=amodal.copy()
            )
            return _frame(shot, mine, worked.env, camera_row(worked.eye), worked.image.copy())
        bodies, camera = self._bodies(layout), eye(shot)
        check_camera(self._pool, layout, shot, bodies, camera)
        env = stuff_environment(layout.surroundings)
        seen = raster(self._pool.meshes, bodies, camera, shot.size, env)
        return _frame(shot, seen, env, camera_row(camera), None)

    def counterfactual(self, layout: Layout, shot: Shot, *gone: int) -> Frame:
        """The view of ``layout.without(*gone)``, pixel for pixel, for the price of what those objects touched."""
        layout.check_indices(gone)
        before = self._work_out(layout, shot)
        rows = before.bodies.rows.copy()
        rows[list(gone), col.PRESENT] = 0.0
        bodies = Bodies(rows, before.bodies.ranges)
        ground = self._ground(bodies, before.env, before.ground, gone)
        after = self._draw(layout, bodies, before.eye, before.env, ground, shot, before, gone)
        return _frame(shot, _without(after.seen, gone), after.env, camera_row(after.eye), after.image)

    def know(self, shapes: Sequence[str]) -> None:
        """Take solids in now, all at once: one by one takes long where they are many."""
        self._pool.know(shapes)

    def forget(self) -> None:
        """Let go of the views kept for counterfactuals; solids stay."""
        self._worked.clear()
        self._lit = None

    def _bodies(self, layout: Layout) -> Bodies:
        """Rows of a layout's objects; solids of scenes before go where there are too many beside them."""
        if self._pool.is_full_for(layout):
            self._pool = Pool(self._solid)
            self.forget()
        return self._pool.bodies(layout)

    def _work_out(self, layout: Layout, shot: Shot) -> _Worked:
        key = (layout, shot)
        if key in self._worked:
            self._worked.move_to_end(key)
            return self._worked[key]
        bodies, camera = self._bodies(layout), eye(shot)
        check_camera(self._pool, layout, shot, bodies, camera)
        env = environment(layout, self.settings.map_half)
        if self._lit is None or self._lit[0] is not layout:
            self._lit = (layout, self._ground(bodies, env))
        self._worked[key] = self._draw(layout, bodies, camera, env, self._lit[1], shot)
        if len(self._worked) > KEPT:
            self._worked.popitem(last=False)
        return self._worked[key]

    def _ground(
        self, bodies: Bodies, env: NDArray[np.float32], old: Ground | None = None, gone: Sequence[int] = ()
    ) -> Ground:
        return light_table(self._pool.meshes, bodies, env, self._plan, self.settings.map_cells, old, gone)

    def _draw(
        self,
        layout: Layout,
        bodies: Bodies,
        camera: Eye,
        env: NDArray[np.float32],
        ground: Ground,
        shot: Shot,
        before: _Worked | None = None,
        gone: Sequence[int] = (),
    ) -> _Worked:
        """Work a view out; what no body of `gone` touched is taken over from how it was `before`."""
        meshes, cam = self._pool.meshes, camera_row(camera)
        seen = raster(meshes, bodies, camera, shot.size, env)
        old = None if before is None else (before.seen, before.state)
        sky = seen_sky(layout, shot, *np.nonzero(np.isnan(seen.depth)))
        image, state = shade(meshes, bodies, env, self._plan, cam, ground, seen, old, gone, sky)
        return _Worked(bodies, camera, env, ground, seen, state, image)


@contextmanager
def shading_compiled_beside() -> Iterator[None]:
    """Around what needs no shading: let another process compile what shades, and wait for it in the end.

    It is most of what a first picture takes. Nothing happens where it is compiled already or there is one core;
    where the other process fails, this one compiles when it draws.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if is_compiled() or cores == 1:
        yield
        return
    command = [sys.executable, "-c", f"from {__name__} import compile_shading; compile_shading()"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    other = subprocess.Popen(  # noqa: S603 - our own words
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
        other.wait()
    finally:
        other.kill()
        other.wait()


def compile_shading() -> None:
    """Shade a small picture of nothing: what that compiles is kept on disk."""
    level = Camera((10.0, 0.0, 4.0, 0.0, 10.0, 4.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0) * 3)
    shot, lamp = Shot("original", level, (8, 8)), Light("top", (0.0, 0.0, 16.0), 8.0, 1100.0)
    layout = Layout("", 0, 0, "", (), (shot,), (lamp,), (0.5,) * 3, (0.1,) * 3, (-1.0, 0.0), (0.0, 1.0))
    settings, pool = Settings(), Pool(built_in)
    plan, bodies, env = settings.plan(), pool.bodies(layout), environment(layout, settings.map_half)
    ground = light_table(pool.meshes, bodies, env, plan, settings.map_cells, None, ())
    flat, spread = np.zeros((8, 8), np.int32), np.zeros((8, 8, 3), np.float32)
    seen = Surfaces(
        flat, spread[..., 0].copy(), spread, np.zeros((0, 8, 8), np.bool_), np.zeros((0, 2)), flat, flat
    )
    shade(pool.meshes, bodies, env, plan, camera_row(eye(shot)), ground, seen)


def _frame(
    shot: Shot, seen: Surfaces, env: NDArray[np.float32], cam: NDArray[np.float32], image: NDArray[np.uint8] | None
) -> Frame:
    pixels = seen.sums[:, 0]
    mean = np.divide(seen.sums[:, 1], pixels, out=np.full(len(pixels), np.nan), where=pixels > 0)
    stuff = stuff_map(env, cam, seen.parts, seen.depth)
    return Frame(shot.name, seen.ids, seen.depth, seen.normals, seen.amodal, mean, stuff, image)


def _without(seen: Surfaces, gone: Sequence[int]) -> Surfaces:
    """Number the objects as if the missing ones had never been."""
    kept = np.delete(np.arange(len(seen.amodal)), list(gone))
    numbers = np.zeros(len(seen.amodal) + 1, np.int32)
    numbers[kept + 1] = np.arange(1, len(kept) + 1)
    return seen._replace(ids=numbers[seen.ids], amodal=seen.amodal[kept], sums=seen.sums[kept])
