"""Asking a model the questions of a stream: one at a time, the truth given back after each, by a deadline."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from sightline.errors import ConfigError
from sightline.exams.core import asking
from sightline.exams.turing.conversation import LATE, quoted, read_reply
from sightline.exams.turing.records import Replied
from sightline.exams.turing.stream.steps import Step, Stream
from sightline.exams.turing.vocabulary.english import say, say_long
from sightline.exams.turing.vocabulary.questions import Question, Truth, question_to_json
from sightline.exams.turing.vocabulary.vocabulary import WHOLE, Vocabulary
from sightline.scenes import View
from sightline.skills import UNPARSED, Answer, Asked

Box = tuple[float, float, float, float]
Place = tuple[str, int, int]
"""(scene id, number of the stream, number of the step)."""

LONGEST: Final = 86_400.0
"""Seconds: a deadline further off than a day is none."""


def check_deadline(deadline: float | None) -> None:
    """ConfigError for a deadline nobody could keep or wait for."""
    if deadline is not None and not 0 < deadline <= LONGEST:
        raise ConfigError(f"a deadline must be positive and a day ({LONGEST:.0f} s) at most, found {deadline}")


def check_scenes(model: object, scenes: Collection[str]) -> None:
    """Let a model that knows certain images only, and says so by ``check_scenes``, refuse others beforehand."""
    refuse = getattr(model, "check_scenes", None)
    if callable(refuse):
        with asking(model, "check_scenes"):
            refuse(scenes)


@dataclass
class TimedModel:
    """Where a model sits: its calls are made here, never two at a time, and none is waited for beyond the deadline.

    A call that overruns goes on in its thread, since Python cannot stop it. The next question waits for it, as long
    as the deadline again; if the model is still busy then, that question is late too and is never put. So a model
    that hangs costs two deadlines a question at most, and is never called while it is at work. Hearing the truth is
    a call like any other; one that takes long makes only the questions behind it late.

    Attributes:
        model: The model.
        deadline: Seconds it has for an answer; None to wait as long as it takes.
    """

    model: Answer
    deadline: float | None = None
    _busy: threading.Thread | None = field(default=None, init=False, repr=False)
    _unheard: list[tuple[Asked, bool]] = field(default_factory=list, init=False, repr=False)

    def ask(self, asked: Asked, place: Place) -> tuple[object, bool, float]:
        """What the model said, whether in time, and the seconds it took (or was waited for).

        A model with a method ``seek(scene_id, stream, step)`` is told the place first; of use to one that reads
        its answers from a file.

        Raises:
            ModelError: The model raised; what one raises after its deadline is not looked at.
        """
        if self.deadline is None:
            start = time.perf_counter()
            return self._answer(asked, place), True, time.perf_counter() - start
        if not self._free(self.deadline):
            return None, False, self.deadline
        start = time.perf_counter()
        said = self._timed(lambda: self._answer(asked, place), self.deadline)
        if said is None:
            return None, False, time.perf_counter() - start
        given, seconds = said
        return given, seconds <= self.deadline, seconds  # the wait may end later than it should

    def tell(self, asked: Asked, truth: bool) -> None:
        """Give the true answer back, to a model that has `on_truth`; while it is busy, that waits."""
        if callable(getattr(self.model, "on_truth", None)):
            self._unheard.append((asked, truth))
            self._free(0.0)

    def _hear(self, asked: Asked, truth: bool) -> None:
        with asking(self.model, "on_truth"):
            self.model.on_truth(asked, truth)  # type: ignore[attr-defined]

    def _answer(self, asked: Asked, place: Place) -> object:
        if callable(getattr(self.model, "seek", None)):
            with asking(self.model, "seek"):
                self.model.seek(*place)  # type: ignore[attr-defined]
        with asking(self.model, "answer"):
            return self.model.answer(asked)

    def _free(self, patience: float) -> bool:
        """Whether no call is going on, after waiting so long at most; then the model hears what it missed."""
        if self._busy is not None:
            self._busy.join(patience)
            if self._busy.is_alive():
                return False
            self._busy = None
        while self._unheard:
            told = self._unheard.pop(0)
            if self.deadline is None:
                self._hear(*told)
            elif self._timed(partial(self._hear, *told), self.deadline) is None:
                return False
        return True

    def _timed(self, call: Callable[[], object], deadline: float) -> tuple[object, float] | None:
        """What a call gave and the seconds it took; None where it still goes on at the deadline."""
        said: list[tuple[object, float]] = []
        raised: list[BaseException] = []

        def work() -> None:
            try:
                given = call()
                said.append((given, time.perf_counter() - start))
            except BaseException as error:
                raised.append(error)

        start = time.perf_counter()
        self._busy = threading.Thread(target=work, daemon=True)
        self._busy.start()
        self._busy.join(deadline)
        if self._busy.is_alive():
            return None
        self._busy = None
        if raised:
            raise raised[0]
        return said[0]


@dataclass
class Conversation:
    """What a model may know of a stream so far; `put` makes the next question of it.

    Attributes:
        scene_id: The image.
        view: Its picture, without truth.
        vocabulary: Words of the questions.
        withhold: True answers are kept from the model.
    """

    scene_id: str
    view: View
    vocabulary: Vocabulary
    withhold: bool = False
    _labels: dict[str, Box | None] = field(default_factory=dict, init=False)
    _history: tuple[tuple[Mapping[str, Any], str, bool | None], ...] = field(default=(), init=False)

    def put(self, question: Question) -> Asked:
        """The question as the model sees it."""
        return Asked(
            scene_id=self.scene_id,
            view=self.view,
            question=question_to_json(question, self.vocabulary),
            text=say(question, self.vocabulary),
            long_text=say_long(question, self.vocabulary),
            region=region_of(question, self.vocabulary) if question.instantiates else None,
            labels=dict(self._labels),
            history=self._history,
        )

    def add(self, asked: Asked, step: Step) -> None:
        """Note the truth of a question that was put.

        A label is told even where answers are withheld: later questions speak of it.
        """
        answer = None if self.withhold else step.truth is Truth.YES
        self._history = (*self._history, (asked.question, asked.text, answer))
        if step.label is not None:
            self._labels[str(step.label)] = region_of(step.question, self.vocabulary)


def region_of(question: Question, vocabulary: Vocabulary) -> Box | None:
    """The designated region in fractions of the image; None for the whole image."""
    return None if question.region == WHOLE else vocabulary.region(question.region).box


def administer(
    stream: Stream, view: View, desk: TimedModel, vocabulary: Vocabulary, *, withhold: bool = False
) -> list[Replied]:
    """Ask the model every question of a stream that is not ambiguous.

    Args:
        stream: The questions and their true answers.
        view: The picture, without truth.
        desk: Where the model sits.
        vocabulary: Words of the questions.
        withhold: Keep true answers from the model.

    Returns:
        One entry a step, the ambiguous ones too.
    """
    told = Conversation(stream.scene_id, view, vocabulary, withhold)
    replied: list[Replied] = []
    for step in stream.steps:
        asked = told.put(step.question)
        form = json.dumps(asked.question, ensure_ascii=False, separators=(",", ":"))
        if step.truth is Truth.AMBIGUOUS:
            replied.append(Replied(step, form, asked.text))
            continue
        said, in_time, seconds = desk.ask(asked, (stream.scene_id, stream.number, step.number))
        reply = read_reply(said) if in_time else LATE
        replied.append(Replied(step, form, asked.text, reply, quoted(said) if reply == UNPARSED else "", seconds))
        told.add(asked, step)
        if not withhold:
            desk.tell(asked, step.truth is Truth.YES)
    return replied
