"""Scenes of a recipe: arranged and rendered, with all that is true of them; and with objects taken away."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.generation.recipe import DatasetRecipe, located
from sightline.render.blender import BlenderRenderer
from sightline.render.fast import FastRenderer, Settings
from sightline.render.frames import Frame
from sightline.render.landmarks import posed
from sightline.render.sensor import taken
from sightline.render.truth import DEPTH_TOLERANCE, across_relations, scene_relations, sightings, view_relations
from sightline.scenes import Object, Relation, Scene, View
from sightline.store import Blobs
from sightline.store.encodings import round_trip
from sightline.variations import Jpeg
from sightline.worlds import World, arrange, relations, world_from
from sightline.worlds.layout import Layout, Placed, Shot
from sightline.worlds.looks import category_of
from sightline.worlds.shapes import solid, split_name
from sightline.worlds.surroundings_spec import NOTHING_AROUND

ViewOf = Callable[[Shot, Frame], View]


def scene_from(
    layout: Layout,
    frames: Sequence[Frame],
    *,
    tolerance: float = DEPTH_TOLERANCE,
    scene_id: str | None = None,
    names: Sequence[str] | None = None,
    view_of: ViewOf | None = None,
) -> Scene:
    """Make a Scene of a layout and its frames, with everything that is true of it.

    Args:
        layout: What stands where.
        frames: The views to keep, each named after a shot of the layout.
        tolerance: Of equal depth; see `render.truth`.
        scene_id: By default that of the layout's world, seed and index.
        names: Object ids; by default ``0``, ``1``…
        view_of: Makes a View of a shot and its frame; by default one that holds the pixels in memory.
    """
    ids = [str(i) for i in range(len(layout.objects))] if names is None else list(names)
    shots = {shot.name: shot for shot in layout.shots}
    classes = layout.surroundings.classes
    make = partial(in_memory, classes=classes) if view_of is None else view_of
    return Scene(
        id=id_of(layout) if scene_id is None else scene_id,
        split=layout.split,
        source=layout.world,
        category=layout.category,
        views=tuple(make(shots[frame.view], frame) for frame in frames),
        objects=tuple(object_from(placed, name) for placed, name in zip(layout.objects, ids, strict=True)),
        sightings=tuple(
            s for frame in frames for s in posed(sightings(frame, ids), ids, layout, shots[frame.view], frame)
        ),
        relations=(
            *scene_relations(relations(layout), ids),
            *(r for frame in frames for r in view_relations(frame, ids, tolerance=tolerance)),
        ),
    )


def id_of(layout: Layout) -> str:
    """``geospa/train/0/00000007``: world, seed and index; sorts by index."""
    return f"{layout.world}/{layout.seed}/{layout.index:08d}"


def object_from(placed: Placed, name: str) -> Object:
    """A placed thing as an object: its category is the shape's, whatever the size.

    >>> mug = Placed("cube:small", "red", "metal", (0.0, 0.0, 0.0), math.pi / 2)
    >>> object_from(mug, "0").attributes["rotation"]
    '90.0'
    """
    shape, size = split_name(placed.shape)
    attributes = {
        "size": size,
        "color": placed.color,
        "material": placed.material,
        "rotation": repr(round(math.degrees(placed.yaw), 6) % 360.0),  # degrees
        "height": repr(round(solid(placed.shape).height, 9)),  # metres
    }
    if solid(placed.shape).front:  # its viewpoint is asked about
        attributes["symmetry"] = str(solid(placed.shape).symmetry)
    return Object(name, category_of(shape), attributes, tuple(placed.pose().ravel().tolist()), f"{shape}:{size}")


def bare_view(shot: Shot) -> View:
    """The view without pixels; one whose lens bends has no camera, for ours are straight."""
    bends = shot.sensor is not None and shot.sensor.distortion != 0.0
    return View(shot.name, size=shot.size, camera=None if bends else shot.camera)


def as_taken(shot: Shot, frame: Frame) -> Frame:
    """The view as the sensor of its shot takes it, JPEG included."""
    if shot.sensor is None:
        return frame
    seen, quality = taken(frame, shot.sensor), round(shot.sensor.jpeg)
    return replace(seen, image=Jpeg(quality).pixels(seen.image)) if quality and seen.image is not None else seen


def in_memory(shot: Shot, frame: Frame, classes: tuple[str, ...] = ()) -> View:
    """The view with the frame's pixels, kept as long as the view is; `classes` are those of its stuff map."""
    image = frame.image
    return replace(
        bare_view(shot),
        load_image=None if image is None else lambda: image,
        load_depth=lambda: frame.depth,
        load_ids=lambda: frame.ids,
        load_amodal=lambda: frame.amodal,
        load_normals=lambda: frame.normals,
        stuff_classes=classes,
        load_stuff=(lambda: frame.stuff) if classes else None,
    )


