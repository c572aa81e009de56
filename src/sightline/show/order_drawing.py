"""A photo whose objects stand in a depth order: boxes coloured from near to far, numbered, listed beneath."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from sightline.show.drawing import box_shape, disc, picture, rimmed
from sightline.show.frame import DrawnObject, ImageFrame, Point
from sightline.show.raster import ramp
from sightline.show.svg import MUTED, document, element, shorten, text_line

_TALLEST: Final = 420.0
_ROW: Final = 22.0
_NEAREST, _FARTHEST = 40, 180  # places on the depth ramp that letters can be read on


def order_drawing(frame: ImageFrame, level: Sequence[int], *, title: str = "", width: float = 560.0) -> str:
    """Draw an image and the depth order of its objects: SVG markup.

    Objects of one level share a number and a colour: they are said to be at the same depth.

    Args:
        frame: The image with its objects' boxes.
        level: Of each object, 0 for the closest.
        title: What is shown.
        width: Of the drawing.
    """
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
    for o, place in sorted(seen, key=lambda pair: pair[1]):
        body.append(disc(_spot(o, taken), str(place + 1), colours[place], o.words, bold=True))
    rows = [[o.words for o, own in seen if own == place] for place in range(len(colours))]
    top = shown.size[1] + 20
    body.append(text_line(0, top, "closest first; one number, one depth", size=11, fill=MUTED))
    for place, names in enumerate(rows):
        y = top + _ROW * (place + 1)
        body.append(disc((10, y - 4), str(place + 1), colours[place], "", bold=True))
        body.append(text_line(28, y, shorten(", ".join(names), width - 30, 12), size=12))
    said = "; ".join(f"{place + 1}: {', '.join(names)}" for place, names in enumerate(rows))
    return document(width, top + _ROW * len(rows) + 12, title or "Depth order", said, element("g", *body))


def _colours(levels: int) -> list[str]:
    """A colour for each level, along the depth ramp."""
    places = [round(place) for place in np.linspace(_NEAREST, _FARTHEST, levels)]
    return ["#{:02x}{:02x}{:02x}".format(*rgb) for rgb in ramp()[places].tolist()]


def _spot(o: DrawnObject, taken: list[Point]) -> Point:
    """The middle of a box, moved down where another number stands there."""
    assert o.box is not None
    x0, y0, x1, y1 = o.box
    spot = ((x0 + x1) / 2, (y0 + y1) / 2)
    while any(abs(spot[0] - x) < 20 and abs(spot[1] - y) < 20 for x, y in taken) and spot[1] + 20 < y1:
        spot = (spot[0], spot[1] + 20)
    taken.append(spot)
    return spot
