"""The Turing exam from a written test: questions made before, their truth in a key."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sightline.errors import DataError
from sightline.exams.core import asking
from sightline.exams.run import ItemRecords
from sightline.exams.turing.conversation import TimedModel, administer, check_deadline, check_scenes
from sightline.exams.turing.estimate.estimator import Assumptions
from sightline.exams.turing.exam import TuringItem, views_of
from sightline.exams.turing.records import mark
from sightline.exams.turing.stream.operators import read_lines
from sightline.exams.turing.stream.steps import Step, Stream, step_from_json
from sightline.exams.turing.stream.written import WrittenTest, read_key, read_test
from sightline.exams.turing.study import Recipe, Studies, TuringStudy
from sightline.exams.turing.vocabulary.questions import Truth
from sightline.skills import Answer
from sightline.store import Dataset


@dataclass
class WrittenExam:
    """The streams of a written test.

    Attributes:
        folder: The test.
        key: The file of its true answers.
        withhold: Keep true answers from the model.
        deadline: Seconds for an answer; None to wait.
    """

    folder: Path
    key: Path
    withhold: bool = False
    deadline: float | None = None
    name: str = field(default="turing", init=False)
    _desk: TimedModel | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_deadline(self.deadline)

    @property
    def skills(self) -> tuple[str, ...]:
        """*answer*."""
        return ("answer",)

    @cached_property
    def test(self) -> WrittenTest:
        """The test as written."""
        return read_test(self.folder)

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """Questions and truth; DataError where the key does not fit."""
        read_key(self.key, self.test)
        asked = {question.place: question.question for question in self.test.questions}
        steps: dict[tuple[str, int], list[Step]] = {}
        ended: dict[tuple[str, int], str] = {}
        for number, row in read_lines(self.key):
            stream, step = (str(row["scene_id"]), int(row["stream"])), step_from_json(row, self.test.vocabulary)
            steps.setdefault(stream, []).append(step)
            ended[stream] = str(row.get("halted"))
            if step.truth is not Truth.AMBIGUOUS and asked.get((*stream, step.number)) != step.question:
                raise DataError("not a question of the test", file=self.key, row=number, field="question")
        if not steps:
            raise DataError("a test without a question", file=self.folder)
        in_order = {stream: tuple(sorted(told, key=lambda step: step.number)) for stream, told in steps.items()}
        return tuple(Stream(scene, 0, n, told, ended[scene, n]) for (scene, n), told in in_order.items())

    @property
    def epsilon(self) -> float:
        """How far from one half the chances lay, as far as the test tells."""
        return float(self._settings().get("epsilon", Recipe.epsilon))

    def dataset(self) -> Dataset:
        """The pictures of the test as a dataset."""
        return self.test.pictures(stream.scene_id for stream in self.streams)

    def options(self) -> dict[str, Any]:
        """Which test, what its report needs to know of it, and how it is put."""
        words = self.test.vocabulary
        told = {"test": self.test.id, "epsilon": self.epsilon, "vocabulary": words.name}
        return told | {"withhold": self.withhold, "deadline": self.deadline}

    def items(self, data: Dataset) -> tuple[TuringItem, ...]:
        """One a stream, in written order."""
        shown = views_of(data, {stream.scene_id for stream in self.streams}, None)
        return tuple(
            TuringItem(stream.scene_id, stream.number, row, shown[stream.scene_id])
            for row, stream in enumerate(self.streams)
        )

    def check(self, model: object, data: Dataset) -> dict[str, Any]:  # noqa: ARG002 — an exam's protocol
        """Refuse a model without an answer to any of the images."""
        images = {stream.scene_id for stream in self.streams}
        check_scenes(model, images)
        return {"images": len(images)}

    def prepare(self, model: object, data: Dataset) -> None:  # noqa: ARG002 — an exam's protocol
        """Hand the test's training annotations to a model that wants them."""
        if not isinstance(model, Studies):
            return
        settings, made = self._settings(), self.test.about.get("assumptions")
        recipe = Recipe(
            vocabulary=self.test.vocabulary,
            assumptions=Assumptions(**made) if made else Assumptions(),
            **{k: settings[k] for k in ("epsilon", "min_support", "questions", "seed") if k in settings},
        )
        training = self.test.training()
        with asking(model, "prepare"):
            model.prepare(TuringStudy(recipe, training, recipe.estimator(training).fork))

    def examine(self, model: object, item: TuringItem) -> ItemRecords:
        """Ask the questions of one stream."""
        assert isinstance(model, Answer)
        if self._desk is None or self._desk.model is not model:
            self._desk = TimedModel(model, self.deadline)
        stream = self.streams[item.row]
        replied = administer(stream, item.view, self._desk, self.test.vocabulary, withhold=self.withhold)
        return mark(replied, number=item.number, halted=stream.halted)

    def _settings(self) -> dict[str, Any]:
        return dict(self.test.about.get("settings") or {})
