"""Prompts for models that read English: a picture, and words around the question.

A question speaks of "the designated region" and of labelled objects, "person 1". Three ways to point at them: draw
their rectangles on the picture, crop the picture to them, or say their corners in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from PIL import Image, ImageDraw

from sightline.errors import ConfigError
from sightline.exams.turing.vocabulary.english import REGION_WORD, with_article
from sightline.hints import hint
from sightline.skills import Asked

Box = tuple[float, float, float, float]
RegionStyle = Literal["draw", "crop", "words"]

TEMPLATE: Final = """\
{region}
{labels}
{history}
Question: {question}
Things that are only partly visible count. "Unique" means that there is exactly one.
Answer with one word, yes or no."""
"""The default prompt. Another one has the same placeholders, or ``{long_question}``; one must be a question."""

_KNOWN: Final = ("region", "labels", "history", "question", "long_question")
_SPOKEN: Final = f"the {REGION_WORD}"
_COLOURS: Final = {"red": (230, 25, 25), "blue": (30, 80, 255)}


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model gets to see.

    Attributes:
        picture: RGB.
        text: Around the question.
    """

    picture: Image.Image
    text: str


@dataclass(frozen=True, slots=True)
class PromptStyle:
    """How prompts are made of questions.

    Attributes:
        region: How regions are pointed at.
        history: How many of the latest questions and true answers are told.
        template: The prompt, with placeholders.
    """

    region: RegionStyle = "draw"
    history: int | Literal["all"] = 0
    template: str = TEMPLATE

    def __post_init__(self) -> None:
        if self.history != "all" and self.history < 0:
            raise ConfigError(f"history must not be negative, found {self.history}")

    @classmethod
    def with_template(cls, region: RegionStyle, history: int | Literal["all"], prompt: Path | None) -> PromptStyle:
        """Read the template from a file; ConfigError where there is none, or it has no question."""
        return cls(region, history, TEMPLATE if prompt is None else read_template(prompt))

    def prompt(self, asked: Asked) -> Prompt:
        """Make the picture and the text of a question."""
        picture = Image.fromarray(asked.view.image())
        marks = marks_of(asked)
        shown = crop_box(marks, picture.size) if self.region == "crop" else None
        places = places_of(marks, self.region, shown, picture.size)
        if self.region == "draw":
            picture = outlined(picture, list(marks.values()))
        elif shown is not None:
            picture = picture.crop(shown)
        values = {
            "region": _designation(places),
            "labels": "\n".join(_glossary(asked, places, cropped=self.region == "crop")),
            "history": "\n".join(self._past(asked)),
            "question": asked.text,
            "long_question": asked.long_text,
        }
        text = re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), self.template)
        return Prompt(picture, re.sub(r"\n{2,}", "\n", text).strip())

    def facts(self) -> dict[str, Any]:
        """For a run's manifest."""
        return {"region": self.region, "history": self.history, "prompt": self.template}

    def _past(self, asked: Asked) -> Iterator[str]:
        count = len(asked.history) if self.history == "all" else self.history
        for question, text, truth in asked.history[max(len(asked.history) - count, 0) :]:
            box = question.get("box")
            if box is None:
                question_text = text
            elif self.region == "crop":  # its corners are of a picture that is not shown
                same = asked.region is not None and tuple(box) == asked.region
                question_text = text.replace(_SPOKEN, "the same region" if same else "another region")
            else:
                question_text = text.replace(_SPOKEN, f"the region {corners(box)}")
            answer = "" if truth is None else f" {'Yes' if truth else 'No'}."
            yield f"Earlier question: {question_text}{answer}"


