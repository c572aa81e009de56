"""Tables of how models behave: misled by cues, contradicting themselves, silent, transferred, on own boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.report.listings import (
    BOXES_WORDS,
    SETTING_WORDS,
    SUBTASK_TITLES,
    head_of,
    kind_of,
    row_of,
    settings_of,
)
from sightline.show.table import Cell, Row, Table, scored, shared

if TYPE_CHECKING:
    from sightline.report.cards import ReportCard
    from sightline.stats import Interval


def heuristic_table(card: ReportCard) -> Table:
    """Accuracy on clear orders where the usual cues mislead."""
    slices = {
        "all": "all",
        "neither": "cues right",
        "lower_is_farther": "lower is not closer",
        "larger_is_farther": "larger is not closer",
        "both": "both mislead",
    }
    settings = settings_of(s.heuristics for s in card.main)
    rows = [
        row_of(
            card,
            s,
            [
                scored(s.heuristics[setting].slices[part].accuracy) if setting in s.heuristics else Cell("–")
                for setting in settings
                for part in slices
            ],
        )
        for s in card.main
        if s.heuristics
    ]
    fullest = max((s for s in card.main if s.heuristics), key=lambda s: s.done, default=None)
    if fullest is not None:
        found = fullest.heuristics
        sizes = [
            Cell(f"{found[setting].slices[part].pairs:,}" if setting in found else "–")
            for setting in settings
            for part in slices
        ]
        rows.append(Row("ordered pairs", tuple(sizes), "count"))
    groups = tuple((f"Depth {SETTING_WORDS[setting]}", len(slices)) for setting in settings)
    return Table(
        "Accuracy where the usual cues mislead",
        ("model", *(tuple(slices.values()) * len(settings))),
        tuple(rows),
        groups,
        "Pairs with a clear depth order only. The cues: the object whose bottom edge is lower in the image is "
        "closer; the larger object is closer. A model that looks should hold up where both mislead.",
    )


def consistency_table(card: ReportCard) -> Table:
    """How often answers, or the labels themselves, contradict each other."""
    laws = {
        "symmetry": "closer both ways",
        "symmetry_exact": "not the reverse",
        "symmetry_occlusion": "occlusion not the reverse",
        "transitivity": "transitivity",
        "transitivity_strict": "transitivity, strict",
    }
    subjects = [(head_of(s), s.consistency, kind_of(card, s)) for s in card.main if s.consistency]
    subjects.append(("the labels themselves", card.data.consistency, "human"))
    settings = settings_of(found for _, found, _ in subjects)
    shown = [
        (setting, law)
        for setting in settings
        for law in laws
        if any(setting in f and law in f[setting].laws and f[setting].laws[law].cases for _, f, _ in subjects)
    ]
    rows = [
        Row(
            label,
            tuple(
                shared(found[setting].laws[law].share, 2)
                if setting in found and law in found[setting].laws
                else Cell("–")
                for setting, law in shown
            ),
            kind,
        )
        for label, found, kind in subjects
    ]
    groups = tuple((SETTING_WORDS[s].capitalize(), sum(1 for own, _ in shown if own == s)) for s in settings)
    return Table(
        "Contradictions",
        ("answers of", *(laws[law] for _, law in shown)),
        tuple(rows),
        tuple(g for g in groups if g[1]),
        "Both directions of every pair are asked apart. Closer both ways: (a, b) said closer or same, yet (b, a) "
        "closer. Transitivity: a ≤ b and b ≤ c, yet a > c; strict: a < b and b < c, yet a > c. "
        "The labels are symmetric by construction.",
    )


def silence_table(card: ReportCard) -> Table:
    """How often models do not commit themselves; those that always do are named beneath."""
    settings = settings_of(s.silence for s in card.main)
    asked = {setting: ("depth", "occlusion") if setting == "within_image" else ("depth",) for setting in settings}
    rows, frank = [], []
    for sitting in card.main:
        shares: list[Interval | None] = []
        for setting in settings:
            own = sitting.silence.get(setting)
            shares += [own.unanswered.get(aspect) if own else None for aspect in asked[setting]]
            shares.append(own.unsure if own else None)
        if any(share is not None and share.value > 0 for share in shares):
            rows.append(row_of(card, sitting, [shared(share, 2) for share in shares]))
        elif sitting.silence:
            frank.append(head_of(sitting))
    columns = [c for s in settings for c in (*(f"{aspect} unanswered" for aspect in asked[s]), "depth unsure")]
    groups = tuple((SETTING_WORDS[s].capitalize(), 1 + len(asked[s])) for s in settings)
    note = f"Every pair answered, and never with unsure: {', '.join(frank)}." if frank else ""
    return Table("Silence", ("model", *columns), tuple(rows), groups, note)


def transfer_tables(card: ReportCard) -> list[Table]:
    """Per model with several study plans: depth F1 by what it learned from and what it was asked (Table 8)."""
    plans = {"within_image": "within an image", "across_images": "across two images", "joint": "both"}
    specs = dict.fromkeys(s.spec for s in card.sittings if s.boxes == "truth" and s.study != "same")
    tables = []
    for spec in specs:
        by_plan = {s.study: s for s in card.sittings if s.spec == spec and s.boxes == "truth"}
        rows = []
        for plan, said in plans.items():
            cells = []
            for setting in ("within_image", "across_images"):
                own = by_plan.get(plan) or (by_plan.get("same") if plan == setting else None)
                task = own.subtask(f"{setting}/depth") if own else None
                cells.append(scored(task.micro["all"].f1 if task else None))
            rows.append(Row(f"learned from pairs {said}" if plan != "joint" else "learned from both", tuple(cells)))
        name = by_plan[next(iter(by_plan))].name
        columns = (name, "asked within an image", "asked across two images")
        tables.append(Table(f"Transfer: {name}", columns, tuple(rows)))
    return tables


def detected_table(card: ReportCard) -> Table:
    """F1 on boxes the models found themselves (the paper's Table 5)."""
    names = [n for n in (*SUBTASK_TITLES, "average") if any(s.f1(n) for s in card.detected)]
    rows = tuple(
        Row(f"{s.name}, {BOXES_WORDS[s.boxes]}", tuple(scored(s.f1(n)) for n in names), kind_of(card, s))
        for s in card.detected
    )
    titles = (SUBTASK_TITLES.get(n, "Average") for n in names)
    return Table(
        "F1 on detected boxes",
        ("model", *titles),
        rows,
        note="Detections pass the filters the data was collected with, then as many are kept as there are "
        "annotated objects; both boxes of a pair must overlap the true ones by IoU > 0.5. Perfect predicates are "
        "the ceiling the detector sets.",
    )
