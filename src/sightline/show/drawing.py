"""Drawings of one image as SVG: its picture and what is laid over it.

Every function returns markup in the units of the frame it is given (`ImageFrame.scaled` sets them), so that pages,
contact sheets and PNG files show the same marks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from sightline.show.frame import Arrow, Box, DrawnObject, ImageFrame, Point, StuffRegion
from sightline.show.outlines import Loop
from sightline.show.raster import data_uri, ramp
from sightline.show.svg import GROUND, MUTED, RULE, element, hover, number, rect, text_line, text_width

LAYERS: Final = {
    "boxes": "boxes",
    "masks": "visible masks",
    "amodal": "hidden parts",
    "depth": "depth",
    "stuff": "ground, walls and sky",
    "relations": "relations",
    "ids": "ids",
    "none": "picture",
}
"""What can be laid over a picture, and its words; ``none`` is the picture alone."""

CROWDED: Final = 0.08
"""Share of a picture that labels of its boxes may cover; beyond it they are short, or wait for the pointer."""

DARK: Final = "#101419"
WHITE: Final = "#ffffff"


def layers(frame: ImageFrame, names: Collection[str] = LAYERS, *, live: bool = False) -> dict[str, str]:
    """Draw the named layers but depth: name → marks, in the order they lie on each other, without empty ones.

    Where the boxes are `crowded` their labels are short.

    Args:
        frame: The view.
        names: Which layers.
        live: For a page: marks of an object carry its place among the objects as ``data-n``, its label as
            ``data-label``; small boxes lie on large ones, so that a pointer reaches each, and in a crowd every box
            has its whole label, which the page shows when the box is pointed at.
    """
    bounds = (0.0, 0.0, *frame.size)
    spots = spread([o.spot for o in frame.objects], bounds, frame.arrows)
    draw: dict[str, Callable[[], Iterable[str]]] = {
        "stuff": lambda: _stuff(frame.stuff, frame.size),
        "masks": lambda: map(_mask, range(len(frame.objects)), frame.objects),
        "amodal": lambda: map(_amodal, frame.objects),
        "boxes": lambda: _boxes(frame, bounds, live=live),
        "relations": lambda: _arrow_marks(frame.arrows, spots),
        "ids": lambda: _discs(frame.objects, spots),
    }
    made = {name: "".join(marks()) for name, marks in draw.items() if name in names}
    return {name: marks for name, marks in made.items() if marks}


def crowded(frame: ImageFrame) -> bool:
    """Whether the labels of a frame's boxes, at the size they are drawn, would cover more than `CROWDED` of it."""
    sizes = [chip_size(_label(o)) for o in frame.objects if o.box is not None]
    return sum(wide * high for wide, high in sizes) > CROWDED * frame.size[0] * frame.size[1]


