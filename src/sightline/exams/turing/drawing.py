"""Draw one stream: the picture with its lettered regions and labelled objects, and every question with answers.

The same marks stand in a page (SVG), in the sheet that the paper prints (PNG), and in the picture a person is shown
with one question.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from PIL import Image

from sightline.errors import ConfigError
from sightline.exams.turing.transcript import ANSWERS, DESIGNATED, Box, Hue, Line, Transcript
from sightline.exams.turing.vocabulary.from_data import category_name
from sightline.show.drawing import DARK, WHITE, box_shape, chip, chip_size, path, picture, rimmed, take_corner
from sightline.show.frame import DrawnObject, ImageFrame
from sightline.show.raster import Placed, measure, png, raster
from sightline.show.svg import GROUND, INK, MUTED, RULE, document, element, hover, number, rect, shorten, text_line
from sightline.store import atomic_write
from sightline.text import counted

MARKS: Final[dict[str, tuple[str, str]]] = {
    "wrong": ("✗", "answered wrong"),
    "silent": ("–", "no answer: abstained, not understood or late"),
    "right": ("✓", "answered right"),
    "ambiguous": ("~", "ambiguous: rejected, never asked"),
}
"""Outcome of a question → its mark and what it means, mistakes first."""

_WIDTH: Final = 560.0
_TALLEST: Final = 620.0
_PLAIN: Final = "#f4f5f6"
"""Of an object found in the whole image: no region, so no colour of its own."""

_ZOOM: Final = 760 / _WIDTH
_TEXT: Final = 640
_GAP: Final = 28
_STEP: Final = 23
_SIZE: Final = 15
_MAP: Final = 84.0
_RIGHT: Final = "#1f7a48"
_WRONG: Final = "#be3028"


@dataclass(frozen=True, slots=True)
class DrawnQuestion:
    """A question as the page shows it.

    Attributes:
        line: The question and its answers.
        before: Its words up to the region's name; `after` those behind. All of them are in `before` without a name.
        region: The region's name: ``the top left quarter (B)``; empty for none.
        css: The region's colour.
        map: A thumbnail of where the region lies, as SVG markup; empty for none.
        opens: Whether a story line begins here.
    """

    line: Line
    before: str
    after: str = ""
    region: str = ""
    css: str = ""
    map: str = field(default="", repr=False)
    opens: bool = False

    @property
    def answer(self) -> str:
        """The true answer as printed."""
        return ANSWERS[self.line.truth]

    @property
    def outcome(self) -> str:
        """What became of it: a key of `MARKS`, or empty where no model was asked."""
        if not self.line.decided:
            return "ambiguous"
        if self.line.right is None:
            return ""
        if self.line.reply not in ("yes", "no"):
            return "silent"
        return "right" if self.line.right else "wrong"


@dataclass(frozen=True, slots=True)
class StreamExample:
    """All there is to show of one stream and one model's answers."""

    transcript: Transcript
    questions: tuple[DrawnQuestion, ...]
    svg: str = field(repr=False)

    @property
    def wrong(self) -> int:
        """Answers that are not right, missing ones included."""
        return self.transcript.asked - self.transcript.right

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; pictures are left out."""
        return self.transcript.to_dict()


def stream_example(frame: ImageFrame, transcript: Transcript) -> StreamExample:
    """Draw a stream's picture and word its questions."""
    return StreamExample(transcript, tuple(_questions(frame, transcript)), stream_drawing(frame, transcript))


def _questions(frame: ImageFrame, transcript: Transcript) -> Iterator[DrawnQuestion]:
    story = None
    for line in transcript.lines:
        opens, story = line.story != story, line.story
        hue = transcript.hue(line)
        before, named, after = line.text.partition(DESIGNATED)
        if hue is None or line.region is None:
            yield DrawnQuestion(line, line.text, opens=opens)
            continue
        drawn = region_map(line.region, hue, frame.size)
        name = hue.words if named else ""
        yield DrawnQuestion(line, before, after, name, hue.css, drawn, opens)


def stream_drawing(frame: ImageFrame, transcript: Transcript) -> str:
    """Draw the picture, or its boxes on a blank, with what the stream found on it: SVG markup."""
    drawn = _fitted(frame)
    wide, high = drawn.size
    body = [picture(drawn, (0.0, 0.0, wide, high), longest=900)]
    body.append(_marks(drawn, transcript.labelled, transcript.hues, _led(transcript)))
    if not frame.sized:
        body.append(text_line(0, high + 15, "no picture; framed by the extent of its boxes", size=11, fill=MUTED))
    seen = [(line.label, _words(o)) for line, o, _ in _labelled(drawn, transcript.labelled, {})]
    said = "; ".join(f"{label}: {words}" for label, words in seen) or "no object labelled"
    title = f"{frame.scene}: regions and labelled objects"
    return document(wide, high + (0 if frame.sized else 20), title, said, *body)


