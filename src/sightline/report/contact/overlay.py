"""The layers of one view as SVG, for a page where the reader turns them on and off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sightline.report.contact.canvas import Point, bent
from sightline.report.contact.colours import DARK, PALETTE, css, kind_colour
from sightline.report.contact.exhibit import Exhibit, Thing
from sightline.report.contact.outlines import Loop
from sightline.report.contact.panel import labels, scaled, spread
from sightline.show.svg import element, hover, number, text_line, text_width

_WIDTH = 480.0
"""Units across every drawing, whatever the picture's pixels, so that labels are of one size."""

_DARK = css(DARK)


def overlay(shown: Exhibit) -> str:
    """All layers, each a group with its name as class."""
    scale = _WIDTH / shown.size[0]
    height = shown.size[1] * scale
    bounds = (round(_WIDTH), round(height))
    things = [scaled(thing, scale) for thing in shown.things]
    spots = spread([thing.spot for thing in things], bounds, shown.links)
    layers = {
        "masks": "".join(map(_mask, things)),
        "amodal": "".join(map(_amodal, things)),
        "boxes": "".join(_boxes(things, bounds)),
        "relations": "".join(_arrows(shown, spots)),
        "ids": "".join(_dots(things, spots)),
    }
    groups = [element("g", marks, class_=name) for name, marks in layers.items() if marks]
    box = f"0 0 {number(_WIDTH)} {number(height)}"
    return element("svg", *groups, viewBox=box, aria_hidden="true") if groups else ""


def hatches() -> str:
    """One pattern a colour, to stand once on a page."""
    made = [
        element(
            "pattern",
            element("line", x1=0, y1=0, x2=0, y2=7, stroke=css(rgb), stroke_width=4),
            id=f"hatch{i}",
            width=6,
            height=6,
            patternUnits="userSpaceOnUse",
            patternTransform="rotate(45)",
        )
        for i, rgb in enumerate(PALETTE)
    ]
    return element("svg", element("defs", *made), width=0, height=0, class_="defs", aria_hidden="true")


def path(loops: Sequence[Loop]) -> str:
    """Closed polygons as the ``d`` of a path, to a tenth of a unit.

    >>> import numpy as np
    >>> path([np.array([(0, 0), (1.25, 0), (0, 2)])])
    'M0 0 1.2 0 0 2Z'
    """
    return "".join("M" + " ".join(f"{_tenth(x)} {_tenth(y)}" for x, y in loop.tolist()) + "Z" for loop in loops)


def _tenth(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _mask(thing: Thing) -> str:
    if not thing.visible:
        return ""
    ink = css(thing.colour)
    title = hover(f"{thing.tag} {thing.words}")
    return element(
        "path",
        title,
        d=path(thing.visible),
        fill=ink,
        fill_opacity=0.5,
        fill_rule="evenodd",
        stroke=ink,
        stroke_width=1.6,
        stroke_linejoin="round",
    )


def _amodal(thing: Thing) -> str:
    if not thing.amodal:
        return ""
    hidden = path((*thing.amodal, *thing.visible))  # the visible part lies inside: even-odd leaves it out
    pattern = f"url(#hatch{PALETTE.index(thing.colour)})"
    dashes = {"stroke": css(thing.colour), "stroke_width": 1.8, "stroke_dasharray": "6 4"}
    whole = element("path", d=path(thing.amodal), fill="none", **dashes)
    return element("path", d=hidden, fill=pattern, fill_rule="evenodd") + whole


def _boxes(things: Sequence[Thing], bounds: tuple[int, int]) -> Iterator[str]:
    for thing in things:
        if thing.box is not None:
            x0, y0, x1, y1 = thing.box
            frame = {"x": x0, "y": y0, "width": x1 - x0, "height": y1 - y0, "fill": "none"}
            yield element("rect", **frame, stroke=_DARK, stroke_width=3.4, stroke_opacity=0.7)
            yield element("rect", **frame, stroke=css(thing.colour), stroke_width=2.0)
    for thing, text, (x0, y0, x1, y1) in labels(things, bounds, _chip_size):
        chip = {"x": float(x0), "y": float(y0), "width": x1 - x0, "height": y1 - y0, "rx": 3}
        yield element("rect", **chip, fill=css(thing.colour))
        yield text_line((x0 + x1) / 2, y0 + 12, text, size=11.5, fill=_DARK, anchor="middle")


def _chip_size(text: str) -> Point:
    return text_width(text, 11.5) + 9, 16.0


def _arrows(shown: Exhibit, spots: Sequence[Point | None]) -> Iterator[str]:
    for link in shown.links:
        start, end = spots[link.subject], spots[link.object]
        curve = [] if start is None or end is None else bent(start, end, 0.12)
        if not curve:
            continue
        ink, (tail, tip) = css(kind_colour(link.predicate)), list(pairwise(curve))[-1]
        dx, dy = tip[0] - tail[0], tip[1] - tail[1]
        length = (dx * dx + dy * dy) ** 0.5
        ux, uy = 10 * dx / length, 10 * dy / length
        head = ((tip[0] - ux + uy / 2, tip[1] - uy - ux / 2), tip, (tip[0] - ux - uy / 2, tip[1] - uy + ux / 2))
        line, point = ("M" + " ".join(f"{x:.1f} {y:.1f}" for x, y in p) for p in (curve[:-2], head))
        for stroke, wide, width in ((_DARK, 5.0, 2.5), (ink, 2.4, 0.0)):
            yield element("path", d=line, fill="none", stroke=stroke, stroke_width=wide)
            yield element("path", d=point + "Z", fill=stroke, stroke=stroke, stroke_width=width)


def _dots(things: Sequence[Thing], spots: Sequence[Point | None]) -> Iterator[str]:
    for thing, spot in zip(things, spots, strict=True):
        if spot is not None:
            radius = max(9.0, text_width(thing.tag, 12) / 2 + 4)
            title = hover(f"{thing.tag} {thing.words}")
            place = {"cx": float(spot[0]), "cy": float(spot[1]), "r": radius}
            yield element("circle", title, **place, fill=css(thing.colour), stroke=_DARK, stroke_width=1.2)
            yield text_line(spot[0], spot[1] + 4.2, thing.tag, size=12, fill=_DARK, anchor="middle")
