"""Streams as JSON values and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sightline.errors import DataError, SightlineError
from sightline.exams.turing.asking.streams import Step, Stream
from sightline.exams.turing.words.english import say
from sightline.exams.turing.words.questions import Question, Truth
from sightline.exams.turing.words.structured import from_json as question_from_json
from sightline.exams.turing.words.structured import parse_label
from sightline.exams.turing.words.structured import to_json as question_to_json
from sightline.exams.turing.words.vocabulary import WHOLE, Vocabulary


def to_json(stream: Stream, vocabulary: Vocabulary) -> dict[str, Any]:
    """A stream as JSON values; its steps as `steps_to_json` has them."""
    return {
        "scene_id": stream.scene_id,
        "seed": stream.seed,
        "number": stream.number,
        "halted": stream.halted,
        "steps": steps_to_json(stream, vocabulary),
    }


def from_json(data: Mapping[str, Any], vocabulary: Vocabulary) -> Stream:
    """The stream that `to_json` wrote; a DataError where a step is not one."""
    try:
        return Stream(
            scene_id=str(data["scene_id"]),
            seed=int(data["seed"]),
            number=int(data["number"]),
            steps=tuple(step_from_json(step, vocabulary) for step in data["steps"]),
            halted=str(data["halted"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"not a stream: {_reason(error)}") from error


def steps_to_json(stream: Stream, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """Each step: what was asked and answered, `labels` given before it and the `label` it gave itself."""
    rows, labels = [], list[str]()
    for step in stream.steps:
        rows.append(step_to_json(step, vocabulary, labels))
        if step.label is not None:
            labels.append(str(step.label))
    return rows


def step_to_json(step: Step, vocabulary: Vocabulary, labels: list[str]) -> dict[str, Any]:
    """One step, after labels were given; `p_yes` is null where nothing was known."""
    return {
        "step": step.number,
        "type": step.question.kind,
        "text": say(step.question, vocabulary),
        "region": region_box(step.question, vocabulary),
        "p_yes": None if math.isnan(step.p_yes) else step.p_yes,
        "support": step.support,
        "answer": step.truth.value,
        "labels": list(labels),
        "label": None if step.label is None else str(step.label),
        "object_id": step.object_id,
        "story": step.story,
        "among": step.among,
        "question": question_to_json(step.question, vocabulary),
    }


def step_from_json(data: Mapping[str, Any], vocabulary: Vocabulary) -> Step:
    """The step that `step_to_json` wrote."""
    row = data.get("step") if isinstance(data, Mapping) else None
    try:
        return Step(
            number=int(data["step"]),
            question=question_from_json(data["question"], vocabulary),
            p_yes=math.nan if data["p_yes"] is None else float(data["p_yes"]),
            support=int(data["support"]),
            truth=Truth(data["answer"]),
            label=None if data["label"] is None else parse_label(data["label"], vocabulary),
            object_id=data["object_id"],
            story=int(data["story"]),
            among=int(data["among"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"not a step: {_reason(error)}", row=row) from error
    except SightlineError as error:
        raise DataError(str(error), row=row) from error


def region_box(question: Question, vocabulary: Vocabulary) -> list[float] | None:
    """The designated region, xyxy in fractions of the image; None for the whole image, or where there is none."""
    if not question.instantiates or question.region == WHOLE:
        return None
    return list(vocabulary.region(question.region).box)


def _reason(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)