def read_template(file: Path) -> str:
    """Read a prompt from a file; ConfigError for a placeholder nobody fills, and where the question is missing."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read as a prompt: {error}") from error
    names = re.findall(r"\{(\w+)\}", text)
    for name in names:
        if name not in _KNOWN:
            raise ConfigError(f"{file}: unknown placeholder {name!r}{hint(name, _KNOWN)}")
    if not {"question", "long_question"} & set(names):
        raise ConfigError(f"{file}: the prompt has no place for the question: write {{question}} somewhere")
    return text


def marks_of(asked: Asked) -> dict[str, Box]:
    """The regions a question speaks of, by name; those of the whole image need no pointing at."""
    if asked.region is not None:
        return {"": asked.region}
    ends = [str(asked.question.get(end)) for end in ("subject", "object")]
    return {label: box for label in ends if (box := asked.labels.get(label)) is not None}


def corners(box: Box) -> str:
    """A region in words.

    >>> corners((0, 0.25, 0.5, 1))
    'from 0 % to 50 % of the width (from the left) and from 25 % to 100 % of the height (from the top)'
    """
    x0, y0, x1, y1 = (f"{100 * value:.0f} %" for value in box)
    return f"from {x0} to {x1} of the width (from the left) and from {y0} to {y1} of the height (from the top)"


def crop_box(marks: dict[str, Box], size: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """Pixels that hold all the regions, at least one; None for the whole picture."""
    if not marks:
        return None
    x0, y0, x1, y1 = zip(*marks.values(), strict=True)
    return _pixels((min(x0), min(y0), max(x1), max(y1)), size)


def _pixels(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    wide, high = size
    x0, y0 = min(int(box[0] * wide), wide - 1), min(int(box[1] * high), high - 1)
    return x0, y0, max(round(box[2] * wide), x0 + 1), max(round(box[3] * high), y0 + 1)


def places_of(
    marks: dict[str, Box], region: RegionStyle, shown: tuple[int, int, int, int] | None, size: tuple[int, int]
) -> dict[str, str]:
    """Where each region is, in words that fit the picture shown."""
    if region == "draw":
        return {name: f"outlined in {colour}" for name, colour in zip(marks, _COLOURS, strict=False)}
    if shown is None:
        return {name: corners(box) for name, box in marks.items()}
    wide, high = size
    x0, y0, x1, y1 = shown
    return {
        name: ""
        if _pixels(box, size) == shown
        else corners(
            (
                max(box[0] * wide - x0, 0) / (x1 - x0),
                max(box[1] * high - y0, 0) / (y1 - y0),
                min((box[2] * wide - x0) / (x1 - x0), 1),
                min((box[3] * high - y0) / (y1 - y0), 1),
            )
        )
        for name, box in marks.items()
    }


def _designation(places: dict[str, str]) -> str:
    if "" not in places:
        return ""
    where = places[""]
    if not where:
        return "The picture shows the designated region and nothing else."
    return f"The designated region is {where if where.startswith('outlined') else f'that {where}'}."


def _glossary(asked: Asked, places: dict[str, str], *, cropped: bool) -> Iterator[str]:
    """What each label stands for that the question speaks of, or must leave out."""
    searched = asked.question.get("object_type")
    for label, box in asked.labels.items():
        if label.rpartition(" ")[0] == searched:
            place = _elsewhere(box, asked.region, cropped)
            yield f"Do not count {label}: {_identity(asked, label, place)}."
        elif label in (asked.question.get("subject"), asked.question.get("object")):
            where = places.get(label, "")
            place = f"the region {where}" if where else "the picture"
            yield f"{label[0].upper()}{label[1:]} is {_identity(asked, label, place)}."


def _elsewhere(box: Box | None, region: Box | None, cropped: bool) -> str:
    """The region of an object, beside the one searched; its corners are of use only where all is shown."""
    if box == region:
        return "the picture" if region is None else _SPOKEN
    if box is None:
        return "the whole picture"
    return "another region" if cropped and region is not None else f"the region {corners(box)}"


def _identity(asked: Asked, label: str, place: str) -> str:
    """By what a labelled object was found in that place, as far as answers are told."""
    kind, _, number = label.rpartition(" ")
    searches = [
        text
        for question, text, truth in asked.history
        if truth and question.get("type") == "unique" and question.get("object_type") == kind
    ]
    opening = f"Is there a unique {kind}"
    if len(searches) < int(number) or not searches[int(number) - 1].startswith(opening):
        return f"{with_article(kind)} in {place}"
    described = searches[int(number) - 1].removeprefix(opening).removesuffix("?").replace(f" in {_SPOKEN}", "", 1)
    others = f", apart from those called {kind} before," if int(number) > 1 else ""
    return f"the only {kind}{described}{others} in {place}"  # the clause first: a place may be long


def outlined(picture: Image.Image, boxes: list[Box], first: int = 0) -> Image.Image:
    """A copy with the rectangles drawn, the later ones inside the earlier where they coincide.

    Args:
        picture: The picture.
        boxes: Two at most, in fractions of it.
        first: Which of the colours the first one has: 0 red, 1 blue.
    """
    outlined = picture.convert("RGB")
    draw = ImageDraw.Draw(outlined)
    width = max(2, round(min(outlined.size) / 100))
    for place, (box, colour) in enumerate(zip(boxes, [*_COLOURS.values()][first:], strict=False)):
        x0, y0, x1, y1 = _pixels(box, outlined.size)
        inset = place * width if boxes.count(box) > 1 else 0
        x0, y0, x1, y1 = x0 + inset, y0 + inset, x1 - 1 - inset, y1 - 1 - inset
        if x1 > x0 and y1 > y0:
            draw.rectangle((x0, y0, x1, y1), outline=colour, width=width)
    return outlined
