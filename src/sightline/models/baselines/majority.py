"""Answer relations without looking: always the commonest label, or a die."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.relations.pairs import PairTable
from sightline.scenes import Depth, words
from sightline.skills import SILENT, Judgements, Pairs, RelationsStudy, Setting

Codes = NDArray[np.int8]


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


def commonest(table: PairTable, aspect: str) -> int:
    """Most frequent label code over both directions of all pairs; no majority does not count, a tie goes lower."""
    labels = getattr(table.ordered(), aspect)
    return int(np.bincount(labels[labels >= 0], minlength=4).argmax())


def no_training(model: str, setting: Setting) -> ConfigError:
    """The error of a model that cannot answer without a training split."""
    return ConfigError(
        f"{model} needs a training split with {setting} pairs (such as validation), and there is none"
    )


def _throw(rng: np.random.Generator, labels: tuple[int, ...], n: int) -> Codes:
    return rng.choice(np.array(labels, dtype=np.int8), size=n)
