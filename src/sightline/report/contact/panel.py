"""One panel of a sheet: a view's picture with some layers on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from PIL import Image, ImageDraw

from sightline.report.contact.canvas import Canvas, Point, chip_size, write
from sightline.report.contact.colours import MUTED, PAPER, RULE, SOFT, depth_picture, depth_range, kind_colour, ramp
from sightline.report.contact.exhibit import Exhibit, Link, Thing

LAYERS: Final = ("boxes", "masks", "amodal", "depth", "relations", "ids", "none")
"""What can be laid over a picture; ``none`` is the picture alone."""

TITLES: Final = {
    "boxes": "boxes",
    "masks": "visible masks",
    "amodal": "hidden parts",
    "depth": "depth",
    "relations": "relations",
    "ids": "ids",
    "none": "picture",
}

Rect = tuple[float, float, float, float]


def panel(shown: Exhibit, layers: Sequence[str], width: int) -> Image.Image:
    """The view with the layers laid over it; at most `width` pixels wide and high."""
    scale = width / max(shown.size)
    width, height = (max(1, round(side * scale)) for side in shown.size)
    canvas = Canvas(_base(shown, layers, (width, height)))
    things = [scaled(thing, scale) for thing in shown.things]
    links = shown.links if "relations" in layers else ()
    spots = spread([t.spot for t in things], (width, height), links) if {"relations", "ids"} & set(layers) else []
    if "masks" in layers:
        _masks(canvas, things)
    if "amodal" in layers:
        _amodal(canvas, things)
    if "boxes" in layers:
        _boxes(canvas, things, rim=shown.image is not None)
    for link in links:
        ends = spots[link.subject], spots[link.object]
        if ends[0] is not None and ends[1] is not None:
            canvas.arrow(ends[0], ends[1], kind_colour(link.predicate))
    for thing, spot in zip(things, spots, strict=False):
        if spot is not None:
            canvas.dot(spot, thing.tag, thing.colour)
    done = canvas.finish()
    if "depth" in layers and shown.depth is not None:
        _scale_bar(done, shown)
    return done


def scaled(thing: Thing, scale: float) -> Thing:
    """The thing in the panel's pixels."""
    box = thing.box or (0.0, 0.0, 0.0, 0.0)
    return replace(
        thing,
        box=thing.box and (box[0] * scale, box[1] * scale, box[2] * scale, box[3] * scale),
        visible=tuple(loop * scale for loop in thing.visible),
        amodal=tuple(loop * scale for loop in thing.amodal),
        spot=thing.spot and (thing.spot[0] * scale, thing.spot[1] * scale),
    )


def _base(shown: Exhibit, layers: Sequence[str], size: tuple[int, int]) -> Image.Image:
    if "depth" in layers and shown.depth is not None:
        span = depth_range(shown.depth) or (0.0, 1.0)
        return Image.fromarray(depth_picture(shown.depth, *span)).resize(size, Image.Resampling.BILINEAR)
    if shown.image is not None:
        picture = Image.fromarray(shown.image).resize(size, Image.Resampling.LANCZOS)
        return _greyed(picture) if {"masks", "amodal"} & set(layers) else picture
    blank = Image.new("RGB", size, SOFT)
    draw = ImageDraw.Draw(blank)
    draw.rectangle((0, 0, size[0] - 1, size[1] - 1), outline=RULE)
    missing = "depth map" if tuple(layers) == ("depth",) else "picture"
    reason = f"no {missing}" if shown.sized else f"no {missing}, size unknown"
    write(draw, (size[0] / 2, size[1] - 14), "picture unreadable" if shown.notes else reason, 12, MUTED, "mm")
    return blank


def _greyed(picture: Image.Image) -> Image.Image:
    """The picture almost without colour, so that the masks' colours are their own."""
    return Image.blend(picture, picture.convert("L").convert("RGB"), 0.85)


def _masks(canvas: Canvas, things: Sequence[Thing]) -> None:
    for thing in things:
        if thing.visible:
            canvas.fill(thing.visible, thing.colour, 0.5)
    for thing in things:
        for loop in thing.visible:
            canvas.line(loop, thing.colour, 1.8, closed=True)


