"""Tables of a report, said once and shown in HTML and Markdown alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sightline.show.table import Cell, Row, Table, scored
from sightline.skills import Setting

if TYPE_CHECKING:
    from sightline.report.cards import ReportCard, Sitting

SUBTASK_TITLES = {
    "within_image/depth": "Depth within an image",
    "within_image/occlusion": "Occlusion within an image",
    "across_images/depth": "Depth across two images",
}
"""How a reader is told of each sub-task, in the order of every table."""

SETTING_WORDS: dict[Setting, str] = {"within_image": "within an image", "across_images": "across two images"}


BOXES_WORDS = {"detected": "own boxes", "perfect": "own boxes, perfect predicates"}


def score_tables(card: ReportCard) -> list[Table]:
    """Per sub-task: precision, recall and F1, of all pairs together and as the mean over scenes."""
    return [_score_table(card, name, SUBTASK_TITLES[name]) for name in card.subtasks]


def _score_table(card: ReportCard, name: str, title: str) -> Table:
    depth = name.endswith("depth")
    rows = []
    for sitting in card.main:
        task = sitting.subtask(name)
        if task is None:
            continue
        pooled = [task.micro["all"], task.macro["all"]]
        cells = [scored(getattr(score, part)) for score in pooled for part in ("precision", "recall", "f1")]
        if depth:
            cells += [scored(task.clear), Cell(f"{task.pairs:,}")]
        else:
            cells += [Cell(f"{task.pairs:,}")]
        rows.append(row_of(card, sitting, cells))
    scene = "scene" if name.startswith("within") else "image pair"
    columns = ("model", *(["precision", "recall", "F1"] * 2), *(["accuracy"] if depth else []), "pairs")
    last = [("clear orders", 1), ("", 1)] if depth else [("", 1)]
    groups = (("all pairs together (micro)", 3), (f"mean over {scene}s (macro)", 3), *last)
    return Table(title, columns, tuple(rows), groups)


def predicate_tables(card: ReportCard) -> list[Table]:
    """Per sub-task: F1 of every label the protocol counts (the paper's Table 7)."""
    tables = []
    for name in card.subtasks:
        found = [(s, s.scores.by_predicate().get(name)) for s in card.main]
        kept = [(s, labels) for s, labels in found if labels]
        columns = tuple(dict.fromkeys(label for _, labels in kept for label in labels))
        rows = tuple(row_of(card, s, [scored(labels[c]) for c in columns]) for s, labels in kept)
        tables.append(Table(SUBTASK_TITLES[name], ("model", *columns), rows))
    return tables


def difficulty_table(card: ReportCard) -> Table:
    """F1 by how well the raters agreed (the paper's Table 9)."""
    tasks = [n for n in card.subtasks if any(s.difficulty and n in s.difficulty.f1 for s in card.main)]
    average = any(s.difficulty and s.difficulty.average for s in card.main)
    scales = ("easy", "moderate", "difficult")
    rows = []
    for sitting in card.main:
        if sitting.difficulty is None:
            continue
        found = [sitting.difficulty.f1.get(name, {}) for name in tasks]
        found += [sitting.difficulty.average] if average else []
        rows.append(row_of(card, sitting, [scored(part.get(scale)) for part in found for scale in scales]))
    groups = tuple((SUBTASK_TITLES[name], 3) for name in tasks) + ((("Average", 3),) if average else ())
    return Table(
        "F1 by difficulty",
        ("model", *(scales * len(groups))),
        tuple(rows),
        groups,
        "Easy: all raters alike; moderate: at least four in five; difficult: a bare majority. "
        "Occlusion, too, is cut by how well the raters agreed on the depth order.",
    )


def settings_of(found: Iterable[Mapping[Setting, object]]) -> list[Setting]:
    """Settings that some of the mappings have, in the order of every table."""
    present = {setting for own in found for setting in own}
    return [setting for setting in SETTING_WORDS if setting in present]


def row_of(card: ReportCard, sitting: Sitting, cells: Iterable[Cell]) -> Row:
    """A run's line."""
    return Row(head_of(sitting), tuple(cells), kind_of(card, sitting))


def head_of(sitting: Sitting) -> str:
    """What stands before a run's line; an unfinished one is said so."""
    return sitting.label if sitting.finished else f"{sitting.label} (unfinished)"


def kind_of(card: ReportCard, sitting: Sitting) -> str:
    """How a run's line looks."""
    return "focus" if sitting.label == card.focus else "blind" if sitting.blind else ""
