"""Score classes without seeing them: by chance, frequency or company; and by rules whose scores are known."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ModelError
from sightline.models.baselines.statements import FOLDS, fold_of
from sightline.scenes import View
from sightline.skills import ClassScores, ContextStudy

Floats = NDArray[np.float64]


class _Studied:
    """A baseline that keeps its study."""

    cross_fits = True
    _study: ContextStudy | None = None

    def prepare_context(self, study: ContextStudy) -> None:
        """Keep what may be learned from."""
        self._study = study

    @property
    def study(self) -> ContextStudy:
        """What was learned from; a ModelError before."""
        if self._study is None:
            raise ModelError("the baselines of context have nothing to learn from: sightline exam context")
        return self._study

    def _scores(self, rows: Sequence[Floats]) -> ClassScores:
        return ClassScores(self.study.classes, np.array(rows).reshape(-1, len(self.study.classes)))


class ChanceScores(_Studied):
    """Draws every logit at random, from a seed and the picture's pixels: the same picture gets the same logits.

    Args:
        seed: Another one gives other logits.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def classify(self, views: Sequence[View]) -> ClassScores:
        """Normal deviates."""
        return self._scores([self._drawn(view.image()) for view in views])

    def _drawn(self, pixels: NDArray[np.uint8]) -> Floats:
        digest = blake2b(np.ascontiguousarray(pixels).tobytes(), digest_size=8).digest()
        generator = np.random.default_rng([self.seed, int.from_bytes(digest, "big")])
        return generator.standard_normal(len(self.study.classes))


class _Learned(_Studied):
    """Counts classes in the pictures that may be learned from; of the pictures to come, those of other folds."""

    def __init__(self) -> None:
        self._flags: dict[int, Floats] = {}

    def _present(self, view: View) -> Floats:
        """(n, C) whether a class is in each picture that a view may be answered by."""
        study = self.study
        fold = fold_of(self._scene(view)) if study.own else FOLDS
        if fold not in self._flags:
            kept = [of for scene, of in zip(study.scenes, study.present, strict=True) if fold_of(scene) != fold]
            flags = [[name in of for name in study.classes] for of in kept or study.present]
            self._flags[fold] = np.array(flags, dtype=np.float64).reshape(-1, len(study.classes))
        return self._flags[fold]

    def _scene(self, view: View) -> str:
        """The scene a picture is of: ids of pictures and edits begin with its id."""
        scenes, name = set(self.study.scenes), view.id
        while name and name not in scenes:
            name = name.rpartition("/")[0]
        return name or view.id


class FrequencyPrior(_Learned):
    """Scores every class by the log odds of its frequency, whatever the picture."""

    def classify(self, views: Sequence[View]) -> ClassScores:
        """The same row for every picture of a fold."""
        return self._scores(
            [_log_odds(self._present(view).sum(axis=0), len(self._present(view))) for view in views]
        )


class CooccurrencePrior(_Learned):
    """Scores every class by the others that are in the picture, of which it is told: naive Bayes.

    It never looks, and it is told nothing of the class it scores.
    """

    sees_truth = True

    def classify(self, views: Sequence[View]) -> ClassScores:
        """Log odds of each class, given which of the others are there."""
        return self._scores([self._odds(view) for view in views])

    def _odds(self, view: View) -> Floats:
        flags = self._present(view)
        there = _told(self.study)(view.id)
        told = np.array([name in there for name in self.study.classes])
        n, with_class = len(flags), flags.sum(axis=0)
        both = flags.T @ flags
        given = (both + 0.5) / (with_class[:, None] + 1.0)  # [class, other]: chance of the other given the class
        absent = (with_class[None] - both + 0.5) / (n - with_class[:, None] + 1.0)
        evidence = np.where(told[None], np.log(given / absent), np.log((1 - given) / (1 - absent)))
        np.fill_diagonal(evidence, 0.0)
        odds: Floats = _log_odds(with_class, n) + evidence.sum(axis=1)
        return odds


class PixelCount(_Studied):
    """Scores every class by its pixels in the picture, of which it is told: it never violates inequality (1)."""

    sees_truth = True

    def classify(self, views: Sequence[View]) -> ClassScores:
        """Pixels, 0 for a class that is not there."""
        return self._scores([self._counted(view) for view in views])

    def _counted(self, view: View) -> Floats:
        there = _told(self.study)(view.id)
        return np.array([there.get(name, 0) for name in self.study.classes], dtype=np.float64)


class ContextOnly(PixelCount):
    """Scores every class by how many others are in the picture, of which it is told: it always violates (1)."""

    def _counted(self, view: View) -> Floats:
        there = set(_told(self.study)(view.id))
        return np.array([len(there - {name}) for name in self.study.classes], dtype=np.float64)


def _told(study: ContextStudy) -> Any:
    assert study.shown is not None
    return study.shown


def _log_odds(hits: Floats, n: int) -> Floats:
    odds: Floats = np.log((hits + 0.5) / (n - hits + 0.5))
    return odds
