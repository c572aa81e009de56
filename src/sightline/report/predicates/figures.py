"""The predicates card's charts: which figures go into which drawing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from sightline.report.predicates.listings import GROUPS, part_words, parts_of
from sightline.show.chart import DotRow, dot_intervals
from sightline.show.page import Figure
from sightline.show.xy import Kind, Series, by_part, common_domain, xy_chart
from sightline.stats import Interval

if TYPE_CHECKING:
    from sightline.report.predicates.cards import PredicatesCard, Sitting

AXES: Final = {
    "n_objects": "By number of objects",
    "hidden": "By how much is hidden, in per cent",
    "subject_how": "By placement of the subject",
    "object_how": "By placement of the object",
}
"""Axis of the slices → its heading."""

_RIVALS: Final = 5
_ORDERED: Final = frozenset({"n_objects", "hidden"})


def forests(card: PredicatesCard) -> list[Figure]:
    """Scene accuracy of every run: one plot a group."""
    return [Figure(words.capitalize(), _forest(card, name)) for name, words in GROUPS.items()]


def slice_figures(card: PredicatesCard) -> list[tuple[str, list[Figure]]]:
    """Scene accuracy by each axis: one small chart a group, all of an axis on one scale."""
    found = []
    for axis, title in AXES.items():
        parts = parts_of(card, axis)
        lines = {name: [_series(card, s, axis, parts, name) for s in _shown(card)] for name in GROUPS}
        domain = common_domain([value for of_group in lines.values() for own in of_group for value in own.values])
        charts = [
            Figure(
                words.capitalize(),
                xy_chart(
                    lines[name],
                    x_names=[part_words(axis, part) for part in parts],
                    y_domain=domain,
                    width=340.0,
                    height=150.0,
                    title=f"Scene accuracy {title.lower()}, {words}",
                    joined=axis in _ORDERED,
                ),
            )
            for name, words in GROUPS.items()
        ]
        found += [(title, charts)] if parts else []
    return found


def kind_of(card: PredicatesCard, sitting: Sitting) -> Kind:
    """How a run is drawn."""
    return "model" if sitting.label == card.focus else "baseline" if sitting.blind else "rival"


def _shown(card: PredicatesCard) -> list[Sitting]:
    """The runs of a small chart: the baselines, a handful of the other models, and the focus on top."""
    rivals = [s for s in card.scored if kind_of(card, s) == "rival"][:_RIVALS]
    kept = [s for s in card.scored if kind_of(card, s) == "baseline" or s in rivals]
    return [*reversed(kept), *(s for s in card.scored if s.label == card.focus)]


def _forest(card: PredicatesCard, name: str) -> str:
    rows = []
    for sitting in card.scored:
        found = sitting.accuracy(name)
        assert found is not None
        note = ", ".join(sitting.views) if sitting.finished else "unfinished"
        value, low, high = (100 * end for end in (found.value, found.low, found.high))
        rows.append(DotRow(sitting.label, value, low, high, kind_of(card, sitting), note))
    rows.sort(key=lambda row: -row.value if math.isfinite(row.value) else math.inf)
    drawn = common_domain([s.accuracy(name) for s in card.scored])
    title = f"Scene accuracy in per cent, {GROUPS[name]}, with 95 % intervals"
    return dot_intervals(rows, domain=(100 * drawn[0], 100 * drawn[1]), title=title, digits=1, width=370.0)


def _series(card: PredicatesCard, sitting: Sitting, axis: str, parts: list[str], name: str) -> Series:
    by = sitting.slices.by.get(axis, {}) if sitting.slices is not None else {}
    values: list[Interval | None] = [by[part].scene_accuracy[name] if part in by else None for part in parts]
    return by_part(sitting.label, [part_words(axis, part) for part in parts], values, kind_of(card, sitting))
