"""Tables of a report that are about the data, not the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.report.listings import SETTING_WORDS
from sightline.show.table import Cell, Row, Table, percent, scored

if TYPE_CHECKING:
    from sightline.exams.relations.description import SplitDescription
    from sightline.report.cards import ReportCard
    from sightline.skills import Setting


def contents_table(card: ReportCard) -> Table:
    """Counts and label shares of every setting and split (the paper's Table 1)."""
    columns = _columns(card)
    rows = [
        Row(name, tuple(Cell(f"{getattr(split, name):,}") for _, _, split in columns))
        for name in ("images", "objects", "pairs")
    ]
    for aspect in ("depth", "occlusion"):
        labels = dict.fromkeys(label for _, _, split in columns for label in getattr(split, aspect) or {})
        for label in labels:
            shares = [(getattr(split, aspect) or {}).get(label) for _, _, split in columns]
            rows.append(Row(f"{aspect}: {label.replace('_', ' ')}", tuple(Cell(percent(s)) for s in shares)))
    return Table("What is in it", ("", *(split for _, split, _ in columns)), tuple(rows), _groups(card))


def difficulty_shares_table(card: ReportCard) -> Table:
    """Share of every difficulty scale (the paper's Table 2)."""
    found = [
        (SETTING_WORDS[setting], "validation + test", shares)
        for setting, shares in card.data.description.pooled.items()
    ] or [(SETTING_WORDS[setting], split, made.difficulty) for setting, split, made in _columns(card)]
    scales = tuple(found[0][2]) if found else ()
    rows = tuple(
        Row(f"{setting}, {split}", tuple(Cell(percent(shares[scale])) for scale in scales))
        for setting, split, shares in found
    )
    note = (
        "Share of all pairs. Infeasible: the raters' majority is unsure. Ambiguous: no majority; such pairs have "
        "no label."
    )
    return Table("Difficulty, by the raters' depth votes", ("", *scales), rows, note=note)


def agreement_table(card: ReportCard) -> Table:
    """How far the raters agree."""
    rows = []
    for setting, split, made in _columns(card):
        for aspect, found in made.agreement.items():
            cells = (
                scored(found.fleiss_kappa),
                scored(found.krippendorff_alpha),
                Cell(f"{found.rater_accuracy:.3f}"),
                scored(found.human_ceiling),
            )
            rows.append(Row(f"{aspect}, {SETTING_WORDS[setting]}, {split}", cells))
    columns = ("", "Fleiss κ", "Krippendorff α", "rater accuracy", "one against the rest")
    note = (
        "κ and α are 1 for full agreement and 0 for chance. Rater accuracy is Dawid and Skene's estimate with one "
        "confusion matrix for all raters, since votes carry no rater ids. One against the rest: accuracy of a "
        "single rater judged by the majority of the others; harsh on close votes, where leaving one out makes a "
        "tie or a miss."
    )
    return Table("Agreement of the raters", columns, tuple(rows), note=note)


def audit_table(card: ReportCard) -> Table:
    """Blind rules on pairs with a clear order."""
    settings = list(card.data.audit.rules)
    names = list(dict.fromkeys(name for rules in card.data.audit.rules.values() for name in rules))
    rows = []
    for name in names:
        cells: list[Cell] = []
        for setting in settings:
            rule = card.data.audit.rules[setting][name]
            ratio = f"{rule.se_ratio:.2f}" if rule.se_ratio == rule.se_ratio else "–"
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


def _columns(card: ReportCard) -> list[tuple[Setting, str, SplitDescription]]:
    return [
        (setting, split, made)
        for setting, splits in card.data.description.splits.items()
        for split, made in sorted(splits.items(), key=lambda item: _ORDER.get(item[0], 9))
    ]


def _groups(card: ReportCard) -> tuple[tuple[str, int], ...]:
    return tuple((SETTING_WORDS[s].capitalize(), len(splits)) for s, splits in card.data.description.splits.items())


_ORDER = {"train": 0, "validation": 1, "test": 2}
