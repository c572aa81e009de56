"""Scenes of a recipe, one after another: arranged, rendered, told; and those with an object taken away."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.generate.backends import Backend, backend
from sightline.generate.own_shapes import found
from sightline.generate.recipe import Recipe
from sightline.generate.telling import bare_view, in_memory, scene_from
from sightline.render.frames import Frame
from sightline.scenes import Scene, View
from sightline.store import Blobs
from sightline.store.encodings import round_trip
from sightline.worlds import World, arrange, world_from
from sightline.worlds.layout import Layout, Shot


@dataclass(frozen=True)
class Maker:
    """Makes the scenes of one recipe."""

    recipe: Recipe
    world: World
    renderer: Backend

    def layout(self, index: int) -> Layout:
        """The scene of that index before anything is drawn."""
        return arrange(self.world, self.recipe.seed, index)

    def scenes(self, start: int, stop: int, blobs: Blobs) -> Iterator[Scene]:
        """The scenes of a run of indices; their pixels go to disk as they come."""

        def view_of(shot: Shot, frame: Frame) -> View:
            return self._stored(shot, frame, blobs)

        layouts = [self.layout(index) for index in range(start, stop)]
        drawn = self.renderer.stream(layouts, self.recipe.views) if self.recipe.image else self._outlined(layouts)
        for layout, frames in zip(layouts, drawn, strict=True):
            yield scene_from(layout, frames, tolerance=self.world.depth_tolerance, view_of=view_of)

    def _outlined(self, layouts: Iterable[Layout]) -> Iterator[list[Frame]]:
        """Frames without pictures, for truth alone."""
        for layout in layouts:
            shots = {shot.name: shot for shot in layout.shots}
            yield [self.renderer.frame(layout, shots[name], shade=False) for name in self.recipe.views]

    def _stored(self, shot: Shot, frame: Frame, blobs: Blobs) -> View:
        if self.recipe.image is None:
            return bare_view(shot)
        assert frame.image is not None
        image = blobs.put_array("image", frame.image, self.recipe.image)
        depth = None if self.recipe.depth is None else blobs.put_array("depth", frame.depth, self.recipe.depth)
        return replace(
            bare_view(shot),
            image_ref=image,
            load_image=blobs.loader("image", image),
            load_depth=blobs.loader("depth", depth),
            load_ids=blobs.loader("ids", blobs.put_array("ids", frame.ids)),
        )

    def without(self, layout: Layout, gone: int, scene_id: str) -> Scene:
        """The scene with one object taken away: truth at once, pictures when they are asked for.

        Pixels come as they would from the dataset: through the same lossy formats, if it has such.
        """
        reduced = layout.without(gone)
        shots = [shot for name in self.recipe.views for shot in layout.shots if shot.name == name]
        frames = [self.renderer.frame(reduced, shot, shade=False) for shot in shots]

        def view_of(shot: Shot, frame: Frame) -> View:
            depth, form = frame.depth, self.recipe.depth
            if self.recipe.image is None:
                return bare_view(shot)
            return replace(
                in_memory(shot, frame),
                load_image=Picture(self, layout, shot, gone),
                load_depth=None if form is None else lambda: round_trip("depth", depth, form),
            )

        return scene_from(
            reduced,
            frames,
            tolerance=self.world.depth_tolerance,
            scene_id=f"{scene_id}/without/{gone}",
            names=[str(i) for i in range(len(layout.objects)) if i != gone],
            view_of=view_of,
        )


@lru_cache(maxsize=2)
def maker_of(folder: Path, recipe: str) -> Maker:
    """The maker of a recipe, given as JSON, whose own meshes lie in the dataset's folder."""
    told = Recipe.from_dict(json.loads(recipe), folder)
    world = world_from(told.world, found(folder, told.settings))
    return Maker(told, world, backend(told.renderer, told.render))


@dataclass(frozen=True)
class Picture:
    """A counterfactual picture, rendered when first called for."""

    maker: Maker
    layout: Layout
    shot: Shot
    gone: int

    def __call__(self) -> NDArray[np.uint8]:
        """HWC uint8 RGB."""
        return self._pixels

    @cached_property
    def _pixels(self) -> NDArray[Any]:
        image = self.maker.renderer.counterfactual(self.layout, self.shot, self.gone).image
        form = self.maker.recipe.image
        assert image is not None
        assert form is not None
        return round_trip("image", image, form)
