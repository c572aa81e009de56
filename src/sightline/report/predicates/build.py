"""The predicates card as files: one HTML page that needs nothing else, and JSON and Markdown beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sightline.report.pages import environment, rendered, write_page
from sightline.report.predicates import figures, listings, sentences
from sightline.report.predicates.cards import PredicatesCard
from sightline.report.predicates.outcomes import KINDS, PHRASES
from sightline.report.seats import beside

_TEMPLATES: Final = environment("sightline.report.predicates", "sightline.exams.predicates", "sightline.show")
_STYLES: Final = ("page.css", "example.css")


def write_report(card: PredicatesCard, out: str | Path) -> tuple[Path, Path, Path]:
    """Write the page, and beside it ``.json`` and ``.md`` of the same name; returns the three paths.

    Args:
        card: What to write.
        out: The page's file (``*.html``, ``*.htm``), or a folder, which gets ``report.html``; made if missing.
    """
    return write_page(card, render(card), out)


def render(card: PredicatesCard) -> str:
    """The page as text."""
    return rendered(
        _TEMPLATES,
        "predicates.html.j2",
        _STYLES,
        card,
        beside=beside(card),
        headline=sentences.headline(card),
        forests=figures.forests(card),
        overview=listings.overview_table(card),
        close=listings.focus_table(card),
        measures=listings.measure_tables(card),
        slices=figures.slice_figures(card),
        slice_note=sentences.HIDDEN_NOTE,
        kinds=KINDS,
        phrases=PHRASES,
        intervals=sentences.intervals_paragraph(card),
        commands=sentences.commands(card),
    )
