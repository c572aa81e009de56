"""Where the questions of an exam come from: an engine over annotated images, or a written test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from sightline.exams.turing.annotations.columns import Annotation, Columns, subset
from sightline.exams.turing.estimate.corpus import Corpus
from sightline.exams.turing.estimate.estimator import Assumptions, QuestionOptions
from sightline.exams.turing.estimate.frequencies import Frequencies
from sightline.exams.turing.stream.engine import Candidates, Engine, ask_all
from sightline.exams.turing.stream.operators import GroundTruth
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.stream.written import MARKER, WrittenTest
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.typed import Value

PRACTICE: Final = 0x5EED
"""Seed of the streams that a model may practise on; who knew the exam's could replay the engine."""

_HELD: Final = 4
"""One training image in so many, at most, is kept from the estimator its practice stream is asked by."""

_MOST_STREAMS: Final = 4096  # streams kept for the models to come; more are made again


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class QuestionSource:
    """Chooses questions about images by what other images teach: corpus, estimator and engine put together.

    Attributes:
        vocabulary: Words of the questions.
        training: The images to learn from, annotated, or laid out for counting already.
        options: When a question may be asked, and how its chance is estimated.
        seed: Of the random choices.
        corpora: Folder in which corpora are kept, to be mapped by every process; None builds them in memory.
    """

    vocabulary: Vocabulary
    training: Columns | Corpus = field(repr=False)
    options: QuestionOptions = field(default_factory=QuestionOptions)
    seed: int = 0
    corpora: Path | None = None

    @cached_property
    def corpus(self) -> Corpus:
        """The training images laid out for counting."""
        if isinstance(self.training, Corpus):
            return self.training
        return Corpus.shared(self.training, self.vocabulary, self.corpora)

    def estimator(self) -> Frequencies:
        """A fresh estimator over the training images; all of them share what depends on no history."""
        return self._estimator.fork()

    def engine(self, scene_id: str, number: int = 0) -> Engine:
        """What asks about an image, question by question; `number` is that of the stream, from 0."""
        return Engine(
            self.estimator(),
            self.vocabulary,
            scene_id=scene_id,
            seed=self.seed,
            number=number,
            options=self.options,
            candidates=self._candidates,
        )

    def stream(self, image: Annotation, number: int = 0) -> Stream:
        """A whole stream about an annotated image."""
        return ask_all(self.engine(image.id, number), GroundTruth(image, self.vocabulary))

    @cached_property
    def _estimator(self) -> Frequencies:
        return Frequencies(self.corpus, self.options)

    @cached_property
    def _candidates(self) -> Candidates:
        return Candidates(self.vocabulary)


