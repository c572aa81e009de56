"""Operators: who tells the truth about an image while questions are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from sightline.documents import read_json_lines
from sightline.errors import ConfigError, DataError, SightlineError
from sightline.exams.turing.annotations.columns import Annotation
from sightline.exams.turing.annotations.semantics import answer, walk
from sightline.exams.turing.stream.steps import read_box
from sightline.exams.turing.vocabulary.english import parse, say
from sightline.exams.turing.vocabulary.questions import (
    Box,
    History,
    Question,
    Truth,
    check_question,
    labels_of,
    question_from_json,
)
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.hints import hint

Refusal = Callable[..., DataError]
"""Makes the error about a line of a file, which it names."""


class StoppedError(SightlineError):
    """An operator will not go on; the stream ends there, with the outcome ``operator``."""


@runtime_checkable
class Operator(Protocol):
    """Tells the truth about one image: answers a question, or rejects it as ambiguous."""

    def answer(self, question: Question, history: History) -> tuple[Truth, str | None]:
        """The truth, and for a positive uniqueness question the id of the object it is about, if known."""


@runtime_checkable
class Locates(Protocol):
    """An operator that also says where the object is that a positive uniqueness question labels."""

    def box(self, question: Question, history: History) -> Box | None:
        """Its box, xyxy in fractions of the image; None where that was not told."""


class GroundTruth:
    """Answers from a scene's annotation; ambiguous is what that cannot decide.

    >>> import numpy as np
    >>> from sightline.exams.turing.vocabulary.vocabulary import ObjectType, Region
    >>> words = Vocabulary("w", (ObjectType("person", ("person",)),), (), (Region("image", (0, 0, 1, 1)),))
    >>> none, pair = np.zeros((1, 0), bool), np.zeros((1, 1, 0), bool)
    >>> one = Annotation("s", ("p",), np.zeros(1, np.int16), np.zeros(1, bool), none, none,
    ...                  np.ones((1, 1), bool), pair, pair)
    >>> GroundTruth(one, words).answer(Question("unique", "person"), ())
    (<Truth.YES: 'yes'>, 'p')
    """

    def __init__(self, annotation: Annotation, vocabulary: Vocabulary) -> None:
        self._annotation, self._vocabulary = annotation, vocabulary

    def answer(self, question: Question, history: History) -> tuple[Truth, str | None]:
        """The truth, and the id of the object it labels."""
        # Which object a label means is settled by the questions that gave labels alone.
        labelling = tuple((asked, said) for asked, said in history if asked.labels_if(said))
        holds, labelled = walk(self._annotation, labelling, self._vocabulary)
        if not holds:
            raise DataError("the history gives labels that this image does not bear out", row=self._annotation.id)
        truth, thing = answer(self._annotation, question, labelled, self._vocabulary)
        return truth, None if thing is None else self._annotation.objects[thing]


class _AnswerRow(NamedTuple):
    number: int
    truth: Truth
    object_id: str | None
    box: Box | None


class FromFile:
    """Answers from a JSONL file, one object a line; of use to make a stream again that was answered elsewhere.

    Each line has ``scene_id``, ``question`` (structured, or in English with ``region``: a name of the vocabulary,
    a box in fractions of the image, or null where it speaks of none) and ``answer`` (yes, no or ambiguous);
    ``object_id`` and ``box`` (fractions of the image) where they are known, and ``labels``: those given before
    ("person 1"), without which the line counts whatever was labelled. A label in the file means the object that a
    stream labels so: the file fits streams of the same seed.

    Args:
        path: The file; lines about other scenes are passed over, and lines of other streams and seeds (``stream``,
            ``seed``).
        scene_id: The image.
        vocabulary: What the questions speak of.
        stream: Number of the stream; None where the file has one of the scene at most.
        seed: Of the stream; None where the file has one at most.
        missing: What to do about a question that is not in the file: ``raise`` a DataError, or ``stop`` the stream.
    """

    def __init__(
        self,
        path: str | Path,
        scene_id: str,
        vocabulary: Vocabulary,
        *,
        stream: int | None = None,
        seed: int | None = None,
        missing: Literal["raise", "stop"] = "raise",
    ) -> None:
        if missing not in ("raise", "stop"):
            raise ConfigError(f"a missing question can raise or stop, not {missing!r}")
        self._path, self._scene_id, self._missing, self._vocabulary = Path(path), scene_id, missing, vocabulary
        self._rows: dict[tuple[Question, int | None], _AnswerRow] = {}
        for number, row in read_json_lines(self._path):
            ours = all(
                wanted is None or row.get(name) in (None, wanted)
                for name, wanted in (("stream", stream), ("seed", seed))
            )
            wrong = partial(DataError, file=self._path, row=number)
            if _text(row, "scene_id", wrong) == scene_id and ours:
                self._add(row, number, wrong)
        if not self._rows:
            raise DataError(_nothing(stream, seed), file=self._path, field="scene_id", expected=scene_id)

    def answer(self, question: Question, history: History) -> tuple[Truth, str | None]:
        """What the file says."""
        row = self._row(question, history)
        if row is not None:
            return row.truth, row.object_id
        said = f"no answer about scene {self._scene_id} to {say(question, self._vocabulary)!r}"
        if self._missing == "stop":
            raise StoppedError(f"{self._path}: {said}")
        raise DataError(said, file=self._path)

    def box(self, question: Question, history: History) -> Box | None:
        """Where the file says that the labelled object is."""
        row = self._row(question, history)
        return None if row is None else row.box

    def _row(self, question: Question, history: History) -> _AnswerRow | None:
        given = sum(label.type == question.type for label in labels_of(history))
        return self._rows.get((question, given)) or self._rows.get((question, None))

    def _add(self, row: Mapping[str, Any], number: int, wrong: Refusal) -> None:
        question = _question(row, self._vocabulary, wrong)
        word = _text(row, "answer", wrong).strip().casefold()
        if word not in (truth.value for truth in Truth):
            raise wrong("not an answer", field="answer", expected="yes, no or ambiguous", found=row["answer"])
        object_id = None if row.get("object_id") is None else _text(row, "object_id", wrong)
        key = question, _before(row, question, wrong)
        try:
            box = read_box(row.get("box"))
        except ValueError as error:
            raise wrong(str(error), field="box") from None
        new = _AnswerRow(number, Truth(word), object_id, box)
        old = self._rows.setdefault(key, new)
        if old.truth is not new.truth:
            problem = f"answered otherwise in row {old.number}"
            raise wrong(problem, field="answer", expected=old.truth.value, found=word)


def _nothing(stream: int | None, seed: int | None) -> str:
    """What a file without a fitting line lacks.

    >>> _nothing(None, None), _nothing(1, 7)
    ('no line about this scene', 'no line about this scene, stream 1, seed 7')
    """
    named = [f"{name} {value}" for name, value in (("stream", stream), ("seed", seed)) if value]
    return ", ".join(["no line about this scene", *named])


def _question(row: Mapping[str, Any], vocabulary: Vocabulary, wrong: Refusal) -> Question:
    given = row.get("question")
    try:
        if isinstance(given, Mapping):
            return question_from_json(given, vocabulary)
        if isinstance(given, str):
            question = parse(given, vocabulary, _region(row.get("region"), vocabulary))
            check_question(question, vocabulary)
            return question
    except SightlineError as error:
        raise wrong(str(error), field="question") from error
    raise wrong("no question", field="question", expected="an object or a sentence", found=given)


def _region(given: object, vocabulary: Vocabulary) -> str | None:
    """The name of the region that a name or a box means; null where the sentence speaks of none."""
    if given is None:
        return None
    if isinstance(given, str):
        if given not in vocabulary.region_index:
            raise DataError(f"unknown region {given!r}{hint(given, vocabulary.region_index)}")
        return given
    if isinstance(given, list) and len(given) == 4 and all(isinstance(v, int | float) for v in given):
        for region in vocabulary.regions:
            if all(abs(a - b) < 1e-6 for a, b in zip(given, region.box, strict=True)):
                return region.name
    raise DataError("not a designated region", expected="a name, four fractions or null", found=given)


def _before(row: Mapping[str, Any], question: Question, wrong: Refusal) -> int | None:
    """How many labels of the question's type had been given; None where that is not told, or does not matter."""
    labels = row.get("labels")
    if labels is None or not question.instantiates:
        return None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise wrong("not labels", field="labels", expected='such as ["person 1"]', found=labels)
    return [label.rpartition(" ")[0] for label in labels].count(question.type)


def _text(row: Mapping[str, Any], field: str, wrong: Refusal) -> str:
    value = row.get(field)
    if not isinstance(value, str):
        raise wrong("missing or no text", field=field, expected="a text", found=value)
    return value
