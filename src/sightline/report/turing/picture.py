"""A stream's picture as SVG: regions that led to objects, the labelled objects, and a small map of each region."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from typing import Final

from PIL import Image

from sightline.exams.turing.hues import Box, Hue
from sightline.report.contact.outlines import Loop
from sightline.report.contact.panel import free_corner
from sightline.report.turing.stage import Actor, Stage
from sightline.report.turing.transcript import Line, Transcript
from sightline.show.svg import GROUND, MUTED, RULE, document, element, hover, number, shorten, text_line, text_width

WIDTH: Final = 560.0
_TALLEST: Final = 620.0
_LONGEST: Final = 900
_DARK: Final = "#10141a"
_PLAIN: Final = "#f4f5f6"
"""Of an object found in the whole image: no region, so no colour of its own."""


def stage_svg(stage: Stage, transcript: Transcript) -> str:
    """The picture, or its boxes on a blank, with what the stream found drawn on it."""
    scale = min(WIDTH / stage.size[0], _TALLEST / stage.size[1])
    wide, high = stage.size[0] * scale, stage.size[1] * scale
    body = [element("rect", width=wide, height=high, fill=GROUND, stroke=RULE)]
    body += [_photo(stage, wide, high)] if stage.image is not None else [*_blank(stage, transcript, scale)]
    for box, hue in _led(transcript):
        body.append(_border(_scaled(stage.place(box), scale), hue))
    chips: list[tuple[Line, Actor, Hue | None]] = []
    for line in transcript.labelled:
        actor = stage.actor(line.object_id)
        if actor is not None and actor.box is not None:
            body.append(_outline(actor, scale, transcript.hue(line)))
            chips.append((line, actor, transcript.hue(line)))
    body += _chips(chips, scale, (round(wide), round(high)))
    if not stage.told:
        body.append(text_line(0, high + 15, "no picture; framed by the extent of its boxes", size=11, fill=MUTED))
    found = "; ".join(f"{line.label}: {actor.words}" for line, actor, _ in chips) or "no object labelled"
    title = f"{stage.scene_id}: regions and labelled objects"
    return document(wide, high + (0 if stage.told else 20), title, found, *body)


def region_map(region: Box, hue: Hue, shape: tuple[float, float]) -> str:
    """A thumbnail of the image's frame with one region filled, 30 units wide at most."""
    scale = min(30 / shape[0], 22 / shape[1])
    wide, high = shape[0] * scale, shape[1] * scale
    x0, y0, x1, y1 = (v * s for v, s in zip(region, (wide, high) * 2, strict=True))
    frame = element("rect", x=0.5, y=0.5, width=wide - 1, height=high - 1, fill="none", stroke=MUTED)
    dash = " ".join(number(v / 3) for v in hue.dash) or None
    filled = element(
        "rect",
        x=x0 + 1,
        y=y0 + 1,
        width=max(x1 - x0 - 2, 1.0),
        height=max(y1 - y0 - 2, 1.0),
        fill=hue.css,
        fill_opacity=0.35 if hue.dash else 0.85,
        stroke=hue.css,
        stroke_width=1.4,
        stroke_dasharray=dash,
    )
    told = f"{hue.name} region: {', '.join(f'{v:.2f}' for v in region)}"
    return element(
        "svg",
        element("title", told),
        frame,
        filled,
        viewBox=f"0 0 {number(wide)} {number(high)}",
        width=wide,
        height=high,
        role="img",
    )


def _led(transcript: Transcript) -> Iterator[tuple[Box, Hue]]:
    """Regions in which an object was labelled, large ones first so that small ones lie on top."""
    boxes = dict.fromkeys(line.region for line in transcript.labelled if line.region is not None)
    for box in sorted(boxes, key=lambda b: -(b[2] - b[0]) * (b[3] - b[1])):
        yield box, transcript.hues[box]


def _photo(stage: Stage, wide: float, high: float) -> str:
    assert stage.image is not None
    picture = Image.fromarray(stage.image)
    picture.thumbnail((_LONGEST, _LONGEST))
    buffer = io.BytesIO()
    picture.save(buffer, format="JPEG", quality=82, optimize=True)
    uri = "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
    return element("image", href=uri, width=wide, height=high, preserveAspectRatio="none")