def _amodal(canvas: Canvas, things: Sequence[Thing]) -> None:
    """What is hidden, hatched, and the whole outline dashed."""
    for thing in things:
        if thing.amodal:
            canvas.hatch(thing.amodal, thing.visible, thing.colour)
    for thing in things:
        for loop in thing.amodal:
            canvas.dashes(loop, thing.colour, 1.8)


def _boxes(canvas: Canvas, things: Sequence[Thing], *, rim: bool) -> None:
    for thing in things:
        if thing.box is not None:
            canvas.rectangle(thing.box, thing.colour, 2.0, rim=rim)
    for thing, text, box in labels(things, canvas.size, chip_size):
        canvas.chip(box[:2], text, thing.colour)


def labels(
    things: Sequence[Thing], bounds: tuple[int, int], measure: Callable[[str], Point]
) -> Iterator[tuple[Thing, str, Rect]]:
    """A label for every box, with its place: tag and category, or the tag alone, or none in a crowd.

    No label lies on another.
    """
    taken: list[Rect] = []
    for thing in things:
        for text in (f"{thing.tag} {thing.category.replace('_', ' ')}", thing.tag) if thing.box else ():
            wide, high = measure(text)
            corner = free_corner(thing.box, (wide, high), bounds, taken) if thing.box else None
            if corner is not None:
                taken.append((*corner, corner[0] + wide, corner[1] + high))
                yield thing, text, taken[-1]
                break


def free_corner(box: Rect, size: Point, bounds: tuple[int, int], taken: Sequence[Rect]) -> Point | None:
    """The first corner, over, under or in a box, where something of that size hides nothing; None if there is none.

    >>> free_corner((10, 30, 60, 60), (20, 10), (100, 100), [])
    (9, 20)
    """
    wide, high = size
    x0, y0, x1, y1 = box
    places = [(x, y) for y in (y0 - high, y1, y0, y1 - high) for x in (x0 - 1, x1 + 1 - wide)]
    for left, y in places:
        x = min(max(left, 0), bounds[0] - wide)
        inside = x >= 0 and 0 <= y <= bounds[1] - high
        if inside and not any(x < t[2] and t[0] < x + wide and y < t[3] and t[1] < y + high for t in taken):
            return x, y
    return None


def spread(
    spots: Sequence[Point | None], bounds: tuple[int, int], links: Iterable[Link] = (), *, apart: float = 23.0
) -> list[Point | None]:
    """The spots pushed off each other until discs on them do not overlap, and into the picture.

    Between linked ones there is room for an arrow: twice as much.

    >>> spread([(50, 50), (54, 50), None], (100, 100))
    [(40.5, 50.0), (63.5, 50.0), None]
    """
    places = {i: [*spot] for i, spot in enumerate(spots) if spot is not None}
    far = {frozenset((link.subject, link.object)) for link in links}
    pairs = [(a, b, apart * (2 if frozenset((a, b)) in far else 1)) for a, b in combinations(places, 2)]
    for _ in range(40):
        moved = [_push(places[a], places[b], room) for a, b, room in pairs]
        for p in places.values():
            p[0], p[1] = (min(max(v, 12.0), side - 12.0) for v, side in zip(p, bounds, strict=True))
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


def _scale_bar(picture: Image.Image, shown: Exhibit) -> None:
    """Near and far in metres with the ramp between, at the foot of the panel."""
    assert shown.depth is not None
    span = depth_range(shown.depth)
    if span is None:
        return
    wide, high = min(170, picture.width - 24), 8
    if wide < 40 or picture.height < 40:  # no room to read it in
        return
    left, top = 12, picture.height - 22
    draw = ImageDraw.Draw(picture)
    draw.rounded_rectangle((left - 6, top - 19, left + wide + 6, top + high + 6), 5, fill=PAPER)
    bar = Image.fromarray(ramp()[None, :, :]).resize((wide, high), Image.Resampling.BILINEAR)
    picture.paste(bar, (left, top))
    write(draw, (left, top - 5), f"near {span[0]:.1f} m", 11, MUTED)
    write(draw, (left + wide, top - 5), f"far {span[1]:.1f} m", 11, MUTED, "rs")
