"""Open a dataset of any known format; generated ones with their counterfactuals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.scenes import Object, Scene, View
from sightline.store import Dataset, open_dataset

if TYPE_CHECKING:
    from sightline.generation.scene import SceneMaker
    from sightline.render.frames import Frame
    from sightline.worlds.layout import Layout

KIND = "world"
_TOLERANCE = 1e-6  # metres and cosines: another machine's sine may differ in the last digit


def open_any(path: str | Path, *, allow_outside: bool = False) -> Dataset:
    """Open a Sightline dataset, or read a file or folder of a known format into memory.

    Nothing is written. An outside format is read and checked as a whole, so `sightline import` pays off for
    anything large or opened often. Scenes of a generated dataset can be had without any of their objects
    (`Scene.without`), and their views have normals and stuff maps (`View.normals`, `View.stuff`); all are
    made when asked for.

    Args:
        path: The file or folder.
        allow_outside: Its pictures may lie outside the folder, by absolute paths or links; refused otherwise.
    """
    opened = open_dataset(path, allow_outside=allow_outside)
    return opened.completed_by(Remaker(opened.path, json.dumps(opened.recipe))) if is_generated(opened) else opened


def is_generated(data: Dataset) -> bool:
    """Whether the scenes of a dataset can be made again: it was generated here from a world."""
    return data.recipe is not None and data.recipe.get("kind") == KIND


def own_shapes(data: Dataset) -> tuple[str, ...]:
    """Make the meshes that a generated dataset carries known to `worlds.shapes.solid`; their names."""
    from sightline.generation.scene import scene_maker

    if not is_generated(data) or not (data.recipe or {}).get("settings", {}).get("meshes"):
        return ()
    return tuple(scene_maker(data.path, json.dumps(data.recipe)).world.settings["meshes"])


@dataclass(frozen=True)
class Remaker:
    """Makes scenes of a generated dataset again: with objects taken away, or for what is not on disk.

    Attributes:
        folder: The dataset.
        recipe: Its recipe, as JSON.
    """

    folder: Path
    recipe: str

    def __call__(self, scene: Scene) -> Scene:
        """The scene with loaders for what can be made again."""
        views = tuple(self._completed(scene, view) for view in scene.views)
        return replace(scene, views=views, load_without=partial(self.without, scene))

    def _completed(self, scene: Scene, view: View) -> View:
        from sightline.worlds.surroundings import SKY, TABLE

        view = replace(view, load_normals=partial(self.normals, scene, view.id))
        if view.load_stuff is not None:
            return view
        # A world without a ground of its own: sky and table follow from the geometry, and no dataset keeps them.
        load_stuff = partial(self.stuff, scene, view.id)
        load_stuff.ref = None  # type: ignore[attr-defined]
        return replace(view, stuff_classes=(SKY, TABLE), load_stuff=load_stuff)

    def without(self, scene: Scene, object_ids: Sequence[str]) -> Scene:
        """The scene without the objects; a DataError where it cannot be made again as it was."""
        maker, layout = self._remade(scene)
        gone = [i for i, thing in enumerate(scene.objects) if thing.id in object_ids]
        made = maker.without(layout, gone, scene.id)
        return replace(made, load_without=partial(self._without_more, scene, tuple(object_ids)))

    def _without_more(self, scene: Scene, gone: Sequence[str], more: Sequence[str]) -> Scene:
        """The scene without objects that are gone already, and without more."""
        return self.without(scene, (*gone, *more))

    def normals(self, scene: Scene, view_id: str) -> NDArray[np.float32]:
        """The normals of a view; a DataError where the scene cannot be made again as it was."""
        return self._frame(scene, view_id).normals

    def stuff(self, scene: Scene, view_id: str) -> NDArray[np.uint8]:
        """The stuff map of a view; a DataError where the scene cannot be made again as it was."""
        return self._frame(scene, view_id).stuff

    def _frame(self, scene: Scene, view_id: str) -> Frame:
        """Draw a view's geometry again; a DataError where the scene cannot be made again as it was."""
        maker, layout = self._remade(scene)
        shot = next(shot for shot in layout.shots if shot.name == view_id)
        return maker.outline(layout, shot)

    def _remade(self, scene: Scene) -> tuple[SceneMaker, Layout]:
        from sightline.generation.scene import scene_maker

        maker = scene_maker(self.folder, self.recipe)
        layout = maker.layout(int(scene.id.rpartition("/")[2]))
        _refuse_changed(self.folder, scene, layout)
        return maker, layout


def _refuse_changed(folder: Path, scene: Scene, layout: Layout) -> None:
    from sightline.generation.scene import object_from

    remade = [object_from(placed, str(i)) for i, placed in enumerate(layout.objects)]
    if len(remade) != len(scene.objects) or not all(map(_alike, remade, scene.objects)):
        problem = "the scene comes out differently now: it was made by another version, or changed since"
        raise DataError(problem, file=folder, row=scene.id)


def _alike(remade: Object, stored: Object) -> bool:
    looks = ("size", "color", "material")
    near = zip(remade.pose or (), stored.pose or (), strict=True) if stored.pose else [(0.0, 1.0)]
    return (
        (remade.id, remade.category, remade.shape) == (stored.id, stored.category, stored.shape)
        and all(remade.attributes[key] == stored.attributes.get(key) for key in looks)
        and all(abs(a - b) <= _TOLERANCE for a, b in near)
    )