def _blank(stage: Stage, transcript: Transcript, scale: float) -> Iterator[str]:
    """Every object's box with its name where there is room; the large ones lie below."""
    known = {line.object_id for line in transcript.labelled}
    seen = [(a, _scaled(a.box, scale)) for a in stage.actors if a.box is not None]
    for actor, box in sorted(seen, key=lambda pair: -_area(pair[1])):
        yield element(
            "rect",
            hover(actor.words),
            x=box[0],
            y=box[1],
            width=box[2] - box[0],
            height=box[3] - box[1],
            fill=MUTED,
            fill_opacity=0.07,
            stroke=MUTED,
            stroke_width=1.0,
            stroke_dasharray="3 3",
        )
    for actor, box in seen:
        name = shorten(actor.words, box[2] - box[0] - 6, 10)
        if actor.id not in known and len(name) > 3 and box[3] - box[1] > 14:
            yield text_line(box[0] + 4, box[3] - 5, name, size=10, fill=MUTED)


def _border(box: Box, hue: Hue) -> str:
    """A region's edge, kept inside the picture, on a white one so that it stands off any photo."""
    inset = 2.0
    place = {
        "x": box[0] + inset,
        "y": box[1] + inset,
        "width": box[2] - box[0] - 2 * inset,
        "height": box[3] - box[1] - 2 * inset,
        "fill": "none",
    }
    dash = " ".join(number(v) for v in hue.dash) or None
    under = element("rect", **place, stroke="#ffffff", stroke_width=5.0, stroke_opacity=0.65)
    over = element(
        "rect", hover(f"{hue.name} region"), **place, stroke=hue.css, stroke_width=2.6, stroke_dasharray=dash
    )
    return under + over


def _outline(actor: Actor, scale: float, hue: Hue | None) -> str:
    assert actor.box is not None
    colour = _PLAIN if hue is None else hue.css
    loops = actor.outline or (_corners(actor.box),)
    path = " ".join(_path(loop, scale) for loop in loops)
    under = element("path", d=path, fill="none", stroke=_DARK if hue is None else "#ffffff", stroke_width=4.2)
    return under + element(
        "path", hover(actor.words), d=path, fill=colour, fill_opacity=0.14, stroke=colour, stroke_width=2.0
    )


def _chips(chips: Sequence[tuple[Line, Actor, Hue | None]], scale: float, bounds: tuple[int, int]) -> Iterator[str]:
    """The labels, each at a free corner of its object; where there is none, in its middle."""
    taken: list[Box] = []
    for line, actor, hue in chips:
        assert actor.box is not None
        assert line.label is not None
        box = _scaled(actor.box, scale)
        wide, high = 1.12 * text_width(line.label, 12) + 12, 18.0  # bold letters are wider
        corner = free_corner(box, (wide, high), bounds, taken)
        x, y = corner or ((box[0] + box[2] - wide) / 2, (box[1] + box[3] - high) / 2)
        taken.append((x, y, x + wide, y + high))
        fill = _PLAIN if hue is None else hue.css
        light = hue is None or sum(hue.rgb) > 420
        yield element("rect", x=x, y=y, width=wide, height=high, rx=3.0, fill=fill, stroke="#ffffff")
        yield text_line(
            x + wide / 2,
            y + 13,
            line.label,
            size=12,
            fill=_DARK if light else "#ffffff",
            anchor="middle",
            bold=True,
        )


def _corners(box: Box) -> Sequence[tuple[float, float]]:
    x0, y0, x1, y1 = box
    return (x0, y0), (x1, y0), (x1, y1), (x0, y1)


def _path(loop: Loop | Sequence[tuple[float, float]], scale: float) -> str:
    return "M" + "L".join(f"{number(float(x) * scale)} {number(float(y) * scale)}" for x, y in loop) + "Z"


def _scaled(box: Box, scale: float) -> Box:
    return box[0] * scale, box[1] * scale, box[2] * scale, box[3] * scale


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
