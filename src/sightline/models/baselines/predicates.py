"""Answer predicates without looking: the commoner answer, by itself or given shapes and sizes.

All four are given the truth of the exam (`PredicatesStudy`). The majority is that of the very data examined, as
GeoSpa has it; a prior answers about a scene only from other scenes. Where the data is split evenly they say no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.scenes.labels import PREDICATES
from sightline.skills import PredicatesStudy, Queries, Verdicts

AnswerCodes = NDArray[np.int8]
Key = tuple[str, ...]
Looks = Literal["shape", "size", "shape+size"]


class PredicatesMajority:
    """Always the commoner answer to each predicate in the data examined."""

    views: ClassVar[tuple[str, ...]] = ()
    sees_truth: ClassVar[bool] = True

    def __init__(self) -> None:
        self._answers: AnswerCodes | None = None

    def prepare_predicates(self, study: PredicatesStudy) -> None:
        """Count how often each predicate holds."""
        holds = np.vstack([_pairs_of(truth) for truth in study.truth])
        self._answers = commoner(holds.sum(axis=0), np.full(len(PREDICATES), len(holds)))

    def facts(self) -> dict[str, Any]:
        """The answers."""
        return {} if self._answers is None else dict(zip(PREDICATES, self._answers.tolist(), strict=True))

    def predicates(self, queries: Queries) -> Verdicts:
        """The same for every pair."""
        if self._answers is None:
            raise _unprepared("predicates_majority")
        n = len(queries)
        return Verdicts(np.broadcast_to(self._answers, (n, n, len(PREDICATES))).copy())


class LookPrior:
    """The commoner answer given what the two objects look like, in other scenes of the same data.

    Cross-fitted: the scenes are dealt into folds, and a scene is answered from all folds but its own. A pair of
    looks that those do not have gets their commoner answer overall; a scene in no fold is answered from all.

    Args:
        looks: What of the looks is known: ``shape``, ``size``, or both.
        folds: How many folds, at least 2.
        seed: Seeds the dealing.
    """

    views: ClassVar[tuple[str, ...]] = ()
    sees_truth: ClassVar[bool] = True

    def __init__(self, looks: Looks = "shape", folds: int = 5, seed: int = 0) -> None:
        if folds < 2:
            raise ConfigError(f"folds must be at least 2, found {folds}")
        if seed < 0:
            raise ConfigError(f"seed must not be negative, found {seed}")
        self.looks = tuple(looks.split("+"))
        self.folds = folds
        self.seed = seed
        self._fold: dict[str, int] = {}
        self._place: dict[tuple[Key, Key], int] = {}
        self._answers: AnswerCodes = np.zeros((0, 0, len(PREDICATES)), dtype=np.int8)

    def facts(self) -> dict[str, Any]:
        """Looks, folds and seed."""
        return {"looks": list(self.looks), "folds": self.folds, "seed": self.seed}

    def prepare_predicates(self, study: PredicatesStudy) -> None:
        """Count, for every fold, what holds between two looks in all other folds."""
        dealt = np.random.default_rng(self.seed).permutation(len(study.scenes)) % self.folds
        self._fold = dict(zip(study.scenes, dealt.tolist(), strict=True))
        self._place = {}
        for appearance in study.appearance:
            for pair in _ordered(self._keys(appearance)):
                self._place.setdefault(pair, len(self._place))
        self._answers = self._fitted(study, dealt)

    def predicates(self, queries: Queries) -> Verdicts:
        """The habit of each pair of looks, from scenes other than this one."""
        if not len(self._answers):
            raise _unprepared("a prior")
        known = self._answers[self._fold.get(queries.scene_id, self.folds)]
        n = len(queries)
        places = [self._place.get(pair, -1) for pair in _ordered(self._keys(queries.appearance))]
        answers = np.zeros((n, n, len(PREDICATES)), dtype=np.int8)
        answers[~np.eye(n, dtype=bool)] = known[places]
        return Verdicts(answers)

    def _keys(self, appearance: Sequence[Mapping[str, str]]) -> list[Key]:
        return [tuple(look.get(key, "") for key in self.looks) for look in appearance]

    def _fitted(self, study: PredicatesStudy, dealt: NDArray[np.int64]) -> AnswerCodes:
        """(folds + 1, pairs of looks + 1, 8): answers for each fold from the others, the last from all.

        The last row of each is the commoner answer overall, for pairs of looks never seen.
        """
        pairs = len(self._place)
        place = np.array(
            [self._place[p] for appearance in study.appearance for p in _ordered(self._keys(appearance))]
        )
        holds = np.vstack([_pairs_of(truth) for truth in study.truth])
        fold = np.repeat(dealt, [len(t) * (len(t) - 1) for t in study.truth])
        yes = np.zeros((self.folds, pairs, len(PREDICATES)), dtype=np.int64)
        np.add.at(yes, (fold, place), holds)
        seen = np.bincount(fold * pairs + place, minlength=self.folds * pairs).reshape(self.folds, pairs, 1)
        yes, seen = (np.concatenate([c.sum(axis=0) - c, c.sum(axis=0)[None]]) for c in (yes, seen))
        overall = commoner(yes.sum(axis=1), seen.sum(axis=1))[:, None]
        answers = np.where(seen > 0, commoner(yes, seen), overall)
        return np.concatenate([answers, overall], axis=1)


def commoner(yes: NDArray[Any], seen: NDArray[Any]) -> AnswerCodes:
    """1 where more than half of those seen hold, else 0.

    >>> commoner(np.array([3, 2]), np.array([4, 4])).tolist()
    [1, 0]
    """
    return (2 * yes > seen).astype(np.int8)


def _ordered(keys: Sequence[Key]) -> list[tuple[Key, Key]]:
    """Ordered pairs of distinct objects, by subject and object."""
    return [(a, b) for i, a in enumerate(keys) for j, b in enumerate(keys) if i != j]


def _pairs_of(truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n (n − 1), 8) what holds between ordered pairs of distinct objects, by subject and object."""
    return truth[~np.eye(len(truth), dtype=bool)]


def _unprepared(who: str) -> ConfigError:
    return ConfigError(f"{who} answers only in an exam: it learns from the truth of the scenes examined")
