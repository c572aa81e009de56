"""A stream as a PNG, as the paper prints one: the picture with its coloured regions, the questions beside it."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image, ImageDraw

from sightline.exams.turing.hues import Box, Hue
from sightline.report.contact.canvas import Canvas, chip_size, width_of, write
from sightline.report.contact.colours import INK, MUTED, PAPER, RULE, SOFT, Rgb
from sightline.report.contact.outlines import Loop
from sightline.report.contact.panel import free_corner
from sightline.report.turing.stage import Stage
from sightline.report.turing.transcript import ANSWERS, Line, Transcript
from sightline.store import atomic_write

_PICTURE: Final = (760, 900)
_TEXT: Final = 640
_GAP: Final = 28
_STEP: Final = 23
_SIZE: Final = 15
_MAP: Final = 84
_RIGHT: Final[Rgb] = (31, 122, 72)
_WRONG: Final[Rgb] = (190, 48, 40)
_PLAIN: Final[Rgb] = (244, 245, 246)


def transcript_picture(stage: Stage, transcript: Transcript) -> Image.Image:
    """The whole sheet: picture on the left, numbered questions and answers on the right."""
    shown = stage_picture(stage, transcript.labelled, transcript.hues)
    rows = _rows(transcript) if transcript.lines else []
    maps = _maps(stage, transcript, shown.width)
    high = max(shown.height + 44 + maps.height, _STEP * len(rows)) + 2 * _GAP
    sheet = Image.new("RGB", (shown.width + _TEXT + 3 * _GAP, high), PAPER)
    sheet.paste(shown, (_GAP, _GAP))
    draw = ImageDraw.Draw(sheet)
    write(draw, (_GAP, _GAP + shown.height + 24), _foot(stage, transcript), 14, MUTED)
    sheet.paste(maps, (_GAP, _GAP + shown.height + 44))
    left, right = shown.width + 2 * _GAP, shown.width + 2 * _GAP + _TEXT
    for i, row in enumerate(rows):
        row.draw(draw, left, right, _GAP + _STEP * i + 16)
    return sheet


def stage_picture(stage: Stage, labelled: Sequence[Line], looks: Mapping[Box, Hue]) -> Image.Image:
    """The picture with the regions that led to objects and the labelled objects on it."""
    canvas, scale = _canvas(stage, labelled)
    regions = dict.fromkeys(line.region for line in labelled if line.region is not None)
    for box in sorted(regions, key=lambda b: -(b[2] - b[0]) * (b[3] - b[1])):
        _border(canvas, _scaled(stage.place(box), scale), looks[box])
    _label(canvas, stage, labelled, looks, scale)
    return canvas.finish()


def asked_picture(stage: Stage, region: Box | None, hue: Hue | None, labelled: Sequence[Line]) -> Image.Image:
    """What a person is shown with one question: its region, and the objects labelled so far."""
    canvas, scale = _canvas(stage, labelled)
    if region is not None and hue is not None:
        _border(canvas, _scaled(stage.place(region), scale), hue)
    _label(canvas, stage, labelled, {}, scale)
    return canvas.finish()


def save_picture(picture: Image.Image, file: Path) -> None:
    """Write a PNG, whole or not at all."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(file, buffer.getvalue())


@dataclass(frozen=True, slots=True)
class _Row:
    """One printed line of the sheet: a question, the second half of a long one, or what it labelled."""

    text: str
    number: str = ""
    answer: str = ""
    ink: Rgb = INK
    hue: Hue | None = None
    aside: bool = False

    def draw(self, draw: ImageDraw.ImageDraw, left: float, right: float, y: float) -> None:
        """Write it with its baseline at `y`."""
        write(draw, (left + 30, y), self.number, _SIZE, MUTED, "rs")
        x = left + 40
        words = f"{self.hue.name} region" if self.hue is not None else ""
        write(draw, (x, y), self.text, _SIZE, MUTED if self.aside else INK)
        if self.hue is not None and words in self.text:
            start = x + width_of(self.text.partition(words)[0], _SIZE)
            draw.line((start, y + 4, start + width_of(words, _SIZE), y + 4), fill=self.hue.rgb, width=3)
        write(draw, (right, y), self.answer, _SIZE, self.ink, "rs")


def _rows(transcript: Transcript) -> list[_Row]:
    """All lines of the sheet, a blank one between story lines."""
    room = _TEXT - 40 - max(width_of(_answer(line)[0], _SIZE) for line in transcript.lines) - 16
    rows: list[_Row] = []
    for story in transcript.stories:
        rows += [_Row("")] if rows else []
        for line in story:
            rows += _lines(transcript, line, room)
    return rows


def _lines(transcript: Transcript, line: Line, room: float) -> list[_Row]:
    """One question: its words, the answer behind the last of them, and what it labelled."""
    hue = transcript.hue(line)
    pieces = _wrapped(transcript.said(line), room, f"{hue.name} region" if hue is not None else "")
    rows = [_Row(piece, hue=hue) for piece in pieces]
    answer, ink = _answer(line)
    rows[0] = replace(rows[0], number=f"{line.number}.")
    rows[-1] = replace(rows[-1], answer=answer, ink=ink)
    return [*rows, *([_Row(f"(Label this {line.label})", aside=True)] if line.label is not None else [])]


def _answer(line: Line) -> tuple[str, Rgb]:
    told = ANSWERS[line.truth]
    if line.right is None:
        return told, MUTED if not line.decided else INK
    return (told, _RIGHT) if line.right else (f"{told}, said {line.reply}", _WRONG)


