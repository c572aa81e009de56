"""The report card as Markdown: headline and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sightline.report import behaviour_listings, data_listings, listings, sentences
from sightline.report.listings import SUBTASK_TITLES, Cell, Listing, Row, scored

if TYPE_CHECKING:
    from sightline.report.cards import ReportCard
    from sightline.report.seats import Card

_SPECIAL = re.compile(r"([\\`*_{}\[\]|#~!])")
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def markdown(card: ReportCard) -> str:
    """The whole card."""
    return "\n".join(_lines(card)) + "\n"


def plain(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> plain("a|b <c>\nd")
    'a\\|b &lt;c&gt; d'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split())).translate(_MARKUP)


def table(listing: Listing) -> str:
    """A listing as a Markdown table; column groups go into the headings."""
    heads = list(listing.columns)
    at = 1
    for words, span in listing.groups:
        for i in range(at, at + span):
            heads[i] = f"{words}: {heads[i]}" if words else heads[i]
        at += span
    lines = [_line(heads), _line(["---", *["---:"] * (len(heads) - 1)], raw=True)]
    lines += [_line([row.head, *(_cell(cell) for cell in row.cells)]) for row in listing.rows]
    return "\n".join(lines)


def headline_table(card: ReportCard) -> Listing:
    """F1 of every run in the main tables, one column a sub-task, then the average and the human reference."""
    names = [*card.subtasks, *(["average"] if any(s.scores.average for s in card.main) else [])]
    rows = [
        Row(s.label if s.finished else f"{s.label} (unfinished)", tuple(scored(s.f1(n)) for n in names))
        for s in card.main
    ]
    if card.data.human:
        rows.append(Row("one rater", tuple(Cell(listings.figure(card.data.human_value(n))) for n in names)))
    return Listing("F1", ("model", *(SUBTASK_TITLES.get(n, "Average") for n in names)), tuple(rows))


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
    yield plain(sentences.PROTOCOLS[card.protocol])
    yield "\n" + plain(sentences.intervals_paragraph(card))


def sat_on(words: str, name: str, fingerprint: str, split: str) -> str:
    """The data a card is of."""
    return f"{words} {plain(name)} ({fingerprint[:12]}){f', split {plain(split)}' if split else ''}"


def opening(card: Card[Any], told: str, headline: Iterable[str]) -> Iterator[str]:
    """How every card begins: whose it is, what was sat and when, what to mind, and the headline."""
    yield f"# Report card: {plain(card.focus)}"
    yield ""
    yield f"{told}; {card.made}."
    for warning in card.warnings:
        yield f"\n> **Note:** {plain(warning)}"
    yield "\n" + plain(" ".join(headline))


def section(title: str, shown: Iterable[Listing]) -> Iterator[str]:
    """A heading and the tables under it; tables without a row are left out."""
    yield f"\n## {title}"
    for listing in shown:
        if listing.rows:
            yield f"\n### {plain(listing.title)}\n"
            yield table(listing)
            yield f"\n{plain(listing.note)}" if listing.note else ""


def _cell(cell: Cell) -> str:
    return f"{cell.text} ({cell.detail})" if cell.detail else cell.text


def _line(cells: Iterable[str], *, raw: bool = False) -> str:
    return "| " + " | ".join(cell if raw else plain(cell) for cell in cells) + " |"
