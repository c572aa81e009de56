"""Answer yes–no questions by logic: what follows from the history and the vocabulary, else what is usual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from sightline.errors import ConfigError
from sightline.exams.turing.logic.knowledge import Knowledge, Rules
from sightline.exams.turing.vocabulary.questions import Question, question_from_json
from sightline.skills import Asked, TuringStudy

_ENOUGH: Final = 10
"""Practised questions that make a frequency worth following."""


class TuringLogician:
    """Applies every rule of the exam's logic, and the frequency of yes for the words of a question otherwise.

    It reads history and vocabulary and never the picture. Frequencies are those of questions the engine asked about
    training images: of the same words in the same region, else of the same words, else of the type of question.

    Args:
        images: Training images to practise on, at most.
    """

    def __init__(self, images: int = 200) -> None:
        if images < 1:
            raise ConfigError(f"images must be at least 1, found {images}")
        self.images = images
        self._study: TuringStudy | None = None
        self._rules: Rules | None = None
        self._yes: Counter[tuple[object, ...]] = Counter()
        self._asked: Counter[tuple[object, ...]] = Counter()
        self._followed = 0

    def prepare_turing(self, study: TuringStudy) -> None:
        """Count yes by words over streams about training images."""
        self._study, self._rules = study, Rules(study.vocabulary)
        self._yes, self._asked = Counter(), Counter()
        for stream in study.practice(self.images):
            for question, answer in stream.history:
                for words in _words(question):
                    self._asked[words] += 1
                    self._yes[words] += answer

    def facts(self) -> dict[str, Any]:
        """What it practised on, and how many answers followed by logic."""
        return {"images": self.images, "words": len(self._asked), "followed": self._followed}

    def answer(self, asked: Asked) -> bool:
        """What follows, else the likelier answer."""
        if self._study is None:
            raise ConfigError("turing_logician answers only in an exam: it learns from the training annotations")
        vocabulary = self._study.vocabulary
        question = question_from_json(asked.question, vocabulary)
        history = tuple(
            (question_from_json(form, vocabulary), answer)
            for form, _, answer in asked.history
            if answer is not None  # withheld ones tell nothing
        )
        implied = Knowledge(history, vocabulary, self._rules).implied(question)
        if implied is not None:
            self._followed += 1
            return implied
        for words in _words(question):
            if self._asked[words] >= _ENOUGH:
                return 2 * self._yes[words] > self._asked[words]
        return False


def _words(question: Question) -> Iterator[tuple[object, ...]]:
    """What a frequency may be counted by, the narrowest first."""
    types = tuple(label.type for label in (question.subject, question.object) if label is not None)
    what = (question.kind, question.type, types, question.attributes, question.relation)
    yield (*what, question.region)
    yield what
    yield (question.kind,)
