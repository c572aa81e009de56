"""The Turing card as files: one HTML page that needs nothing else, and JSON and Markdown beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sightline.report.pages import environment, rendered, write_page
from sightline.report.seats import beside
from sightline.report.turing import figures, listings, sentences
from sightline.report.turing.cards import TuringCard
from sightline.report.turing.exhibits import MARKS

_TEMPLATES: Final = environment("sightline.report.turing", "sightline.exams.turing", "sightline.show")
_STYLES: Final = ("page.css", "example.css")


def write_report(card: TuringCard, out: str | Path) -> tuple[Path, Path, Path]:
    """Write the page, and beside it ``.json`` and ``.md`` of the same name; returns the three paths.

    Args:
        card: What to write.
        out: The page's file (``*.html``, ``*.htm``), or a folder, which gets ``report.html``; made if missing.
    """
    return write_page(card, render(card), out)


def render(card: TuringCard) -> str:
    """The page as text."""
    return rendered(
        _TEMPLATES,
        "turing.html.j2",
        _STYLES,
        card,
        beside=beside(card),
        headline=sentences.headline(card),
        verdict=sentences.verdict(card),
        summary=[figures.forest(card), figures.type_figure(card)] if card.scored else [],
        overview=listings.overview_table(card),
        axes=figures.axis_figures(card) if card.scored else [],
        parts=[listings.axis_table(card, axis) for axis in listings.AXES],
        watched=figures.monitor_figures(card),
        tables=[*listings.monitor_tables(card), listings.calibration_table(card), listings.streams_table(card)],
        marks=MARKS,
        halted=listings.HALTED,
        intervals=sentences.intervals_paragraph(card),
        options=sentences.options_table(card),
        commands=sentences.commands(card),
    )
