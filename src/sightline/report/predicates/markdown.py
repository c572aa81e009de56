"""The predicates card as Markdown: headline, tables, and the shown scenes in a line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sightline.report.markdown import opening, sat_on, section
from sightline.report.predicates import listings, sentences
from sightline.report.predicates.figures import AXES
from sightline.report.predicates.outcomes import KINDS
from sightline.show.markup import markdown_text
from sightline.show.table import Cell, Row, Table

if TYPE_CHECKING:
    from sightline.report.predicates.cards import PredicatesCard
    from sightline.report.predicates.exhibits import SceneExhibit


def markdown(card: PredicatesCard) -> str:
    """The whole card."""
    return "\n".join(_lines(card)) + "\n"


def scenes_table(card: PredicatesCard) -> Table:
    """Every shown scene: how many judgements, and what became of them."""
    rows = [
        Row(shown.scene_id, tuple(map(Cell, (g.title.lower(), *(f"{n:,}" for n in _counts(shown))))))
        for g in card.galleries
        for shown in g.exhibits
    ]
    columns = ("scene", "shown as", "judgements", "wrong", *(words for _, words in KINDS.values()))
    return Table(f"Scenes shown of {card.focus}", columns, tuple(rows))


def _counts(shown: SceneExhibit) -> list[int]:
    return [shown.asked, shown.wrong, *(shown.count(kind) for kind in KINDS)]


def _lines(card: PredicatesCard) -> Iterator[str]:
    told = sat_on("Predicates exam; data", card.data, card.fingerprint, card.split)
    yield from opening(card, told, sentences.headline(card))
    yield from section("Scores", [listings.overview_table(card), listings.focus_table(card)])
    yield from section("Every model", listings.measure_tables(card))
    yield from section("Scene accuracy in parts", listings.slice_tables(card, AXES))
    yield from section("Scenes", [scenes_table(card)])
    yield "\n## How this was made\n"
    yield markdown_text(sentences.intervals_paragraph(card))
