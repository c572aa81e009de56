"""Answers about single pictures that were made elsewhere: to statements, and to the context exam."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
import polars as pl

from sightline.errors import DataError, ModelError
from sightline.hints import did_you_mean
from sightline.models.adapters.answer_fields import DEGREES, TURING_FIELDS, AnswerField, read_answers
from sightline.scenes import View
from sightline.skills import ABSTAIN, Asked, ClassScores, ContextSpec
from sightline.store.formats.csvio import refuse

_TEXT: Final = TURING_FIELDS["scene_id"]
STATEMENT_FIELDS: Final = {"scene_id": _TEXT, "statement": _TEXT, "answer": TURING_FIELDS["answer"]}
PRESENCE_FIELDS: Final = {"picture": _TEXT, "category": _TEXT, "answer": TURING_FIELDS["answer"]}
SCORE_FIELDS: Final[dict[str, AnswerField]] = {"picture": _TEXT, "category": _TEXT, "score": DEGREES}


class WordedAnswers:
    """Answers by what they are about: rows of two names and an answer; what has no row is an abstention.

    Args:
        path: A ``.csv`` with these columns in any order, or a ``.jsonl`` with one object of these keys a line.
    """

    stored_answers: ClassVar[bool] = True
    fields: ClassVar[dict[str, AnswerField]] = {}

    def __init__(self, path: Path) -> None:
        self.path = path
        types = dict.fromkeys(self.fields, pl.Object)
        first, frame = read_answers(path, self.fields, types)
        self._answers: dict[tuple[str, str], str | bool] = {}
        for row, (one, other, answer) in enumerate(frame.iter_rows(), start=first):
            if (one, other) in self._answers:
                raise DataError("answered twice", file=path, row=row, found=f"{one}, {other}")
            self._answers[one, other] = answer

    def _answer(self, one: str, other: str) -> str | bool:
        return self._answers.get((one, other), ABSTAIN)


class StatementAnswers(WordedAnswers):
    """Answers to the statements exam: rows of scene_id, statement and answer."""

    fields = STATEMENT_FIELDS

    def answer(self, asked: Asked) -> str | bool:
        """What the file says of a statement."""
        return self._answer(asked.scene_id, str(asked.question.get("statement", "")))


class PresenceAnswers(WordedAnswers):
    """Yes and no to the context exam: rows of picture, category and answer.

    A picture is called by its id: the scene's, and of an edit followed by ``/without/CLASS``, ``/flipped/CLASS`` or
    ``/empty/CLASS``.
    """

    fields = PRESENCE_FIELDS

    def answer(self, asked: Asked) -> str | bool:
        """What the file says of a class in a picture."""
        return self._answer(asked.view.id, str(asked.question.get("class", "")))


class ScoreAnswers:
    """Class scores for the context exam: rows of picture (see `PresenceAnswers`), category and score, a logit.

    Args:
        path: A ``.csv`` with these columns in any order, or a ``.jsonl`` with one object of these keys a line.
    """

    stored_answers: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self.path = path
        types = {"picture": pl.String, "category": pl.String, "score": pl.Float64}
        first, frame = read_answers(path, SCORE_FIELDS, types)
        again = ~pl.struct("picture", "category").is_first_distinct()
        refuse(frame, again, "scored twice", file=path, field="category", found=pl.col("category"), line=first)
        self.classes: tuple[str, ...] = tuple(frame["category"].unique().sort().to_list())
        keys = zip(frame["picture"], frame["category"], strict=True)
        self._scores = dict(zip(keys, frame["score"].to_list(), strict=True))
        self._pictures = set(frame["picture"])

    def check_context(self, spec: ContextSpec) -> None:
        """ModelError where the file has no picture that is asked about."""
        if self._pictures.isdisjoint(spec.scenes):
            near = did_you_mean(min(self._pictures), spec.scenes)
            raise ModelError(f"{self.path}: none of its pictures is one of this exam{near}")

    def classify(self, views: Sequence[View]) -> ClassScores:
        """What the file says of these pictures; ModelError for one it does not score."""
        rows = []
        for view in views:
            missing = [name for name in self.classes if (view.id, name) not in self._scores]
            if missing:
                raise ModelError(f"{self.path}: no score of {missing[0]} in picture {view.id}")
            rows.append([self._scores[view.id, name] for name in self.classes])
        return ClassScores(self.classes, np.array(rows, np.float64).reshape(len(rows), len(self.classes)))