def stream_picture(frame: ImageFrame, transcript: Transcript) -> Image.Image:
    """Draw a stream as the paper prints one: picture on the left, numbered questions and answers on the right."""
    marks, (wide, high), pictures = _enlarged(frame, transcript.labelled, transcript.hues, _led(transcript), _GAP)
    maps, maps_high = _maps(frame, transcript, wide)
    rows = _rows(transcript) if transcript.lines else []
    left, right = wide + 2 * _GAP, wide + 2 * _GAP + _TEXT
    foot = text_line(_GAP, _GAP + high + 24, _foot(frame, transcript), size=14, fill=MUTED)
    words = [row.svg(left, right, _GAP + _STEP * i + 16) for i, row in enumerate(rows)]
    below = element("g", maps, transform=f"translate({_GAP} {_GAP + high + 44})")
    tall = max(high + 44 + maps_high, _STEP * len(rows)) + 2 * _GAP
    return raster(marks + foot + below + "".join(words), (right + _GAP, tall), pictures)


def question_picture(
    frame: ImageFrame, region: Box | None, hue: Hue | None, labelled: Sequence[Line]
) -> Image.Image:
    """Draw what a person is shown with one question: its region, and the objects labelled so far."""
    regions = {} if region is None or hue is None else {region: hue}
    marks, size, pictures = _enlarged(frame, labelled, {}, regions, 0)
    return raster(marks, size, pictures)


def picture_format(file: Path) -> str:
    """The format that a picture's file name asks for: PNG or JPEG; a ConfigError for any other.

    >>> picture_format(Path("story.jpg"))
    'JPEG'
    """
    known = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}
    if file.suffix.lower() not in known:
        found = file.suffix or "no suffix"
        raise ConfigError(f"{file}: pictures are written as .png, .jpg or .jpeg, found {found}")
    return known[file.suffix.lower()]


def save_picture(drawn: Image.Image, file: Path) -> None:
    """Write a PNG or, where the file's name says so, a JPEG: whole or not at all."""
    if picture_format(file) == "PNG":
        data = png(drawn)
    else:
        encoded = io.BytesIO()
        drawn.convert("RGB").save(encoded, "JPEG", quality=92, subsampling=0)
        data = encoded.getvalue()
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(file, data)


def region_map(region: Box, hue: Hue, shape: tuple[float, float], *, within: tuple[float, float] = (30, 22)) -> str:
    """Draw a thumbnail of the image's frame with one region filled, that size at most: SVG markup."""
    scale = min(within[0] / shape[0], within[1] / shape[1])
    wide, high = shape[0] * scale, shape[1] * scale
    x0, y0, x1, y1 = (v * s for v, s in zip(region, (wide, high) * 2, strict=True))
    edge = element("rect", **box_shape((0.0, 0.0, wide, high), 0.5), fill=GROUND, stroke=MUTED)
    looks = {"fill": hue.css, "fill_opacity": 0.35 if hue.dash else 0.85, "stroke": hue.css, "stroke_width": 1.4}
    dash = _dash(hue, within[0] / 90)
    filled = rect(x0 + 1, y0 + 1, max(x1 - x0 - 2, 1.0), max(y1 - y0 - 2, 1.0), **looks, stroke_dasharray=dash)
    title = hover(f"{hue.words}: {', '.join(f'{v:.2f}' for v in region)}")
    box = f"0 0 {number(wide)} {number(high)}"
    return element("svg", title, edge, filled, viewBox=box, width=wide, height=high, role="img")


def _dash(hue: Hue, scale: float = 1.0) -> str | None:
    return " ".join(number(v * scale) for v in hue.dash) or None


def _fitted(frame: ImageFrame) -> ImageFrame:
    return frame.scaled(min(_WIDTH / frame.size[0], _TALLEST / frame.size[1]))


def _led(transcript: Transcript) -> dict[Box, Hue]:
    """Regions in which an object was labelled."""
    return {line.region: transcript.hues[line.region] for line in transcript.labelled if line.region is not None}


