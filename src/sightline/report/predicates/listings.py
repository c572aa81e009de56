"""Tables of the predicates card, said once and shown in HTML and Markdown alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from sightline.scenes.labels import GEOMETRIC, PREDICATES, SPATIAL
from sightline.show.table import Cell, Row, Table, scored, shared
from sightline.stats import Interval

if TYPE_CHECKING:
    from sightline.report.predicates.cards import PredicatesCard, Sitting

GROUPS: Final = {"all": "all predicates", "spatial": "spatial", "geometric": "geometric"}
"""Groups of predicates, as a reader is told of them."""

NAMES: Final = (*GROUPS, *PREDICATES)

MEASURES: Final[dict[str, tuple[str, str]]] = {
    "scene_accuracy": (
        "Scene accuracy",
        "Right judgements as a share of all in the scene, then the mean over scenes: a crowded scene weighs no "
        "more than a sparse one.",
    ),
    "scene_all_by": ("Scene-all accuracy", "Share of the scenes in which every single judgement is right."),
    "f1": (
        "F1",
        "Over the judgements of all scenes together, where “it holds” is the positive answer. A dash where a model "
        "gave one and the same answer throughout, as the majority does, or nothing was true or said to be.",
    ),
    "micro_accuracy": ("Micro accuracy", "Right judgements of all scenes together, as a share of all judgements."),
    "unknown": (
        "Could not say",
        "Share of the judgements that were answered “unknown”. Above they count as not right.",
    ),
}
"""Measure → its title and what it is."""

_HIDDEN: Final = {"0–0.25": "0–25", "0.25–0.5": "25–50", "0.5–0.75": "50–75", "0.75–<1": "75–99", "1": "100"}

_AS: Final[dict[str, Callable[[Interval | None], Cell]]] = {"f1": scored}


def overview_table(card: PredicatesCard) -> Table:
    """Every run in one line: the groups' scene accuracy, then the other measures of all predicates together."""
    rows = []
    for sitting in card.scored:
        accuracy = [entry(sitting, "scene_accuracy", group) for group in GROUPS]
        others = [entry(sitting, measure, "all") for measure in MEASURES if measure != "scene_accuracy"]
        rows.append(_row(card, sitting, [*accuracy, *others]))
    columns = (
        "model",
        *("all" if g == "all" else g for g in GROUPS),
        "scene-all",
        "F1",
        "micro accuracy",
        "unknown",
    )
    return Table("At a glance", columns, tuple(rows), (("scene accuracy", 3), ("all predicates", 4)))


def focus_table(card: PredicatesCard) -> Table:
    """The focus, predicate by predicate, beside what the baselines reach."""
    beside = [s for s in card.blind if s.label != card.focus]
    rows = []
    for name in NAMES:
        cells = [entry(card.focused, measure, name) for measure in MEASURES]
        cells += [entry(s, "scene_accuracy", name) for s in beside]
        rows.append(Row(GROUPS.get(name, spoken(name)), tuple(cells), "focus" if name == "all" else ""))
    columns = (
        "predicate",
        "scene accuracy",
        "scene-all",
        "F1",
        "micro accuracy",
        "unknown",
        *(s.label for s in beside),
    )
    groups = ((card.focus, len(MEASURES)), ("scene accuracy without looking", len(beside)))
    kept = groups if beside else groups[:1]
    return Table(f"{card.focus}, predicate by predicate", columns, tuple(rows) if card.focused.scores else (), kept)


def measure_tables(card: PredicatesCard) -> list[Table]:
    """One table a measure: every run, every group and predicate. Without an unknown there is no table of them."""
    shown = [m for m in MEASURES if m != "unknown" or any(_unsure(s) for s in card.scored)]
    return [_measure_table(card, measure) for measure in shown]


def slice_tables(card: PredicatesCard, axes: Mapping[str, str]) -> list[Table]:
    """Scene accuracy of every run by each axis; the groups one under the other are told apart by the heading."""
    tables = []
    for axis, title in axes.items():
        parts = parts_of(card, axis)
        for group, words in GROUPS.items():
            rows = [_row(card, s, [_sliced(s, axis, part, group) for part in parts]) for s in card.scored]
            tables.append(
                Table(
                    f"{title}, {words}",
                    ("model", *(part_words(axis, part) for part in parts)),
                    tuple(rows) if parts else (),
                )
            )
    return tables


def parts_of(card: PredicatesCard, axis: str) -> list[str]:
    """Parts of an axis that some run has, in the order of the run that has most."""
    found = [list(s.slices.by.get(axis, {})) for s in card.scored if s.slices is not None]
    longest = max(found, key=len, default=[])
    return [*longest, *dict.fromkeys(part for own in found for part in own if part not in longest)]


def part_words(axis: str, part: str) -> str:
    """A part of an axis in words: hidden shares in per cent, anything else as it is.

    >>> part_words("hidden", "0.75–<1"), part_words("n_objects", "6")
    ('75–99', '6')
    """
    return _HIDDEN.get(part, part) if axis == "hidden" else part


def spoken(predicate: str) -> str:
    """A predicate as a heading.

    >>> spoken("can_contain")
    'can contain'
    """
    return predicate.replace("_", " ")


def entry(sitting: Sitting, measure: str, name: str) -> Cell:
    """One figure over its interval."""
    if sitting.scores is None:
        return Cell("–")
    found: Interval = getattr(sitting.scores, measure)[name]
    return _AS.get(measure, shared)(found)


def head_of(sitting: Sitting) -> str:
    """What stands before a run's line; an unfinished one is said so."""
    return sitting.label if sitting.finished else f"{sitting.label} (unfinished)"


def _measure_table(card: PredicatesCard, measure: str) -> Table:
    title, note = MEASURES[measure]
    rows = tuple(_row(card, s, [entry(s, measure, name) for name in NAMES]) for s in card.scored)
    groups = (("together", len(GROUPS)), ("spatial", len(SPATIAL)), ("geometric", len(GEOMETRIC)))
    return Table(title, ("model", *map(spoken, NAMES)), rows, groups, note)


def _row(card: PredicatesCard, sitting: Sitting, cells: list[Cell]) -> Row:
    kind = "focus" if sitting.label == card.focus else "blind" if sitting.blind else ""
    return Row(head_of(sitting), tuple(cells), kind)


def _sliced(sitting: Sitting, axis: str, part: str, group: str) -> Cell:
    found = sitting.slices.by.get(axis, {}).get(part) if sitting.slices is not None else None
    return Cell("–") if found is None else shared(found.scene_accuracy[group])


def _unsure(sitting: Sitting) -> bool:
    share = sitting.scores.unknown["all"].value if sitting.scores is not None else 0.0
    return math.isfinite(share) and share > 0
