"""A stream: the questions asked about one image with their true answers, step by step, and as JSON rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sightline.errors import DataError, SightlineError
from sightline.exams.turing.vocabulary.english import say
from sightline.exams.turing.vocabulary.questions import (
    Box,
    History,
    Label,
    Question,
    Truth,
    parse_label,
    question_from_json,
    question_to_json,
    region_box,
)
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary

HALTED: Final = {
    "exhausted": "nothing unpredictable left",
    "limit": "as many questions as were wanted",
    "operator": "the operator stopped",
}
"""Why a stream ended → in words."""


@dataclass(frozen=True, slots=True)
class Step:
    """One question of a stream, and what became of it so far.

    Attributes:
        number: From 1, ambiguous ones counted too.
        question: The question.
        p_yes: Chance of a yes as estimated before asking; NaN where nobody knows.
        support: Training images, objects or pairs that estimate rests on.
        truth: What the operator said; None before. Ambiguous ones stand in the stream, but not in the history, and
            no model is asked them.
        label: The label a positive uniqueness question gave.
        object_id: Which object of the scene that is, where the operator knows.
        box: Where it is, xyxy in fractions of the image, where a person said so; of annotated objects the id tells.
        story: Number of the story line it belongs to, from 1: a new one begins where the search for an object does.
        among: Unpredictable questions it was drawn from.
        reply: What a model replied, one of `conversation.REPLIES`; empty where none was asked.
        said: The beginning of a reply nobody could read, else empty.
        seconds: How long the model took; of a late reply how long was waited.
        confidence: How sure the model was of its reply, in [0, 1]; None where it did not say.
    """

    number: int
    question: Question
    p_yes: float = math.nan
    support: int = 0
    truth: Truth | None = None
    label: Label | None = None
    object_id: str | None = None
    box: Box | None = None
    story: int = 1
    among: int = 0
    reply: str = ""
    said: str = ""
    seconds: float = 0.0
    confidence: float | None = None

    @property
    def decided(self) -> bool:
        """Whether its true answer is yes or no."""
        return self.truth is Truth.YES or self.truth is Truth.NO

    @property
    def right(self) -> bool:
        """Whether a model's reply is the true answer."""
        return self.truth is not None and self.reply == self.truth.value


@dataclass(frozen=True, slots=True)
class Stream:
    """All questions about one image.

    Attributes:
        scene_id: The image.
        seed: Of the random choices.
        number: Which stream of that image, from 0.
        steps: In order.
        halted: Why it ended: ``exhausted`` (nothing unpredictable left), ``limit`` or ``operator``.
    """

    scene_id: str
    seed: int
    number: int
    steps: tuple[Step, ...]
    halted: str

    @property
    def history(self) -> History:
        """Questions and answers without the ambiguous ones."""
        return tuple((step.question, step.truth is Truth.YES) for step in self.steps if step.decided)


def steps_to_json(stream: Stream, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """One row of JSON values a step: what was asked and answered, `labels` given before it and its own `label`.

    `p_yes` is null where nothing was known.
    """
    rows, labels = [], list[str]()
    for step in stream.steps:
        box, label = region_box(step.question, vocabulary), None if step.label is None else str(step.label)
        rows.append(
            {
                "step": step.number,
                "type": step.question.kind,
                "text": say(step.question, vocabulary),
                "region": None if box is None else list(box),
                "p_yes": None if math.isnan(step.p_yes) else step.p_yes,
                "support": step.support,
                "answer": None if step.truth is None else step.truth.value,
                "labels": list(labels),
                "label": label,
                "object_id": step.object_id,
                "box": None if step.box is None else list(step.box),
                "story": step.story,
                "among": step.among,
                "question": question_to_json(step.question, vocabulary),
            }
        )
        labels += [] if label is None else [label]
    return rows


def step_from_json(row: Mapping[str, Any], vocabulary: Vocabulary) -> Step:
    """The step of a row of `steps_to_json`; DataError where it is none."""
    number = row.get("step") if isinstance(row, Mapping) else None
    try:
        return Step(
            number=int(row["step"]),
            question=question_from_json(row["question"], vocabulary),
            p_yes=math.nan if row["p_yes"] is None else float(row["p_yes"]),
            support=int(row["support"]),
            truth=Truth(row["answer"]),
            label=None if row["label"] is None else parse_label(row["label"], vocabulary),
            object_id=row["object_id"],
            box=read_box(row.get("box")),
            story=int(row["story"]),
            among=int(row["among"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"not a step: {reason}", row=number) from error
    except SightlineError as error:
        raise DataError(str(error), row=number) from error


def read_box(value: Any) -> Box | None:
    """A box of JSON, xyxy in fractions of the image, None for null; ValueError where it is none.

    >>> read_box([0, 0.25, 0.5, 1])
    (0.0, 0.25, 0.5, 1.0)
    """
    if value is None:
        return None
    numbers = isinstance(value, list | tuple) and all(
        isinstance(v, int | float) and not isinstance(v, bool) for v in value
    )
    if not numbers or len(value) != 4 or not (0 <= value[0] < value[2] <= 1 and 0 <= value[1] < value[3] <= 1):
        raise ValueError(f"not a box x0, y0, x1, y1 in fractions of the image: {value!r}")
    x0, y0, x1, y1 = map(float, value)
    return x0, y0, x1, y1
