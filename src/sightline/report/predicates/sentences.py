"""What the figures of the predicates card say, in words: computed from the card, never canned."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from sightline.report import headlines
from sightline.report.predicates.listings import spoken
from sightline.scenes.labels import PREDICATES
from sightline.show.table import known, percent

if TYPE_CHECKING:
    from sightline.report.predicates.cards import PredicatesCard, Sitting

HIDDEN_NOTE = (
    "Of each pair the more hidden object counts, by its hidden share in the scene’s first view; at 100 it "
    "is wholly hidden. An object is contained or supported by another, or independent: it stands on the table by "
    "itself."
)


def headline(card: PredicatesCard) -> list[str]:
    """What the scores mean, in a few sentences."""
    return headlines.headline(card.scored, _reached, _weakest)


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
    report = ["sightline report runs --exam predicates --data", shlex.quote(card.data)]
    report += [f"--scene {shlex.quote(shown.scene_id)}" for shown in card.named]
    report += ["--attention"] if card.attention else []
    return [*lines, " ".join([*report, "--out report.html"])]


def _reached(sitting: Sitting) -> str:
    assert sitting.scores is not None
    found = sitting.scores.scene_all
    right = headlines.share(sitting.accuracy())
    whole = percent(found.value) if known(found) else "none"
    return f"has on average {right} of a scene’s judgements right, and every single one in {whole} of the scenes"


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
