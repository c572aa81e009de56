"""The report card as Markdown: headline and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sightline.report import behaviour_listings, data_listings, listings, sentences
from sightline.report.listings import SUBTASK_TITLES
from sightline.show.markup import markdown_text
from sightline.show.table import Cell, Row, Table, figure, scored

if TYPE_CHECKING:
    from sightline.report.cards import ReportCard
    from sightline.report.seats import Card


def markdown(card: ReportCard) -> str:
    """The whole card."""
    return "\n".join(_lines(card)) + "\n"


def headline_table(card: ReportCard) -> Table:
    """F1 of every run in the main tables, one column a sub-task, then the average and the human reference."""
    names = [*card.subtasks, *(["average"] if any(s.scores.average for s in card.main) else [])]
    rows = [
        Row(s.label if s.finished else f"{s.label} (unfinished)", tuple(scored(s.f1(n)) for n in names))
        for s in card.main
    ]
    if card.data.human:
        rows.append(Row("one rater", tuple(Cell(figure(card.data.human_value(n))) for n in names)))
    return Table("F1", ("model", *(SUBTASK_TITLES.get(n, "Average") for n in names)), tuple(rows))


def _lines(card: ReportCard) -> Iterator[str]:
    data = card.data
    told = sat_on("Data", data.name, data.fingerprint, data.split)
    yield from opening(card, f"{told}; {card.protocol.value} protocol", sentences.headline(card))
    yield from section("Scores", [headline_table(card), *listings.score_tables(card)])
    yield from section("By predicate", listings.predicate_tables(card))
    behaviour = [listings.difficulty_table(card), behaviour_listings.heuristic_table(card)]
    behaviour += [
        behaviour_listings.consistency_table(card),
        behaviour_listings.silence_table(card),
        *behaviour_listings.transfer_tables(card),
    ]
    behaviour += [behaviour_listings.detected_table(card)] if card.detected else []
    yield from section("Behaviour", behaviour)
    about = [data_listings.contents_table(card), data_listings.difficulty_shares_table(card)]
    yield from section("The data", [*about, data_listings.agreement_table(card), data_listings.audit_table(card)])
    yield "\n## How this was made\n"
    yield markdown_text(sentences.PROTOCOLS[card.protocol])
    yield "\n" + markdown_text(sentences.intervals_paragraph(card))


def sat_on(words: str, name: str, fingerprint: str, split: str) -> str:
    """The data a card is of."""
    return f"{words} {markdown_text(name)} ({fingerprint[:12]}){f', split {markdown_text(split)}' if split else ''}"


def opening(card: Card[Any], told: str, headline: Iterable[str]) -> Iterator[str]:
    """How every card begins: whose it is, what was sat and when, what to mind, and the headline."""
    yield f"# Report card: {markdown_text(card.focus)}"
    yield ""
    yield f"{told}; {card.made}."
    for warning in card.warnings:
        yield f"\n> **Note:** {markdown_text(warning)}"
    yield "\n" + markdown_text(" ".join(headline))


def section(title: str, shown: Iterable[Table]) -> Iterator[str]:
    """A heading and the tables under it; tables without a row are left out."""
    yield f"\n## {title}"
    for listing in shown:
        if listing.rows:
            yield f"\n### {markdown_text(listing.title)}\n"
            yield listing.to_markdown()
            yield f"\n{markdown_text(listing.note)}" if listing.note else ""
