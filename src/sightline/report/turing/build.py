"""The Turing card as files: one HTML page that needs nothing else, and JSON and Markdown beside it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sightline.report.build import breakable, write_page
from sightline.report.seats import beside
from sightline.report.sentences import told_words
from sightline.report.svg import THEME_CSS
from sightline.report.turing import figures, listings, sentences
from sightline.report.turing.cards import TuringCard
from sightline.report.turing.exhibits import MARKS

_LOADER: Final = ChoiceLoader([PackageLoader("sightline.report.turing"), PackageLoader("sightline.report")])
_ENVIRONMENT: Final = Environment(
    loader=_LOADER, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_ENVIRONMENT.filters["breakable"] = breakable


def write_report(card: TuringCard, out: str | Path) -> tuple[Path, Path, Path]:
    """Write the page, and beside it ``.json`` and ``.md`` of the same name; returns the three paths.

    Args:
        card: What to write.
        out: The page's file (``*.html``, ``*.htm``), or a folder, which gets ``report.html``; made if missing.
    """
    return write_page(render(card), card.to_dict(), card.to_markdown(), out)


def render(card: TuringCard) -> str:
    """The page as text. All words are escaped; only charts and the style sheets are put in as markup."""
    style = "".join(_LOADER.get_source(_ENVIRONMENT, name)[0] for name in ("report.css", "turing.css"))
    return _ENVIRONMENT.get_template("turing.html.j2").render(
        card=card,
        css=Markup(THEME_CSS + style),  # noqa: S704 - our own style sheets
        version=version("sightline"),
        beside=beside(card.sittings, card.focus),
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
        told=[(s.label, s.spec, told_words(s.told)) for s in card.sittings],
        versions=sorted({(name, v) for s in card.sittings for name, v in s.versions.items()}),
        drawn=Markup,
    )
