"""A conversation about an image: a model is asked question by question, by a deadline, and its replies are read."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np

from sightline.errors import ConfigError
from sightline.exams.hooks import model_call
from sightline.exams.turing.stream.steps import Step, Stream
from sightline.exams.turing.vocabulary.english import say, say_long
from sightline.exams.turing.vocabulary.questions import Box, Truth, question_to_json, region_box
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.scenes import View
from sightline.skills import ABSTAIN, UNPARSED, Answer, Asked
from sightline.text import without_reasoning

Place = tuple[str, int, int]
"""(scene id, number of the stream, number of the step)."""

LONGEST: Final = 86_400.0
"""Seconds: a deadline further off than a day is none."""

YES: Final = "yes"
NO: Final = "no"
LATE: Final = "late"
"""What a reply becomes that did not come before the deadline."""

REPLIES: Final = (YES, NO, ABSTAIN, UNPARSED, LATE)
"""All words of replies in records; only the first two can be right."""

_WORDS: Final = {"yes": YES, "true": YES, "no": NO, "false": NO, "abstain": ABSTAIN}
_DECORATION: Final = " \t\r\n\"'`*_“”‘’.,;:!()[]"
_LONGEST: Final = 600
"""Characters of a reply that a record keeps."""
_BOTH = re.compile(r"(yes|no|true|false|y|n)\s*(/|or\b|and\b)\s*(yes|no|true|false|y|n)\b")
_ABSTENTION = re.compile(
    r"(i\s+|i['’]?m\s+|i am\s+)?(abstain|pass|skip|unknown|unsure|undecided|uncertain|n/a|"
    r"don['’]?t know|do not know|cannot (say|tell)|can['’]?t (say|tell)|"
    r"not (sure|certain)|no (idea|answer|comment|opinion))\b"
)


class RecordedReply(str):
    """A reply that was given and timed elsewhere, as a proctor's log has it.

    Attributes:
        seconds: How long it took.
        late: Whether it came too late there.
    """

    __slots__ = ("late", "seconds")
    seconds: float
    late: bool

    def __new__(cls, text: str, *, seconds: float, late: bool) -> RecordedReply:
        """The reply with its time."""
        made = super().__new__(cls, text)
        made.seconds, made.late = seconds, late
        return made


def check_deadline(deadline: float | None) -> None:
    """ConfigError for a deadline nobody could keep or wait for."""
    if deadline is not None and not 0 < deadline <= LONGEST:
        raise ConfigError(f"a deadline must be positive and a day ({LONGEST:.0f} s) at most, found {deadline}")


def ask_model(
    stream: Stream, view: View, model: TimedModel, vocabulary: Vocabulary, *, withhold: bool = False
) -> Stream:
    """Ask a model every question of a stream that is not ambiguous; the stream with its replies.

    Args:
        stream: The questions and their true answers.
        view: The picture, without truth.
        model: The model, with its deadline.
        vocabulary: Words of the questions.
        withhold: Keep true answers from the model.
    """
    labels: dict[str, Box | None] = {}
    history: tuple[tuple[Mapping[str, Any], str, bool | None], ...] = ()
    steps: list[Step] = []
    for step in stream.steps:
        if not step.decided:
            steps.append(step)
            continue
        asked = Asked(
            scene_id=stream.scene_id,
            view=view,
            question=question_to_json(step.question, vocabulary),
            text=say(step.question, vocabulary),
            long_text=say_long(step.question, vocabulary),
            region=region_box(step.question, vocabulary),
            labels=dict(labels),
            history=history,
        )
        given, in_time, seconds = model.ask(asked, (stream.scene_id, stream.number, step.number))
        reply = read_reply(given) if in_time else LATE
        said = more_than(reply, given)
        sure = getattr(given, "confidence", None) if in_time else None
        steps.append(replace(step, reply=reply, said=said, seconds=seconds, confidence=sure))
        truth = step.truth is Truth.YES
        history = (*history, (asked.question, asked.text, None if withhold else truth))
        if step.label is not None:  # told even where answers are withheld: later questions speak of it
            labels[str(step.label)] = asked.region
        if not withhold:
            model.tell(asked, truth)
    return replace(stream, steps=tuple(steps))


@dataclass
class TimedModel:
    """A model with a deadline: calls never overlap, and none is waited for beyond the deadline.

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
            given = self._answer(asked, place)
            if isinstance(given, RecordedReply):
                return given, not given.late, given.seconds
            return given, True, time.perf_counter() - start
        if not self._free(self.deadline):
            return None, False, self.deadline
        start = time.perf_counter()
        answered = self._timed(lambda: self._answer(asked, place), self.deadline)
        if answered is None:
            return None, False, time.perf_counter() - start
        given, seconds = answered
        if isinstance(given, RecordedReply):
            return given, not given.late and given.seconds <= self.deadline, given.seconds
        return given, seconds <= self.deadline, seconds  # the wait may end later than it should

    def tell(self, asked: Asked, truth: bool) -> None:
        """Give the true answer back, to a model that has `on_truth`; while it is busy, that waits."""
        if callable(getattr(self.model, "on_truth", None)):
            self._unheard.append((asked, truth))
            self._free(0.0)

    def _hear(self, asked: Asked, truth: bool) -> None:
        with model_call(self.model, "on_truth"):
            self.model.on_truth(asked, truth)  # type: ignore[attr-defined]

    def _answer(self, asked: Asked, place: Place) -> object:
        if callable(getattr(self.model, "seek", None)):
            with model_call(self.model, "seek"):
                self.model.seek(*place)  # type: ignore[attr-defined]
        with model_call(self.model, "answer"):
            return self.model.answer(asked)

    def _free(self, patience: float) -> bool:
        """Whether no call is going on, after waiting so long at most; then the model hears what it missed."""
        if self._busy is not None:
            self._busy.join(patience)
            if self._busy.is_alive():
                return False
            self._busy = None
        while self._unheard:
            asked, truth = self._unheard.pop(0)
            if self.deadline is None:
                self._hear(asked, truth)
            elif self._timed(partial(self._hear, asked, truth), self.deadline) is None:
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


