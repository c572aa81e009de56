"""Answer yes–no questions without looking: one word, a coin, and guessers that know the whole history.

The last two are what a stream must not let succeed. Both are given the training annotations (`TuringStudy`), which
every competitor may have, and follow a stream as the engine does.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal
from zlib import crc32

import numpy as np

from sightline.errors import ConfigError
from sightline.exams.turing.estimate.estimator import Estimator
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.vocabulary.questions import Question, Truth, question_from_json
from sightline.models.baselines.turing_features import Answered, features
from sightline.models.baselines.turing_regression import Fit, Rows, fitted
from sightline.skills import Asked, TuringStudy

Past = tuple[tuple[Mapping[str, Any], str, bool | None], ...]
"""The history of a question, see `Asked`."""


class Always:
    """The same answer to everything.

    Args:
        word: That answer.
    """

    def __init__(self, word: Literal["yes", "no"] = "yes") -> None:
        self.word = word

    def answer(self, asked: Asked) -> str:  # noqa: ARG002 — the skill's protocol
        """The word."""
        return self.word


class Coin:
    """A fair coin, the same for the same question at the same step of the same image.

    Where a question is asked of one picture after another, before and after a removal (the context exam's, about a
    ``class``), the pixels count too: the same picture gets the same answer, another one a throw of its own.

    Args:
        seed: Seeds it.
    """

    def __init__(self, seed: int = 0) -> None:
        if seed < 0:
            raise ConfigError(f"seed must not be negative, found {seed}")
        self.seed = seed

    def answer(self, asked: Asked) -> bool:
        """Heads."""
        lines = [asked.scene_id, str(len(asked.history)), asked.text, *(text for _, text, _ in asked.history)]
        if "class" in asked.question and asked.view.load_image is not None:
            pixels = np.ascontiguousarray(asked.view.image())
            lines.append(blake2b(pixels.tobytes(), digest_size=8).hexdigest())
        return bool(np.random.default_rng([self.seed, crc32("\n".join(lines).encode())]).random() < 0.5)


class _Follower:
    """Keeps an estimator in step with what a model hears of a stream."""

    def __init__(self, study: TuringStudy) -> None:
        self._study = study
        self._scene: str | None = None
        self._past: Past = ()
        self._labels = 0
        self._estimator: Estimator = study.estimator()
        self.history: list[Answered] = []

    def follow(self, asked: Asked) -> tuple[Question, float]:
        """The question, and the chance of a yes given all that was answered before it."""
        seen = len(self._past)
        if asked.scene_id != self._scene or asked.history[:seen] != self._past or not asked.history:
            self._scene, self._past, self._labels, seen = asked.scene_id, (), 0, 0
            self._estimator, self.history = self._study.estimator(), []
        fresh = asked.history[seen:]
        for form, _, answer in fresh:
            question = question_from_json(form, self._study.vocabulary)
            if answer is None and question.kind == "unique" and len(fresh) == 1:
                # A withheld answer still shows where it labelled something.
                answer = len(asked.labels) > self._labels
            if answer is not None:
                self._estimator.learn(question, answer)
                self.history.append((question, answer))
        self._past, self._labels = asked.history, len(asked.labels)
        question = question_from_json(asked.question, self._study.vocabulary)
        return question, self._estimator.chances([question])[0].p_yes


class TuringEngine:
    """Says yes where the engine's own estimate is above one half: what the choice of questions leaves over."""

    def __init__(self) -> None:
        self._follower: _Follower | None = None

    def prepare_turing(self, study: TuringStudy) -> None:
        """Take over the engine's estimator."""
        self._follower = _Follower(study)

    def answer(self, asked: Asked) -> bool:
        """Whether a yes is the likelier; without an estimate no."""
        if self._follower is None:
            raise _unprepared("turing_engine")
        return self._follower.follow(asked)[1] > 0.5


class TuringHistory:
    """A logistic regression on question and history, fitted to streams about training images.

    It starts from the engine's own estimate and learns where that is wrong: which words, regions and steps lean one
    way, what earlier answers about overlapping regions, the same attributes and the same objects say. How far it
    may leave the estimate is settled on images kept apart.

    Args:
        images: Training images to practise on, at most.
    """

    def __init__(self, images: int = 200) -> None:
        if images < 1:
            raise ConfigError(f"images must be at least 1, found {images}")
        self.images = images
        self._follower: _Follower | None = None
        self._fit: Fit | None = None
        self._study: TuringStudy | None = None

    def prepare_turing(self, study: TuringStudy) -> None:
        """Practise on streams about training images."""
        self._study, self._follower = study, _Follower(study)
        self._fit = fitted([rows_of(stream, study) for stream in study.practice(self.images)])

    def facts(self) -> dict[str, Any]:
        """What it practised on, and how far it leaves the engine's estimate."""
        return {} if self._fit is None else {"images": self.images, **self._fit.facts()}

    def answer(self, asked: Asked) -> bool:
        """The likelier answer."""
        if self._follower is None or self._fit is None or self._study is None:
            raise _unprepared("turing_history")
        question, p_yes = self._follower.follow(asked)
        words = features(question, self._follower.history, p_yes, self._study.vocabulary)
        return self._fit.score(words, p_yes) > 0


def rows_of(stream: Stream, study: TuringStudy) -> Rows:
    """The questions of one stream as rows to learn from."""
    steps = [step for step in stream.steps if step.truth is not Truth.AMBIGUOUS]
    answered = [(step.question, step.truth is Truth.YES) for step in steps]
    return Rows(
        features=[
            features(step.question, answered[:k], step.p_yes, study.vocabulary) for k, step in enumerate(steps)
        ],
        p_yes=np.array([step.p_yes for step in steps], dtype=np.float64),
        yes=np.array([yes for _, yes in answered], dtype=bool),
    )


def _unprepared(who: str) -> ConfigError:
    return ConfigError(f"{who} answers only in an exam: it learns from the training annotations")
