"""What the report card says of the labels themselves: contents, agreement, blind rules, classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sightline.exams.relations.analyses import Violations, label_consistency
from sightline.exams.relations.audit import Audit, audit
from sightline.exams.relations.description import Description, SplitDescription, describe, human_f1
from sightline.exams.relations.distributions import (
    Frequency,
    LabelBar,
    LabelDistribution,
    class_frequency,
    class_pair_frequency,
    labels_by_class,
    labels_by_class_pair,
)
from sightline.exams.relations.measures import SUBTASK_TITLES
from sightline.exams.relations.pairs import SETTING_WORDS, tables_by_split
from sightline.exams.relations.protocols import Protocol
from sightline.show.chart import DotRow, bars, dot_intervals, stacked_bars
from sightline.show.page import Figure, FigureRow
from sightline.show.table import Cell, Row, Table, percent, scored
from sightline.skills import Setting
from sightline.stats import Interval
from sightline.store import Dataset

_SHOWN: Final = 25
"""Classes and class pairs in a frequency chart."""
_AGREEMENT: Final = 500
"""Resamples behind the agreement's intervals, at most: they are shown to judge the data, not to compare."""
_SPLIT_ORDER: Final = {"train": 0, "validation": 1, "test": 2}


@dataclass(frozen=True)
class DataFacts:
    """What the card says of the data, models aside.

    Attributes:
        description: Tables 1 and 2 of the paper, agreement of the raters.
        audit: Blind rules on pairs with a clear order.
        consistency: Setting → transitivity of the labels themselves.
        classes: Setting → how often each class occurs; `class_pairs` likewise.
        by_class: ``<setting>/<aspect>`` → labels by the class of the first object; `by_class_pair` by both.
        human: Sub-task → F1 of one rater against the others, counted as a model's; empty where not comparable.
        rated: Whether there are votes of raters behind the labels of the split asked.
    """

    description: Description
    audit: Audit
    consistency: Mapping[Setting, Mapping[str, Violations]]
    classes: Mapping[Setting, Frequency]
    class_pairs: Mapping[Setting, Frequency]
    by_class: Mapping[str, LabelDistribution]
    by_class_pair: Mapping[str, LabelDistribution]
    human: Mapping[str, Interval]
    rated: bool

    def human_value(self, name: str) -> float:
        """F1 of one rater in a sub-task, or the mean of all three for the ``average``; NaN where unknown."""
        if name != "average":
            return self.human[name].value if name in self.human else math.nan
        known = [self.human[task].value for task in SUBTASK_TITLES if task in self.human]
        return sum(known) / len(known) if len(known) == len(SUBTASK_TITLES) else math.nan


def data_facts(data: Dataset, split: str, protocol: Protocol, *, resamples: int, seed: int) -> DataFacts:
    """Describe all splits, and audit the one asked; one rater is counted as the protocol counts a model."""
    described = tables_by_split(data)
    tables = {setting: table for (setting, name), table in described.items() if name == split}
    deep = {setting: table for setting, table in tables.items() if "depth" in table.aspects}
    asked = [(table, aspect) for table in tables.values() for aspect in table.aspects]
    return DataFacts(
        description=describe(described, resamples=min(resamples, _AGREEMENT), seed=seed),
        audit=audit(tables, seed=seed, resamples=resamples),
        consistency={s: label_consistency(t, resamples=resamples, seed=seed) for s, t in deep.items()},
        classes={s: class_frequency(t, _SHOWN) for s, t in tables.items()},
        class_pairs={s: class_pair_frequency(t, _SHOWN) for s, t in tables.items()},
        by_class={f"{t.setting}/{a}": labels_by_class(t, a) for t, a in asked},
        by_class_pair={f"{t.setting}/{a}": labels_by_class_pair(t, a) for t, a in asked},
        human={
            f"{table.setting}/{aspect}": human_f1(table, aspect, protocol, resamples=resamples, seed=seed)
            for table, aspect in asked
            if protocol is not Protocol.OFFICIAL and getattr(table, f"{aspect}_votes").any()
        },
        rated=any(getattr(table, f"{aspect}_votes").any() for table, aspect in asked),
    )


def data_content(data: DataFacts) -> Iterator[Table | FigureRow]:
    """Tables and charts of the data, as the card shows them."""
    yield _contents_table(data)
    if data.rated:
        yield _scales_table(data)
        yield _agreement_table(data)
    if data.audit:
        yield _audit_table(data)
        yield FigureRow("How far blind rules get", tuple(_audit_figures(data)))
    labels = tuple(_label_figures(data))
    note = (
        "The classes, and pairs of classes, that get each label most often, in both directions. Classes are shown "
        "as the dataset names them."
    )
    few = "No class has the 50 ordered pairs that a share needs to mean something."
    yield FigureRow("Which labels go with which classes", labels, text=note if labels else few)
    yield FigureRow("Which classes there are", tuple(_frequency_figures(data)))


def _columns(data: DataFacts) -> list[tuple[Setting, str, SplitDescription]]:
    return [
        (setting, split, described)
        for setting, splits in data.description.splits.items()
        for split, described in sorted(splits.items(), key=lambda item: _SPLIT_ORDER.get(item[0], 9))
    ]


