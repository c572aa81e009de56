"""``sightline turing ask``: from the words of the command line to a stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sightline.cli.console import counted, err
from sightline.errors import ConfigError, DataError
from sightline.exams.turing.chances.belief import NONE_MADE, Assumptions
from sightline.hints import did_you_mean, hint

if TYPE_CHECKING:
    from sightline.exams.turing.annotations.columns import Annotation
    from sightline.exams.turing.asking.engine import Engine
    from sightline.exams.turing.asking.streams import Operator, Stream
    from sightline.exams.turing.chances.corpus import Corpus
    from sightline.exams.turing.chances.frequencies import Frequencies
    from sightline.exams.turing.words.vocabulary import Vocabulary
    from sightline.scenes import Scene
    from sightline.store import Dataset


@dataclass(frozen=True)
class Wishes:
    """What the user asked for."""

    data: Path
    image: str
    train: Path | None
    train_split: str | None
    corpus: Path | None
    vocabulary: str
    questions: int | None
    seed: int
    stream: int
    operator: str
    answers: Path | None
    closed: bool
    view: str | None
    assumptions: Assumptions
    epsilon: float
    min_support: int
    smoothing: float


@dataclass(frozen=True)
class Asked:
    """A stream with all that is told about it."""

    stream: Stream
    vocabulary: Vocabulary
    scene: Scene
    learned: str

    def facts(self, seed: int) -> str:
        """How it was made, in a line."""
        return f"vocabulary {self.vocabulary.name} · learned from {self.learned} · seed {seed}"


def ask_image(wish: Wishes) -> Asked:
    """Make a stream about one image."""
    from sightline.exams.turing.asking.engine import Engine, Settings
    from sightline.generate import open_any

    data = open_any(wish.data)
    scene = _scene(data, wish.image)
    belief, vocabulary, learned = _belief(wish, data)
    settings = Settings(wish.epsilon, wish.min_support, wish.questions)
    engine = Engine(belief, vocabulary, scene_id=scene.id, seed=wish.seed, number=wish.stream, settings=settings)
    return Asked(_answered(engine, wish, data, scene, vocabulary), vocabulary, scene, learned)


def assumptions_of(words: list[str], *, none: bool) -> Assumptions:
    """The assumptions a user names; `none` of them, or all where nothing is named.

    A plain name makes that one and no other; one with a minus gives it up and keeps the rest.

    >>> assumptions_of(["-forget_facts"], none=False) == replace(Assumptions(), forget_facts=False)
    True
    >>> assumptions_of(["objects_pooled"], none=False) == replace(NONE_MADE, objects_pooled=True)
    True
    """
    named = [word.strip() for text in words for word in text.split(",") if word.strip()]
    if none and named:
        raise ConfigError("--assume and --no-assumptions contradict each other")
    known = [*Assumptions().to_dict()]
    for word in named:
        if word.removeprefix("-") not in known:
            raise ConfigError(f"no assumption {word.removeprefix('-')!r}{hint(word.removeprefix('-'), known)}")
    made = {word: True for word in named if not word.startswith("-")}
    left = {word[1:]: False for word in named if word.startswith("-")}
    start = NONE_MADE if none or made else Assumptions()
    return replace(start, **made, **left)


def _scene(data: Dataset, scene_id: str) -> Scene:
    """The scene of that id; a DataError that offers what is there."""
    try:
        return data.scene(scene_id)
    except (KeyError, DataError):
        known = data.scan("views").select("scene_id").unique().collect()["scene_id"].sort().to_list()
        some = ", ".join(known[:3])
        raise DataError(
            f"no such image{did_you_mean(scene_id, known)}",
            file=data.path,
            field="--image",
            expected=f"one of {counted(len(known), 'scene')}: {some}…" if len(known) > 3 else some,
            found=scene_id,
        ) from None


def _belief(wish: Wishes, data: Dataset) -> tuple[Frequencies, Vocabulary, str]:
    """What the training images say, the vocabulary, and what was learned from in words."""
    from sightline.exams.turing.chances.corpus import Corpus
    from sightline.exams.turing.chances.frequencies import Frequencies

    if wish.corpus is not None:
        corpus = Corpus.open(wish.corpus)
        vocabulary = corpus.vocabulary
    else:
        vocabulary, corpus = _learned(wish, data)
    made = Frequencies(corpus, wish.assumptions, wish.min_support, wish.smoothing)
    return made, vocabulary, counted(len(corpus), "image")


def _learned(wish: Wishes, data: Dataset) -> tuple[Vocabulary, Corpus]:
    from sightline.exams.turing.annotations.annotating import annotate
    from sightline.exams.turing.chances.corpus import Corpus
    from sightline.exams.turing.study import subset
    from sightline.generate import open_any

    train = data if wish.train is None else open_any(wish.train)
    vocabulary = vocabulary_named(wish.vocabulary, train)
    columns = annotate(train, vocabulary, split=wish.train_split, view=wish.view, closed=wish.closed)
    others = np.flatnonzero(columns.ids != wish.image)
    if train.fingerprint == data.fingerprint and len(others) < len(columns):
        columns = subset(columns, others)
    if not len(columns):
        raise DataError("no image left to learn from", file=train.path, expected="other annotated images")
    return vocabulary, Corpus.build(columns, vocabulary)


def vocabulary_named(name: str, data: Dataset) -> Vocabulary:
    """The vocabulary of that name or file, checked against the data; without a name the one that fits it."""
    from sightline.exams.turing.words.files import check_against, load_vocabulary, vocabulary_for

    if not name:
        return vocabulary_for(data)
    found = load_vocabulary(name)
    for note in check_against(found, data):
        err.print(f"note: {note}")
    return found


def _answered(engine: Engine, wish: Wishes, data: Dataset, scene: Scene, vocabulary: Vocabulary) -> Stream:
    """Let the wished operator answer."""
    from sightline.exams.turing.asking.operators import FromFile, GroundTruth
    from sightline.exams.turing.words.fitting import check_types

    if wish.operator == "person":
        return _person(engine, wish, scene, vocabulary)
    operator: Operator
    if wish.operator == "truth":
        check_types(vocabulary, data)
        operator = GroundTruth(_annotation(wish, data, scene, vocabulary), vocabulary)
    else:
        operator = FromFile(wish.operator, scene.id, vocabulary, stream=wish.stream, missing="stop")
    return answered(engine, operator)


def answered(engine: Engine, operator: Operator) -> Stream:
    """The whole stream; it ends early where the operator will not go on."""
    from sightline.exams.turing.asking.operators import StoppedError

    while (proposal := engine.propose()) is not None:
        try:
            told = operator.answer(proposal.question, engine.history)
        except StoppedError as stopped:
            err.print(f"note: {stopped}")
            engine.stop()
        else:
            engine.take(*told)
    return engine.stream()


def _annotation(wish: Wishes, data: Dataset, scene: Scene, vocabulary: Vocabulary) -> Annotation:
    from sightline.exams.turing.annotations.annotating import annotate

    columns = annotate(data, vocabulary, view=wish.view, closed=wish.closed, scenes=[scene.id])
    if not len(columns):
        raise DataError("this image has no annotation in the vocabulary", file=data.path, row=scene.id)
    return columns.image(0)


def _person(engine: Engine, wish: Wishes, scene: Scene, vocabulary: Vocabulary) -> Stream:
    from sightline.cli.console import file_name
    from sightline.cli.turing_person import Answers, Session
    from sightline.show.frame import frame_of

    answers = wish.answers or Path(f"answers-{file_name(scene.id)}.jsonl")
    return Session(
        engine,
        vocabulary,
        Answers(answers, scene.id, vocabulary),
        frame_of(scene, wish.view),
        answers.with_suffix(".png"),
    ).run()
