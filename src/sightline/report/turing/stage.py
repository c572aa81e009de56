"""The picture a stream is about: pixels where there are any, its objects, and what regions are fractions of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.turing.hues import Box
from sightline.report.contact.exhibit import exhibit
from sightline.report.contact.outlines import Loop
from sightline.scenes import Scene, View

_SQUARE: Final = (600.0, 600.0)
_LOOKS: Final = ("size", "color", "material")


@dataclass(frozen=True, slots=True, eq=False)
class Actor:
    """An object on the stage.

    Attributes:
        id: In the scene.
        words: What it is: ``small red metal cube``.
        box: In the stage's units; None where it is not seen.
        outline: Of what can be seen of it, same units; empty where no mask tells.
    """

    id: str
    words: str
    box: Box | None
    outline: tuple[Loop, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One image.

    Attributes:
        scene_id: The scene; `view` its view.
        size: (width, height) of the frame in the stage's own units: pixels, or what boxes are told in.
        reach: (width, height) that regions are fractions of, from the top left corner: the size where it was told,
            else the extent of the boxes.
        told: Whether the source told the image's size.
        actors: All objects.
        image: HWC uint8, or None.
    """

    scene_id: str
    view: str
    size: tuple[float, float]
    reach: tuple[float, float]
    told: bool
    actors: tuple[Actor, ...]
    image: NDArray[np.uint8] | None = field(default=None, repr=False)

    def place(self, region: Box) -> Box:
        """A region in the stage's units."""
        wide, high = self.reach
        return region[0] * wide, region[1] * high, region[2] * wide, region[3] * high

    def actor(self, object_id: str | None) -> Actor | None:
        """The object of that id, if there is one."""
        return next((a for a in self.actors if a.id == object_id), None)


def stage(scene: Scene, view: str | None = None) -> Stage:
    """Gather what is to be drawn of a scene.

    Args:
        scene: The scene with its sightings.
        view: Id of the view; by default the first.
    """
    shown = scene.views[0] if view is None else scene.view(view)
    reach = _extent(scene, shown)
    told = exhibit(scene, shown, depth=False)
    if not told.sized:
        return Stage(scene.id, shown.id, reach, reach, False, _from_boxes(scene, shown))
    size = (float(told.size[0]), float(told.size[1]))
    ids = [thing.id for thing in scene.objects]
    actors = tuple(Actor(name, t.words, t.box, t.visible) for name, t in zip(ids, told.things, strict=True))
    return Stage(scene.id, shown.id, size, size, True, actors, told.image)


def _extent(scene: Scene, view: View) -> tuple[float, float]:
    """How far the boxes reach; boxes in fractions of the image reach over all of it."""
    boxes = [s.box for s in scene.seen_in(view.id)]
    if view.units == "normalised":
        return 1.0, 1.0
    return (max(b[2] for b in boxes), max(b[3] for b in boxes)) if boxes else _SQUARE


def _from_boxes(scene: Scene, view: View) -> tuple[Actor, ...]:
    seen = {s.object_id: s.box for s in scene.seen_in(view.id)}
    named = ((o, [o.attributes[key] for key in _LOOKS if key in o.attributes]) for o in scene.objects)
    return tuple(
        Actor(o.id, " ".join([*looks, o.category]).replace("_", " "), seen.get(o.id)) for o, looks in named
    )
