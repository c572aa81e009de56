"""Describe a dataset of 2.5D relations: counts, labels, difficulty and how far its raters agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.analyses import Violations, label_consistency
from sightline.exams.relations.pairs import Difficulty, PairTable, difficulty, no_pairs, tables_by_split
from sightline.exams.relations.protocols import Aspect, Protocol, rates
from sightline.plain import plain
from sightline.scenes import words
from sightline.skills import Setting
from sightline.stats import Interval, dawid_skene, human_ceiling, intervals
from sightline.stats.agreement import Undecided, fleiss_counts, fleiss_of, krippendorff_counts, krippendorff_of
from sightline.store import Dataset

Shares = Mapping[str, float]

POOLED = ("validation", "test")
"""The splits with five raters a pair, whose difficulty the paper gives together."""


@dataclass(frozen=True)
class Agreement:
    """How far the raters agree on one aspect.

    Attributes:
        fleiss_kappa: Fleiss' κ; `krippendorff_alpha` α. Both with intervals by cluster.
        rater_accuracy: Chance that a vote is the true label, by Dawid and Skene's model with one confusion matrix.
        human_ceiling: Accuracy of one rater against the majority of the others.
    """

    fleiss_kappa: Interval
    krippendorff_alpha: Interval
    rater_accuracy: float
    human_ceiling: Interval


@dataclass(frozen=True)
class SplitDescription:
    """One split of one setting (a column of the paper's Table 1).

    Attributes:
        images: Scenes, also those without a pair; `objects` likewise.
        pairs: Annotated pairs, each once.
        image_pairs: Pairs of images that they lie in; 0 within an image.
        depth: Label word → share of the pairs that were asked about it, no majority included; empty where none was.
        occlusion: The same; empty across images, where it is not asked.
        difficulty: Scale → share of all pairs.
        votes_per_pair: Number of votes → pairs that have so many.
        transitivity: Law → how often the labels break it, by each of three denominators; empty without a triple.
        agreement: Aspect → agreement, for aspects with votes.
    """

    images: int
    objects: int
    pairs: int
    image_pairs: int
    depth: Shares
    occlusion: Shares
    difficulty: Shares
    votes_per_pair: Mapping[int, int]
    transitivity: Mapping[str, Violations]
    agreement: Mapping[str, Agreement]


@dataclass(frozen=True)
class Description:
    """All settings and splits of a dataset.

    Attributes:
        splits: Setting → split → what is in it.
        pooled: Setting → difficulty of validation and test together, where both are there (the paper's Table 2).
    """

    splits: Mapping[Setting, Mapping[str, SplitDescription]]
    pooled: Mapping[Setting, Shares]

    def to_dict(self) -> dict[str, Any]:
        """``{setting: {split: {…}, "validation+test": {"difficulty": {…}}}}``."""
        values: dict[str, Any] = {setting: plain(splits) for setting, splits in self.splits.items()}
        for setting, shares in self.pooled.items():
            values[setting]["+".join(POOLED)] = {"difficulty": plain(shares)}
        return values


def describe_dataset(data: Dataset, *, resamples: int = 1000, seed: int = 0) -> Description:
    """Describe every split and setting of a dataset that has depth or occlusion relations."""
    tables = tables_by_split(data)
    if not tables:
        raise no_pairs(data)
    return describe(tables, resamples=resamples, seed=seed)


def describe(
    tables: Mapping[tuple[Setting, str], PairTable], *, resamples: int = 1000, seed: int = 0
) -> Description:
    """Count and summarise annotated pairs.

    Args:
        tables: (setting, split) → annotated pairs, not `ordered`.
        resamples: Bootstrap resamples behind the agreement intervals.
        seed: Of the resampling.
    """
    settings = list(dict.fromkeys(setting for setting, _ in tables))
    splits = {
        setting: {
            split: describe_split(table, resamples=resamples, seed=seed)
            for (of, split), table in tables.items()
            if of == setting
        }
        for setting in settings
    }
    pooled = {
        setting: difficulty_shares(np.concatenate([tables[setting, split].depth_votes for split in POOLED]))
        for setting in settings
        if all((setting, split) in tables for split in POOLED)
    }
    return Description(splits, pooled)


def describe_split(table: PairTable, *, resamples: int = 1000, seed: int = 0) -> SplitDescription:
    """Counts, shares and agreement of one split."""
    aspects = table.aspects
    sizes, pairs = np.unique(table.depth_votes.sum(axis=1), return_counts=True)
    laws = label_consistency(table, resamples=resamples, seed=seed)
    return SplitDescription(
        images=len(table.scenes),
        objects=len(table.object_ids),
        pairs=len(table),
        image_pairs=len(np.unique(table.cluster)) if table.setting == "across_images" else 0,
        depth=label_shares(table, "depth") if "depth" in aspects or not len(table) else {},
        occlusion=label_shares(table, "occlusion") if "occlusion" in aspects else {},
        difficulty=difficulty_shares(table.depth_votes),
        votes_per_pair=dict(zip(sizes.tolist(), pairs.tolist(), strict=True)),
        transitivity={law: of for law, of in laws.items() if laws["transitivity_all"].cases},
        agreement={
            aspect: agreement(getattr(table, f"{aspect}_votes"), table, resamples=resamples, seed=seed)
            for aspect in aspects
            if getattr(table, f"{aspect}_votes").any()
        },
    )


def label_shares(table: PairTable, aspect: Aspect) -> dict[str, float]:
    """Share of each label among the pairs asked about an aspect, in code order, then of no majority."""
    labels = getattr(table, aspect)[table.asked_of(aspect)]
    return _shares(labels.astype(np.int64) % 5, (*words(aspect), "no_majority"))


def difficulty_shares(votes: NDArray[np.int16]) -> dict[str, float]:
    """Share of each difficulty scale among all pairs; NaN where nobody voted, a pair without votes has no scale."""
    names = tuple(scale.word for scale in Difficulty)
    if not votes.any():
        return dict.fromkeys(names, float("nan"))
    return _shares(difficulty(votes).astype(np.int64), names)


def agreement(votes: NDArray[np.int16], table: PairTable, *, resamples: int = 1000, seed: int = 0) -> Agreement:
    """Agreement of (n, 4) votes on the pairs of a table; at least one pair must have a vote."""
    c = len(table.clusters)
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    kappa, alpha = (
        intervals(_by_cluster(counts(votes), table.cluster, c), of, **how, proportion=False)[0]
        for counts, of in ((fleiss_counts, fleiss_of), (krippendorff_counts, krippendorff_of))
    )
    fitted = dawid_skene(votes)
    return Agreement(
        fleiss_kappa=kappa,
        krippendorff_alpha=alpha,
        rater_accuracy=float(fitted.prior @ np.diag(fitted.confusion)),
        human_ceiling=human_ceiling(votes, table.cluster, c, **how).accuracy,
    )


def human_f1(table: PairTable, aspect: Aspect, protocol: Protocol, *, resamples: int, seed: int) -> Interval:
    """F1 of one rater against the majority of the others, counted as the protocol counts a model.

    The official protocol is left to models: it turns undecided pairs into misses of *same*, which a rater who is
    part of the indecision cannot be charged with.

    Args:
        table: Annotated pairs, one direction each; the other direction would count the same again.
        aspect: Which votes.
        protocol: ``default``, where undecided others are left out, or ``paper``, where any vote on them is wrong.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    undecided: Undecided = "leave_out" if protocol is Protocol.DEFAULT else "false_positive"
    votes = getattr(table, f"{aspect}_votes")
    rater = human_ceiling(votes, table.cluster, len(table.clusters), resamples=1, undecided=undecided)

    def f1(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        return rates(totals, protocol=protocol, aspect=aspect, setting=table.setting)[:, -1, 2:]

    return intervals(rater.counts, f1, resamples=resamples, seed=seed)[0]


def _by_cluster(rows: NDArray[np.float64], cluster: NDArray[np.int32], n: int) -> NDArray[np.float64]:
    """Sum of the rows of each cluster."""
    return np.column_stack([np.bincount(cluster, weights=column, minlength=n) for column in rows.T])


def _shares(codes: NDArray[np.int64], names: tuple[str, ...]) -> dict[str, float]:
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    total = len(codes) or np.nan
    return {name: float(n / total) for name, n in zip(names, counts, strict=True)}
