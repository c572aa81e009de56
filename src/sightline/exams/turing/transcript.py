"""A stream as people read it: numbered questions with named regions, answers, labels given on the way.

Every designated region has a letter, a place and a colour: questions say "in the top left quarter (B)".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from string import ascii_uppercase
from typing import Any, Final

import polars as pl

from sightline.errors import DataError
from sightline.exams.turing.stream.steps import Stream, read_box, steps_to_json
from sightline.exams.turing.vocabulary.english import REGION_WORD
from sightline.exams.turing.vocabulary.regions import place
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary

Box = tuple[float, float, float, float]

COLOURS: Final = {
    "blue": ("#2f80ed", "dodger_blue1"),
    "yellow": ("#f2b705", "yellow3"),
    "red": ("#e23d36", "red1"),
    "green": ("#1f9e5a", "green3"),
    "purple": ("#9654de", "medium_purple1"),
    "orange": ("#f07a1a", "dark_orange"),
    "cyan": ("#0aabbd", "dark_turquoise"),
    "pink": ("#e854a0", "hot_pink"),
}
"""Name → as drawn, and as a terminal calls it; far apart, and strong enough on a light or a dark photo."""

STYLES: Final[dict[str, tuple[float, ...]]] = {"": (), "dashed": (9.0, 5.0), "dotted": (2.0, 4.0)}
"""Name → lengths drawn and left out along the border; the second and third round of the colours."""

DESIGNATED: Final = f"the {REGION_WORD}"
"""What a question calls its region; a transcript says where it lies instead."""

ANSWERS: Final = {"yes": "yes", "no": "no", "ambiguous": "amb."}
"""True answer → as printed."""

_WANTED: Final = ("item", "scene_id", "stream", "halted", "step", "type", "text", "p_yes", "support", "truth")


@dataclass(frozen=True, slots=True)
class Hue:
    """How one region is named and drawn.

    Attributes:
        letter: ``A`` for the region met first; after ``Z`` comes ``AA``.
        words: What a question says instead of `DESIGNATED`: ``the top left quarter (B)``, or ``region B`` where
            there are no words for the place; in the paper's style ``the blue region``.
        name: Its colour: ``blue``, ``dashed blue``, ``dotted blue``, then ``blue 4`` and so on.
        css: The colour, ``#rrggbb``.
        style: The colour as a terminal calls it.
        dash: Lengths drawn and left out along its border; empty for a full line.
    """

    letter: str
    words: str
    name: str
    css: str
    style: str
    dash: tuple[float, ...] = ()


def hue(number: int, box: Box | None = None, *, by_colour: bool = False) -> Hue:
    """The name and look of the region that is met as number so much, from 0; no two have the same.

    >>> [hue(i).name for i in (0, 1, 8, 16, 24)], [hue(i).letter for i in (0, 25, 26, 63)]
    (['blue', 'yellow', 'dashed blue', 'dotted blue', 'blue 4'], ['A', 'Z', 'AA', 'BL'])
    """
    around, at = divmod(number, len(COLOURS))
    colour, (css, style) = [*COLOURS.items()][at]
    names = [*STYLES]
    plain = around >= len(names)
    name = f"{colour} {around + 1}" if plain else f"{names[around]} {colour}".strip()
    tens, ones = divmod(number, len(ascii_uppercase))
    letter = (ascii_uppercase[tens - 1] if tens else "") + ascii_uppercase[ones]
    where = place(box) if box is not None else ""
    words = f"the {where} ({letter})" if where else f"region {letter}"
    dash = () if plain else STYLES[names[around]]
    return Hue(letter, f"the {name} region" if by_colour else words, name, css, style, dash)


def hues(regions: Iterable[Box | None], *, by_colour: bool = False) -> dict[Box, Hue]:
    """A name and look for every region, in the order they are met; the whole image (None) needs none.

    >>> [(box, look.words) for box, look in hues([None, (0, 0, 1, 0.5), (0, 0, 1, 0.5)]).items()]
    [((0, 0, 1, 0.5), 'the top half (A)')]
    """
    met = dict.fromkeys(box for box in regions if box is not None)
    return {box: hue(i, box, by_colour=by_colour) for i, box in enumerate(met)}


@dataclass(frozen=True, slots=True)
class Line:
    """One question of a stream, and what became of it.

    Attributes:
        number: From 1, ambiguous ones counted.
        kind: ``exist``, ``unique``, ``attribute`` or ``relation``.
        text: In English, the region called *designated*.
        region: Fractions of the image; None for the whole image, or where there is none.
        p_yes: Chance of a yes as estimated before asking; None where unknown. `support` behind it likewise.
        truth: ``yes``, ``no`` or ``ambiguous``.
        label: What a positive uniqueness question labelled: ``person 1``.
        object_id: Which object of the scene that is, where anybody knows.
        box: Where it is, fractions of the image, where a person said so.
        story: Number of its story line, from 1.
        reply: A model's answer: ``yes``, ``no``, ``abstain``, ``unparsed`` or ``late``; None where not asked.
    """

    number: int
    kind: str
    text: str
    region: Box | None
    p_yes: float | None
    support: int | None
    truth: str
    label: str | None = None
    object_id: str | None = None
    story: int = 1
    reply: str | None = None
    box: Box | None = None

    @property
    def decided(self) -> bool:
        """Whether it has a true answer; the others were never asked."""
        return self.truth != "ambiguous"

    @property
    def right(self) -> bool | None:
        """Whether the model's answer is the true one; None where it was not asked."""
        return None if self.reply is None or not self.decided else self.reply == self.truth