def _labelled(
    frame: ImageFrame, lines: Sequence[Line], hues: Mapping[Box, Hue]
) -> Iterator[tuple[Line, DrawnObject, str]]:
    """Questions that labelled an object which is seen, the object, and the colour of their region."""
    for line in lines:
        o = _boxed(frame, line) if line.box is not None else frame.find(line.object_id)
        if o is not None and o.box is not None and line.label is not None:
            hue = None if line.region is None else hues.get(line.region)
            yield line, o, _PLAIN if hue is None else hue.css


def _boxed(frame: ImageFrame, line: Line) -> DrawnObject:
    """The object that a person boxed; outlined as annotated where it has an id."""
    assert line.box is not None
    known = frame.find(line.object_id)
    return known or DrawnObject(str(line.label), "", "", str(line.label), box=frame.place(line.box))


def _marks(frame: ImageFrame, lines: Sequence[Line], hues: Mapping[Box, Hue], regions: Mapping[Box, Hue]) -> str:
    """Regions, large ones first so that small ones lie on top, then the labelled objects and their labels."""
    shown = [*_labelled(frame, lines, hues)]
    parts = [] if frame.image is not None else [*_bystanders(frame, {o.id for _, o, _ in shown})]
    for region in sorted(regions, key=lambda b: -_area(b)):
        hue, shape = regions[region], box_shape(frame.place(region), 2.0)  # kept inside the picture
        parts.append(rimmed("rect", shape, hue.css, 2.6, dash=_dash(hue), title=hue.words))
    for _, o, colour in shown:
        rim = DARK if colour == _PLAIN else WHITE
        outline = {"d": path(o.visible or [_corners(o)])}
        faint: dict[str, Any] = {"rim_opacity": 1, "fill_opacity": 0.14, "title": _words(o)}
        parts.append(rimmed("path", outline, colour, 2.0, rim, 4.2, **faint))
    taken: list[Box] = []
    for region, hue in regions.items():
        corner = _letter_corner(frame, region, hue.letter, taken)
        parts.append(chip(corner, hue.letter, WHITE, bold=True, edge=hue.css))
    for line, o, colour in shown:
        assert o.box is not None
        assert line.label is not None
        corner = take_corner(o.box, chip_size(line.label, bold=True), (0.0, 0.0, *frame.size), taken)
        ink = DARK if sum(bytes.fromhex(colour[1:])) > 420 else WHITE
        parts.append(chip(corner, line.label, colour, ink=ink, bold=True, edge=WHITE))
    return "".join(parts)


def _letter_corner(frame: ImageFrame, region: Box, letter: str, taken: list[Box]) -> tuple[float, float]:
    """A corner inside the region for its letter."""
    wide, high = chip_size(letter, bold=True)
    x0, y0, x1, y1 = frame.place(region)
    inside = (x0 + 5, y0 + 4 + high, x1 - 5, y1 - 4 - high)  # corners are looked for above and below a box
    return take_corner(inside, (wide, high), (x0, y0, x1, y1), taken)


def _bystanders(frame: ImageFrame, labelled: set[str]) -> Iterator[str]:
    """Every object's box with its name where there is room; the large ones lie below."""
    seen = [(o, o.box) for o in frame.objects if o.box is not None]
    for o, box in sorted(seen, key=lambda pair: -_area(pair[1])):
        yield rimmed("rect", box_shape(box), MUTED, 1.0, None, dash="3 3", fill_opacity=0.07, title=_words(o))
    for o, box in seen:
        name = shorten(_words(o), box[2] - box[0] - 6, 10)
        if o.id not in labelled and len(name) > 3 and box[3] - box[1] > 14:
            yield text_line(box[0] + 4, box[3] - 5, name, size=10, fill=MUTED)


def _words(o: DrawnObject) -> str:
    """What an object is; classes of Open Images by their names rather than their ids."""
    if not o.category.startswith("/m/"):
        return o.words
    return o.words.replace(o.category.replace("_", " "), category_name(o.category))


def _corners(o: DrawnObject) -> Sequence[tuple[float, float]]:
    assert o.box is not None
    x0, y0, x1, y1 = o.box
    return (x0, y0), (x1, y0), (x1, y1), (x0, y1)


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _enlarged(
    frame: ImageFrame, lines: Sequence[Line], hues: Mapping[Box, Hue], regions: Mapping[Box, Hue], margin: int
) -> tuple[str, tuple[int, int], list[Placed]]:
    """The marks at a PNG's size, `margin` pixels from its corner; the picture's size; and its pixels, if any."""
    drawn = _fitted(frame)
    size = (max(1, round(drawn.size[0] * _ZOOM)), max(1, round(drawn.size[1] * _ZOOM)))
    ground = element("rect", **box_shape((0.0, 0.0, *drawn.size), 0.5), fill=GROUND, stroke=RULE)
    marks = _marks(drawn, lines, hues, regions)
    placed = f"translate({margin} {margin}) scale({_ZOOM:.4f})"
    if frame.image is None:
        return element("g", ground, marks, transform=placed), size, []
    pixels = Image.fromarray(frame.image).resize(size, Image.Resampling.LANCZOS)
    return element("g", marks, transform=placed), size, [(pixels, (margin, margin))]


