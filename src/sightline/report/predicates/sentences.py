"""What the figures of the predicates card say, in words: computed from the card, never canned."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING

from sightline.report.listings import known, percent
from sightline.report.predicates.listings import spoken
from sightline.scenes.labels import PREDICATES

if TYPE_CHECKING:
    from sightline.report.predicates.cards import PredicatesCard, Sitting
    from sightline.stats import Interval

HIDDEN_NOTE = (
    "Of each pair the more hidden object counts, by its hidden share in the scene’s first view; at 100 it "
    "is wholly hidden. An object is contained or supported by another, or independent: it stands on the table by "
    "itself."
)


def headline(card: PredicatesCard) -> list[str]:
    """What the scores mean, in a few sentences."""
    ranked = [s for s in card.scored if s.finished and known(s.accuracy())]
    models, blind = [s for s in ranked if not s.blind], [s for s in ranked if s.blind]
    best = max(models, key=_value, default=None)
    rule = max(blind, key=_value, default=None)
    said = []
    if best is not None:
        lead = f"The best of the {len(models)} models, {best.label}," if len(models) > 1 else best.label
        said.append(
            f"{lead} has on average {_told(best.accuracy())} of a scene’s judgements right, {_whole(best)}."
        )
    if rule is not None:
        lead = "Without a look at any picture" if best is not None else "Only blind baselines have sat; the best"
        said.append(f"{lead}, {rule.label} reaches {_told(rule.accuracy())}{_against(best, rule)}.")
    if ranked:
        said += _weakest(best or ranked[0])
    return [sentence.replace(" %", "\u00a0%") for sentence in said] or ["No finished run has a score yet."]


def intervals_paragraph(card: PredicatesCard) -> str:
    """How the intervals were made."""
    return (
        "All intervals are 95 %. The independent unit is the scene: its judgements stand or fall together, and "
        "intervals that ignore this are too narrow. From 200 scenes on, percentile bootstrap with "
        f"{card.resamples:,} resamples (seed {card.seed}); below that, or close to 0 and 1, a closed formula. "
        "Overlapping intervals do not show that two models are alike: sightline compare tests the difference on "
        "the same scenes."
    )


def commands(card: PredicatesCard) -> list[str]:
    """Command lines that make these runs and this report again."""
    plans: dict[tuple[str, ...] | None, list[str]] = {}
    for s in card.sittings:
        plans.setdefault(s.asked_views, []).append(s.spec)
    lines = []
    for views, specs in plans.items():
        words = ["sightline exam predicates --data", shlex.quote(card.data)]
        words += [f"--split {shlex.quote(card.split)}"] if card.split else []
        words += [f"--views {shlex.quote(','.join(views))}"] if views is not None else []
        words += [f"--model {shlex.quote(spec)}" for spec in dict.fromkeys(specs)]
        lines.append(" ".join([*words, "--no-baselines --out runs"]))
    return [*lines, f"sightline report runs --exam predicates --data {shlex.quote(card.data)} --out report.html"]


def _whole(sitting: Sitting) -> str:
    assert sitting.scores is not None
    found = sitting.scores.scene_all
    share = percent(found.value) if known(found) else "none"
    return f"and every single one in {share} of the scenes"


def _against(best: Sitting | None, rule: Sitting) -> str:
    """How the best baseline stands to the best model."""
    ours, blind = None if best is None else best.accuracy(), rule.accuracy()
    if ours is None or blind is None:
        return ""
    if blind.low > ours.high:
        return ": more than any model does"
    if ours.low > blind.high:
        return f", {100 * (ours.value - blind.value):.1f} points less"
    return ": their intervals overlap"


def _weakest(sitting: Sitting) -> list[str]:
    """The groups, and the predicate with the lowest scene accuracy."""
    values = {name: v.value for name in PREDICATES if (v := sitting.accuracy(name)) is not None and known(v)}
    spatial, geometric = sitting.accuracy("spatial"), sitting.accuracy("geometric")
    said = []
    if spatial is not None and geometric is not None and known(spatial) and known(geometric):
        said.append(
            f"{sitting.label} has {percent(spatial.value)} of the spatial predicates right and "
            f"{percent(geometric.value)} of the geometric ones"
        )
    if len(values) > 1:
        name = min(values, key=lambda n: values[n])
        last = f"is weakest in “{spoken(name)}” ({percent(values[name])})."
        said = [f"{said[0]}; it {last}"] if said else [f"{sitting.label} {last}"]
    return said


def _value(sitting: Sitting) -> float:
    found = sitting.accuracy()
    return found.value if found is not None else math.nan


def _told(interval: Interval | None) -> str:
    assert interval is not None
    limits = (
        f" (95 % interval {100 * interval.low:.1f}–{100 * interval.high:.1f})"
        if math.isfinite(interval.low)
        else ""
    )
    return percent(interval.value) + limits
