"""The card as files: one HTML page that needs nothing else, and JSON and Markdown beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sightline.report import behaviour_listings, data_listings, figures, listings, sentences
from sightline.report.cards import ReportCard
from sightline.report.pages import environment, rendered, write_page

_TEMPLATES: Final = environment("sightline.report", "sightline.show")


def write_report(card: ReportCard, out: str | Path) -> tuple[Path, Path, Path]:
    """Write the page, and beside it ``.json`` and ``.md`` of the same name; returns the three paths.

    Args:
        card: What to write.
        out: The page's file (``*.html``, ``*.htm``), or a folder, which gets ``report.html``; made if missing.
    """
    return write_page(card, render(card), out)


def render(card: ReportCard) -> str:
    """The page as text."""
    return rendered(
        _TEMPLATES,
        "report.html.j2",
        ("page.css",),
        card,
        beside=sentences.beside(card),
        headline=sentences.headline(card),
        forests=figures.forests(card),
        scores=listings.score_tables(card),
        predicates=listings.predicate_tables(card),
        difficulty=listings.difficulty_table(card),
        heuristics=behaviour_listings.heuristic_table(card),
        consistency=behaviour_listings.consistency_table(card),
        silence=behaviour_listings.silence_table(card),
        transfer=behaviour_listings.transfer_tables(card),
        detected=behaviour_listings.detected_table(card),
        outcomes=figures.outcome_figures(card),
        grids=figures.grid_groups(card),
        grid_sentence=sentences.grid_sentence(card),
        contents=data_listings.contents_table(card),
        scales=data_listings.difficulty_shares_table(card),
        agreement=data_listings.agreement_table(card),
        audit=data_listings.audit_table(card),
        audit_figures=figures.audit_figures(card),
        frequencies=figures.frequency_figures(card),
        labels=figures.label_figures(card),
        failures=figures.failure_groups(card.failures),
        protocol=sentences.PROTOCOLS[card.protocol],
        intervals=sentences.intervals_paragraph(card),
        human=sentences.human_paragraph(card),
        commands=sentences.commands(card),
    )
