"""A question drawn: one image or two with their boxes, the two objects asked about, the truth and the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sightline.show.svg import (
    FIRST,
    GROUND,
    INK,
    MUTED,
    PAPER,
    RULE,
    SECOND,
    document,
    element,
    escape,
    hover,
    line,
    shorten,
    text_line,
    text_width,
)

Rect = tuple[float, float, float, float]

_GUTTER = 12.0
_TALLEST = 300.0
_PHOTO = re.compile(r"data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/=]+\Z")
_SPOKEN = {
    "closer": "A closer",
    "farther": "B closer",
    "same": "same depth",
    "unsure": "unsure",
    "none": "no occlusion",
    "occludes": "A hides B",
    "occluded": "B hides A",
    "mutual": "each hides the other",
}


@dataclass(frozen=True, slots=True)
class SketchImage:
    """What is drawn of one image.

    Attributes:
        boxes: xyxy in fractions of the image, one an object.
        labels: One a box.
        size: (width, height) in pixels, for the shape of the frame; None draws a square and says so.
        photo: The picture as a ``data:image/png``, ``jpeg`` or ``webp`` base64 URI, or None.
        caption: A few words under the image, e.g. its id.
    """

    boxes: Sequence[Rect]
    labels: Sequence[str]
    size: tuple[int, int] | None = None
    photo: str | None = None
    caption: str = ""


def spoken(word: str | None, *, silent: bool = False) -> str:
    """A label of the pair (A, B) as a reader would say it.

    >>> spoken("farther"), spoken(None), spoken(None, silent=True)
    ('B closer', 'no majority', 'no answer')
    """
    if word is None:
        return "no answer" if silent else "no majority"
    return _SPOKEN.get(word, word)


def scene_sketch(
    first: SketchImage,
    second: SketchImage | None = None,
    *,
    pair: tuple[int, int],
    truth: str,
    answer: str,
    votes: str = "",
    title: str = "",
    width: float = 440.0,
) -> str:
    """One image, or two side by side, with the pair in question as A and B.

    Args:
        first: The image of A; of B too where there is no second.
        second: The image of B across images.
        pair: Index of A's box in `first`, of B's in `second` (or `first`).
        truth: The label as said by `spoken`.
        answer: The model's label, said likewise.
        votes: How the raters split, e.g. ``4–1``.
        title: What is shown; by default the line beneath the drawing.
        width: Width of the drawing.
    """
    images = [first] if second is None else [first, second]
    tags = [{pair[0]: "A", pair[1]: "B"}] if second is None else [{pair[0]: "A"}, {pair[1]: "B"}]
    room = (width - _GUTTER * (len(images) - 1)) / len(images)
    frames = [_frame(image, room) for image in images]
    tallest = max(high for _, high in frames)
    body, below = [], 0
    for i, (image, (wide, high)) in enumerate(zip(images, frames, strict=True)):
        left = i * (room + _GUTTER)
        body.append(_picture(image, (left, tallest - high, wide, high), tags[i]))
        notes = [n for n in (image.caption, "" if image.size else "aspect ratio unknown: drawn square") if n]
        below = max(below, len(notes))
        for k, note in enumerate(notes):
            body.append(text_line(left, tallest + 14 + 12 * k, shorten(note, room, 9.5), size=9.5, fill=MUTED))
    facts = [("truth: ", truth), ("model: ", answer)] + ([("votes ", votes)] if votes else [])
    verdict, bottom = _verdict(facts, tallest + 22 + 12 * below, width)
    said = " · ".join(name + value for name, value in facts)
    seen = "; ".join(_told(image, tag) for image, tag in zip(images, tags, strict=True))
    return document(width, bottom + 8, title or said, f"{said}. {seen}", *body, verdict)


def _frame(image: SketchImage, room: float) -> tuple[float, float]:
    """Width and height of the drawn image: fits the room and the tallest allowed, keeps the shape."""
    wide, high = image.size or (1, 1)
    scale = min(room / wide, _TALLEST / high)
    return wide * scale, high * scale


def _picture(image: SketchImage, place: Rect, tags: dict[int, str]) -> str:
    left, top, wide, high = place
    parts = [element("rect", x=left, y=top, width=wide, height=high, fill=GROUND, stroke=RULE)]
    if image.photo is None:
        for i in range(1, 10):
            parts.append(line(left + wide * i / 10, top, left + wide * i / 10, top + high, width=0.5))
            parts.append(line(left, top + high * i / 10, left + wide, top + high * i / 10, width=0.5))
    else:
        if not _PHOTO.match(image.photo):
            raise ValueError("a sketch's photo must be a base64 data URI of a png, jpeg or webp picture")
        parts.append(
            element("image", href=image.photo, x=left, y=top, width=wide, height=high, preserveAspectRatio="none")
        )
    placed = [(left + b[0] * wide, top + b[1] * high, left + b[2] * wide, top + b[3] * high) for b in image.boxes]
    bystanders = [i for i in range(len(placed)) if i not in tags]
    parts += [
        _box(placed[i], image.labels[i], "#ffffff" if image.photo else MUTED, 1.0, dash="3 3") for i in bystanders
    ]
    for i, tag in tags.items():
        parts.append(_halo(placed[i]) if image.photo else "")
        parts.append(_box(placed[i], f"{tag}: {image.labels[i]}", _colour(tag), 2.5))
    taken: list[Rect] = []
    bounds = (left, top, left + wide, top + high)
    for i, tag in tags.items():
        parts.append(_flag(tag, image.labels[i], placed[i], bounds, taken))
    parts += [_name(image.labels[i], placed[i], taken, on_photo=image.photo is not None) for i in bystanders]
    return element("g", *parts)


def _box(box: Rect, told: str, colour: str, thick: float, dash: str | None = None) -> str:
    return element(
        "rect",
        hover(told),
        x=box[0],
        y=box[1],
        width=box[2] - box[0],
        height=box[3] - box[1],
        fill=colour,
        fill_opacity=0.0 if dash else 0.08,
        stroke=colour,
        stroke_width=thick,
        stroke_dasharray=dash,
    )


def _halo(box: Rect) -> str:
    """A white edge under a coloured one, so it stands off any photo."""
    return element(
        "rect",
        x=box[0],
        y=box[1],
        width=box[2] - box[0],
        height=box[3] - box[1],
        fill="none",
        stroke="#ffffff",
        stroke_width=4.5,
        stroke_opacity=0.7,
    )


def _flag(tag: str, label: str, box: Rect, bounds: Rect, taken: list[Rect]) -> str:
    """The letter of an object in question on its colour, and its label, at a free corner."""
    name = shorten(label, 110, 10.5)
    wide = 18 + text_width(name, 10.5) + 8
    x, y = _free_corner(box, (wide, 17.0), bounds, taken) or (box[0], box[1])
    taken.append((x, y, x + wide, y + 17))
    return "".join(
        [
            element("rect", x=x, y=y, width=wide, height=17.0, fill=PAPER, fill_opacity=0.92),
            element("rect", x=x, y=y, width=17.0, height=17.0, fill=_colour(tag)),
            text_line(x + 8.5, y + 12.7, tag, size=12, fill=PAPER, anchor="middle", bold=True),
            text_line(x + 22, y + 12.2, name, size=10.5),
        ]
    )


def _name(label: str, box: Rect, taken: list[Rect], *, on_photo: bool) -> str:
    """A bystander's label where there is room for it, else nothing: its outline still tells on hovering."""
    name = shorten(label, min(90.0, box[2] - box[0] - 4), 9)
    wide = text_width(name, 9) + 4
    spot = _free_corner(box, (wide, 12.0), box, taken)
    if spot is None or len(name) < 3:
        return ""
    x, y = spot
    taken.append((x, y, x + wide, y + 12))
    if not on_photo:
        return text_line(x + 2, y + 9.5, name, size=9, fill=MUTED)
    chip = element("rect", x=x, y=y, width=wide, height=12.0, fill="#000000", fill_opacity=0.6)
    return chip + text_line(x + 2, y + 9.5, name, size=9, fill="#ffffff")