@dataclass(frozen=True, slots=True)
class Transcript:
    """One stream.

    Attributes:
        scene_id: The image.
        stream: Which stream of that image, from 0.
        lines: Questions in order.
        halted: Why it ended: ``exhausted``, ``limit``, ``operator``, or empty where nobody knows.
        hues: The look of every region but the whole image, in the order met.
    """

    scene_id: str
    stream: int
    lines: tuple[Line, ...]
    halted: str
    hues: Mapping[Box, Hue]

    @classmethod
    def of(
        cls, scene_id: str, lines: Sequence[Line], *, stream: int = 0, halted: str = "", by_colour: bool = False
    ) -> Transcript:
        """The transcript of these lines; letters and colours are given in the order the regions are met."""
        looks = hues((line.region for line in lines), by_colour=by_colour)
        return cls(scene_id, stream, tuple(lines), halted, looks)

    def hue(self, line: Line) -> Hue | None:
        """The look of a question's region; None for the whole image, or no region."""
        return None if line.region is None else self.hues[line.region]

    def said(self, line: Line) -> str:
        """The question with its region named."""
        hue = self.hue(line)
        return line.text if hue is None else line.text.replace(DESIGNATED, hue.words)

    @property
    def labelled(self) -> tuple[Line, ...]:
        """Questions that labelled an object, in order."""
        return tuple(line for line in self.lines if line.label is not None)

    @property
    def asked(self) -> int:
        """Questions a model answered, or failed to."""
        return sum(line.right is not None for line in self.lines)

    @property
    def right(self) -> int:
        """Those it answered as is true."""
        return sum(line.right is True for line in self.lines)

    @property
    def ambiguous(self) -> int:
        """Questions the operator rejected."""
        return sum(not line.decided for line in self.lines)

    @property
    def stories(self) -> tuple[tuple[Line, ...], ...]:
        """The lines, story line by story line."""
        lines: dict[int, list[Line]] = {}
        for line in self.lines:
            lines.setdefault(line.story, []).append(line)
        return tuple(map(tuple, lines.values()))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {key: getattr(self, key) for key in ("scene_id", "stream", "halted")}
        plain |= {"asked": self.asked, "right": self.right, "ambiguous": self.ambiguous}
        lines = [asdict(line) | {"right": line.right, "said": self.said(line)} for line in self.lines]
        return plain | {"questions": lines}


def transcript_of(stream: Stream, vocabulary: Vocabulary) -> Transcript:
    """A stream as people read it."""
    lines = [
        _line({**row, "truth": row["answer"] or "ambiguous", "answer": None}, row["region"])
        for row in steps_to_json(stream, vocabulary)
    ]
    by_colour = vocabulary.style == "paper"
    return Transcript.of(stream.scene_id, lines, stream=stream.number, halted=stream.halted, by_colour=by_colour)


def transcripts(records: pl.DataFrame) -> list[Transcript]:
    """Read transcripts from a run's records: one a stream that has a question, in written order.

    Raises:
        DataError: These are not records of this exam.
    """
    if not len(records):
        return []
    for name in _WANTED:
        if name not in records.columns:
            raise DataError("not records of the turing exam", field=name, expected=", ".join(_WANTED))
    made = []
    for rows in records.partition_by("item", maintain_order=True):
        questions = rows.to_dicts()
        lines = [_line(row, json.loads(row["question"]).get("box")) for row in questions]
        scene_id, stream, halted = (questions[0][name] for name in ("scene_id", "stream", "halted"))
        made.append(Transcript.of(str(scene_id), lines, stream=int(stream), halted=str(halted)))
    return made


def _line(row: Mapping[str, Any], box: Sequence[float] | None) -> Line:
    """The question of a record; the box is its designated region, None for the whole image."""
    return Line(
        number=int(row["step"]),
        kind=str(row["type"]),
        text=str(row["text"]),
        region=None if box is None else (float(box[0]), float(box[1]), float(box[2]), float(box[3])),
        p_yes=row["p_yes"],
        support=row["support"],
        truth=str(row["truth"]),
        label=row.get("label") or None,
        object_id=row.get("object_id") or None,
        story=int(row.get("story") or 1),
        reply=row.get("answer") or None,
        box=_box(row),
    )


def _box(row: Mapping[str, Any]) -> Box | None:
    """Where a person said that the object is which a question labelled; None where nobody did."""
    try:
        boxes = json.loads(row["boxes"]) if row.get("boxes") and row.get("label") else {}
        return read_box(row.get("box") or boxes.get(row.get("label")))
    except (ValueError, AttributeError, TypeError):
        return None
