"""A session over a toy image, for tests of people: answered by letters, with or without an annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

from exams.turing.turing_toy import toy_data, toy_scenes, toy_vocabulary
from sightline.exams.turing.annotations.annotation import annotate
from sightline.exams.turing.estimate.estimator import QuestionOptions
from sightline.exams.turing.people.answers import PersonAnswers
from sightline.exams.turing.people.session import TruthSession
from sightline.exams.turing.source import QuestionSource
from sightline.scenes import Scene, View
from sightline.show.frame import frame_of

WORDS = toy_vocabulary()


@cache
def source(seed: int = 0, questions: int | None = None) -> QuestionSource:
    options = QuestionOptions(min_support=5, questions=questions)
    return QuestionSource(WORDS, annotate(toy_data(300, seed=5, split="train"), WORDS), options, seed)


def photo(scene_id: str = "p") -> Scene:
    """An image of which nothing is annotated."""
    pixels = np.full((40, 60, 3), 120, np.uint8)
    return Scene(scene_id, "", "photos", (View("0", size=(60, 40), load_image=lambda: pixels),), (), ())


def annotated() -> Scene:
    """An image with three things."""
    return next(scene for scene in toy_scenes(50, seed=1) if len(scene.objects) == 3)


def session(
    folder: Path, scene: Scene | None = None, *, seed: int = 0, stream: int = 0, questions: int | None = None
) -> TruthSession:
    scene = photo() if scene is None else scene
    engine = source(seed, questions).engine(scene.id, stream)
    answers = PersonAnswers(folder / "a.jsonl", scene.id, WORDS, seed, stream)
    return TruthSession(engine, WORDS, answers, frame_of(scene))


def typed(*lines: str) -> Callable[[str], str]:
    """A terminal at which these lines are typed, and then no more."""
    said: Iterator[str] = iter(lines)

    def read(_: str) -> str:
        try:
            return next(said)
        except StopIteration:
            raise EOFError from None

    return read
