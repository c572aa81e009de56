"""Tables of a report, said once and shown in HTML and Markdown alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sightline.skills import Setting
from sightline.stats import Interval

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


@dataclass(frozen=True)
class Cell:
    """One entry: a figure or words, and what stands small beneath (an interval, a count)."""

    text: str
    detail: str = ""


@dataclass(frozen=True)
class Row:
    """One line: what it is of, its entries, and a kind for its looks (``focus``, ``blind`` or nothing)."""

    head: str
    cells: tuple[Cell, ...]
    kind: str = ""


@dataclass(frozen=True)
class Listing:
    """One table.

    Attributes:
        title: What it shows.
        columns: Headings; the first is of the rows' heads.
        rows: All lines.
        groups: (words, columns spanned) above the headings, the first column aside; may be empty.
        note: A sentence beneath.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    groups: tuple[tuple[str, int], ...] = ()
    note: str = ""


def figure(value: float | None, digits: int = 3) -> str:
    """A score to three decimals; a dash where there is none.

    >>> figure(0.85712), figure(float("nan"))
    ('0.857', '–')
    """
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share in per cent; a dash where there is none.

    >>> percent(0.1234), percent(None)
    ('12.3 %', '–')
    """
    return "–" if share is None or not math.isfinite(share) else f"{100 * share:.{digits}f} %"


def scored(interval: Interval | None) -> Cell:
    """A score over its interval."""
    if interval is None or not known(interval):
        return Cell("–")
    return Cell(figure(interval.value), _limits(figure(interval.low), figure(interval.high)))


def known(interval: Interval | None) -> bool:
    """Whether there is a value to be told."""
    return interval is not None and math.isfinite(interval.value)


def shared(interval: Interval | None, digits: int = 1) -> Cell:
    """A share in per cent over its interval."""
    if interval is None or not known(interval):
        return Cell("–")
    ends = (f"{100 * end:.{digits}f}" if math.isfinite(end) else "–" for end in (interval.low, interval.high))
    return Cell(percent(interval.value, digits), _limits(*ends))


def score_tables(card: ReportCard) -> list[Listing]:
    """Per sub-task: precision, recall and F1, of all pairs together and as the mean over scenes."""
    return [_score_table(card, name, SUBTASK_TITLES[name]) for name in card.subtasks]


def _score_table(card: ReportCard, name: str, title: str) -> Listing:
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
    return Listing(title, columns, tuple(rows), groups)


def predicate_tables(card: ReportCard) -> list[Listing]:
    """Per sub-task: F1 of every label the protocol counts (the paper's Table 7)."""
    tables = []
    for name in card.subtasks:
        found = [(s, s.scores.by_predicate().get(name)) for s in card.main]
        kept = [(s, labels) for s, labels in found if labels]
        columns = tuple(dict.fromkeys(label for _, labels in kept for label in labels))
        rows = tuple(row_of(card, s, [scored(labels[c]) for c in columns]) for s, labels in kept)
        tables.append(Listing(SUBTASK_TITLES[name], ("model", *columns), rows))
    return tables


def difficulty_table(card: ReportCard) -> Listing:
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
    return Listing(
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


def _limits(low: str, high: str) -> str:
    return "" if low == "–" or high == "–" else f"{low}–{high}"