def _maps(frame: ImageFrame, transcript: Transcript, wide: int) -> tuple[str, int]:
    """Where every region lies: small frames in rows, each with its letter; and their height together."""
    across = max(1, int((wide + 12) // (_MAP + 12)))
    tall = _MAP * frame.size[1] / frame.size[0]
    parts = []
    for i, (region, hue) in enumerate(transcript.hues.items()):
        x, y = (i % across) * (_MAP + 12), (i // across) * (tall + 26)
        small = region_map(region, hue, frame.size, within=(_MAP, tall))
        parts.append(element("g", small, transform=f"translate({number(x)} {number(y)})"))
        parts.append(text_line(x, y + tall + 15, hue.letter, size=12, fill=MUTED))
    return "".join(parts), round(-(-len(transcript.hues) // across) * (tall + 26))


@dataclass(frozen=True, slots=True)
class _PrintedLine:
    """One printed line of the sheet: a question, the second half of a long one, or what it labelled."""

    text: str
    number: str = ""
    answer: str = ""
    ink: str = INK
    hue: Hue | None = None
    aside: bool = False

    def svg(self, left: float, right: float, y: float) -> str:
        """The line with its baseline at `y`."""
        x = left + 40
        parts = [text_line(left + 30, y, self.number, size=_SIZE, fill=MUTED, anchor="end")]
        parts.append(text_line(x, y, self.text, size=_SIZE, fill=MUTED if self.aside else INK))
        words = self.hue.words if self.hue is not None else ""
        if self.hue is not None and words in self.text:
            start = x + measure(self.text.partition(words)[0], _SIZE)
            wide = measure(words, _SIZE)
            parts.append(rect(start, y + 3, wide, 3, fill=self.hue.css))
        return "".join([*parts, text_line(right, y, self.answer, size=_SIZE, fill=self.ink, anchor="end")])


def _rows(transcript: Transcript) -> list[_PrintedLine]:
    """All lines of the sheet, a blank one between story lines."""
    room = _TEXT - 40 - max(measure(_answer(line)[0], _SIZE) for line in transcript.lines) - 16
    rows: list[_PrintedLine] = []
    for story in transcript.stories:
        rows += [_PrintedLine("")] if rows else []
        for line in story:
            rows += _lines(transcript, line, room)
    return rows


def _lines(transcript: Transcript, line: Line, room: float) -> Iterator[_PrintedLine]:
    """One question: its words, the answer behind the last of them, and what it labelled."""
    hue = transcript.hue(line)
    pieces = _wrapped(transcript.said(line), room, hue.words if hue is not None else "")
    answer, ink = _answer(line)
    for i, piece in enumerate(pieces):
        first, last = i == 0, i == len(pieces) - 1
        yield _PrintedLine(piece, f"{line.number}." if first else "", answer if last else "", ink, hue)
    if line.label is not None:
        yield _PrintedLine(f"(Label this {line.label})", aside=True)


def _answer(line: Line) -> tuple[str, str]:
    truth = ANSWERS[line.truth]
    if line.right is None:
        return truth, INK if line.decided else MUTED
    return (truth, _RIGHT) if line.right else (f"{truth}, said {line.reply}", _WRONG)


def _wrapped(text: str, room: float, whole: str = "") -> list[str]:
    """The text in lines that fit, the words of `whole` together; a word that alone is wider stands by itself.

    >>> _wrapped("one two three", 60), _wrapped("one two three", 60, "two three")
    (['one two', 'three'], ['one', 'two three'])
    """
    before, named, after = text.partition(whole) if whole else (text, "", "")
    tail, _, rest = after.partition(" ")
    lines: list[str] = []
    for word in [*before.split(), *([named + tail] if named else []), *rest.split()]:
        if lines and measure(f"{lines[-1]} {word}", _SIZE) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]


def _foot(frame: ImageFrame, transcript: Transcript) -> str:
    facts = [transcript.scene_id, counted(len(transcript.lines), "question")]
    facts += [f"{transcript.right} of {transcript.asked} answered right"] if transcript.asked else []
    facts += [] if frame.image is not None else ["no picture: boxes of its objects"]
    return " · ".join(facts)
