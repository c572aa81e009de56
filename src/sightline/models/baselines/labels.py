"""Answer relations without looking, from how frequent labels are: overall, by class pair, or by a die.

Class names cannot order two objects of the same class, and elsewhere counts may tie. Where closer and farther (or
occludes and occluded) are equally likely, a coin decides that knows the pair but not its order: the object whose
box starts further left comes first. So (a, b) and (b, a) never contradict each other, and a tie is right half of
the time, as a guess should be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.prior import UNSEEN, ClassPrior, cross_fit
from sightline.scenes import Depth, words
from sightline.skills import SILENT, Judgements, Pairs, RelationsStudy, Setting

Codes = NDArray[np.int8]
Floats = NDArray[np.float64]
Aspect = Literal["depth", "occlusion"]
_ASPECTS: tuple[Aspect, ...] = ("depth", "occlusion")


class Majority:
    """Always the most frequent label of the aspect and setting in the training split.

    Both directions of every pair are asked and counted, so closer and farther are equally frequent; a tie goes
    to the lower code. *Mutual*, *same* and *unsure* can win.
    """

    def __init__(self) -> None:
        self._labels: dict[Setting, tuple[int, int]] = {}

    def prepare_relations(self, study: RelationsStudy) -> None:
        """Count labels; ConfigError if a setting that will be asked has no training pairs."""
        self._labels = {
            setting: (commonest(t, "depth"), commonest(t, "occlusion")) for setting, t in study.train.items()
        }
        for setting in study.test:
            self._require(setting)

    def relate(self, pairs: Pairs) -> Judgements:
        """The same answer for every pair."""
        depth, occlusion = self._require(pairs.setting)
        n = len(pairs)
        if pairs.setting == "across_images":
            occlusion = SILENT
        return Judgements(np.full(n, depth, dtype=np.int8), np.full(n, occlusion, dtype=np.int8))

    def facts(self) -> dict[str, str]:
        """The label chosen for each setting and aspect, in words."""
        facts: dict[str, str] = {}
        for setting, (depth, occlusion) in self._labels.items():
            facts[f"{setting} depth"] = words("depth")[depth]
            if setting == "within_image":
                facts[f"{setting} occlusion"] = words("occlusion")[occlusion]
        return facts

    def _require(self, setting: Setting) -> tuple[int, int]:
        if setting not in self._labels:
            raise no_training("majority", setting)
        return self._labels[setting]


class Random:
    """A fair die: the same throw for the same cluster and seed.

    Depth is closer, farther or (within an image) same; occlusion is any of its four labels.

    Args:
        seed: Another seed, other throws.
    """

    def __init__(self, seed: int = 0) -> None:
        if seed < 0:
            raise ConfigError(f"random: seed must not be negative, found {seed}")
        self.seed = seed

    def relate(self, pairs: Pairs) -> Judgements:
        """Independent uniform labels; (a, b) and (b, a) may contradict each other."""
        # Both directions of an image pair share a cluster, so the views' ids are part of the seed.
        key = "\0".join((pairs.cluster_id, pairs.view_a.id, pairs.view_b.id))
        rng = np.random.default_rng([self.seed, crc32(key.encode())])
        n = len(pairs)
        if pairs.setting == "across_images":
            return Judgements(_throw(rng, (Depth.CLOSER, Depth.FARTHER), n), np.full(n, SILENT, dtype=np.int8))
        depth = _throw(rng, (Depth.CLOSER, Depth.FARTHER, Depth.SAME), n)
        return Judgements(depth, _throw(rng, (0, 1, 2, 3), n))


class ObjectClass:
    """The paper's *Object class*: the most frequent label of the ordered class pair in the training split.

    A class pair that the training split does not have is answered *unsure* (the paper's protocol takes that for
    no prediction) and, for occlusion, *none*.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[Setting, Aspect], dict[tuple[str, str], Floats]] = {}

    def prepare_relations(self, study: RelationsStudy) -> None:
        """Count labels by class pair; ConfigError if a setting that will be asked has no training pairs."""
        self._counts = {
            (s, aspect): class_pair_counts(t, aspect) for s, t in study.train.items() for aspect in _ASPECTS
        }
        for setting in study.test:
            self._require(setting)

    def relate(self, pairs: Pairs) -> Judgements:
        """The habit of each class pair."""
        self._require(pairs.setting)
        return _judge(pairs, {aspect: self._table(pairs, aspect) for aspect in _asked(pairs)})

    def _table(self, pairs: Pairs, aspect: Aspect) -> Floats:
        """(n, 4) label counts of each pair's classes; a never seen pair counts as one of label 0."""
        counts = self._counts[pairs.setting, aspect]
        unseen = np.array([1.0, 0.0, 0.0, 0.0])
        keys = zip(pairs.categories_a, pairs.categories_b, strict=True)
        return np.array([counts.get(key, unseen) for key in keys]).reshape(-1, 4)

    def _require(self, setting: Setting) -> None:
        if (setting, "depth") not in self._counts:
            raise no_training("object_class", setting)


