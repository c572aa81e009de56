"""A layout and its frames, told as a Scene."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sightline.render.frames import Frame
from sightline.render.truth import DEPTH_TOLERANCE, scene_relations, sightings, view_relations
from sightline.scenes import Object, Scene, View
from sightline.worlds import relations
from sightline.worlds.layout import Layout, Placed, Shot
from sightline.worlds.shapes import solid, split_name

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
    """The scene with everything that is true of it, seen in those frames.

    Args:
        layout: What stands where.
        frames: The views to keep, each named after a shot of the layout.
        tolerance: Of equal depth; see `render.truth`.
        scene_id: By default that of the layout's world, seed and index.
        names: Object ids; by default ``0``, ``1``…
        view_of: Makes a View of a shot and its frame; by default one that holds the pixels in memory.
    """
    called = [str(i) for i in range(len(layout.objects))] if names is None else list(names)
    shots = {shot.name: shot for shot in layout.shots}
    make = in_memory if view_of is None else view_of
    return Scene(
        id=id_of(layout) if scene_id is None else scene_id,
        split=layout.split,
        source=layout.world,
        views=tuple(make(shots[frame.view], frame) for frame in frames),
        objects=tuple(object_from(placed, name) for placed, name in zip(layout.objects, called, strict=True)),
        sightings=tuple(s for frame in frames for s in sightings(frame, called)),
        relations=(
            *scene_relations(relations(layout), called),
            *(r for frame in frames for r in view_relations(frame, called, tolerance=tolerance)),
        ),
    )


def id_of(layout: Layout) -> str:
    """``geospa/train/0/00000007``: world, seed and index; sorts by index."""
    return f"{layout.world}/{layout.seed}/{layout.index:08d}"


def object_from(placed: Placed, name: str) -> Object:
    """A placed thing as an object: its category is the shape's name, whatever the size.

    >>> mug = Placed("cube:small", "red", "metal", (0.0, 0.0, 0.0), math.pi / 2)
    >>> object_from(mug, "0").attributes["rotation"]
    '90.0'
    """
    shape, size = split_name(placed.shape)
    return Object(
        name,
        shape,
        {
            "size": size,
            "color": placed.color,
            "material": placed.material,
            "rotation": repr(round(math.degrees(placed.yaw), 6) % 360.0),  # degrees
            "height": repr(round(solid(placed.shape).height, 9)),  # metres
        },
        tuple(placed.pose().ravel().tolist()),
        f"{shape}:{size}",
    )


def bare_view(shot: Shot) -> View:
    """The view without pixels."""
    return View(shot.name, size=shot.size, camera=shot.camera)


def in_memory(shot: Shot, frame: Frame) -> View:
    """The view with the frame's pixels, kept as long as the view is."""
    image = frame.image
    return View(
        shot.name,
        size=shot.size,
        camera=shot.camera,
        load_image=None if image is None else lambda: image,
        load_depth=lambda: frame.depth,
        load_ids=lambda: frame.ids,
        load_amodal=lambda: frame.amodal,
        load_normals=lambda: frame.normals,
    )
