"""Pictures of viewpoints: which way an object's front points, and where a model says it does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sightline.geometry.viewpoints import Floats, rotations
from sightline.scenes import Landmark, Scene, View
from sightline.show.drawing import DARK, WHITE, chip, path, picture, rimmed
from sightline.show.frame import Box, ImageFrame, Point, frame_of_boxes
from sightline.show.outlines import Loop, outlines
from sightline.show.svg import INK, MUTED, RULE, document, element, line, text_line

TRUE, SAID = "#2f9e5b", "#d9480f"
"""Colours of how an object stands, and of how a model says it does."""
SEEN, HIDDEN = "#ffd43b", "#868e96"
"""Colours of landmarks that are seen, and of those that are not."""
Outlines = tuple[Sequence[Loop], Sequence[Loop]]
"""Of a CAD model as it stands, and as somebody says."""
_WIDE: Final = 560.0
_DIAL: Final = 118.0
_AXES: Final = np.array([(0.0, -1.0, 0.0), (0.0, 0.0, 1.0)])
"""Front and top of an object in its own frame."""


@dataclass(frozen=True)
class DrawnView:
    """An object with its viewpoints.

    Attributes:
        label: What it is called.
        box: xyxy in fractions of the image, or in pixels of a picture whose size nobody told.
        truth: Azimuth, elevation, theta, degrees; NaN where unknown.
        answer: The same as a model says; NaN where it does not.
        words: What became of it.
        landmarks: Named points in pixels.
        outlines: Of its CAD model in pixels: as it stands, and as the model says it does; empty for none.
    """

    label: str
    box: Box
    truth: Floats
    answer: Floats
    words: str = ""
    landmarks: tuple[Landmark, ...] = ()
    outlines: Outlines = ((), ())


def view_frame(objects: Sequence[DrawnView], size: tuple[int, int] | None, image: object = None) -> ImageFrame:
    """A frame of the objects' boxes; without a size, of the extent of the boxes."""
    boxes = [one.box for one in objects]
    if size is None and boxes and max(map(max, boxes)) > 1.0:
        size = (int(max(b[2] for b in boxes)) + 8, int(max(b[3] for b in boxes)) + 8)
        boxes = [(b[0] / size[0], b[1] / size[1], b[2] / size[0], b[3] / size[1]) for b in boxes]
    return frame_of_boxes(boxes, [one.label for one in objects], size, image)  # type: ignore[arg-type]


