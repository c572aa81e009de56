"""What the figures say, in words: computed from the card, never canned."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sightline.exams.relations.protocols import Protocol
from sightline.report.listings import SUBTASK_TITLES
from sightline.show.table import figure, known

if TYPE_CHECKING:
    from sightline.report.cards import ReportCard, Sitting
    from sightline.report.seats import Seat
    from sightline.stats import Interval

PROTOCOLS = {
    Protocol.DEFAULT: (
        "Default protocol. Every ordered pair is asked, (a, b) and (b, a) apart. Precision, recall and F1 pool all "
        "four labels of the sub-task. Pairs on which the raters found no majority are left out. Since every other "
        "pair has one label, F1 equals accuracy for a model that always answers; silence lowers recall. The "
        "average is the mean F1 of the three sub-tasks. A score without any case is left undefined."
    ),
    Protocol.PAPER: (
        "Paper protocol. Depth pools closer, farther and same (across images closer and farther). Pairs that the "
        "raters found unsure or left without a majority are no truths, but answers on them are false positives; an "
        "answered unsure is no answer. Occlusion pools all four labels. The average is the mean F1 of the three "
        "sub-tasks."
    ),
    Protocol.OFFICIAL: (
        "Official protocol, as the dataset authors' evaluator counts, to the last digit. It takes pairs without a "
        "majority for misses of the label same (or mutual), and across images never looks at reversed pairs, so "
        "that recall there cannot exceed one half. Undefined scores are 0."
    ),
}


def intervals_paragraph(card: ReportCard) -> str:
    """How the intervals were made."""
    return (
        "All intervals are 95 %. The independent unit is the scene, across images the image pair: pairs of one "
        "image stand or fall together, and intervals that ignore this are too narrow. From 200 units on, "
        f"percentile bootstrap with {card.resamples:,} resamples (seed {card.seed}); below that, or close to 0 "
        "and 1, Wilson's interval with the effective number of judgements. The average resamples an image pair "
        "together with the questions within its two images. Overlapping intervals do not show that two models "
        "are alike: sightline compare tests the difference on the same scenes."
    )


def human_paragraph(card: ReportCard) -> str:
    """What the human reference is."""
    tie = "is left out" if card.protocol is Protocol.DEFAULT else "is a false positive"
    return (
        "One rater: the vote of a single rater against the majority of the other raters of the same pair, counted "
        "as the protocol counts a model and averaged over all raters; nothing is drawn by lot. Where the others "
        f"tie, a vote {tie}. A reference, not a bound: models are judged by all raters together."
    )


def headline(card: ReportCard) -> list[str]:
    """What the scores mean, in a few sentences."""
    measure = _measure(card)
    ranked = [s for s in card.main if known(s.f1(measure)) and s.finished]
    models, blind = [s for s in ranked if not s.blind], [s for s in ranked if s.blind]
    best = max(models, key=lambda s: _value(s, measure), default=None)
    rule = max(blind, key=lambda s: _value(s, measure), default=None)
    said = []
    if best is not None:
        count = f"The best of the {len(models)} models is {best.label}" if len(models) > 1 else best.label
        verb = "with" if len(models) > 1 else "reaches"
        said.append(f"{count} {verb} {_called(measure)} of {_told(best.f1(measure))}.")
    if rule is not None:
        beaten = _against(best, rule, measure, alone=len(models) == 1)
        lead = (
            "A rule that never looks at the picture" if best is not None else "Only blind rules have sat; the best"
        )
        said.append(f"{lead}, {rule.label}, reaches {_told(rule.f1(measure))}{beaten}.")
    if ranked:
        human = card.data.human_value(measure)
        if math.isfinite(human):
            said.append(f"A single rater judged by the other raters reaches {figure(human)}.")
        said += _weakest(best or ranked[0])
    return said or ["No finished run has a score yet."]


def grid_sentence(card: ReportCard) -> str:
    """How to read the grids, with the extremes of the first one."""
    base = (
        f"F1 of “a is closer than b” for {card.focus}, by the size or place of a (rows) and b (columns). Bins hold "
        "equally many objects; the small figure counts ordered pairs. Even shading means the score does not hang "
        "on that property; a dark corner beside a pale one means that the model follows the cue."
    )
    for setting, found in card.grids.items():
        grid = next((g for g in found if g.attribute == "vertical"), None)
        if grid is None or len(grid.edges) < 3:
            continue
        low, high = grid.f1[-1, 0], grid.f1[0, -1]
        if math.isfinite(low) and math.isfinite(high):
            where = "Within an image" if setting == "within_image" else "Across two images"
            return (
                f"{base} {where}, F1 is {figure(low, 2)} when a is at the bottom and b at the top, and "
                f"{figure(high, 2)} the other way round."
            )
    return base


def beside(card: ReportCard) -> str:
    """What other runs the card holds; empty where there are none."""
    others = [s for s in card.sittings if s.label != card.focus]
    blind = sum(s.blind for s in others)
    counts = [(blind, "a blind rule", "blind rules"), (len(others) - blind, "another model", "other models")]
    told = [f"{n} runs of {many}" if n > 1 else f"a run of {one}" for n, one, many in counts if n]
    return " and ".join(told)


def commands(card: ReportCard) -> list[str]:
    """Command lines that make these runs and this report again."""
    plans: dict[tuple[str, str, str | None], list[str]] = {}
    for s in card.sittings:
        plans.setdefault((s.boxes, s.study, s.train_split), []).append(s.spec)
    lines = []
    for (boxes, study, train), specs in plans.items():
        words = [
            "sightline exam relations --data",
            shlex.quote(card.data.name),
            "--split",
            shlex.quote(card.data.split),
        ]
        words += [f"--boxes {boxes}"] * (boxes != "truth") + [f"--study {study}"] * (study != "same")
        words += [f"--train-split {shlex.quote(train)}"] if train is not None else []
        models = (f"--model {shlex.quote(spec)}" for spec in dict.fromkeys(specs))
        words += ["--no-baselines", *models, "--out runs"]
        lines.append(" ".join(words))
    return [*lines, f"sightline report runs --protocol {card.protocol.value} --out report.html"]


def told_words(told: Mapping[str, object]) -> str:
    """Facts on one line.

    >>> told_words({"margin": 0.12345, "heads": [8, 4]})
    'margin 0.1235, heads [8, 4]'
    """
    return ", ".join(f"{key} {_plain(value)}" for key, value in told.items())


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _measure(card: ReportCard) -> str:
    """The average where some finished run has one, else the first sub-task that has a score."""
    names = ("average", *SUBTASK_TITLES)
    return next((n for n in names if any(s.finished and known(s.f1(n)) for s in card.main)), "average")


def _called(measure: str) -> str:
    return "an average F1" if measure == "average" else f"an F1 in “{SUBTASK_TITLES[measure].lower()}”"


def _against(best: Sitting | None, rule: Sitting, measure: str, *, alone: bool) -> str:
    """How the best blind rule stands to the best model."""
    if best is None:
        return ""
    ours, blind = best.f1(measure), rule.f1(measure)
    assert ours is not None
    assert blind is not None
    if blind.low > ours.high:
        return f": more than {best.label if alone else 'any model'} does"
    if ours.low > blind.high:
        return f", {figure(ours.value - blind.value)} less"
    return ": their intervals overlap"


def _weakest(sitting: Sitting) -> list[str]:
    values = {t.name: t.micro["all"].f1.value for t in sitting.scores.subtasks}
    values = {name: value for name, value in values.items() if math.isfinite(value)}
    if len(values) < 2:
        return []
    name = min(values, key=lambda n: values[n])
    return [f"{sitting.label} is weakest in {SUBTASK_TITLES[name].lower()} ({figure(values[name])})."]


def _value(sitting: Sitting, measure: str) -> float:
    found = sitting.f1(measure)
    return found.value if found is not None else math.nan


def _told(interval: Interval | None) -> str:
    assert interval is not None
    limits = (
        f" (95 % interval {figure(interval.low)}–{figure(interval.high)})" if math.isfinite(interval.low) else ""
    )
    return figure(interval.value) + limits


def cautions(sittings: Sequence[Seat], items: str) -> Iterator[str]:
    """What a reader must know before trusting the figures: unfinished runs, no blind one; `items` in a word."""
    for sitting in sittings:
        if not sitting.finished:
            of = f" of {sitting.items:,}" if sitting.items else ""
            yield (
                f"{sitting.label} is unfinished ({sitting.status}): {sitting.done:,}{of} {items} answered. "
                "Its scores cover only those and cannot be compared with the others."
            )
    if not any(sitting.blind for sitting in sittings):
        yield "No blind baseline is among the runs: how much of these scores needs no picture is not shown."