def _contents_table(data: DataFacts) -> Table:
    """Counts and label shares of every setting and split (the paper's Table 1)."""
    columns = _columns(data)
    voted = any(votes for _, _, split in columns for votes in split.votes_per_pair)
    rows = [
        Row(name, tuple(Cell(f"{getattr(split, name):,}") for _, _, split in columns))
        for name in ("images", "objects", "pairs")
    ]
    if any(split.image_pairs for _, _, split in columns):
        rows.append(Row("pairs of images", tuple(Cell(f"{s.image_pairs:,}") for _, _, s in columns)))
    for aspect in ("depth", "occlusion"):
        for label in dict.fromkeys(label for _, _, split in columns for label in getattr(split, aspect) or {}):
            if label == "no_majority" and not voted:
                continue
            shares = [(getattr(split, aspect) or {}).get(label) for _, _, split in columns]
            rows.append(Row(f"{aspect}: {label.replace('_', ' ')}", tuple(Cell(percent(s)) for s in shares)))
    splits = data.description.splits
    groups = tuple((SETTING_WORDS[setting].capitalize(), len(of)) for setting, of in splits.items())
    return Table("What is in it", ("", *(split for _, split, _ in columns)), tuple(rows), groups)


def _scales_table(data: DataFacts) -> Table:
    """Share of every difficulty scale (the paper's Table 2)."""
    shares = [(SETTING_WORDS[s], "validation + test", of) for s, of in data.description.pooled.items()]
    shares = shares or [(SETTING_WORDS[s], split, described.difficulty) for s, split, described in _columns(data)]
    shares = [row for row in shares if not all(map(math.isnan, row[2].values()))]  # nobody voted: no raters
    scales = tuple(shares[0][2]) if shares else ()
    return Table(
        "Difficulty, by the raters' depth votes",
        ("", *scales),
        tuple(Row(f"{s}, {split}", tuple(Cell(percent(of[scale])) for scale in scales)) for s, split, of in shares),
        note="Share of all pairs. Infeasible: the raters' majority is unsure. Ambiguous: no majority; such pairs "
        "have no label.",
    )


def _agreement_table(data: DataFacts) -> Table:
    """How far the raters agree."""
    rows = []
    for setting, split, described in _columns(data):
        for aspect, of in described.agreement.items():
            rater = Cell(f"{of.rater_accuracy:.3f}")
            cells = (scored(of.fleiss_kappa), scored(of.krippendorff_alpha), rater, scored(of.human_ceiling))
            rows.append(Row(f"{aspect}, {SETTING_WORDS[setting]}, {split}", cells))
    return Table(
        "Agreement of the raters",
        ("", "Fleiss κ", "Krippendorff α", "rater accuracy", "one against the rest"),
        tuple(rows),
        note="κ and α are 1 for full agreement and 0 for chance. Rater accuracy is Dawid and Skene's estimate with "
        "one confusion matrix for all raters, since votes carry no rater ids. One against the rest: accuracy of a "
        "single rater judged by the majority of the others; harsh on close votes, where leaving one out makes a "
        "tie or a miss.",
    )


def _audit_table(data: DataFacts) -> Table:
    """Blind rules on pairs with a clear order."""
    settings = list(data.audit)
    names = list(dict.fromkeys(name for rules in data.audit.values() for name in rules))
    rows = []
    for name in names:
        cells: list[Cell] = []
        for setting in settings:
            rule = data.audit[setting][name]
            ratio = "–" if math.isnan(rule.se_ratio) else f"{rule.se_ratio:.2f}"
            cells += [scored(rule.accuracy), Cell(f"{rule.pairs:,}"), Cell(ratio)]
        rows.append(Row(name.replace("_", " "), tuple(cells)))
    return Table(
        "How far blind rules get",
        ("rule", *(("accuracy", "pairs", "SE / naive SE") * len(settings))),
        tuple(rows),
        tuple((SETTING_WORDS[s].capitalize(), 3) for s in settings),
        "Accuracy on pairs with a clear depth order, a tie counting one half. The last column is how much too "
        "narrow error bars would be if pairs of one image were taken for independent.",
    )


def _audit_figures(data: DataFacts) -> Iterator[Figure]:
    for setting, rules in data.audit.items():
        ranked = sorted(rules.items(), key=lambda item: -item[1].accuracy.value)
        rows = [DotRow(n.replace("_", " "), r.accuracy.value, r.accuracy.low, r.accuracy.high) for n, r in ranked]
        title = f"Blind rules, {SETTING_WORDS[setting]}"
        yield Figure(title, dot_intervals(rows, reference_lines=[(0.5, "chance")], title=title))


def _frequency_figures(data: DataFacts) -> Iterator[Figure]:
    """The commonest classes and class pairs (the paper's Figures 8 and 9)."""
    for setting in data.classes:
        for what, of in (("Classes", data.classes[setting]), ("Class pairs", data.class_pairs[setting])):
            title = f"{what}, {SETTING_WORDS[setting]}"
            names = [" · ".join(name) for name in of.names]
            chart = bars(names, [float(n) for n in of.counts], log=True, title=title)
            yield Figure(title, chart, f"{len(of.names)} commonest of {of.distinct:,}; {of.total:,} in all.")


def _label_figures(data: DataFacts, *, each: int = 3, support: int = 50) -> Iterator[Figure]:
    """Which classes and class pairs get a label most often (the paper's Figures 5 and 10)."""
    for task, by_class in data.by_class.items():
        for what, distribution in (("class", by_class), ("class pair", data.by_class_pair[task])):
            tops = [bar for label in distribution.labels for bar in distribution.top(label, each, support)]
            shown: dict[str, LabelBar] = {" · ".join(bar.name): bar for bar in tops}
            if not shown:
                continue
            names = [label.replace("_", " ") for label in distribution.labels]
            rows = {name: dict(zip(names, bar.shares.tolist(), strict=True)) for name, bar in shown.items()}
            counts = {name: bar.support for name, bar in shown.items()}
            title = f"{SUBTASK_TITLES[task]}, labels by {what}"
            chart = stacked_bars(rows, categories=names, counts=counts, title=title)
            yield Figure(f"{SUBTASK_TITLES[task]}, by {what} of a{' and b' * (what != 'class')}", chart)