@dataclass(frozen=True, eq=False)
class TrainingStudy:
    """The training images, and how the exam asks: what a model may learn from (`skills.TuringStudy`).

    Attributes:
        source: Chooses questions as the exam does, with another seed.
        columns: The annotated training images.
        estimator: Makes a fresh estimator over them, as the exam's streams are asked by.
    """

    source: QuestionSource
    columns: Columns
    estimator: Callable[[], Frequencies]
    _practised: dict[int, list[Stream]] = field(default_factory=dict, repr=False)

    @property
    def vocabulary(self) -> Vocabulary:
        """Words of the questions."""
        return self.source.vocabulary

    def practice(self, images: int) -> list[Stream]:
        """Streams about training images, asked by an estimator that has not seen those images.

        An image that is itself among those counted makes its own answers look likelier than they are: at the usual
        support by as much as the chances differ.

        Args:
            images: So many at most; a quarter of the training images at most.
        """
        if images in self._practised:
            return self._practised[images]
        n = len(self.columns)
        held = np.sort(np.random.default_rng(self.source.seed).permutation(n)[: min(images, n // _HELD)])
        if not len(held):
            return []
        others = replace(self.source, training=subset(self.columns, np.setdiff1d(np.arange(n), held)))
        self._practised[images] = [others.stream(self.columns.image(int(row))) for row in held]
        return self._practised[images]


@dataclass(frozen=True, eq=False)
class EngineStreams:
    """Streams about the images of a dataset, made while a model is examined.

    Attributes:
        source: Chooses the questions.
        training: The annotated images they are learned from.
        images: Those asked about.
        number: Streams an image.
        truth: Answers a whole stream in place of the annotation of the image: a person, or a file.
        answered: (scene id, number) of the only streams that there are answers about; None for all.
    """

    source: QuestionSource
    training: Columns
    images: Columns
    number: int = 1
    truth: Callable[[Engine], Stream] | None = None
    answered: tuple[tuple[str, int], ...] | None = None
    _streams: dict[tuple[str, int], Stream] = field(default_factory=dict, repr=False)

    @property
    def vocabulary(self) -> Vocabulary:
        """Words of the questions."""
        return self.source.vocabulary

    @cached_property
    def places(self) -> tuple[tuple[str, int], ...]:
        """(scene id, number) of every stream; images in an order dealt by their ids: the first few are fair."""
        scenes = sorted(self._rows, key=lambda scene: blake2b(scene.encode(), digest_size=8).digest())
        places = tuple((scene, number) for scene in scenes for number in range(self.number))
        return places if self.answered is None else tuple(place for place in places if place in self.answered)

    def stream(self, scene_id: str, number: int) -> Stream:
        """Make a stream, or give the one that was made for a model before."""
        place = scene_id, number
        if place in self._streams:
            return self._streams[place]
        if self.truth is not None:
            stream = self.truth(self.source.engine(scene_id, number))
        else:
            stream = self.source.stream(self.images.image(self._rows[scene_id]), number)
        if len(self._streams) < _MOST_STREAMS:
            self._streams[place] = stream
        return stream

    def study(self) -> TrainingStudy:
        """What a model may learn from; the same for every model, so that they share the practice streams."""
        return self._study

    @cached_property
    def _study(self) -> TrainingStudy:
        return TrainingStudy(replace(self.source, seed=PRACTICE), self.training, self.source.estimator)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {scene: row for row, scene in enumerate(self.images.ids.tolist())}


@dataclass(frozen=True)
class _TestSettings:
    """How the questions of a written test were chosen, as far as it says."""

    epsilon: float = QuestionOptions().epsilon
    min_support: int = QuestionOptions().min_support
    questions: int | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class WrittenStreams:
    """The streams of a written test with the true answers of its key.

    Attributes:
        test: The test.
        streams: In written order.
    """

    test: WrittenTest
    streams: tuple[Stream, ...]

    @property
    def vocabulary(self) -> Vocabulary:
        """Words of the questions."""
        return self.test.vocabulary

    @property
    def places(self) -> tuple[tuple[str, int], ...]:
        """(scene id, number) of every stream, in written order."""
        return tuple(self._by_place)

    @property
    def epsilon(self) -> float:
        """How far from one half the chances lay, as far as the test says."""
        return self._settings.epsilon

    def stream(self, scene_id: str, number: int) -> Stream:
        """The stream as written."""
        return self._by_place[scene_id, number]

    def study(self) -> TrainingStudy:
        """The test's training annotations, and an estimator over them by the test's settings."""
        made, settings, training = self._about(Assumptions, "assumptions"), self._settings, self.test.training()
        options = QuestionOptions(settings.epsilon, settings.min_support, settings.questions, made)
        source = QuestionSource(self.vocabulary, training, options, settings.seed)
        return TrainingStudy(source, training, source.estimator)

    @cached_property
    def _by_place(self) -> dict[tuple[str, int], Stream]:
        return {(stream.scene_id, stream.number): stream for stream in self.streams}

    @cached_property
    def _settings(self) -> _TestSettings:
        return self._about(_TestSettings, "settings")

    def _about(self, kind: type[T], name: str) -> T:
        """What the test says of itself under a name; the defaults where it says nothing."""
        said: T = Value(self.test.about.get(name) or {}, str(self.test.folder / MARKER), f"about.{name}").read(kind)
        return said


StreamSource = EngineStreams | WrittenStreams
"""Streams for an exam, made or read: the same for every model, since only true answers steer the engine."""
