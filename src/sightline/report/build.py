"""The card as files: one HTML page that needs nothing else, and JSON and Markdown beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from sightline.report import behaviour_listings, data_listings, figures, listings, sentences
from sightline.report.cards import ReportCard
from sightline.report.svg import THEME_CSS
from sightline.store import atomic_write

PAGE: Final = "report.html"

_ENVIRONMENT: Final = Environment(
    loader=PackageLoader("sightline.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def breakable(text: str) -> Markup:
    """A name that may go on in the next line after each underscore."""
    return Markup("_<wbr>").join(escape(part) for part in text.split("_"))


_ENVIRONMENT.filters["breakable"] = breakable


def write_report(card: ReportCard, out: str | Path) -> tuple[Path, Path, Path]:
    """Write the page, and beside it ``.json`` and ``.md`` of the same name; returns the three paths.

    Args:
        card: What to write.
        out: The page's file (``*.html``, ``*.htm``), or a folder, which gets ``report.html``; made if missing.
    """
    return write_page(render(card), card.to_dict(), card.to_markdown(), out)


def write_page(page: str, plain: Mapping[str, Any], markdown: str, out: str | Path) -> tuple[Path, Path, Path]:
    """Write one report in its three forms: HTML, JSON of the plain values, Markdown; see `write_report`."""
    path = Path(out)
    html = path if path.suffix.lower() in (".html", ".htm") else path / PAGE
    paths = html, html.with_suffix(".json"), html.with_suffix(".md")
    data = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    html.parent.mkdir(parents=True, exist_ok=True)
    for file, text in zip(paths, (page, data, markdown), strict=True):
        atomic_write(file, text.encode("utf-8", errors="replace"))
    return paths


def render(card: ReportCard) -> str:
    """The page as text. All words are escaped; only charts and the style sheet are put in as markup."""
    template = _ENVIRONMENT.get_template("report.html.j2")
    return template.render(
        card=card,
        css=Markup(THEME_CSS + _source("report.css")),  # noqa: S704 - our own style sheet
        version=version("sightline"),
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
        told=[(s.label, s.spec, sentences.own_words(s)) for s in card.sittings],
        versions=sorted({(name, v) for s in card.sittings for name, v in s.versions.items()}),
        drawn=Markup,
    )


def _source(name: str) -> str:
    loader = _ENVIRONMENT.loader
    assert loader is not None
    return loader.get_source(_ENVIRONMENT, name)[0]
