"""A logistic regression over hashed words about a question and what was answered before.

It corrects a given estimate: the score is the estimate's logit plus a weighted sum of words. Strongly held back, it
says what the estimate says.

Written out, in NumPy alone: this baseline sits in every Turing exam, so scikit-learn (and SciPy below it) would be
needed by everybody for this one fit. Newton steps with conjugate gradients are what its ``newton-cg`` does, and an
offset, here the estimate, is something its regression does not take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sightline.models.baselines.turing_features import Floats, Words, logit

BUCKETS: Final = 1 << 15
RIDGES: Final = (100.0, 30.0, 10.0, 3.0, 1.0)
"""How strongly weights are held back, tried in this order; besides these, not to learn at all."""

_NEWTON_STEPS: Final = 4
_GRADIENT_STEPS: Final = 12
_FEWEST_STREAMS: Final = 10  # below, nothing is learned


@dataclass(frozen=True)
class Rows:
    """Questions of one stream.

    Attributes:
        features: Words about each, see `turing_features`.
        p_yes: (n,) estimates to be corrected.
        yes: (n,) true answers.
    """

    features: Sequence[Words]
    p_yes: Floats
    yes: NDArray[np.bool_]


@dataclass(frozen=True)
class Fit:
    """What was learned.

    Attributes:
        weights: (BUCKETS,), one a hashed word.
        ridge: How strongly they were held back; None where not learning at all was best.
        questions: Questions learned from.
        streams: Streams they come from.
    """

    weights: Floats
    ridge: float | None
    questions: int
    streams: int

    def score(self, words: Words, p_yes: float) -> float:
        """The logit of a yes."""
        learned = sum(float(self.weights[bucket(word)]) * x for word, x in words.items())
        return float(logit(np.array([p_yes]))[0]) + learned

    def facts(self) -> dict[str, Any]:
        """How it was learned, as JSON values."""
        return {"ridge": self.ridge, "practice_questions": self.questions, "practice_streams": self.streams}


def bucket(word: str) -> int:
    """Where a word's weight stands."""
    return crc32(word.encode()) % BUCKETS


class Design:
    """Words of many questions as a sparse matrix X of hashed columns, with offsets and answers."""

    def __init__(self, streams: Sequence[Rows]) -> None:
        questions = [words for stream in streams for words in stream.features]
        self.row = np.repeat(np.arange(len(questions)), [len(words) for words in questions])
        self.column = np.array([bucket(word) for words in questions for word in words], dtype=np.int64)
        self.value = np.array([x for words in questions for x in words.values()], dtype=np.float64)
        self.offset = logit(np.concatenate([stream.p_yes for stream in streams]))
        self.yes = np.concatenate([stream.yes for stream in streams]).astype(np.float64)

    def times(self, weights: Floats) -> Floats:
        """X · weights, one a question."""
        return _summed(self.row, self.value * weights[self.column], len(self.yes))

    def transposed_times(self, errors: Floats) -> Floats:
        """Xᵀ · errors, one a bucket."""
        return _summed(self.column, self.value * errors[self.row], BUCKETS)

    def loss(self, weights: Floats) -> float:
        """Mean negative log likelihood."""
        z = self.offset + self.times(weights)
        return float(np.mean(np.logaddexp(0.0, z) - self.yes * z))


def fitted(streams: Sequence[Rows]) -> Fit:
    """Fit the best weights; how strongly to hold them back is settled on every fifth stream.

    Args:
        streams: With at least one question in all; below ten streams nothing is learned.
    """
    usable = [stream for stream in streams if len(stream.yes)]
    nothing = Fit(np.zeros(BUCKETS), None, sum(len(stream.yes) for stream in usable), len(usable))
    if len(usable) < _FEWEST_STREAMS:
        return nothing
    held_out = Design(usable[::5])
    learned = Design([stream for i, stream in enumerate(usable) if i % 5])
    best, least, weights = None, held_out.loss(nothing.weights), nothing.weights
    for ridge in RIDGES:
        weights = regress(learned, ridge, weights)
        loss = held_out.loss(weights)
        if loss < least:
            best, least = ridge, loss
    if best is None:
        return nothing
    return replace(nothing, weights=regress(Design(usable), best, nothing.weights), ridge=best)


def regress(design: Design, ridge: float, start: Floats) -> Floats:
    """Find the weights of least penalised loss, by a few Newton steps whose equations conjugate gradients solve."""
    weights = start
    for _ in range(_NEWTON_STEPS):
        p = 1 / (1 + np.exp(-(design.offset + design.times(weights))))
        downhill = design.transposed_times(design.yes - p) - ridge * weights
        weights = weights + _solved(design, p * (1 - p), ridge, downhill)
    return weights


def _solved(design: Design, curvature: Floats, ridge: float, right: Floats) -> Floats:
    """The x of (Xᵀ C X + ridge) x = right, nearly."""
    x, rest = np.zeros_like(right), right.copy()
    direction, size = rest.copy(), _dot(rest, rest)
    for _ in range(_GRADIENT_STEPS):
        if size < 1e-12:
            break
        image = design.transposed_times(curvature * design.times(direction)) + ridge * direction
        step = size / _dot(direction, image)
        x, rest = x + step * direction, rest - step * image
        size, before = _dot(rest, rest), size
        direction = rest + size / before * direction
    return x


def _summed(places: NDArray[np.int64], values: Floats, n: int) -> Floats:
    return np.bincount(places, values, minlength=n).astype(np.float64, copy=False)


def _dot(a: Floats, b: Floats) -> float:
    """Their product; threads of a BLAS library take longer to wake than vectors this short to multiply."""
    return float((a * b).sum())