def view_drawing(frame: ImageFrame, objects: Sequence[DrawnView], *, title: str = "Viewpoints") -> str:
    """Draw a picture with each object's box and the way it faces, then a dial seen from above for each object.

    Args:
        frame: The picture with the objects' boxes, in their order.
        objects: What is known and said of them.
        title: What is shown.
    """
    scale = _WIDE / frame.size[0]
    drawn = frame.scaled(scale)
    body = [picture(drawn, (0.0, 0.0, *drawn.size))]
    for i, (shown, one) in enumerate(zip(drawn.objects, objects, strict=True), start=1):
        if shown.box is not None:
            body += _overlay(shown.box, one, i, scale)
    y = drawn.size[1] + 10
    columns = int(_WIDE // _DIAL)
    for i, one in enumerate(objects):
        body += _dial(one, i + 1, (i % columns) * _DIAL, y + (i // columns) * (_DIAL + 26))
    rows = -(-len(objects) // columns)
    said = "; ".join(f"{one.label}: {_degrees(one.truth)}, said {_degrees(one.answer)}" for one in objects)
    return document(_WIDE, y + rows * (_DIAL + 26) + 4, title, said, *body)


def _overlay(box: Box, one: DrawnView, number: int, scale: float) -> Iterator[str]:
    x0, y0, x1, y1 = box
    shape = {"x": x0, "y": y0, "width": x1 - x0, "height": y1 - y0}
    yield rimmed("rect", shape, WHITE, 1.6, DARK, 3.2, rim_opacity=0.5)
    for loops, colour in zip(one.outlines, (TRUE, SAID), strict=True):
        drawn = path(loop * scale for loop in loops)
        if drawn:
            wash = {"fill": colour, "fill_opacity": 0.14, "fill_rule": "evenodd"}
            yield element("path", d=drawn, **wash, stroke=colour, stroke_width=1.4)
    thick = min(1.0, max(0.4, max(x1 - x0, y1 - y0) / 120))  # marks do not hide a small object
    for mark in one.landmarks:
        if mark.x is not None and mark.y is not None:
            fill = SEEN if mark.state == "visible" else HIDDEN
            spot = {"cx": mark.x * scale, "cy": mark.y * scale, "r": 3.0 * thick}
            yield element("circle", **spot, fill=fill, stroke=DARK, stroke_width=0.8 * thick)
    middle = (x0 + x1) / 2, (y0 + y1) / 2
    for angles, colour in ((one.truth, TRUE), (one.answer, SAID)):
        if np.isfinite(angles).all():
            yield from _facing(middle, angles, 0.62 * max(x1 - x0, y1 - y0), colour, thick)
    yield chip((x0, max(y0 - 17, 0.0)), f"{number} {one.label}", WHITE)


def _facing(middle: Point, angles: Floats, reach: float, colour: str, thick: float) -> Iterator[str]:
    """An arrow to the object's front and a thin line to its top, as the camera sees them."""
    front, top = (_AXES @ rotations(*angles).T)[:, :2] * reach
    for (dx, dy), wide in ((0.6 * top, 2.0 * thick), (front, 3.6 * thick)):
        end = middle[0] + dx, middle[1] + dy
        yield line(
            *middle, *end, stroke=WHITE, width=wide + 2.4 * thick, stroke_linecap="round", stroke_opacity=0.75
        )
        yield line(*middle, *end, stroke=colour, width=wide, stroke_linecap="round")
    length = math.hypot(*front)
    if length > 8:
        ux, uy = front / length
        tip = middle[0] + front[0], middle[1] + front[1]
        long, half = 12 * thick, 6 * thick
        sides = [(tip[0] - long * ux - s * half * uy, tip[1] - long * uy + s * half * ux) for s in (1, -1)]
        head = " ".join(f"{x:.1f},{y:.1f}" for x, y in ((tip[0] + 3 * ux, tip[1] + 3 * uy), *sides))
        yield element("polygon", points=head, fill=colour, stroke=WHITE, stroke_width=1.2)


def _dial(one: DrawnView, number: int, x: float, y: float) -> Iterator[str]:
    """A dial seen from above: where the camera stands, the front of the object below."""
    r = _DIAL / 2 - 18
    cx, cy = x + _DIAL / 2, y + r + 16
    yield text_line(cx, y + 9, f"{number} {one.label}", size=11, anchor="middle", bold=True)
    yield element("circle", cx=cx, cy=cy, r=r, fill="none", stroke=RULE, stroke_width=1.2)
    body = {"x": cx - 6, "y": cy - 11, "width": 12.0, "height": 22.0, "rx": 2, "fill": RULE}
    yield element("rect", **body)
    yield line(cx - 6, cy + 11, cx + 6, cy + 11, stroke=INK, width=3)  # its front
    for angles, colour, wide in ((one.answer, SAID, 5.0), (one.truth, TRUE, 5.5)):
        if np.isfinite(angles[0]):
            a = math.radians(angles[0])
            end = cx + r * math.sin(a), cy + r * math.cos(a)
            yield line(cx + 14 * math.sin(a), cy + 14 * math.cos(a), *end, stroke=colour, width=2.2)
            yield element("circle", cx=end[0], cy=end[1], r=wide, fill=colour, stroke=WHITE, stroke_width=1)
    yield text_line(cx, cy + r + 18, one.words, size=10.5, fill=MUTED, anchor="middle")


def _degrees(angles: Floats) -> str:
    return "nothing" if np.isnan(angles[0]) else ", ".join(f"{a:.0f}°" for a in angles)


def pose_outlines(scene: Scene, view: View, azimuths: Mapping[str, float]) -> dict[str, Outlines]:
    """Object → outlines in pixels of its model in the true pose, and with the azimuth that was said, if any."""
    from sightline.render.pose_masks import PosedObject, cad_shape, posed_objects, said_objects, silhouette

    def traced(one: PosedObject) -> list[Loop]:
        return outlines(silhouette(cad_shape(one.shape), one.viewpoint, view.require_size()) > 0)

    objects = posed_objects(scene, view)
    said = {one.id: traced(one) for one in said_objects(objects, azimuths)}
    return {one.id: (traced(one), said.get(one.id, [])) for one in objects}
