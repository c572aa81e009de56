"""The Turing card as Markdown: headline, tables, and the shown streams as transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sightline.report.markdown import opening, sat_on, section
from sightline.report.turing import listings, sentences
from sightline.report.turing.exhibits import MARKS, StreamExhibit
from sightline.show.markup import markdown_text
from sightline.show.table import Cell, Row, Table

if TYPE_CHECKING:
    from sightline.report.turing.cards import TuringCard


def markdown(card: TuringCard) -> str:
    """The whole card."""
    return "\n".join(_lines(card)) + "\n"


def stream_table(shown: StreamExhibit, model: str) -> Table:
    """One stream: every question with its answers."""
    rows = []
    for one in shown.questions:
        said = shown.transcript.said(one.line)
        said += f" (Label this {one.line.label})" if one.line.label else ""
        replied = f"{MARKS[one.outcome][0]} {one.line.reply or ''}".strip() if one.outcome else ""
        rows.append(Row(str(one.line.number), (Cell(said), Cell(one.answer), Cell(replied))))
    at = shown.transcript
    title = f"{at.scene_id}, stream {at.stream}: {at.right} of {at.asked} right"
    return Table(title, ("", "question", "true answer", model), tuple(rows))


def _lines(card: TuringCard) -> Iterator[str]:
    told = sat_on("Turing exam; data", card.data, card.fingerprint, card.split)
    yield from opening(card, told, sentences.headline(card))
    parts = [listings.axis_table(card, axis) for axis in listings.AXES]
    yield from section("Scores", [listings.overview_table(card), *parts])
    yield from section(
        "Could it be guessed?",
        [*listings.monitor_tables(card), listings.calibration_table(card), listings.streams_table(card)],
    )
    yield "\n" + markdown_text(sentences.verdict(card))
    for gallery in card.galleries:
        yield from section(f"{gallery.title} streams", [stream_table(s, card.focus) for s in gallery.exhibits])
    yield "\n## How this was made\n"
    yield markdown_text(sentences.intervals_paragraph(card))
