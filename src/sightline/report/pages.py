"""Cards as files: what the pages of all exams are rendered and written with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup

from sightline.report.seats import Card
from sightline.report.sentences import told_words
from sightline.show.markup import environment as environment
from sightline.show.svg import THEME_CSS
from sightline.store import atomic_write

PAGE: Final = "report.html"


def rendered(templates: Environment, page: str, styles: Sequence[str], card: Card[Any], **parts: Any) -> str:
    """A page as text. All words are escaped; only charts and the style sheets are put in as markup.

    Args:
        templates: From `environment`.
        page: Name of the page's template.
        styles: Names of its style sheets.
        card: What the page is of.
        **parts: What it shows beside what every page does.
    """
    assert templates.loader is not None
    style = "".join(templates.loader.get_source(templates, name)[0] for name in styles)
    return templates.get_template(page).render(
        card=card,
        css=Markup(THEME_CSS + style),  # noqa: S704 - our own style sheets
        version=version("sightline"),
        told=[(s.label, s.spec, told_words(s.told)) for s in card.sittings],
        versions=sorted({(name, v) for s in card.sittings for name, v in s.versions.items()}),
        **parts,
    )


def write_page(card: Card[Any], page: str, out: str | Path) -> tuple[Path, Path, Path]:
    """Write a card in its three forms: the page, and beside it ``.json`` and ``.md`` of the same name.

    Args:
        card: What to write.
        page: Its HTML.
        out: The page's file (``*.html``, ``*.htm``), or a folder, which gets ``report.html``; made if missing.
    """
    path = Path(out)
    html = path if path.suffix.lower() in (".html", ".htm") else path / PAGE
    paths = html, html.with_suffix(".json"), html.with_suffix(".md")
    data = json.dumps(card.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    markdown = card.to_markdown()
    html.parent.mkdir(parents=True, exist_ok=True)
    for file, text in zip(paths, (page, data, markdown), strict=True):
        atomic_write(file, text.encode("utf-8", errors="replace"))
    return paths
