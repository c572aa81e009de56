"""What a model may learn from before the Turing exam: the training annotations the questions were learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.turing.annotations.columns import Columns
from sightline.exams.turing.estimate.corpus import Corpus, fingerprint_of
from sightline.exams.turing.estimate.estimator import Assumptions, Estimator
from sightline.exams.turing.estimate.frequencies import Frequencies
from sightline.exams.turing.stream.candidates import Candidates
from sightline.exams.turing.stream.engine import ask
from sightline.exams.turing.stream.operators import GroundTruth
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary

_HELD: Final = 4
"""One training image in so many, at most, is kept from the estimator its practice stream is asked by."""


@dataclass(frozen=True)
class Recipe:
    """How questions are chosen.

    Attributes:
        vocabulary: Words of the questions.
        assumptions: Made about independence.
        epsilon: How far from one half the chance of a yes may lie.
        min_support: Training images, objects or pairs a chance must rest on.
        questions: Most questions of a stream; None for as many as there are.
        seed: Of the random choices.
        smoothing: So many yes and no are added to every count.
        corpora: Folder in which corpora are kept, to be mapped by every process; None builds them in memory.
    """

    vocabulary: Vocabulary
    assumptions: Assumptions = field(default_factory=Assumptions)
    epsilon: float = 0.15
    min_support: int = 30
    questions: int | None = None
    seed: int = 0
    smoothing: float = 0.0
    corpora: Path | None = None

    @cached_property
    def candidates(self) -> Candidates:
        """All questions of the vocabulary, made once for all streams."""
        return Candidates(self.vocabulary)

    def estimator(self, columns: Columns) -> Frequencies:
        """What those images say, before the first question."""
        return Frequencies(self._corpus(columns), self.assumptions, self.min_support, self.smoothing)

    def _corpus(self, columns: Columns) -> Corpus:
        """Built in memory, or once for all processes in a folder named after what is in it."""
        if self.corpora is None:
            return Corpus.build(columns, self.vocabulary)
        name = fingerprint_of(columns, self.vocabulary)
        folder = self.corpora / name[:16]
        if not folder.exists():
            try:
                return Corpus.build(columns, self.vocabulary, folder)
            except ConfigError:
                if not folder.exists():
                    raise  # else another process was faster
        return Corpus.open(folder, fingerprint=name)

    def stream(self, estimator: Estimator, columns: Columns, row: int, number: int = 0) -> Stream:
        """A stream about an annotated image.

        Args:
            estimator: A fresh one, over the training images.
            columns: Annotated images.
            row: Which of them.
            number: Which stream of that image, from 0.
        """
        annotation = columns.image(row)
        return ask(
            estimator,
            self.vocabulary,
            GroundTruth(annotation, self.vocabulary),
            scene_id=annotation.id,
            seed=self.seed,
            number=number,
            questions=self.questions,
            epsilon=self.epsilon,
            min_support=self.min_support,
            candidates=self.candidates,
        )


@dataclass(frozen=True)
class TuringStudy:
    """The training images, and how the exam asks.

    Attributes:
        recipe: How questions are chosen, and of what words.
        columns: The annotated training images.
        estimator: Makes a fresh estimator over them: the one the exam's streams are asked by.
    """

    recipe: Recipe
    columns: Columns
    estimator: Callable[[], Estimator]

    @property
    def vocabulary(self) -> Vocabulary:
        """Words of the questions."""
        return self.recipe.vocabulary

    def practice(self, images: int) -> list[Stream]:
        """Streams about training images, asked by a estimator that has not seen those images.

        An image that is itself among those counted makes its own answers look likelier than they are: at the usual
        support by as much as the chances differ.

        Args:
            images: So many at most; a quarter of the training images at most.
        """
        n = len(self.columns)
        held = np.sort(np.random.default_rng(self.recipe.seed).permutation(n)[: min(images, n // _HELD)])
        if not len(held):
            return []
        rest = subset(self.columns, np.setdiff1d(np.arange(n), held))
        estimator = self.recipe.estimator(rest)
        return [self.recipe.stream(estimator.fork(), self.columns, int(row)) for row in held]


@runtime_checkable
class Studies(Protocol):
    """A model that wants the training annotations before the exam."""

    def prepare(self, study: TuringStudy) -> None:
        """Fit."""


def subset(columns: Columns, rows: NDArray[np.int64]) -> Columns:
    """Some of the images, in the order of `rows`."""
    objects, starts = _gathered(columns.starts, rows)
    pairs, pair_starts = _gathered(columns.pair_starts, rows)
    return Columns(
        ids=columns.ids[rows],
        starts=starts,
        objects=columns.objects[objects],
        types=columns.types[objects],
        crowd=columns.crowd[objects],
        yes=columns.yes[objects],
        no=columns.no[objects],
        seen=columns.seen[objects],
        pair_starts=pair_starts,
        holds=columns.holds[pairs],
        fails=columns.fails[pairs],
        n_attributes=columns.n_attributes,
        n_regions=columns.n_regions,
        n_links=columns.n_links,
    )


def _gathered(starts: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of what belongs to some rows, one after the other, and where each begins among them.

    >>> [part.tolist() for part in _gathered(np.array([0, 2, 3, 6]), np.array([2, 0]))]
    [[3, 4, 5, 0, 1], [0, 3, 5]]
    """
    lengths = starts[rows + 1] - starts[rows]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths) + np.repeat(starts[rows], lengths)
    return places, ends
