"""The predicates card as files: one HTML page that needs nothing else, and JSON and Markdown beside it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sightline.report.build import breakable, write_page
from sightline.report.predicates import figures, listings, sentences
from sightline.report.predicates.cards import PredicatesCard
from sightline.report.predicates.outcomes import KINDS, PHRASES
from sightline.report.seats import beside
from sightline.report.sentences import told_words
from sightline.report.svg import THEME_CSS

_LOADER: Final = ChoiceLoader([PackageLoader("sightline.report.predicates"), PackageLoader("sightline.report")])
_ENVIRONMENT: Final = Environment(
    loader=_LOADER, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_ENVIRONMENT.filters["breakable"] = breakable


def write_report(card: PredicatesCard, out: str | Path) -> tuple[Path, Path, Path]:
    """Write the page, and beside it ``.json`` and ``.md`` of the same name; returns the three paths.

    Args:
        card: What to write.
        out: The page's file (``*.html``, ``*.htm``), or a folder, which gets ``report.html``; made if missing.
    """
    return write_page(render(card), card.to_dict(), card.to_markdown(), out)


def render(card: PredicatesCard) -> str:
    """The page as text. All words are escaped; only charts and the style sheets are put in as markup."""
    style = "".join(_LOADER.get_source(_ENVIRONMENT, name)[0] for name in ("report.css", "predicates.css"))
    return _ENVIRONMENT.get_template("predicates.html.j2").render(
        card=card,
        css=Markup(THEME_CSS + style),  # noqa: S704 - our own style sheets
        version=version("sightline"),
        beside=beside(card.sittings, card.focus),
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
        told=[(s.label, s.spec, told_words(s.told)) for s in card.sittings],
        versions=sorted({(name, v) for s in card.sittings for name, v in s.versions.items()}),
        drawn=Markup,
    )