def read_reply(given: object) -> str:
    """One of `REPLIES` (never ``late``) for whatever a model returned.

    A bool will do, as will a text that is or begins with yes, no, true or false, the single letters y and n, and
    the usual ways to decline. A reply that names both sides, and anything else, is ``unparsed``.
    Nothing is guessed; what a model wrote of its reasoning (``<think>…</think>``) is no part of its answer.

    >>> [read_reply(r) for r in (True, "No.", "Yes, there is one.", "n", "I don't know", "yes or no", "maybe", 1)]
    ['yes', 'no', 'yes', 'no', 'abstain', 'unparsed', 'unparsed', 'unparsed']
    """
    if isinstance(given, bool | np.bool_):
        return YES if given else NO
    if not isinstance(given, str):
        return UNPARSED
    text = without_reasoning(given).strip(_DECORATION).casefold()
    if text in ("y", "n"):
        return YES if text == "y" else NO
    if _BOTH.match(text):
        return UNPARSED
    if _ABSTENTION.match(text):
        return ABSTAIN
    first = re.match(r"[a-z]+(?![\w-])", text)
    return _WORDS.get(first[0], UNPARSED) if first else UNPARSED


def more_than(reply: str, given: object) -> str:
    """What a model returned, as a record keeps it beside the reply it was read as; empty where it says no more.

    >>> [more_than("yes", given) for given in ("Yes.", True, "Yes, on the left.")]
    ['', '', 'Yes, on the left.']
    """
    if reply == LATE or isinstance(given, bool | np.bool_):
        return ""
    is_word = isinstance(given, str) and given.strip(_DECORATION).casefold() == reply
    return "" if is_word else quoted(given)


def quoted(given: object) -> str:
    """A reply as a record keeps it: its beginning and its end, and of what is not a text its type too.

    >>> quoted("maybe"), quoted(7)
    ('maybe', 'int: 7')
    """
    text = given if isinstance(given, str) else f"{type(given).__name__}: {given!r}"
    if len(text) > _LONGEST:  # whoever reasons says the answer last
        text = f"{text[: _LONGEST // 2]}…{text[1 - _LONGEST // 2 :]}"
    # Lone surrogates cannot be written as UTF-8.
    return text.encode("utf-8", "replace").decode()
