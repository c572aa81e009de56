"""What estimates the chance of a "yes" given what was asked and answered before, and by which options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.turing.vocabulary.questions import Question
from sightline.hints import hint

_ROUNDING: Final = 1e-9
"""0.65 lies within 0.5 ± 0.15, though not in binary."""

EPSILON: Final = 0.1
"""How far from one half a chance may lie; with the paper's 0.15 some kinds of questions can be guessed."""

INTERVAL: Final = 0.25
"""Wilson's 90 % interval of an unpredictable question's chance lies within 0.5 ± this."""

_QUANTILE: Final = 1.6448536269514722  # of the normal distribution, 90 % two-sided

FEWEST: Final = 10
"""Below this support no interval can be so narrow: who asks for less gives the rule up."""

NEARLY: Final = 0.05
"""A chance so near 0 or 1 is all but certain."""


class Chance(NamedTuple):
    """The share of yes among the images, objects or pairs that fit the history, and how many those are.

    `p_yes` is NaN where nothing fits.
    """

    p_yes: float
    support: int


@dataclass(frozen=True, slots=True)
class Assumptions:
    """The paper's invariance assumptions, each of which may be given up.

    Attributes:
        forget_facts: Whether an object exists, or is unique, does not depend on attribute and relation answers.
        forget_elsewhere: Nor on existence and uniqueness answers about regions that do not meet its own, except
            those that labelled an object.
        independent_groups: An attribute depends only on known attributes of its own group.
        relations_alone: A relation does not depend on the attributes of the two objects, but for what its `given`
            names.
        independent_relations: A relation depends only on known relations of its own group between the same two.
        objects_pooled: Attributes are estimated over all training objects and relations over all training pairs
            (equation 3); given up, over the images that fit the whole history (equation 2).
        negatives: Known negative answers about an object or pair condition too, where support allows.
    """

    forget_facts: bool = True
    forget_elsewhere: bool = True
    independent_groups: bool = True
    relations_alone: bool = True
    independent_relations: bool = True
    objects_pooled: bool = True
    negatives: bool = True


NONE_MADE = Assumptions(False, False, False, False, False, False, True)
"""No assumption: everything by equation 2 over the images that fit the whole history."""


def named_assumptions(words: Sequence[str], *, none: bool = False) -> Assumptions:
    """The assumptions a user names; `none` of them, or all where nothing is named.

    A plain name makes that one and no other; one with a minus gives it up and keeps the rest.

    >>> named_assumptions(["-forget_facts"]) == replace(Assumptions(), forget_facts=False)
    True
    >>> named_assumptions(["objects_pooled"]) == replace(NONE_MADE, objects_pooled=True)
    True
    """
    named = [word.strip() for text in words for word in text.split(",") if word.strip()]
    if none and named:
        raise ConfigError("--assume and --no-assumptions contradict each other")
    known = list(Assumptions.__dataclass_fields__)
    for word in named:
        if word.removeprefix("-") not in known:
            raise ConfigError(f"no assumption {word.removeprefix('-')!r}{hint(word.removeprefix('-'), known)}")
    made = {word: True for word in named if not word.startswith("-")}
    given_up = {word[1:]: False for word in named if word.startswith("-")}
    return replace(NONE_MADE if none or made else Assumptions(), **made, **given_up)


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """When a question may be asked, how its chance is estimated, and how many are asked.

    Attributes:
        epsilon: Unpredictable is a chance of yes within 0.5 ± epsilon…
        min_support: …that rests on at least so many images, objects or pairs, and whose 90 % interval lies within
            0.5 ± `INTERVAL`. Known negatives about objects of a pair are dropped, one at a time, until so many are
            left; those a question is itself about never are.
        questions: Answered questions after which a stream ends; None for as many as there are. Ambiguous ones do
            not count.
        assumptions: Which invariance assumptions are made.
        smoothing: So many yes and so many no are added to every count; what may be asked is settled by the counts
            themselves, so that smoothing never lets a predictable question in.
        interval: Whether the 90 % interval is looked at. False shows what the rule costs, as with the next two.
        logic: Whether what follows by logic is left out.
        parts: Whether a conjunction with a part that is all but certain is left out.
        most_candidates: Questions to estimate at a time, where a vocabulary has very many: drawn at random, and
            more only if none of them will do. The choice stays uniform; None estimates all.
    """

    epsilon: float = EPSILON
    min_support: int = 30
    questions: int | None = None
    assumptions: Assumptions = Assumptions()
    smoothing: float = 0.0
    most_candidates: int | None = None
    interval: bool = True
    logic: bool = True
    parts: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 0.5:
            raise ConfigError(f"epsilon must lie in 0…0.5, not {self.epsilon}")
        for name in ("min_support", "questions", "most_candidates"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be at least 1, not {value}")

    def unpredictable(self, p_yes: Any, support: Any) -> Any:
        """Whether a question of that chance of a yes, resting on so much, may be asked; numbers or whole arrays.

        >>> options = QuestionOptions()
        >>> options.unpredictable(0.6, 300), options.unpredictable(0.61, 300), options.unpredictable(0.5, 29)
        (True, False, False)
        """
        n = np.asarray(support, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            counted = self._counted(p_yes, n)
            may = (n >= self.min_support) & (np.abs(counted - 0.5) <= self.epsilon + _ROUNDING)
            if self.interval and self.min_support >= FEWEST:
                low, high = wilson_limits(counted, n)
                may &= (low >= 0.5 - INTERVAL) & (high <= 0.5 + INTERVAL)
        return may if may.ndim else bool(may)

    def nearly_certain(self, p_yes: float, support: int) -> bool:
        """Whether the share that was counted lies within `NEARLY` of 0 or 1; not where nothing was counted."""
        if support < 1:
            return False
        counted = float(self._counted(p_yes, np.float64(support)))
        return counted <= NEARLY + _ROUNDING or counted >= 1 - NEARLY - _ROUNDING

    def _counted(self, p_yes: Any, support: Any) -> Any:
        """The share that was counted; what smoothing made of it lies nearer to one half."""
        p = np.asarray(p_yes, dtype=np.float64)
        return (p * (support + 2 * self.smoothing) - self.smoothing) / support if self.smoothing else p


def wilson_limits(share: NDArray[np.float64], n: NDArray[np.float64]) -> tuple[Any, Any]:
    """Wilson's 90 % score limits of shares seen in n: `stats.intervals.wilson` for whole arrays.

    >>> [round(float(limit), 3) for limit in wilson_limits(np.array(0.5), np.array(30.0))]
    [0.356, 0.644]
    """
    z2 = _QUANTILE**2 / n
    middle = share + z2 / 2
    half = np.sqrt(np.maximum(share * (1 - share), 0) * z2 + z2 * z2 / 4)
    return (middle - half) / (1 + z2), (middle + half) / (1 + z2)


class Estimator(Protocol):
    """Estimates chances of a yes over training images, given a history that grows."""

    def chances(self, questions: Sequence[Question]) -> list[Chance]:
        """The chance of a yes for each, given the history so far."""

    def learn(self, question: Question, answer: bool) -> None:
        """Add an answered question to the history."""


@runtime_checkable
class Forks(Estimator, Protocol):
    """An estimator that can begin anew."""

    def fork(self) -> Estimator:
        """One over the same images with an empty history."""


@runtime_checkable
class EstimatesArrays(Estimator, Protocol):
    """An estimator that handles many questions faster than it can make a `Chance` of each."""

    def probabilities(self, questions: Sequence[Question]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """What `chances` says as two arrays: (n,) chances of a yes, (n,) supports."""