def _wrapped(text: str, room: float, whole: str = "") -> list[str]:
    """The text in lines that fit, the words of `whole` together; a word that alone is wider stands by itself.

    >>> _wrapped("one two three", 60), _wrapped("one two three", 60, "two three")
    (['one two', 'three'], ['one', 'two three'])
    """
    lines: list[str] = []
    before, found, after = text.partition(whole) if whole else (text, "", "")
    glued = [
        *before.split(),
        *([found + after.partition(" ")[0]] if found else []),
        *after.partition(" ")[2].split(),
    ]
    for word in glued:
        if lines and width_of(f"{lines[-1]} {word}", _SIZE) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]


def _maps(stage: Stage, transcript: Transcript, wide: int) -> Image.Image:
    """Where every coloured region lies: small frames in rows, each with its name."""
    across = max(1, (wide + 12) // (_MAP + 12))
    tall = round(_MAP * stage.reach[1] / stage.reach[0])
    rows = -(-len(transcript.hues) // across)
    canvas = Canvas(Image.new("RGB", (wide, max(1, rows * (tall + 26))), PAPER))
    corners = [((i % across) * (_MAP + 12), (i // across) * (tall + 26)) for i in range(len(transcript.hues))]
    for (x, y), (box, hue) in zip(corners, transcript.hues.items(), strict=True):
        canvas.fill([_loop((x, y, x + _MAP, y + tall))], SOFT, 1.0)
        inner = _loop((x + box[0] * _MAP, y + box[1] * tall, x + box[2] * _MAP, y + box[3] * tall))
        canvas.fill([inner], hue.rgb, 0.3 if hue.dash else 0.85)
        canvas.line(_loop((x, y, x + _MAP, y + tall)), RULE, 1.0, closed=True)
        if hue.dash:
            canvas.dashes(inner, hue.rgb, 2.0, dash=hue.dash[0] * 0.8, gap=hue.dash[1] * 0.8)
    made = canvas.finish()
    draw = ImageDraw.Draw(made)
    for (x, y), hue in zip(corners, transcript.hues.values(), strict=True):
        write(draw, (x, y + tall + 15), hue.name, 12, MUTED)
    return made


def _foot(stage: Stage, transcript: Transcript) -> str:
    told = [transcript.scene_id, f"{len(transcript.lines)} questions"]
    told += [f"{transcript.right} of {transcript.asked} answered right"] if transcript.asked else []
    told += [] if stage.image is not None else ["no picture: boxes of its objects"]
    return " · ".join(told)


def _canvas(stage: Stage, labelled: Sequence[Line]) -> tuple[Canvas, float]:
    """The picture to draw on, or a blank with the boxes of all objects that are not labelled; and its scale."""
    scale = min(_PICTURE[0] / stage.size[0], _PICTURE[1] / stage.size[1])
    size = (max(1, round(stage.size[0] * scale)), max(1, round(stage.size[1] * scale)))
    if stage.image is not None:
        return Canvas(Image.fromarray(stage.image).resize(size, Image.Resampling.LANCZOS)), scale
    blank = Image.new("RGB", size, SOFT)
    draw = ImageDraw.Draw(blank)
    draw.rectangle((0, 0, size[0] - 1, size[1] - 1), outline=RULE)
    canvas = Canvas(blank)
    known, taken = {line.object_id for line in labelled}, list[Box]()
    for actor in stage.actors:
        if actor.box is not None and actor.id not in known:
            box = _scaled(actor.box, scale)
            canvas.dashes(_loop(box), MUTED, 1.0, dash=4, gap=4)
            wide, high = chip_size(actor.words, 11)
            corner = free_corner((box[0] + 1, box[1], box[2] - 1, box[3]), (wide, high), size, taken)
            if corner is not None:
                taken.append((*corner, corner[0] + wide, corner[1] + high))
                canvas.chip(corner, actor.words, RULE, size=11)
    return canvas, scale


def _label(canvas: Canvas, stage: Stage, labelled: Sequence[Line], looks: Mapping[Box, Hue], scale: float) -> None:
    """Outline every labelled object that is known, then put its label at a free corner."""
    chips: list[tuple[str, Box, Rgb]] = []
    for line in labelled:
        actor = stage.actor(line.object_id)
        if actor is None or actor.box is None or line.label is None:
            continue
        hue = looks.get(line.region) if line.region is not None else None
        colour = _PLAIN if hue is None else hue.rgb
        box = _scaled(actor.box, scale)
        for loop in [part * scale for part in actor.outline] or [_loop(box)]:
            canvas.line(loop, (16, 20, 25), 4.0, closed=True)
            canvas.line(loop, colour, 2.2, closed=True)
        chips.append((line.label, box, colour))
    taken: list[Box] = []
    for text, box, colour in chips:
        wide, high = chip_size(text, 14)
        corner = free_corner(box, (wide, high), canvas.size, taken)
        x, y = corner or ((box[0] + box[2] - wide) / 2, (box[1] + box[3] - high) / 2)
        taken.append((x, y, x + wide, y + high))
        canvas.chip((x, y), text, colour, size=14)


def _border(canvas: Canvas, box: Box, hue: Hue) -> None:
    """A region's edge, kept inside the picture, on a white one."""
    inner = (box[0] + 3, box[1] + 3, box[2] - 3, box[3] - 3)
    loop = _loop(inner)
    canvas.line(loop, PAPER, 6.0, closed=True)
    if hue.dash:
        canvas.dashes(loop, hue.rgb, 3.2, dash=hue.dash[0] * 1.4, gap=hue.dash[1] * 1.4)
    else:
        canvas.line(loop, hue.rgb, 3.2, closed=True)


def _loop(box: Box) -> Loop:
    x0, y0, x1, y1 = box
    return np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], dtype=np.float64)


def _scaled(box: Box, scale: float) -> Box:
    return box[0] * scale, box[1] * scale, box[2] * scale, box[3] * scale
