"""What is printed after the scores of a Turing exam: lines and tables about replies, streams and the monitor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sightline.show.table import Row, Table, figure, scored
from sightline.stats import Interval
from sightline.text import counted

if TYPE_CHECKING:
    from sightline.exams.scoring import RunResult

IDLE: Final = ("abstain", "unparsed", "late")
"""Replies that are no answer."""

HALTED: Final = {
    "exhausted": "nothing unpredictable left",
    "limit": "as many questions as were wanted",
    "operator": "the operator stopped",
}
"""Why a stream ended → in words."""


def idle_replies(results: Sequence[RunResult]) -> Iterator[Table]:
    """Share of replies that were no answer, where there are any."""
    shares = {word: [result.scores.at("replies", word) for result in results] for word in IDLE}
    rows = [
        Row(word, tuple(scored(share) for share in of_word))
        for word, of_word in shares.items()
        if any(share is not None and share.value > 0 for share in of_word)
    ]
    if rows:
        columns = ("", *(result.name for result in results))
        yield Table("replies that are no answer (share)", columns, tuple(rows))


def stream_remarks(facts: Mapping[str, Any]) -> Iterator[str]:
    """How many questions there were, how long the streams are, and why they ended."""
    streams = facts["streams"]
    yield f"{counted(facts['n_questions'], 'question')} about {counted(facts['n_images'], 'image')}"
    shown = {"mean": 1, "min": 0, "median": 0, "max": 0}
    lengths = ", ".join(f"{name} {figure(streams[name], digits)}" for name, digits in shown.items())
    ended = ", ".join(f"{why} {n:,}" for why, n in streams["halted"].items())
    yield f"streams: {facts['n_streams']:,}; questions each: {lengths}; ended: {ended}"
    yield f"ambiguous questions, never asked: {figure(streams['ambiguous'])} of those drawn"


def monitor_remarks(facts: Mapping[str, Any]) -> Iterator[str | Table]:
    """Share of yes by type and step, calibration, blind accuracy, and the verdict, from the monitor's JSON."""
    shares = facts["yes_by_type"] | {f"steps {name}": seen for name, seen in facts["yes_by_steps"].items()}
    rows = [Row(name, (scored(Interval.from_dict(seen)),)) for name, seen in shares.items()]
    title = f"share of true answers that are yes, to lie within 0.5 ± {facts['epsilon']:g}"
    yield Table(title, ("", "yes"), tuple(rows))
    blind = ", ".join(f"{name} {scored(Interval.from_dict(seen))}" for name, seen in facts["blind"].items())
    error = figure(facts["calibration_error"])
    yield f"without looking: {blind or 'nobody was examined'}; calibration error {error}"
    yield "leaky: " + "; ".join(facts["reasons"]) if facts["leaky"] else "not leaky"
