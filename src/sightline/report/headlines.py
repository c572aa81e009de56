"""The headline of a card of accuracies: the best model, the best that never looks, and how far they lie apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sightline.show.table import known, percent

if TYPE_CHECKING:
    from sightline.report.galleries import SeatT
    from sightline.report.seats import AccuracySeat
    from sightline.stats import Interval


def headline(
    scored: Sequence[SeatT], reached: Callable[[SeatT], str], weakest: Callable[[SeatT], list[str]]
) -> list[str]:
    """What the scores mean, in a few sentences.

    Args:
        scored: Runs that answered something.
        reached: What a model has reached, to follow its name.
        weakest: Where a run is weakest, in sentences.
    """
    ranked = [s for s in scored if s.finished and known(s.accuracy())]
    models, blind = [s for s in ranked if not s.blind], [s for s in ranked if s.blind]
    best = max(models, key=lambda s: s.rank, default=None)
    rule = max(blind, key=lambda s: s.rank, default=None)
    said = []
    if best is not None:
        lead = f"The best of the {len(models)} models, {best.label}," if len(models) > 1 else best.label
        said.append(f"{lead} {reached(best)}.")
    if rule is not None:
        lead = "Without a look at any picture" if best is not None else "Only blind baselines have sat; the best"
        said.append(f"{lead}, {rule.label} reaches {share(rule.accuracy())}{_against(best, rule)}.")
    if ranked:
        said += weakest(best or ranked[0])
    return [sentence.replace(" %", "\u00a0%") for sentence in said] or ["No finished run has a score yet."]


def share(interval: Interval | None) -> str:
    """A share and its interval, in per cent."""
    assert interval is not None
    limits = (
        f" (95 % interval {100 * interval.low:.1f}–{100 * interval.high:.1f})"
        if math.isfinite(interval.low)
        else ""
    )
    return percent(interval.value) + limits


def _against(best: AccuracySeat[Any] | None, rule: AccuracySeat[Any]) -> str:
    """How the best baseline stands to the best model."""
    ours, blind = None if best is None else best.accuracy(), rule.accuracy()
    if ours is None or blind is None:
        return ""
    if blind.low > ours.high:
        return ": more than any model does"
    if ours.low > blind.high:
        return f", {100 * (ours.value - blind.value):.1f} points less"
    return ": their intervals overlap"
