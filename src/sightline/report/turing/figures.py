"""The Turing card's charts: which figures go into which drawing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from sightline.report.turing.listings import AXES, TYPES, parts_of
from sightline.show.chart import DotRow, dot_intervals, histogram
from sightline.show.page import Figure
from sightline.show.xy import (
    FEWEST,
    Kind,
    Point,
    Series,
    band_chart,
    by_part,
    calibration_chart,
    common_domain,
    xy_chart,
)

if TYPE_CHECKING:
    from sightline.report.turing.cards import Sitting, TuringCard

_RIVALS: Final = 5


def forest(card: TuringCard) -> Figure:
    """Accuracy of every run over all questions, chance marked."""
    rows = []
    for sitting in card.scored:
        found = sitting.accuracy()
        assert found is not None
        value, low, high = (100 * end for end in (found.value, found.low, found.high))
        note = "" if sitting.finished else "unfinished"
        note = note or ("true answers withheld" if sitting.withheld else "")
        rows.append(DotRow(sitting.label, value, low, high, kind_of(card, sitting), note))
    rows.sort(key=lambda r: -r.value if math.isfinite(r.value) else math.inf)
    low, high = common_domain([s.accuracy() for s in card.scored])
    domain = (min(40.0, 100 * low), max(60.0, 100 * high))
    title = "Share of right answers in per cent, with 95 % intervals by image"
    chart = dot_intervals(
        rows, domain=domain, reference_lines=[(50.0, "a coin")], title=title, digits=1, width=480.0
    )
    return Figure("All questions", chart)


def type_figure(card: TuringCard) -> Figure:
    """Accuracy by question type."""
    kinds = [kind for kind in TYPES if kind != "all"]
    names = [TYPES[kind] for kind in kinds]
    series = [by_part(s.label, names, [s.accuracy(kind) for kind in kinds], kind_of(card, s)) for s in _shown(card)]
    chart = xy_chart(
        series,
        x_names=names,
        joined=False,
        unit="images",
        width=480.0,
        height=150.0,
        title="Share of right answers by question type",
    )
    return Figure("By type of question", chart)


def axis_figures(card: TuringCard) -> list[Figure]:
    """Accuracy by step, story line and support, on one scale."""
    lines = {axis: _series(card, axis) for axis in AXES}
    domain = common_domain([value for of_axis in lines.values() for own in of_axis for value in own.values])
    return [
        Figure(
            words,
            xy_chart(
                lines[axis],
                x_names=[short(part) for part in parts_of(card, axis)],
                y_domain=domain,
                unit="images",
                width=340.0,
                height=150.0,
                title=f"Right answers, {words.lower()}",
            ),
        )
        for axis, words in AXES.items()
    ]


def monitor_figures(card: TuringCard) -> list[Figure]:
    """The share of yes at every step, calibration of the estimates, and how long streams are."""
    watched = card.monitor
    steps = [Point(step, seen, f"step {step}") for step, seen in watched.yes_by_step.items()]
    band = band_chart(steps, epsilon=watched.epsilon, title="Share of yes among the true answers, step by step")
    bins = [
        Point(one.estimated, one.seen, f"{one.n:,} questions, estimated {100 * one.estimated:.0f} %")
        for one in watched.calibration
    ]
    calibrated = calibration_chart(bins, title="Share of yes against the chance estimated beforehand")
    lengths = histogram(card.lengths, title="Questions asked in a stream", x_label="questions", counted="stream")
    low, high = 100 * (0.5 - watched.epsilon), 100 * (0.5 + watched.epsilon)
    return [
        Figure(
            "Share of yes, step by step",
            band,
            f"In per cent. The band is {low:.0f}–{high:.0f}; a step whose interval lies wholly outside is red. "
            f"Steps that fewer than {FEWEST} images reached are left out.",
        ),
        Figure(
            "Are the estimates right?",
            calibrated,
            "Share of yes in per cent, by what the engine estimated; on the line they agree.",
        ),
        Figure("How long streams are", lengths, "Streams by questions asked, ambiguous ones left out."),
    ]


def short(part: str) -> str:
    """A part's name with thousands as k, for there is little room.

    >>> short("1000–9999"), short("10000+"), short("30–99")
    ('1k–10k', '10k+', '30–99')
    """
    return part.replace("1000–9999", "1k–10k").replace("10000+", "10k+")


def kind_of(card: TuringCard, sitting: Sitting) -> Kind:
    """How a run is drawn."""
    return "model" if sitting.label == card.focus else "baseline" if sitting.blind else "rival"


def _shown(card: TuringCard) -> list[Sitting]:
    """The runs of a small chart: the baselines, a handful of the other models, and the focus on top."""
    rivals = [s for s in card.scored if kind_of(card, s) == "rival"][:_RIVALS]
    kept = [s for s in card.scored if kind_of(card, s) == "baseline" or s in rivals]
    return [*reversed(kept), *(s for s in card.scored if s.label == card.focus)]


def _series(card: TuringCard, axis: str) -> list[Series]:
    parts = parts_of(card, axis)
    found = []
    for sitting in _shown(card):
        by = getattr(sitting.scores, axis)
        values = [by.get(part) for part in parts]
        found.append(by_part(sitting.label, [short(part) for part in parts], values, kind_of(card, sitting)))
    return found
