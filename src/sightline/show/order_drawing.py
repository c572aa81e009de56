"""A photo whose objects stand in a depth order: boxes coloured from near to far, numbered, listed beneath."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.scenes import View
from sightline.show.drawing import box_shape, disc, picture, rimmed
from sightline.show.frame import DrawnObject, ImageFrame, Point, frame_of
from sightline.show.raster import png, ramp, raster
from sightline.show.sheet import ContactSheet, chosen_views, found_scenes, publish
from sightline.show.svg import MUTED, document, element, shorten, text_line
from sightline.store import Dataset
from sightline.store.selection import EVERYTHING, Selection

Orders = Callable[[View, NDArray[np.float64], Sequence[str]], Sequence[int]]
"""Levels of the objects of a view, 0 for the closest, from their boxes (n, 4) in fractions and n categories."""

_UNSIZED: Final = "the size of the image is unknown, so its boxes are taken to reach all over it"
_TALLEST: Final = 420.0
_MARGIN: Final = 16
_SHARP: Final = 2
_ROW: Final = 22.0
_NEAREST, _FARTHEST = 40, 180  # places on the depth ramp that letters can be read on


def order_sheet(
    data: Dataset,
    out: str | Path,
    order: Orders,
    *,
    title: str = "",
    scenes: int = 24,
    ids: Sequence[str] = (),
    split: str = "",
    views: Sequence[str] = (),
    width: int = 560,
    wanted: Selection = EVERYTHING,
) -> ContactSheet:
    """Draw the depth order of all objects of each view, a file a view: ``<name>``, ``<name>-2`` and so on.

    Args:
        data: Any dataset with boxes; crowds are left out.
        out: ``*.svg`` or ``*.png``.
        order: Says the levels of the objects of a view.
        title: What is shown.
        scenes: How many, from the first.
        ids: Show these scenes instead.
        split: Of one split only.
        views: Names of the views to show; by default all.
        width: Of a drawing, pixels.
        wanted: Which scenes by what is in them, and in which order; not with `ids`.

    Raises:
        ConfigError: For another file type or view.
        DataError: For a scene that does not exist, or where there is nothing to show.
    """
    path = Path(out)
    if path.suffix.lower() not in (".svg", ".png"):
        raise ConfigError(f"a depth order is drawn as a .svg or .png file, not {path.name!r}")
    found = found_scenes(data, ids, wanted, split)
    seen: list[ImageFrame] = []

    def drawings() -> Iterator[bytes]:
        for scene, view in chosen_views(data, found, None if ids else scenes, split, views):
            whole = frame_of(scene, view)
            objects = tuple(o for o in whole.objects if o.box is not None and "crowd" not in o.flags)
            frame = replace(whole, objects=objects)
            seen.append(frame)
            boxes = np.array([o.box for o in objects], dtype=np.float64).reshape(-1, 4) / (frame.size * 2)
            shown = replace(view.without_truth(), id=scene.id, units="normalised")
            level = order(shown, boxes.clip(0.0, 1.0), [o.category for o in objects]) if objects else []
            if path.suffix.lower() == ".svg":
                said = ": ".join(part for part in (title, scene.id) if part)
                yield order_drawing(frame, level, title=said, width=width).encode()
            else:
                yield _png(frame, level, width)

    written = publish(drawings(), path)
    notes = [note for frame in seen for note in frame.notes]
    notes += [f"{frame.scene}: {_UNSIZED}" for frame in seen if not (frame.sized or frame.fractions)]
    return ContactSheet(written, len({frame.scene for frame in seen}), len(seen), (("order",),), tuple(notes))


def order_drawing(frame: ImageFrame, level: Sequence[int], *, title: str = "", width: float = 560.0) -> str:
    """Draw an image and the depth order of its objects: SVG markup.

    Objects of one level share a number and a colour: they are said to be at the same depth.

    Args:
        frame: The image with its objects' boxes.
        level: Of each object, 0 for the closest.
        title: What is shown.
        width: Of the drawing.
    """
    body, height, rows = _drawn(frame, level, width)
    said = "; ".join(f"{place + 1}: {', '.join(names)}" for place, names in enumerate(rows))
    return document(width, height, title or "Depth order", said, body)


def _png(frame: ImageFrame, level: Sequence[int], width: float) -> bytes:
    """The drawing on white paper, two pixels to a unit."""
    body, height, _ = _drawn(frame, level, width)
    moved = element("g", body, transform=f"scale({_SHARP}) translate({_MARGIN} {_MARGIN})")
    size = [round((side + 2 * _MARGIN) * _SHARP) for side in (width, height)]
    return png(raster(moved, (size[0], size[1])))


def _drawn(frame: ImageFrame, level: Sequence[int], width: float) -> tuple[str, float, list[list[str]]]:
    """Markup, its height, and the names of every level."""
    scale = min(width / frame.size[0], _TALLEST / frame.size[1])
    left = (width - frame.size[0] * scale) / 2
    shown = frame.scaled(scale, left, 0.0)
    bounds = (left, 0.0, left + shown.size[0], shown.size[1])
    colours = _colours(max(level, default=0) + 1)
    body = [picture(shown, bounds)]
    seen = [(o, place) for o, place in zip(shown.objects, level, strict=True) if o.box is not None]
    for o, place in sorted(seen, key=lambda pair: -pair[1]):  # near boxes lie over far ones
        assert o.box is not None
        words = f"{place + 1}: {o.words}"
        body.append(rimmed("rect", box_shape(o.box), colours[place], 2.5, fill_opacity=0.12, title=words))
    taken: list[Point] = []
    for o, place in sorted(seen, key=lambda pair: _area(pair[0])):  # in a large box there is room to move
        body.append(disc(_spot(o, taken), str(place + 1), colours[place], o.words, bold=True))
    rows = [[o.words for o, own in seen if own == place] for place in range(len(colours))]
    top = shown.size[1] + 20
    body.append(text_line(0, top, "closest first; one number, one depth", size=11, fill=MUTED))
    for place, names in enumerate(rows):
        y = top + _ROW * (place + 1)
        body.append(disc((10, y - 4), str(place + 1), colours[place], "", bold=True))
        body.append(text_line(28, y, shorten(", ".join(names), width - 30, 12), size=12))
    return element("g", *body), top + _ROW * len(rows) + 12, rows


def _colours(levels: int) -> list[str]:
    """A colour for each level, along the depth ramp."""
    places = [round(place) for place in np.linspace(_NEAREST, _FARTHEST, levels)]
    return ["#{:02x}{:02x}{:02x}".format(*rgb) for rgb in ramp()[places].tolist()]


def _area(o: DrawnObject) -> float:
    x0, y0, x1, y1 = o.box or (0.0, 0.0, 0.0, 0.0)
    return (x1 - x0) * (y1 - y0)


def _spot(o: DrawnObject, taken: list[Point]) -> Point:
    """The middle of a box, moved down where another number stands there."""
    assert o.box is not None
    x0, y0, x1, y1 = o.box
    spot = ((x0 + x1) / 2, (y0 + y1) / 2)
    while any(abs(spot[0] - x) < 20 and abs(spot[1] - y) < 20 for x, y in taken) and spot[1] + 20 < y1:
        spot = (spot[0], spot[1] + 20)
    taken.append(spot)
    return spot
