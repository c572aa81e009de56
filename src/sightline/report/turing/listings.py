"""Tables of the Turing card, said once and shown in HTML and Markdown alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sightline.exams.turing.conversation import REPLIES
from sightline.exams.turing.scores import KINDS
from sightline.show.table import Cell, Row, Table, figure, shared
from sightline.stats import Interval

if TYPE_CHECKING:
    from sightline.report.turing.cards import Sitting, TuringCard

TYPES: Final = {
    "all": "all questions",
    "exist": "existence",
    "unique": "uniqueness",
    "attribute": "attribute",
    "relation": "relation",
}
"""Question type → how a reader is told of it."""

AXES: Final = {
    "by_step": "By step of the stream",
    "by_story": "By story line",
    "by_support": "By support of the estimate",
}
"""Field of the scores → its heading."""


def overview_table(card: TuringCard) -> Table:
    """Every run in one line: accuracy by question type, then how the replies divide."""
    rows = []
    spoken = [word for word in REPLIES if any(_share(s, word) > 0 for s in card.scored)]
    for sitting in card.scored:
        assert sitting.scores is not None
        cells = [shared(sitting.accuracy(kind)) for kind in TYPES]
        cells += [shared(sitting.scores.replies[word]) for word in spoken]
        rows.append(row(card, sitting, cells))
    columns = ("model", *("all" if k == "all" else words for k, words in TYPES.items()), *spoken)
    return Table("At a glance", columns, tuple(rows), (("accuracy", len(TYPES)), ("replies", len(spoken))))


def axis_table(card: TuringCard, axis: str) -> Table:
    """Accuracy of every run in parts."""
    parts = parts_of(card, axis)
    rows = [row(card, s, [shared(_by(s, axis).get(part)) for part in parts]) for s in card.scored]
    return Table(AXES[axis], ("model", *parts), tuple(rows) if parts else ())


def monitor_tables(card: TuringCard) -> list[Table]:
    """Share of yes among the true answers, by type and by steps."""
    watched = card.monitor
    rows = [
        Row(TYPES[kind], (shared(watched.yes_by_type.get(kind)), _n(watched.yes_by_type.get(kind))))
        for kind in ("all", *KINDS)
    ]
    steps = [Row(f"steps {name}", (shared(seen), _n(seen))) for name, seen in watched.yes_by_steps.items()]
    band = f"{100 * (0.5 - watched.epsilon):.0f}–{100 * (0.5 + watched.epsilon):.0f} %"
    note = f"The engine keeps the estimated chance of a yes within {band}; images are the independent unit."
    columns = ("questions", "true answer yes", "images")
    return [
        Table("Share of yes, by type", columns, tuple(rows) if steps else (), note=note),
        Table("Share of yes, by step", columns, tuple(steps)),
    ]


def calibration_table(card: TuringCard) -> Table:
    """Estimated chances of a yes against what was found."""
    rows = [
        Row(
            f"{100 * one.low:.0f}–{100 * one.high:.0f} %",
            (Cell(f"{100 * one.estimated:.1f} %"), shared(one.seen), Cell(f"{one.n:,}")),
        )
        for one in card.monitor.calibration
    ]
    note = f"Mean distance of the two, weighted by questions: {figure(card.monitor.calibration_error)}."
    return Table("Calibration", ("estimated", "mean estimate", "found", "questions"), tuple(rows), note=note)


def streams_table(card: TuringCard) -> Table:
    """How long the streams are, and why they ended."""
    if card.focused.scores is None:
        return Table("Streams", ("",), ())
    facts = card.focused.scores.streams
    named = {
        "mean": "mean",
        "median": "median",
        "q25": "lower quartile",
        "q75": "upper quartile",
        "min": "shortest",
        "max": "longest",
    }
    rows = [Row(f"questions asked, {words}", (Cell(_length(facts[key])),)) for key, words in named.items()]
    rows += [Row("streams without a question", (Cell(f"{facts['empty']:,}"),))]
    share = facts["ambiguous"]
    rows += [Row("ambiguous, of the questions drawn", (Cell("–" if share is None else f"{100 * share:.1f} %"),))]
    rows += [Row(f"ended: {HALTED.get(why, why)}", (Cell(f"{n:,}"),)) for why, n in facts["halted"].items()]
    return Table("Streams", ("", "found"), tuple(rows))


HALTED: Final = {
    "exhausted": "nothing unpredictable left",
    "limit": "as many questions as were wanted",
    "operator": "the operator stopped",
}
"""Why a stream ended → in words."""


def parts_of(card: TuringCard, axis: str) -> list[str]:
    """Parts of an axis that some run has, in the order of the run that has most."""
    found = [list(_by(s, axis)) for s in card.scored]
    longest = max(found, key=len, default=[])
    return [*longest, *dict.fromkeys(part for own in found for part in own if part not in longest)]


def head_of(sitting: Sitting) -> str:
    """What stands before a run's line; an unfinished one is said so."""
    return sitting.label if sitting.finished else f"{sitting.label} (unfinished)"


def row(card: TuringCard, sitting: Sitting, cells: list[Cell]) -> Row:
    """A run's line."""
    kind = "focus" if sitting.label == card.focus else "blind" if sitting.blind else ""
    return Row(head_of(sitting), tuple(cells), kind)


def _by(sitting: Sitting, axis: str) -> Mapping[str, Interval]:
    found: Mapping[str, Interval] = getattr(sitting.scores, axis) if sitting.scores is not None else {}
    return found


def _share(sitting: Sitting, word: str) -> float:
    return sitting.scores.replies[word].value if sitting.scores is not None else 0.0


def _length(value: float | None) -> str:
    """A number of questions, with a decimal only where it is no whole one."""
    return "–" if value is None else f"{value:,.1f}".removesuffix(".0")


def _n(interval: Interval | None) -> Cell:
    return Cell("–" if interval is None else f"{interval.n:,}")
