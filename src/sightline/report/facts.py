"""What a report says of the data: counts, agreement, blind rules, label habits and the human reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sightline.exams.relations.audit import audit
from sightline.exams.relations.consistency import label_consistency
from sightline.exams.relations.description import describe
from sightline.exams.relations.distributions import (
    class_frequency,
    class_pair_frequency,
    labels_by_class,
    labels_by_class_pair,
)
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import Aspect, Protocol
from sightline.exams.relations.tally import rates
from sightline.report.cards import DataFacts
from sightline.skills import Setting
from sightline.stats import Interval, human_ceiling, intervals
from sightline.store import Dataset

_SHOWN: Final = 25
"""Classes and class pairs in a frequency chart."""

_AGREEMENT: Final = 500
"""Resamples behind the agreement's intervals, at most: they are shown to judge the data, not to compare."""

Described = Mapping[tuple[Setting, str], PairTable]


def data_facts(
    described: Described, data: Dataset, split: str, *, protocol: Protocol, resamples: int, seed: int
) -> DataFacts:
    """Everything the report says of the data, models aside."""
    tables = {setting: table for (setting, name), table in described.items() if name == split}
    asked = [(table, aspect) for table in tables.values() for aspect in table.aspects]
    return DataFacts(
        name=data.path.resolve().name,
        source=data.source,
        fingerprint=data.fingerprint,
        split=split,
        description=describe(described, resamples=min(resamples, _AGREEMENT), seed=seed),
        audit=audit(tables, seed=seed, resamples=resamples),
        consistency={s: label_consistency(t, resamples=resamples, seed=seed) for s, t in tables.items()},
        classes={s: class_frequency(t, _SHOWN) for s, t in tables.items()},
        class_pairs={s: class_pair_frequency(t, _SHOWN) for s, t in tables.items()},
        by_class={f"{t.setting}/{a}": labels_by_class(t, a) for t, a in asked},
        by_class_pair={f"{t.setting}/{a}": labels_by_class_pair(t, a) for t, a in asked},
        human={
            f"{table.setting}/{aspect}": human_f1(table, aspect, protocol, resamples=resamples, seed=seed)
            for table, aspect in asked
            if protocol is not Protocol.OFFICIAL and getattr(table, f"{aspect}_votes").any()
        },
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
    counts = human_ceiling(
        getattr(table, f"{aspect}_votes"),
        table.cluster,
        len(table.clusters),
        resamples=1,
        undecided="leave_out" if protocol is Protocol.DEFAULT else "false_positive",
    ).counts
    return intervals(
        counts,
        lambda t: rates(t, protocol=protocol, aspect=aspect, setting=table.setting)[:, -1, 2:],
        resamples=resamples,
        seed=seed,
    )[0]