def ramp_stops() -> list[str]:
    """Six colours of the depth ramp, near to far."""
    return ["#{:02x}{:02x}{:02x}".format(*rgb) for rgb in ramp()[:: 254 // 5].tolist()][:6]


def picture(frame: ImageFrame, place: Box, *, longest: int = 640) -> str:
    """Draw a frame's pixels, at most `longest` of them on the longer side, or blank ground, at a place."""
    spot = box_shape(place)
    ground = element("rect", **spot, fill=GROUND, stroke=RULE)
    if frame.image is None:
        return ground
    uri = data_uri(frame.image, longest=longest)
    return ground + element("image", href=uri, **spot, preserveAspectRatio="none")


def rimmed(
    name: str,
    shape: Mapping[str, object],
    colour: str,
    width: float,
    rim: str | None = WHITE,
    rim_width: float = 5.0,
    *,
    rim_opacity: float = 0.7,
    fill_opacity: float = 0.0,
    dash: str | None = None,
    title: str = "",
) -> str:
    """An element of that shape, filled and stroked in a colour, on a wider rim that stands off any photo."""
    edge = {"fill": "none", "stroke_linejoin": "round"}
    under = element(name, **shape, **edge, stroke=rim, stroke_width=rim_width, stroke_opacity=rim_opacity)
    if fill_opacity:
        edge |= {"fill": colour, "fill_opacity": number(fill_opacity)}
    words = [hover(title)] if title else []
    over = element(name, *words, **shape, **edge, stroke=colour, stroke_width=width, stroke_dasharray=dash)
    return (under if rim else "") + over


def box_shape(box: Box, inset: float = 0.0) -> dict[str, float]:
    """A box as attributes of a rect."""
    x0, y0, x1, y1 = box
    return {"x": x0 + inset, "y": y0 + inset, "width": x1 - x0 - 2 * inset, "height": y1 - y0 - 2 * inset}


def path(loops: Iterable[Loop | Sequence[Point]]) -> str:
    """Closed polygons as the ``d`` of a path, to a tenth of a unit.

    >>> path([[(0, 0), (1.25, 0), (0, 2)]])
    'M0 0 1.2 0 0 2Z'
    """
    return "".join("M" + " ".join(f"{_tenth(x)} {_tenth(y)}" for x, y in loop) + "Z" for loop in loops)


def _tenth(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def chip(
    corner: Point,
    text: str,
    fill: str,
    *,
    ink: str = DARK,
    size: float = 12.0,
    bold: bool = False,
    edge: str | None = None,
) -> str:
    """A short text on a filled label with its top left corner at a place."""
    (x, y), (wide, high) = corner, chip_size(text, size, bold=bold)
    ground = rect(x, y, wide, high, rx=3, fill=fill, stroke=edge)
    baseline = y + high / 2 + 0.36 * size
    return ground + text_line(x + wide / 2, baseline, text, size=size, fill=ink, anchor="middle", bold=bold)


def chip_size(text: str, size: float = 12.0, *, bold: bool = False) -> Point:
    """(width, height) of a chip; bold letters are wider."""
    return text_width(text, size) * (1.12 if bold else 1.0) + 9, size + 4.5


def disc(spot: Point, text: str, fill: str, title: str, *, bold: bool = False, hidden: bool = False) -> str:
    """A disc with a short text; faint with a dashed edge for what is hidden."""
    x, y = spot
    faint = {"fill_opacity": 0.55, "stroke_dasharray": "3 2"} if hidden else {}
    radius = max(9.5, text_width(text, 12) / 2 + 4)
    edge = {"fill": fill, "stroke": DARK, "stroke_width": 1.2, **faint}
    circle = element("circle", hover(title), cx=float(x), cy=float(y), r=radius, **edge)
    return circle + text_line(x, y + 4.3, text, size=12, fill=DARK, anchor="middle", bold=bold)


def free_corner(box: Box, size: Point, bounds: Box, taken: Sequence[Box]) -> Point | None:
    """Find the first corner, over, under or in a box, where something of that size hides nothing; None without one.

    >>> free_corner((10, 30, 60, 60), (20, 10), (0, 0, 100, 100), [])
    (9, 20)
    """
    wide, high = size
    x0, y0, x1, y1 = box
    places = [(x, y) for y in (y0 - high, y1, y0, y1 - high) for x in (x0 - 1, x1 + 1 - wide)]
    for left, y in places:
        x = min(max(left, bounds[0]), bounds[2] - wide)
        inside = x >= bounds[0] and bounds[1] <= y <= bounds[3] - high
        if inside and not any(x < t[2] and t[0] < x + wide and y < t[3] and t[1] < y + high for t in taken):
            return x, y
    return None


def take_corner(box: Box, size: Point, bounds: Box, taken: list[Box]) -> Point:
    """A `free_corner`, or where there is none the middle of the box, inside; it is `taken` from then on."""
    middle = [max(bounds[k], min((box[k] + box[k + 2] - size[k]) / 2, bounds[k + 2] - size[k])) for k in (0, 1)]
    x, y = free_corner(box, size, bounds, taken) or middle
    taken.append((x, y, x + size[0], y + size[1]))
    return x, y


def spread(
    spots: Sequence[Point | None], bounds: Box, arrows: Iterable[Arrow] = (), *, apart: float = 23.0
) -> list[Point | None]:
    """Push spots off each other until discs on them do not overlap, and into the picture.

    Between those an arrow joins there is room for it: twice as much.

    >>> spread([(50, 50), (54, 50), None], (0, 0, 100, 100))
    [(40.5, 50.0), (63.5, 50.0), None]
    """
    places = {i: [*spot] for i, spot in enumerate(spots) if spot is not None}
    joined = {frozenset((arrow.subject, arrow.object)) for arrow in arrows}
    pairs = [(a, b, apart * (2 if frozenset((a, b)) in joined else 1)) for a, b in combinations(places, 2)]
    for _ in range(40):
        moved = [_push(places[a], places[b], room) for a, b, room in pairs]
        for p in places.values():
            p[0], p[1] = (min(max(p[k], bounds[k] + 12.0), bounds[k + 2] - 12.0) for k in (0, 1))
        if not any(moved):
            break
    return [(places[i][0], places[i][1]) if i in places else None for i in range(len(spots))]


def _push(a: list[float], b: list[float], room: float) -> bool:
    """Move two points apart until there is room between them; whether they had to move."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    gap = math.hypot(dx, dy)
    if gap >= room - 1e-6:
        return False
    dx, dy = (dx / gap, dy / gap) if gap > 1e-6 else (0.0, 1.0)
    push = (room - gap) / 2
    a[0], a[1], b[0], b[1] = a[0] - dx * push, a[1] - dy * push, b[0] + dx * push, b[1] + dy * push
    return True


def bent(start: Point, end: Point, bend: float, *, clear: float = 12.0) -> list[Point]:
    """Points of an arc from start to end that keeps `clear` units off both; empty where they are too close."""
    (x0, y0), (x1, y1) = start, end
    long = math.hypot(x1 - x0, y1 - y0)
    if long < 2 * clear + 6:
        return []
    middle = ((x0 + x1) / 2 - bend * (y1 - y0), (y0 + y1) / 2 + bend * (x1 - x0))
    shares = [clear / long + k / 23 * (1 - 2 * clear / long) for k in range(24)]
    weights = [((1 - t) ** 2, 2 * t * (1 - t), t * t) for t in shares]
    return [(a * x0 + b * middle[0] + c * x1, a * y0 + b * middle[1] + c * y1) for a, b, c in weights]


def scale_bar(span: Point, size: Point) -> str:
    """Near and far in metres with the ramp between, at the foot of a picture; empty where there is no room."""
    wide, high = min(170.0, size[0] - 24), 8.0
    if wide < 40 or size[1] < 40:
        return ""
    left, top = 12.0, size[1] - 22
    ground = rect(left - 6, top - 19, wide + 12, high + 25, rx=5, fill=WHITE)
    stops = [element("stop", offset=k / 5, stop_color=colour) for k, colour in enumerate(ramp_stops())]
    bar = element("linearGradient", *stops, id="ramp")
    bar += rect(left, top, wide, high, fill="url(#ramp)")
    near = text_line(left, top - 5, f"near {span[0]:.1f} m", size=11, fill=MUTED)
    far = text_line(left + wide, top - 5, f"far {span[1]:.1f} m", size=11, fill=MUTED, anchor="end")
    return ground + bar + near + far


def _stuff(regions: Sequence[StuffRegion], size: Point) -> Iterator[str]:
    """Regions in the colours of their classes, and at the top left the names of the classes on their colours."""
    for region in regions:
        wash = {"fill": region.colour, "fill_opacity": 0.6, "fill_rule": "evenodd"}
        yield element("path", hover(region.category), d=path(region.outline), **wash)
    x, y = 6.0, 6.0
    for region in regions:
        text = region.category.replace("_", " ")
        wide, high = chip_size(text)
        if x > 6.0 and x + wide > size[0] - 6:
            x, y = 6.0, y + high + 3
        yield chip((x, y), text, region.colour, edge=DARK)
        x += wide + 4


def _mask(number: int, o: DrawnObject) -> str:
    if not o.visible:
        return ""
    wash = {"fill": o.colour, "fill_opacity": 0.5, "fill_rule": "evenodd"}
    edge = {"stroke": o.colour, "stroke_width": 1.7, "stroke_linejoin": "round"}
    return element("path", hover(f"{o.tag} {o.words}"), d=path(o.visible), **wash, **edge, data_n=number)


def _amodal(o: DrawnObject) -> str:
    """What is hidden, hatched, and the whole outline dashed."""
    if not o.amodal:
        return ""
    lines = hatch((*o.amodal, *o.visible))  # the visible part lies inside: even-odd leaves it out
    hatched = element("path", d=lines, fill="none", stroke=o.colour, stroke_width=2.0) if lines else ""
    dashes = {"stroke": o.colour, "stroke_width": 1.8, "stroke_dasharray": "6 4"}
    return hatched + element("path", d=path(o.amodal), fill="none", **dashes)


def hatch(loops: Sequence[Loop], gap: float = 5.5) -> str:
    """Slanting lines, `gap` units apart, over what loops enclose by the even-odd rule, as the ``d`` of a path.

    >>> import numpy as np
    >>> hatch([np.array([(1.0, 1), (5, 1), (5, 5), (1, 5)])], gap=4 / 2**0.5)
    'M1 3 3 1M3 5 5 3'
    """
    start, end = np.vstack(loops), np.vstack([np.roll(loop, -1, axis=0) for loop in loops])
    step = gap * 2**0.5  # a line is where x + y is a whole number of steps
    first, last = start.sum(axis=1) / step, end.sum(axis=1) / step
    low, high = np.ceil(np.minimum(first, last)), np.ceil(np.maximum(first, last))
    counts = (high - low).astype(int)
    edge = np.repeat(np.arange(len(start)), counts)
    line = low[edge] + np.arange(len(edge)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = (line - first[edge]) / (last - first)[edge]
    points = start[edge] + share[:, None] * (end - start)[edge]
    ends = points[np.lexsort((points[:, 0], line))].tolist()  # in pairs: in and out again
    return "".join(
        f"M{_tenth(x0)} {_tenth(y0)} {_tenth(x1)} {_tenth(y1)}"
        for (x0, y0), (x1, y1) in zip(ends[::2], ends[1::2], strict=True)
    )


def _label(o: DrawnObject) -> str:
    return f"{o.tag} {o.category.replace('_', ' ')}"


def _boxes(frame: ImageFrame, bounds: Box, *, live: bool) -> Iterator[str]:
    """Boxes, then their labels: tag and category, or the tag alone, or none without room; none lies on another."""
    seen = [(i, o, o.box) for i, o in enumerate(frame.objects) if o.box is not None]
    crowd = crowded(frame)
    if live:
        seen.sort(key=lambda one: (one[2][0] - one[2][2]) * (one[2][3] - one[2][1]))
    for i, o, box in seen:
        drawn = rimmed("rect", box_shape(box), o.colour, 2.0, DARK, 3.4)
        yield element("g", drawn, data_n=i) if live else drawn
    taken: list[Box] = []
    for i, o, box in seen:
        for text in (_label(o), o.tag) if live or not crowd else (o.tag,):
            size = chip_size(text)
            room = [] if live and crowd else taken  # shown one at a time, it may lie on any other
            if free_corner(box, size, bounds, room) is not None or (live and crowd):
                label = chip(take_corner(box, size, bounds, room), text, o.colour)
                yield element("g", label, data_label=i) if live else label
                break


def _arrow_marks(arrows: Sequence[Arrow], spots: Sequence[Point | None]) -> Iterator[str]:
    """Bent arrows on a dark rim; bent so that there and back do not lie on each other."""
    for arrow in arrows:
        start, end = spots[arrow.subject], spots[arrow.object]
        curve = [] if start is None or end is None else bent(start, end, 0.12)
        if not curve:
            continue
        (x, y), tip = curve[-3], curve[-1]
        turn = math.atan2(tip[1] - y, tip[0] - x)
        back = [(tip[0] - 11 * math.cos(turn + s), tip[1] - 11 * math.sin(turn + s)) for s in (-0.46, 0.46)]
        head = path([[back[0], tip, back[1]]])
        line = "M" + " ".join(f"{number(px)} {number(py)}" for px, py in curve[:-2])
        for stroke, wide, edge in ((DARK, 5.0, 2.5), (arrow.colour, 2.5, 0.0)):
            yield element("path", d=line, fill="none", stroke=stroke, stroke_width=wide)
            yield element("path", d=head, fill=stroke, stroke=stroke, stroke_width=edge)


def _discs(objects: Sequence[DrawnObject], spots: Sequence[Point | None]) -> Iterator[str]:
    for o, spot in zip(objects, spots, strict=True):
        if spot is not None:
            yield disc(spot, o.tag, o.colour, f"{o.tag} {o.words}")