class SceneMaker:
    """Makes the scenes of one recipe: arranges, renders and stores them.

    Args:
        folder: The dataset's, where the meshes of the recipe lie.
        recipe: How scenes are made.
    """

    def __init__(self, folder: Path, recipe: DatasetRecipe) -> None:
        self.folder, self.recipe = folder, recipe

    def __reduce__(self) -> tuple[type[SceneMaker], tuple[Path, DatasetRecipe]]:
        return SceneMaker, (self.folder, self.recipe)  # a worker builds its own world and renderer

    @cached_property
    def world(self) -> World:
        """The world, made again from the recipe alone."""
        return world_from(self.recipe.world, located(self.folder, self.recipe.settings))

    @cached_property
    def renderer(self) -> FastRenderer | BlenderRenderer:
        """The back end that draws."""
        if self.recipe.renderer == "blender":
            return BlenderRenderer(**self.recipe.render)
        return FastRenderer(Settings(**self.recipe.render))

    def layout(self, index: int) -> Layout:
        """Arrange the scene of that index, before anything is drawn."""
        return arrange(self.world, self.recipe.seed, index)

    def frames(self, layouts: Iterable[Layout], views: Sequence[str]) -> Iterator[list[Frame]]:
        """Render those views of many layouts, one list a layout."""
        renderer, todo = self.renderer, list(layouts)
        if isinstance(renderer, BlenderRenderer):
            drawn = renderer.stream(todo, views)  # one process for all of them
        else:
            drawn = (renderer.frames(layout, views) for layout in todo)
        for layout, frames in zip(todo, drawn, strict=True):
            shots = {shot.name: shot for shot in layout.shots}
            yield [as_taken(shots[frame.view], frame) for frame in frames]

    def outline(self, layout: Layout, shot: Shot) -> Frame:
        """A view without a picture, as its sensor takes it."""
        return as_taken(shot, self.renderer.frame(layout, shot, shade=False))

    def scenes(self, start: int, stop: int, blobs: Blobs) -> Iterator[Scene]:
        """Make the scenes of a run of indices; their pixels go to disk as they come."""

        def view_of(shot: Shot, frame: Frame) -> View:
            return self._stored(shot, frame, blobs)

        layouts = [self.layout(index) for index in range(start, stop)]
        frames = self.frames(layouts, self.recipe.views) if self.recipe.image else self._outlines(layouts)
        before: tuple[Layout, Frame] | None = None
        for layout, rendered in zip(layouts, frames, strict=True):
            scene = scene_from(layout, rendered, tolerance=self.world.depth_tolerance, view_of=view_of)
            here = layout, rendered[0]
            if self.recipe.pairs and layout.index % 2 and layout.index > self.recipe.start:
                across = self._across(here, before or self._unshaded(layout.index - 1))
                scene = replace(scene, relations=(*scene.relations, *across))
            yield scene
            before = here

    def _unshaded(self, index: int) -> tuple[Layout, Frame]:
        """A scene and its first view without a picture: a partner that another shard holds."""
        layout = self.layout(index)
        shot = next(shot for shot in layout.shots if shot.name == self.recipe.views[0])
        return layout, self.outline(layout, shot)

    @staticmethod
    def _across(here: tuple[Layout, Frame], other: tuple[Layout, Frame]) -> tuple[Relation, ...]:
        """Depth across two scenes, in the first view of each."""
        (layout, frame), (partner, other_frame) = here, other
        names = [str(i) for i in range(len(layout.objects))]
        return across_relations(
            frame, _focal(layout, frame), names, other_frame, _focal(partner, other_frame), id_of(partner)
        )

    def _outlines(self, layouts: Iterable[Layout]) -> Iterator[list[Frame]]:
        """Frames without pictures, for truth alone."""
        for layout in layouts:
            shots = {shot.name: shot for shot in layout.shots}
            yield [self.outline(layout, shots[name]) for name in self.recipe.views]

    def _stored(self, shot: Shot, frame: Frame, blobs: Blobs) -> View:
        if self.recipe.image is None:
            return bare_view(shot)
        assert frame.image is not None
        image = blobs.put_array("image", frame.image, self.recipe.image)
        depth = None if self.recipe.depth is None else blobs.put_array("depth", frame.depth, self.recipe.depth)
        around = self.world.surroundings
        # What follows from ids and depth is not kept: a table under a sky.
        stuff = None if around == NOTHING_AROUND else blobs.put_array("stuff", frame.stuff)
        return replace(
            bare_view(shot),
            image_ref=image,
            load_image=blobs.loader("image", image),
            load_depth=blobs.loader("depth", depth),
            load_ids=blobs.loader("ids", blobs.put_array("ids", frame.ids)),
            stuff_classes=around.classes if stuff else (),
            load_stuff=blobs.loader("stuff", stuff),
        )

    def without(self, layout: Layout, gone: Sequence[int], scene_id: str) -> Scene:
        """Make the scene with objects taken away: truth at once, pictures when they are asked for.

        Pixels come as they would from the dataset: through the same lossy formats, if it has such.
        """
        reduced = layout.without(*gone)
        shots = [shot for name in self.recipe.views for shot in layout.shots if shot.name == name]
        frames = [self.outline(reduced, shot) for shot in shots]

        def view_of(shot: Shot, frame: Frame) -> View:
            depth, form = frame.depth, self.recipe.depth
            if self.recipe.image is None:
                return bare_view(shot)
            return replace(
                in_memory(shot, frame, reduced.surroundings.classes),
                load_image=CounterfactualLoader(self, layout, shot, tuple(gone)),
                load_depth=None if form is None else lambda: round_trip("depth", depth, form),
            )

        return scene_from(
            reduced,
            frames,
            tolerance=self.world.depth_tolerance,
            scene_id=f"{scene_id}/without/{'+'.join(map(str, gone))}",
            names=[str(i) for i in range(len(layout.objects)) if i not in gone],
            view_of=view_of,
        )


def _focal(layout: Layout, frame: Frame) -> float:
    """Focal length of a view, in widths of its picture."""
    shot = next(shot for shot in layout.shots if shot.name == frame.view)
    return shot.camera.k[0] / shot.size[0]


@lru_cache(maxsize=2)
def scene_maker(folder: Path, recipe: str) -> SceneMaker:
    """The maker of a stored recipe, given as JSON; kept, for scenes are asked for one by one."""
    return SceneMaker(folder, DatasetRecipe.from_dict(json.loads(recipe), folder))


@dataclass(frozen=True)
class CounterfactualLoader:
    """What a View calls for the picture of a scene with objects taken away; rendered at the first call."""

    maker: SceneMaker
    layout: Layout
    shot: Shot
    gone: tuple[int, ...]

    def __call__(self) -> NDArray[np.uint8]:
        """HWC uint8 RGB."""
        return self._pixels

    @cached_property
    def _pixels(self) -> NDArray[Any]:
        frame = self.maker.renderer.counterfactual(self.layout, self.shot, *self.gone)
        image = as_taken(self.shot, frame).image
        form = self.maker.recipe.image
        assert image is not None
        assert form is not None
        return round_trip("image", image, form)