def _free_corner(
    box: Rect, size: tuple[float, float], bounds: Rect, taken: Sequence[Rect]
) -> tuple[float, float] | None:
    """The first corner, inside the box or just above or below it, where a label hits no other."""
    wide, high = size
    for x, y in _corners(box, wide, high):
        inside = bounds[0] <= x and x + wide <= bounds[2] + 0.5 and bounds[1] <= y and y + high <= bounds[3] + 0.5
        if inside and not any(x < t[2] and t[0] < x + wide and y < t[3] and t[1] < y + high for t in taken):
            return x, y
    return None


def _corners(box: Rect, wide: float, high: float) -> Iterator[tuple[float, float]]:
    x0, y0, x1, y1 = box
    for y in (y0, y1 - high, y0 - high, y1):
        yield x0, y
        yield x1 - wide, y


def _verdict(facts: Sequence[tuple[str, str]], y: float, width: float) -> tuple[str, float]:
    """The caption, one line if it fits, else one a fact; A and B in their colours. And its last baseline."""
    fits = text_width(" · ".join(name + value for name, value in facts), 12.5) <= width
    lines = [list(facts)] if fits else [[fact] for fact in facts]
    out = []
    for i, part in enumerate(lines):
        spans = []
        for k, (name, value) in enumerate(part):
            spans.append(element("tspan", escape((" · " if k else "") + name), fill=MUTED))
            said = shorten(value, width - text_width(name, 12.5), 12.5)
            spans += [
                element(
                    "tspan", escape(piece), fill=_colour(piece) if piece in ("A", "B") else INK, font_weight="600"
                )
                for piece in re.split(r"\b([AB])\b", said)
                if piece
            ]
        out.append(element("text", *spans, x=0.0, y=y + 17 * i, font_size=12.5, style="white-space:pre"))
    return "".join(out), y + 17 * (len(lines) - 1)


def _told(image: SketchImage, tags: dict[int, str]) -> str:
    names = [f"{tag} is {image.labels[i]}" for i, tag in tags.items()]
    rest = len(image.boxes) - len(tags)
    return ", ".join(names) + (f", {rest} other object{'s' if rest > 1 else ''}" if rest else "")


def _colour(tag: str) -> str:
    return FIRST if tag == "A" else SECOND