class BlindClassPrior:
    """The likeliest label given the two classes, learned from other clusters of the split examined.

    Cross-fitted: the clusters are dealt into folds, and a cluster is answered by the prior that never saw its
    fold. A cluster that is in no fold is answered by a prior fitted on all of them.

    Args:
        folds: How many folds, at least 2.
        seed: Seeds the dealing.
    """

    cross_fits: ClassVar[bool] = True

    def __init__(self, folds: int = 5, seed: int = 0) -> None:
        if folds < 2:
            raise ConfigError(f"class_prior: folds must be at least 2, found {folds}")
        self.folds = folds
        self.seed = seed
        self._fitted: dict[tuple[Setting, Aspect], _CrossFitted] = {}

    def facts(self) -> dict[str, Any]:
        """Folds and seed."""
        return {"folds": self.folds, "seed": self.seed}

    def prepare_relations(self, study: RelationsStudy) -> None:
        """Fit one prior a fold, setting and aspect, on the split examined."""
        self._fitted = {
            (setting, aspect): _cross_fitted(table, aspect, self.folds, self.seed)
            for setting, table in study.test.items()
            for aspect in _ASPECTS
        }

    def relate(self, pairs: Pairs) -> Judgements:
        """The likeliest labels by the prior that did not see this cluster."""
        if (pairs.setting, "depth") not in self._fitted:
            raise ConfigError(
                f"class_prior needs labelled {pairs.setting} pairs to cross-fit on, and there are none"
            )
        likely: dict[Aspect, Floats] = {}
        for aspect in _asked(pairs):
            likely[aspect] = self._fitted[pairs.setting, aspect].probabilities(pairs)
        return _judge(pairs, likely)


@dataclass(frozen=True)
class _CrossFitted:
    """Priors by the cluster they may answer for; all share the class codes."""

    by_cluster: Mapping[str, ClassPrior]
    everything: ClassPrior
    codes: Mapping[str, int]

    def probabilities(self, pairs: Pairs) -> Floats:
        prior = self.by_cluster.get(pairs.cluster_id, self.everything)
        first, second = (
            [self.codes.get(name, UNSEEN) for name in names] for names in (pairs.categories_a, pairs.categories_b)
        )
        return prior.probabilities(first, second)


def commonest(table: PairTable, aspect: str) -> int:
    """Most frequent label code over both directions of all pairs; no majority does not count, a tie goes lower."""
    labels = getattr(table.ordered(), aspect)
    return int(np.bincount(labels[labels >= 0], minlength=4).argmax())


def no_training(model: str, setting: Setting) -> ConfigError:
    """The error of a model that cannot answer without a training split."""
    return ConfigError(
        f"{model} needs a training split with {setting} pairs (such as validation), and there is none"
    )


def class_pair_counts(table: PairTable, aspect: Aspect) -> dict[tuple[str, str], Floats]:
    """(4,) label counts of every ordered class pair, both directions of each annotated pair counted."""
    both = table.ordered()
    labels = getattr(both, aspect)
    known = labels >= 0
    k = len(table.categories)
    key = both.category[both.first[known]].astype(np.int64) * k + both.category[both.second[known]]
    seen, place = np.unique(key, return_inverse=True)
    counts = np.bincount(place * 4 + labels[known], minlength=len(seen) * 4).reshape(-1, 4).astype(np.float64)
    names = table.categories
    return {(names[code // k], names[code % k]): row for code, row in zip(seen.tolist(), counts, strict=True)}


def likeliest(weights: Floats, aspect: Aspect, coin: Floats) -> Codes:
    """The label of greatest weight in each row; antisymmetric under reversal of the pairs.

    Args:
        weights: (n, 4) counts or probabilities of the label codes.
        aspect: Between kinds of labels that tie, depth prefers an order, occlusion prefers none.
        coin: (n,) decides between codes 1 and 2 where they tie: 1 above 0, 2 below, and 0 for label 0.

    >>> likeliest(np.array([[0.0, 2.0, 2.0, 1.0]]), "depth", np.array([-1.0]))
    array([2], dtype=int8)
    """
    order = weights[:, 1] - weights[:, 2]
    order = np.where(np.abs(order) > 1e-12 * weights.sum(axis=1), order, coin)
    first = np.where(order > 0, 1, np.where(order < 0, 2, 0))
    kinds = {0: weights[:, 0], 1: np.maximum(weights[:, 1], weights[:, 2]), 3: weights[:, 3]}
    preference = (1, 3, 0) if aspect == "depth" else (0, 1, 3)
    best = np.array(preference)[np.argmax([kinds[kind] for kind in preference], axis=0)]
    return np.where(best == 1, first, best).astype(np.int8)


def _cross_fitted(table: PairTable, aspect: Aspect, folds: int, seed: int) -> _CrossFitted:
    by_cluster: dict[str, ClassPrior] = {}
    for rows, prior in cross_fit(table, aspect=aspect, folds=folds, seed=seed):
        by_cluster |= dict.fromkeys(table.clusters[np.unique(table.cluster[rows])].tolist(), prior)
    codes = {name: code for code, name in enumerate(table.categories)}
    return _CrossFitted(by_cluster, ClassPrior.fit(table, aspect=aspect), codes)


def _asked(pairs: Pairs) -> tuple[Aspect, ...]:
    return _ASPECTS if pairs.setting == "within_image" else ("depth",)


def _judge(pairs: Pairs, weights: Mapping[Aspect, Floats]) -> Judgements:
    coin = pairs.boxes_b[:, 0] - pairs.boxes_a[:, 0]
    labels = {aspect: likeliest(weights[aspect], aspect, coin) for aspect in weights}
    return Judgements(labels["depth"], labels.get("occlusion", np.full(len(pairs), SILENT, dtype=np.int8)))


def _throw(rng: np.random.Generator, labels: tuple[int, ...], n: int) -> Codes:
    return rng.choice(np.array(labels, dtype=np.int8), size=n)
